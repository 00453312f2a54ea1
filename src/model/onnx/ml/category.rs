//! `CategoryMapper`: texts to whole numbers or back, by two lists of the same length. Of equal keys the last counts.

use super::super::op::{Built, Context, Fact, Node, OpError, need};
use super::super::tensor::{Data, Kind, TensorType};
use super::label_encoder::{UNKNOWN_NUMBER, UNKNOWN_TEXT, codes};
use super::lookup::{Equal, Lookup, Mapped, Table};

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let x = &need(inputs, 0)?.of;
    let table = context.shared(|context| table(node, x.kind, context))?;
    let outputs = [TensorType::new(table.kind(), x.shape.clone())];
    Ok(Built::op(Mapped { outputs, table }))
}

fn table(node: &Node, kind: Kind, context: &mut Context) -> Result<Table, OpError> {
    let texts = codes(node.texts("cats_strings")?.unwrap_or_default(), context)?;
    let numbers = node.ints("cats_int64s")?.unwrap_or_default();
    if texts.len() != numbers.len() {
        return Err(OpError(format!(
            "expected as many cats_strings as cats_int64s, found {} and {}",
            texts.len(),
            numbers.len()
        )));
    }
    match kind {
        Kind::Text => {
            let keys: Vec<i64> = texts.into_iter().map(i64::from).collect();
            let mut values = numbers.to_vec();
            values.push(node.int("default_int64")?.unwrap_or(UNKNOWN_NUMBER));
            Ok(Table { lookup: Lookup::new(&keys, Equal::Last, context)?, values: Data::I64(values) })
        }
        Kind::I64 => {
            let mut values = texts;
            values.push(context.dictionary.intern(node.text("default_string")?.unwrap_or(UNKNOWN_TEXT))?);
            Ok(Table { lookup: Lookup::new(numbers, Equal::Last, context)?, values: Data::Text(values) })
        }
        _ => Err(OpError(format!("expected texts or int64 as input 0, found {kind}"))),
    }
}
