//! Einsum of one or two inputs: a letter a dimension, letters that are not in the output are summed over.
//!
//! An ellipsis stands for the dimensions that have no letter, the same in every input that has one.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, TensorType, View, count};
use super::walk::{Walk, pick, strides};
use std::any::Any;
use std::collections::BTreeMap;

/// A letter, or a dimension of the ellipsis by its number.
type Index = u32;
const ELLIPSIS: Index = 1 << 24;

pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let equation: String = node.text("equation")?.ok_or("expected an equation")?.split_whitespace().collect();
    let fail = || OpError(format!("equation '{equation}' is not supported for these inputs"));
    if equation.len() > 128 || !(1..=2).contains(&inputs.len()) {
        return Err(fail());
    }
    let (terms, output) = match equation.split_once("->") {
        Some((terms, output)) => (terms, Some(output)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = terms.split(',').collect();
    if terms.len() != inputs.len() {
        return Err(fail());
    }
    let kind = need(inputs, 0)?.of.kind;
    if !kind.is_number() {
        return Err(fail());
    }
    let mut sizes: BTreeMap<Index, usize> = BTreeMap::new();
    let mut steps: Vec<BTreeMap<Index, isize>> = Vec::new();
    let mut seen: BTreeMap<Index, usize> = BTreeMap::new();
    for (n, term) in terms.iter().enumerate() {
        let of = &need(inputs, n)?.of;
        let indices = letters(term, of.rank()).ok_or_else(fail)?;
        if of.kind != kind || indices.len() != of.rank() {
            return Err(fail());
        }
        let mut own: BTreeMap<Index, isize> = BTreeMap::new();
        for ((index, dim), stride) in indices.iter().zip(&of.shape).zip(strides(&of.shape)) {
            if *sizes.entry(*index).or_insert(*dim) != *dim {
                return Err(fail());
            }
            *seen.entry(*index).or_insert(0) += 1;
            *own.entry(*index).or_insert(0) += stride;
        }
        steps.push(own);
    }
    let dots = sizes.keys().filter(|index| **index >= ELLIPSIS).count();
    let out = if let Some(output) = output {
        letters(output, output.chars().filter(|c| *c != '.').count() + dots).ok_or_else(fail)?
    } else {
        // The ellipsis, then letters that are there once, by the alphabet.
        let ellipsis = sizes.keys().filter(|index| **index >= ELLIPSIS);
        let once = seen.iter().filter(|(index, times)| **index < ELLIPSIS && **times == 1).map(|(index, _)| index);
        ellipsis.chain(once).copied().collect()
    };
    if out.iter().enumerate().any(|(n, index)| out.get(n + 1..).is_some_and(|rest| rest.contains(index))) {
        return Err(fail());
    }
    let summed: Vec<Index> = sizes.keys().filter(|index| !out.contains(index)).copied().collect();
    let dims = |list: &[Index]| list.iter().map(|index| sizes.get(index).copied()).collect::<Option<Vec<usize>>>();
    let (shape, inner) = (dims(&out).ok_or_else(fail)?, dims(&summed).ok_or_else(fail)?);
    let walk = |shape: &[usize], list: &[Index]| {
        let along = |n: usize| {
            let own = steps.get(n);
            list.iter().map(|index| own.and_then(|own| own.get(index)).copied().unwrap_or(0)).collect::<Vec<_>>()
        };
        Walk::new(shape, &[along(0), along(1)], [0, 0])
    };
    let work = count(&shape).zip(count(&inner)).and_then(|(a, b)| a.checked_mul(b)).ok_or_else(fail)?;
    let two = inputs.len() == 2;
    Ok(Built::op(Einsum {
        outer: walk(&shape, &out)?,
        inner: walk(&inner, &summed)?,
        two,
        work: work as u64,
        of: [TensorType::new(kind, shape)],
    }))
}

/// A term's letters for a tensor of so many dimensions.
fn letters(term: &str, rank: usize) -> Option<Vec<Index>> {
    let named = term.chars().filter(|c| *c != '.').count();
    let mut found = Vec::new();
    let mut rest = term;
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("...") {
            let dots = rank.checked_sub(named)?;
            found.extend((0..u32::try_from(dots).ok()?).map(|n| ELLIPSIS + n));
            rest = behind;
        } else if c.is_ascii_alphabetic() {
            found.push(Index::from(c));
            rest = rest.get(1..)?;
        } else {
            return None;
        }
    }
    (found.len() == rank || !term.contains("...")).then_some(found)
}

#[derive(Debug)]
struct Einsum {
    outer: Walk<2>,
    inner: Walk<2>,
    two: bool,
    work: u64,
    of: [TensorType; 1],
}

macro_rules! sums {
    ($self:expr, $a:expr, $b:expr, $out:expr, $one:expr, $add:expr) => {{
        let [step_a, step_b] = $self.outer.inner();
        let [by_a, by_b] = $self.inner.inner();
        $self.outer.each(|to, [at_a, at_b], len| {
            for n in 0..len {
                let (from_a, from_b) = (at_a + step_a * n.cast_signed(), at_b + step_b * n.cast_signed());
                let mut sum = Default::default();
                $self.inner.each(|_, [in_a, in_b], len| {
                    for k in 0..len {
                        let a = pick($a, from_a + in_a, by_a, k);
                        let b = if $self.two { pick($b, from_b + in_b, by_b, k) } else { $one };
                        sum = $add(sum, a, b);
                    }
                });
                if let Some(out) = $out.get_mut(to + n) {
                    *out = sum;
                }
            }
        });
    }};
}

impl Op for Einsum {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn work(&self) -> u64 {
        self.work
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let (Some(out), a, b) = (outputs.first_mut(), inputs.get(0), inputs.get(1)) else { return };
        match (a, out) {
            (View::F32(a), Data::F32(out)) => sums!(self, a, b.f32(), out, 1.0, |s: f32, a: f32, b: f32| s + a * b),
            (View::F64(a), Data::F64(out)) => sums!(self, a, b.f64(), out, 1.0, |s: f64, a: f64, b: f64| s + a * b),
            (View::I64(a), Data::I64(out)) => {
                sums!(self, a, b.i64(), out, 1, |s: i64, a: i64, b| s.wrapping_add(a.wrapping_mul(b)));
            }
            (View::I32(a), Data::I32(out)) => {
                sums!(self, a, b.i32(), out, 1, |s: i32, a: i32, b| s.wrapping_add(a.wrapping_mul(b)));
            }
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "Einsum".to_owned()
    }
}
