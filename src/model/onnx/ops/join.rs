//! Concat and Pad: inputs laid side by side, or in a larger frame.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, given, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::args::{self, around};
use super::walk;
use std::any::Any;

pub fn build_concat(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let first = &need(inputs, 0)?.of;
    let axis = args::axis(node.int("axis")?.unwrap_or(1), first.rank())?;
    let mut shape = first.shape.clone();
    let mut total = 0usize;
    let mut parts = Vec::new();
    for n in 0..inputs.len() {
        let of = &need(inputs, n)?.of;
        let mut same = of.shape.clone();
        if let (Some(dim), Some(own)) = (same.get_mut(axis), first.shape.get(axis)) {
            total = total.checked_add(*dim).ok_or("too many elements")?;
            *dim = *own;
        }
        if same != first.shape || of.kind != first.kind {
            return Err(OpError(format!("{first} and {of} cannot be joined at axis {axis}")));
        }
        parts.push(around(&of.shape, axis).1.saturating_mul(around(&of.shape, axis).2));
    }
    shape[axis] = total;
    let of = TensorType::new(first.kind, shape);
    if parts.len() == 1 {
        return Ok(Built::Alias(0, of));
    }
    Ok(Built::op(Concat { parts, of: [of] }))
}

/// Of each input so many elements in a row, one row after the other.
#[derive(Debug)]
struct Concat {
    parts: Vec<usize>,
    of: [TensorType; 1],
}

macro_rules! concat {
    ($parts:expr, $inputs:expr, $out:expr, $view:ident) => {{
        let width: usize = $parts.iter().sum();
        let mut from = 0;
        for (n, part) in $parts.iter().enumerate() {
            let to = from + part;
            if *part > 0 {
                let rows = $inputs.get(n).$view().chunks_exact(*part);
                for (row, out) in rows.zip($out.chunks_exact_mut(width)) {
                    if let Some(out) = out.get_mut(from..to) {
                        out.copy_from_slice(row);
                    }
                }
            }
            from = to;
        }
    }};
}

impl Op for Concat {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        // With more before the axis than one the inputs take turns.
        if self.parts.iter().sum::<usize>() == self.of[0].len() { Flow::Joined } else { Flow::Mixed }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        match outputs.first_mut() {
            Some(Data::F32(out)) => concat!(self.parts, inputs, out, f32),
            Some(Data::F64(out)) => concat!(self.parts, inputs, out, f64),
            Some(Data::I64(out)) => concat!(self.parts, inputs, out, i64),
            Some(Data::I32(out)) => concat!(self.parts, inputs, out, i32),
            Some(Data::Bool(out)) => concat!(self.parts, inputs, out, bool),
            Some(Data::Text(out)) => concat!(self.parts, inputs, out, text),
            None => {}
        }
    }

    fn describe(&self) -> String {
        format!("Concat of {}", self.parts.len())
    }
}

/// What stands around the input.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Constant,
    /// Mirrored at the first and last element.
    Reflect,
    /// The nearest element.
    Edge,
    /// From the other end.
    Wrap,
}

