//! `OneHotEncoder`: a category becomes as many cells as there are categories, a 1 in its own.
//!
//! Floats count as their whole part, as the specification says; one that no int64 holds is no category. An unseen
//! category is all zeros, or NaNs where the file says `zeros = 0`: the specification lets the operator fail there.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::label_encoder::codes;
use super::lookup::{Equal, Lookup};
use std::any::Any;
use std::sync::Arc;

#[derive(Debug)]
pub struct OneHot {
    outputs: [TensorType; 1],
    lookup: Arc<Lookup>,
    categories: usize,
    /// In the cells of an unseen category.
    unseen: f32,
}

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let x = &need(inputs, 0)?.of;
    let numbers = node.ints("cats_int64s")?.unwrap_or_default();
    let texts = node.texts("cats_strings")?.unwrap_or_default();
    let (categories, expected) =
        if x.kind == Kind::Text { (texts.len(), "cats_strings") } else { (numbers.len(), "cats_int64s") };
    if categories == 0 {
        return Err(OpError(format!("expected categories in {expected} for {x}, found none")));
    }
    let lookup = context.shared(|context| {
        if x.kind == Kind::Text {
            let keys: Vec<i64> = codes(texts, context)?.into_iter().map(i64::from).collect();
            Lookup::new(&keys, Equal::Last, context)
        } else {
            Lookup::new(numbers, Equal::Last, context)
        }
    })?;
    let mut shape = x.shape.clone();
    shape.push(categories);
    let unseen = if node.flag("zeros", true)? { 0.0 } else { f32::NAN };
    Ok(Built::op(OneHot { outputs: [TensorType::new(Kind::F32, shape)], lookup, categories, unseen }))
}

/// The whole part of a float; as a processor casts it, what fits no int64 is the least of them.
#[allow(clippy::cast_possible_truncation)] // checked
fn whole(x: f64) -> i64 {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if (-BOUND..BOUND).contains(&x) { x as i64 } else { i64::MIN }
}

impl OneHot {
    fn each(&self, keys: impl Iterator<Item = i64>, out: &mut [f32]) {
        for (cells, key) in out.chunks_exact_mut(self.categories).zip(keys) {
            match self.lookup.find(key) {
                Some(place) => {
                    cells.fill(0.0);
                    if let Some(cell) = cells.get_mut(place) {
                        *cell = 1.0;
                    }
                }
                None => cells.fill(self.unseen),
            }
        }
    }
}

impl Op for OneHot {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        self.lookup.bytes()
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(Data::F32(out)) = outputs.first_mut() else { return };
        match inputs.get(0) {
            View::F32(x) => self.each(x.iter().map(|x| whole(f64::from(*x))), out),
            View::F64(x) => self.each(x.iter().copied().map(whole), out),
            View::I64(x) => self.each(x.iter().copied(), out),
            View::I32(x) => self.each(x.iter().copied().map(i64::from), out),
            View::Bool(x) => self.each(x.iter().copied().map(i64::from), out),
            View::Text(x) => self.each(x.iter().copied().map(i64::from), out),
        }
    }

    fn describe(&self) -> String {
        format!("{} categories", self.categories)
    }
}
