//! Operators that change the shape alone, or make tensors of shapes.
//!
//! Shapes are known when a plan is compiled, so none of these is a step: the numbers stay where they are, or are
//! constants. What fills a constant takes its bytes off the budget first.

use super::super::op::{Attribute, Built, Context, Fact, Node, OpError, need};
use super::super::tensor::{Data, Kind, Tensor, TensorType, count};
use super::args;
use std::sync::Arc;

fn one(shape: impl Into<Vec<usize>>, data: Data) -> Result<Built, OpError> {
    let tensor = Tensor::new(shape, data).ok_or("its numbers do not fill its shape")?;
    Ok(Built::Constants(vec![Arc::new(tensor)]))
}

/// Identity; Dropout, which does nothing outside training. Its mask is true everywhere.
pub fn build_identity(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    if node.op == "Dropout" {
        let training = args::constant(inputs, 2, "training_mode")?;
        if training.is_some_and(|t| t.view().number(0) != 0.0) {
            return Err("training mode is not supported".into());
        }
        if node.wants(1) {
            return masked(inputs, &of, context);
        }
    }
    Ok(Built::Alias(0, of))
}

/// A Dropout whose mask is wanted: only of a constant, or as two steps that nobody has asked for yet.
fn masked(inputs: &[Option<Fact>], of: &TensorType, context: &mut Context) -> Result<Built, OpError> {
    context.take(of.len(), "a mask")?;
    let mask = Tensor { shape: of.shape.clone(), data: Data::Bool(vec![1; of.len()]) };
    match args::constant(inputs, 0, "the input of a Dropout with a mask")? {
        Some(tensor) => Ok(Built::Constants(vec![tensor, Arc::new(mask)])),
        None => Err("a Dropout's mask is not supported".into()),
    }
}

pub fn build_constant(node: &Node, _: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let [(name, value)] = node.attributes.iter().collect::<Vec<_>>()[..] else {
        return Err("expected one attribute with the value".into());
    };
    context.take(value_bytes(value), "a constant")?;
    match (name.as_str(), value) {
        ("value", Attribute::Tensor(tensor)) => Ok(Built::Constants(vec![Arc::clone(tensor)])),
        ("value_float", Attribute::Float(v)) => one([], Data::F32(vec![*v])),
        ("value_int", Attribute::Int(v)) => one([], Data::I64(vec![*v])),
        ("value_floats", Attribute::Floats(v)) => one([v.len()], Data::F32(v.clone())),
        ("value_ints", Attribute::Ints(v)) => one([v.len()], Data::I64(v.clone())),
        ("value_string", Attribute::Text(v)) => one([], Data::Text(vec![context.dictionary.intern(v)?])),
        ("value_strings", Attribute::Texts(v)) => {
            let codes = v.iter().map(|text| context.dictionary.intern(text)).collect::<Result<Vec<_>, _>>()?;
            one([codes.len()], Data::Text(codes))
        }
        (name, _) => Err(OpError(format!("attribute {name} is not supported"))),
    }
}

fn value_bytes(value: &Attribute) -> usize {
    match value {
        Attribute::Floats(v) => v.len() * 4,
        Attribute::Ints(v) => v.len() * 8,
        Attribute::Texts(v) => v.len() * 4,
        _ => 8,
    }
}

pub fn build_shape(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let shape = &need(inputs, 0)?.of.shape;
    let rank = i64::try_from(shape.len()).unwrap_or(0);
    let place = |value: i64| {
        let value = if value < 0 { value.saturating_add(rank) } else { value };
        usize::try_from(value.clamp(0, rank)).unwrap_or(0)
    };
    let (start, end) = (place(node.int("start")?.unwrap_or(0)), place(node.int("end")?.unwrap_or(rank)));
    let dims = shape.get(start..end.max(start)).unwrap_or_default();
    let dims: Vec<i64> = dims.iter().map(|dim| i64::try_from(*dim).unwrap_or(i64::MAX)).collect();
    one([dims.len()], Data::I64(dims))
}

pub fn build_size(_: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let len = i64::try_from(need(inputs, 0)?.of.len()).unwrap_or(i64::MAX);
    one([], Data::I64(vec![len]))
}

fn renamed(of: &TensorType, shape: Vec<usize>) -> Result<Built, OpError> {
    if count(&shape) != of.checked_len() {
        return Err(OpError(format!("{of} cannot have the shape {shape:?}")));
    }
    Ok(Built::Alias(0, TensorType::new(of.kind, shape)))
}

pub fn build_reshape(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let wanted = args::either(node, "shape", inputs, 1)?.ok_or("expected a shape")?;
    let zero_is_zero = node.flag("allowzero", false)?;
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (n, dim) in wanted.iter().enumerate() {
        shape.push(match dim {
            0 if zero_is_zero => 0,
            0 => *of.shape.get(n).ok_or_else(|| OpError(format!("{of} has no dimension {n} to keep")))?,
            -1 if open.is_none() => {
                open = Some(n);
                1
            }
            dim => usize::try_from(*dim).map_err(|_| OpError(format!("{wanted:?} is no shape")))?,
        });
    }
    if let Some(open) = open.and_then(|open| shape.get_mut(open).map(|_| open)) {
        let others = count(&shape).filter(|n| *n > 0).ok_or_else(|| OpError(format!("{wanted:?} is no shape")))?;
        if let Some(dim) = shape.get_mut(open) {
            *dim = of.len() / others;
        }
    }
    renamed(of, shape)
}