/// Pad, with constant sizes. Negative ones cut off.
pub fn build_pad(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let pads = args::either(node, "pads", inputs, 1)?.ok_or("expected pads")?;
    let axes = match args::integers(inputs, 3, "axes")? {
        Some(list) => args::axes(&list, of.rank())?,
        None => (0..of.rank()).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(OpError(format!("{} pads for {} axes", pads.len(), axes.len())));
    }
    let mode = match node.text("mode")?.unwrap_or("constant") {
        "constant" => Mode::Constant,
        "reflect" => Mode::Reflect,
        "edge" => Mode::Edge,
        "wrap" => Mode::Wrap,
        other => return Err(OpError(format!("mode {other} is not supported"))),
    };
    let mut shape = of.shape.clone();
    let mut begin = vec![0i64; of.rank()];
    for ((axis, before), after) in axes.iter().zip(&pads).zip(&pads[axes.len()..]) {
        let dim = i64::try_from(shape[*axis]).unwrap_or(i64::MAX);
        let new = dim.checked_add(*before).and_then(|n| n.checked_add(*after)).and_then(|n| usize::try_from(n).ok());
        shape[*axis] = new.ok_or_else(|| OpError(format!("pads {pads:?} of {of}")))?;
        begin[*axis] = *before;
    }
    let out = TensorType::new(of.kind, shape);
    let len = out.checked_len().ok_or_else(|| OpError(format!("{out} has too many elements")))?;
    // The place of each output element in the input; beyond it: the value.
    context.take(len.saturating_mul(size_of::<usize>()), "a table of places")?;
    let mut from = Vec::with_capacity(len);
    let own = walk::strides(&of.shape);
    let places = walk::strides(&out.shape);
    for n in 0..len {
        from.push(source(n, of, &out, &begin, &own, &places, mode));
    }
    let value = match given(inputs, 2) {
        Some(value) if value.of.kind == of.kind && value.of.len() == 1 => None,
        Some(_) => return Err("expected one value of the input's kind".into()),
        None => Some(node.float("value")?.unwrap_or(0.0)),
    };
    if value.is_some() && of.kind == Kind::Text && mode == Mode::Constant {
        return Err("expected a text to pad with".into());
    }
    Ok(Built::op(Pad { from, value, of: [out] }))
}

fn source(
    n: usize,
    of: &TensorType,
    out: &TensorType,
    begin: &[i64],
    own: &[isize],
    places: &[isize],
    mode: Mode,
) -> usize {
    let mut at = 0usize;
    for (axis, dim) in of.shape.iter().enumerate() {
        let index = n / places[axis].unsigned_abs().max(1) % out.shape[axis].max(1);
        let index = i64::try_from(index).unwrap_or(0) - begin[axis];
        let dim = i64::try_from(*dim).unwrap_or(0);
        let index = match mode {
            _ if (0..dim).contains(&index) => index,
            Mode::Constant => return usize::MAX,
            _ if dim == 0 => return usize::MAX,
            Mode::Edge => index.clamp(0, dim - 1),
            Mode::Wrap => index.rem_euclid(dim),
            Mode::Reflect if dim == 1 => 0,
            Mode::Reflect => {
                let index = index.rem_euclid(2 * (dim - 1));
                if index < dim { index } else { 2 * (dim - 1) - index }
            }
        };
        at += usize::try_from(index).unwrap_or(0) * own[axis].unsigned_abs();
    }
    at
}

#[derive(Debug)]
struct Pad {
    from: Vec<usize>,
    /// None: input 2.
    value: Option<f32>,
    of: [TensorType; 1],
}

impl Op for Pad {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn bytes(&self) -> usize {
        self.from.len() * size_of::<usize>()
    }

    #[allow(clippy::cast_possible_truncation)] // a pad's value
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        fn each<T: Copy>(from: &[usize], x: &[T], out: &mut [T], value: T) {
            for (out, at) in out.iter_mut().zip(from) {
                *out = x.get(*at).copied().unwrap_or(value);
            }
        }
        let Some(out) = outputs.first_mut() else { return };
        let number = self.value.map_or_else(|| inputs.get(2).number(0), f64::from);
        let whole = inputs.get(2).i64().first().copied().unwrap_or(number as i64);
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => each(&self.from, x, out, number as f32),
            (View::F64(x), Data::F64(out)) => each(&self.from, x, out, number),
            (View::I64(x), Data::I64(out)) => each(&self.from, x, out, whole),
            (View::I32(x), Data::I32(out)) => each(&self.from, x, out, number as i32),
            (View::Bool(x), Data::Bool(out)) => each(&self.from, x, out, u8::from(number != 0.0)),
            (View::Text(x), Data::Text(out)) => {
                each(&self.from, x, out, inputs.get(2).text().first().copied().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "Pad".to_owned()
    }
}
