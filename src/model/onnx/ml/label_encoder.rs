//! `LabelEncoder`: a table from texts, floats or whole numbers to any of them.
//!
//! Version 1 numbers `classes_strings`; versions 2 and 3 have lists of keys and values, version 4 also tensors. Of
//! equal keys the first counts (the last in version 1), as in ONNX Runtime. NaN is a key like any other.

use super::super::op::{Built, Context, Fact, Node, OpError, need};
use super::super::tensor::{Data, Kind, Tensor, TensorType};
use super::lookup::{Equal, Lookup, Mapped, Table, float_key};
use std::sync::Arc;

/// What is written for an unknown key if the file does not say.
pub(super) const UNKNOWN_TEXT: &str = "_Unused";
pub(super) const UNKNOWN_NUMBER: i64 = -1;

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let x = &need(inputs, 0)?.of;
    let table = context.shared(|context| {
        if node.version == 1 { classes(node, x.kind, context) } else { pairs(node, x.kind, context) }
    })?;
    let outputs = [TensorType::new(table.kind(), x.shape.clone())];
    Ok(Built::op(Mapped { outputs, table }))
}

/// Version 1.
fn classes(node: &Node, kind: Kind, context: &mut Context) -> Result<Table, OpError> {
    let classes = node.texts("classes_strings")?.unwrap_or_default();
    let codes = codes(classes, context)?;
    let count = i64::try_from(classes.len()).unwrap_or(i64::MAX);
    match kind {
        Kind::Text => {
            let keys: Vec<i64> = codes.iter().copied().map(i64::from).collect();
            let mut values: Vec<i64> = (0..count).collect();
            values.push(node.int("default_int64")?.unwrap_or(UNKNOWN_NUMBER));
            Ok(Table { lookup: Lookup::new(&keys, Equal::Last, context)?, values: Data::I64(values) })
        }
        Kind::I64 => {
            let mut values = codes;
            values.push(context.dictionary.intern(node.text("default_string")?.unwrap_or(UNKNOWN_TEXT))?);
            let keys: Vec<i64> = (0..count).collect();
            Ok(Table { lookup: Lookup::new(&keys, Equal::Last, context)?, values: Data::Text(values) })
        }
        _ => Err(OpError(format!("expected texts or int64 as input 0, found {kind}"))),
    }
}

pub(super) fn codes(texts: &[String], context: &mut Context) -> Result<Vec<u32>, OpError> {
    texts.iter().map(|text| context.dictionary.intern(text)).collect()
}

/// Versions 2 to 4.
fn pairs(node: &Node, kind: Kind, context: &mut Context) -> Result<Table, OpError> {
    let keys = keys(node, kind, context)?;
    let mut values = values(node, context)?;
    if keys.len() != values.len() {
        return Err(OpError(format!("expected as many values as keys, found {} and {}", values.len(), keys.len())));
    }
    context.take(values.len() * values.kind().bytes(), "the table of values")?;
    push_default(node, &mut values, context)?;
    Ok(Table { lookup: Lookup::new(&keys, Equal::First, context)?, values })
}

/// The keys for an input of this kind.
fn keys(node: &Node, kind: Kind, context: &mut Context) -> Result<Vec<i64>, OpError> {
    let lists = ["keys_floats", "keys_int64s", "keys_strings", "keys_tensor"];
    let given: Vec<&str> = lists.into_iter().filter(|name| node.has(name)).collect();
    let [given] = given.as_slice() else {
        return Err(OpError(format!("expected one list of keys, found {}", given.len())));
    };
    let wrong = || OpError(format!("expected keys of the input's kind, {kind}, found {given}"));
    match (*given, kind) {
        ("keys_floats", Kind::F32 | Kind::F64) => {
            Ok(node.floats(given)?.unwrap_or_default().iter().map(|key| float_key(f64::from(*key))).collect())
        }
        ("keys_int64s", Kind::I64 | Kind::I32) => Ok(node.ints(given)?.unwrap_or_default().to_vec()),
        ("keys_strings", Kind::Text) => {
            let codes = codes(node.texts(given)?.unwrap_or_default(), context)?;
            Ok(codes.into_iter().map(i64::from).collect())
        }
        ("keys_tensor", _) => {
            let tensor = node.tensor(given)?.ok_or_else(wrong)?;
            match (&tensor.data, kind) {
                (Data::F32(keys), Kind::F32) => Ok(keys.iter().map(|key| float_key(f64::from(*key))).collect()),
                (Data::F64(keys), Kind::F64) => Ok(keys.iter().copied().map(float_key).collect()),
                (Data::I64(keys), Kind::I64) => Ok(keys.clone()),
                (Data::I32(keys), Kind::I32) => Ok(keys.iter().copied().map(i64::from).collect()),
                (Data::Bool(keys), Kind::Bool) => Ok(keys.iter().copied().map(i64::from).collect()),
                (Data::Text(keys), Kind::Text) => Ok(keys.iter().copied().map(i64::from).collect()),
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

fn values(node: &Node, context: &mut Context) -> Result<Data, OpError> {
    let lists = ["values_floats", "values_int64s", "values_strings", "values_tensor"];
    let given: Vec<&str> = lists.into_iter().filter(|name| node.has(name)).collect();
    let [given] = given.as_slice() else {
        return Err(OpError(format!("expected one list of values, found {}", given.len())));
    };
    Ok(match *given {
        "values_floats" => Data::F32(node.floats(given)?.unwrap_or_default().to_vec()),
        "values_int64s" => Data::I64(node.ints(given)?.unwrap_or_default().to_vec()),
        "values_strings" => Data::Text(codes(node.texts(given)?.unwrap_or_default(), context)?),
        _ => node.tensor(given)?.map(|tensor| tensor.data.clone()).unwrap_or_default(),
    })
}

/// The value of an unknown key, behind the others.
fn push_default(node: &Node, values: &mut Data, context: &mut Context) -> Result<(), OpError> {
    let told = node.tensor("default_tensor")?;
    if let Some(told) = told {
        return push_told(told, values);
    }
    let float = node.float("default_float")?.unwrap_or(-0.0);
    let number = node.int("default_int64")?.unwrap_or(UNKNOWN_NUMBER);
    match values {
        Data::F32(values) => values.push(float),
        Data::F64(values) => values.push(f64::from(float)),
        Data::I64(values) => values.push(number),
        Data::I32(values) => values.push(i32::try_from(number).unwrap_or(-1)),
        Data::Bool(values) => values.push(0),
        Data::Text(values) => {
            values.push(context.dictionary.intern(node.text("default_string")?.unwrap_or(UNKNOWN_TEXT))?);
        }
    }
    Ok(())
}

fn push_told(told: &Arc<Tensor>, values: &mut Data) -> Result<(), OpError> {
    let expected = values.kind();
    let wrong = || OpError(format!("attribute default_tensor: expected one {expected}, found {}", told.of()));
    match (values, &told.data) {
        (Data::F32(values), Data::F32(told)) => values.push(*told.first().ok_or_else(wrong)?),
        (Data::F64(values), Data::F64(told)) => values.push(*told.first().ok_or_else(wrong)?),
        (Data::I64(values), Data::I64(told)) => values.push(*told.first().ok_or_else(wrong)?),
        (Data::I32(values), Data::I32(told)) => values.push(*told.first().ok_or_else(wrong)?),
        (Data::Bool(values), Data::Bool(told)) => values.push(*told.first().ok_or_else(wrong)?),
        (Data::Text(values), Data::Text(told)) => values.push(*told.first().ok_or_else(wrong)?),
        _ => return Err(wrong()),
    }
    Ok(())
}