pub fn build_flatten(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let axis = node.int("axis")?.unwrap_or(1);
    let at = if usize::try_from(axis) == Ok(of.rank()) { of.rank() } else { args::axis(axis, of.rank().max(1))? };
    let (front, back) = of.shape.split_at_checked(at).ok_or("no such axis")?;
    renamed(of, vec![front.iter().product(), back.iter().product()])
}

pub fn build_squeeze(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let axes = match args::either(node, "axes", inputs, 1)? {
        Some(list) => args::axes(&list, of.rank())?,
        None => (0..of.rank()).filter(|n| of.shape.get(*n) == Some(&1)).collect(),
    };
    if let Some(axis) = axes.iter().find(|axis| of.shape.get(**axis) != Some(&1)) {
        return Err(OpError(format!("{of}: dimension {axis} is not 1")));
    }
    let shape: Vec<usize> =
        of.shape.iter().enumerate().filter(|(n, _)| !axes.contains(n)).map(|(_, dim)| *dim).collect();
    renamed(of, shape)
}

pub fn build_unsqueeze(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let list = args::either(node, "axes", inputs, 1)?.ok_or("expected axes")?;
    let rank = of.rank().checked_add(list.len()).filter(|rank| *rank <= 16).ok_or("too many dimensions")?;
    let axes = args::axes(&list, rank)?;
    let mut old = of.shape.iter();
    let shape = (0..rank).map(|n| if axes.contains(&n) { 1 } else { old.next().copied().unwrap_or(1) }).collect();
    renamed(of, shape)
}

/// `ConstantOfShape`.
pub fn build_filled(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let shape = args::sizes(&args::integers(inputs, 0, "the shape")?.ok_or("expected a shape")?)?;
    let value = match node.tensor("value")? {
        Some(tensor) if tensor.data.len() == 1 => tensor.data.clone(),
        Some(_) => return Err("expected one value".into()),
        None => Data::F32(vec![0.0]),
    };
    let of = TensorType::new(value.kind(), shape);
    let bytes = of.checked_bytes().ok_or_else(|| OpError(format!("{of} has too many elements")))?;
    context.take(bytes, "a constant")?;
    let len = of.len();
    let data = match value {
        Data::F32(v) => Data::F32(vec![v[0]; len]),
        Data::F64(v) => Data::F64(vec![v[0]; len]),
        Data::I64(v) => Data::I64(vec![v[0]; len]),
        Data::I32(v) => Data::I32(vec![v[0]; len]),
        Data::Bool(v) => Data::Bool(vec![v[0]; len]),
        Data::Text(v) => Data::Text(vec![v[0]; len]),
    };
    one(of.shape, data)
}

/// Range: start, limit (not reached), step, each a constant.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a count, checked
pub fn build_range(_: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let part = |n: usize| -> Result<Arc<Tensor>, OpError> {
        let tensor = args::constant(inputs, n, "the range")?.ok_or("expected start, limit and step")?;
        if tensor.data.len() == 1 { Ok(tensor) } else { Err("expected start, limit and step".into()) }
    };
    let (start, limit, step) = (part(0)?, part(1)?, part(2)?);
    let kind = start.data.kind();
    let number = |t: &Tensor| t.view().number(0);
    let len = ((number(&limit) - number(&start)) / number(&step)).ceil();
    if !len.is_finite() || len > 1e12 || !kind.is_number() {
        return Err(OpError(format!("a range of {len} elements")));
    }
    let len = len.max(0.0) as usize;
    context.take(len.saturating_mul(kind.bytes()), "a constant")?;
    let integer = |t: &Tensor| t.integers().and_then(|v| v.first().copied()).unwrap_or(0);
    let (from, by) = (integer(&start), integer(&step));
    let whole = |n: usize| from.wrapping_add(by.wrapping_mul(n.cast_signed() as i64));
    let data = match kind {
        Kind::F32 => {
            let (from, by) = (number(&start) as f32, number(&step) as f32);
            Data::F32((0..len).map(|n| from + by * n as f32).collect())
        }
        Kind::F64 => Data::F64((0..len).map(|n| number(&start) + number(&step) * n as f64).collect()),
        Kind::I32 => Data::I32((0..len).map(|n| whole(n) as i32).collect()),
        _ => Data::I64((0..len).map(whole).collect()),
    };
    one([len], data)
}

/// `EyeLike`: ones on a diagonal.
pub fn build_eye(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let [rows, columns] = of.shape[..] else { return Err("expected two dimensions".into()) };
    let kind = match node.int("dtype")? {
        None => of.kind,
        Some(code) => super::cast::kind(code)?,
    };
    context.take(of.len().saturating_mul(kind.bytes()), "a constant")?;
    let shift = node.int("k")?.unwrap_or(0);
    let mut data = Data::zeros(kind, of.len());
    for row in 0..rows {
        let column = i64::try_from(row).ok().and_then(|row| row.checked_add(shift));
        let Some(column) = column.and_then(|n| usize::try_from(n).ok()).filter(|n| *n < columns) else { continue };
        let at = row * columns + column;
        match &mut data {
            Data::F32(v) => v[at] = 1.0,
            Data::F64(v) => v[at] = 1.0,
            Data::I64(v) => v[at] = 1,
            Data::I32(v) => v[at] = 1,
            Data::Bool(v) => v[at] = 1,
            Data::Text(_) => return Err("expected a kind of numbers".into()),
        }
    }
    one([rows, columns], data)
}
