//! `OneHot`: an index becomes a row of one number with another at its place.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, TensorType, View};
use super::args;
use std::any::Any;

pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (indices, values) = (&need(inputs, 0)?.of, &need(inputs, 2)?.of);
    let depth = args::constant(inputs, 1, "the depth")?.ok_or("expected a depth")?;
    if depth.data.len() != 1 || values.len() != 2 || !indices.kind.is_number() {
        return Err("expected indices, one depth and two values".into());
    }
    let depth = depth.view().number(0);
    if !(1.0..=1e9).contains(&depth) {
        return Err(OpError(format!("a depth of {depth}")));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked above
    let depth = depth as usize;
    let axis = args::axis(node.int("axis")?.unwrap_or(-1), indices.rank() + 1)?;
    let mut shape = indices.shape.clone();
    shape.insert(axis, depth);
    let behind = indices.shape[axis..].iter().product();
    Ok(Built::op(OneHot { depth, behind, of: [TensorType::new(values.kind, shape)] }))
}

#[derive(Debug)]
struct OneHot {
    depth: usize,
    /// Indices that stand behind the axis.
    behind: usize,
    of: [TensorType; 1],
}

impl OneHot {
    /// An index out of range is at no place; one that is no whole number is cut.
    #[allow(clippy::cast_possible_truncation)] // said above
    fn each<T: Copy>(&self, indices: View<'_>, values: &[T], out: &mut [T]) {
        let [off, on] = values[..] else { return };
        out.fill(off);
        let depth = self.depth.cast_signed() as i64;
        for n in 0..indices.len() {
            let index = match indices {
                View::I64(v) => v.get(n).copied().unwrap_or(depth),
                other => other.number(n) as i64,
            };
            let index = if index < 0 { index.saturating_add(depth) } else { index };
            let Some(index) = usize::try_from(index).ok().filter(|index| *index < self.depth) else { continue };
            let (front, back) = (n / self.behind.max(1), n % self.behind.max(1));
            if let Some(place) = out.get_mut((front * self.depth + index) * self.behind + back) {
                *place = on;
            }
        }
    }
}

impl Op for OneHot {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let (Some(out), indices) = (outputs.first_mut(), inputs.get(0)) else { return };
        match (inputs.get(2), out) {
            (View::F32(v), Data::F32(out)) => self.each(indices, v, out),
            (View::F64(v), Data::F64(out)) => self.each(indices, v, out),
            (View::I64(v), Data::I64(out)) => self.each(indices, v, out),
            (View::I32(v), Data::I32(out)) => self.each(indices, v, out),
            (View::Bool(v), Data::Bool(out)) => self.each(indices, v, out),
            (View::Text(v), Data::Text(out)) => self.each(indices, v, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("OneHot of {}", self.depth)
    }
}
