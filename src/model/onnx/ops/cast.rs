//! Cast, `CastLike`: from one kind to another.
//!
//! Floats are cut towards zero to integers; beyond an integer's range, and of NaN, the least integer is taken (ONNX
//! leaves both open: this is what ONNX Runtime gives on x86-64). A bool is whether the number is not 0. Constant texts become numbers at load; texts of rows cannot be
//! read as numbers, nor numbers of rows made texts: there is only their equality with the model's own texts.

use super::super::error::Error;
use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, Tensor, TensorType, View};
use super::super::weights;
use std::any::Any;
use std::sync::Arc;

/// The kind of ONNX's `data_type`.
///
/// # Errors
/// One that is not known here.
pub fn kind(code: i64) -> Result<Kind, OpError> {
    weights::kind(i32::try_from(code).unwrap_or(-1)).map_err(|Error(what)| OpError(what))
}

pub fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let fact = need(inputs, 0)?;
    let to = match node.op.as_str() {
        "CastLike" => need(inputs, 1)?.of.kind,
        _ => kind(node.int("to")?.ok_or("expected an attribute to")?)?,
    };
    let of = TensorType::new(to, fact.of.shape.clone());
    match (fact.of.kind, to, &fact.constant) {
        (from, to, _) if from == to => Ok(Built::Alias(0, of)),
        (Kind::Text, to, Some(tensor)) => read(tensor, to, context),
        (from, Kind::Text, Some(tensor)) if from.is_number() => write(tensor, context),
        (Kind::Text, _, _) => Err("texts of a row cannot be read as numbers".into()),
        (_, Kind::Text, _) => Err("numbers of a row cannot be made texts".into()),
        _ => Ok(Built::op(Cast { of: [of] })),
    }
}

#[derive(Debug)]
struct Cast {
    of: [TensorType; 1],
}

fn each<A: Copy, B>(from: &[A], to: &mut [B], cut: impl Fn(A) -> B) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = cut(*from));
}

/// 2^63 and 2^31, the first numbers that are too large.
const LONG_END: f64 = 9_223_372_036_854_775_808.0;
const INT_END: f64 = 2_147_483_648.0;

#[allow(clippy::cast_possible_truncation)] // in range
fn long(x: f64) -> i64 {
    if x < LONG_END { x as i64 } else { i64::MIN }
}

#[allow(clippy::cast_possible_truncation)] // in range
fn int(x: f64) -> i32 {
    if x < INT_END && x > -INT_END { x as i32 } else { i32::MIN }
}

impl Op for Cast {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: true }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // that is what it is for
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        match (inputs.get(0), out) {
            (View::F32(a), Data::F64(b)) => each(a, b, f64::from),
            (View::F32(a), Data::I64(b)) => each(a, b, |x| long(f64::from(x))),
            (View::F32(a), Data::I32(b)) => each(a, b, |x| int(f64::from(x))),
            (View::F32(a), Data::Bool(b)) => each(a, b, |x| u8::from(x != 0.0)),
            (View::F64(a), Data::F32(b)) => each(a, b, |x| x as f32),
            (View::F64(a), Data::I64(b)) => each(a, b, long),
            (View::F64(a), Data::I32(b)) => each(a, b, int),
            (View::F64(a), Data::Bool(b)) => each(a, b, |x| u8::from(x != 0.0)),
            (View::I64(a), Data::F32(b)) => each(a, b, |x| x as f32),
            (View::I64(a), Data::F64(b)) => each(a, b, |x| x as f64),
            (View::I64(a), Data::I32(b)) => each(a, b, |x| x as i32),
            (View::I64(a), Data::Bool(b)) => each(a, b, |x| u8::from(x != 0)),
            (View::I32(a), Data::F32(b)) => each(a, b, |x| x as f32),
            (View::I32(a), Data::F64(b)) => each(a, b, f64::from),
            (View::I32(a), Data::I64(b)) => each(a, b, i64::from),
            (View::I32(a), Data::Bool(b)) => each(a, b, |x| u8::from(x != 0)),
            (View::Bool(a), Data::F32(b)) => each(a, b, f32::from),
            (View::Bool(a), Data::F64(b)) => each(a, b, f64::from),
            (View::Bool(a), Data::I64(b)) => each(a, b, i64::from),
            (View::Bool(a), Data::I32(b)) => each(a, b, i32::from),
            (from, to) => super::unary::copy(from, to),
        }
    }

    fn describe(&self) -> String {
        format!("Cast to {}", self.of[0].kind)
    }
}

/// Constant texts as numbers.
#[allow(clippy::cast_possible_truncation)] // f32 is asked for
fn read(tensor: &Tensor, to: Kind, context: &mut Context) -> Result<Built, OpError> {
    context.take(tensor.data.len().saturating_mul(to.bytes()), "a constant")?;
    let mut numbers = Vec::new();
    for code in tensor.view().text() {
        let text = context.dictionary.text(*code).unwrap_or_default();
        numbers.push(text.trim().parse::<f64>().map_err(|_| OpError(format!("'{text}' is no number")))?);
    }
    let data = match to {
        Kind::F32 => Data::F32(numbers.iter().map(|x| *x as f32).collect()),
        Kind::F64 => Data::F64(numbers),
        Kind::I64 => Data::I64(numbers.iter().map(|x| *x as i64).collect()),
        Kind::I32 => Data::I32(numbers.iter().map(|x| *x as i32).collect()),
        Kind::Bool | Kind::Text => return Err(OpError(format!("texts cannot be read as {to}"))),
    };
    let made = Tensor::new(tensor.shape.clone(), data).ok_or("its numbers do not fill its shape")?;
    Ok(Built::Constants(vec![Arc::new(made)]))
}

/// Constant integers as texts. (Floats: every library writes them in another way.)
fn write(tensor: &Tensor, context: &mut Context) -> Result<Built, OpError> {
    let numbers = tensor.integers().ok_or("floats cannot be made texts")?;
    context.take(numbers.len() * 4, "a constant")?;
    let code = |n: &i64| context.dictionary.intern(&n.to_string());
    let codes = numbers.iter().map(code).collect::<Result<Vec<_>, _>>()?;
    let made = Tensor::new(tensor.shape.clone(), Data::Text(codes)).ok_or("its numbers do not fill its shape")?;
    Ok(Built::Constants(vec![Arc::new(made)]))
}
