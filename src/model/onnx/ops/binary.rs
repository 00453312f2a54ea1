//! Two numbers to one: arithmetic, comparison, logic; Sum, Mean, Max and Min of many.
//!
//! Shapes are stretched to each other. Integers wrap; a division by zero of integers gives 0 (it must not panic).

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::walk::{Walk, broadcast, pick, zip};
use std::any::Any;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    /// The sign of the divisor, as Python's %.
    Mod,
    /// The sign of the dividend, as C's fmod.
    Fmod,
    Max,
    Min,
    /// a < 0: a * b.
    PRelu,
}

/// Add, Sub, Mul, Div, Pow, Mod, `PRelu`.
pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (a, b) = (&need(inputs, 0)?.of, &need(inputs, 1)?.of);
    let op = match node.op.as_str() {
        "Add" => Arithmetic::Add,
        "Sub" => Arithmetic::Sub,
        "Mul" => Arithmetic::Mul,
        "Div" => Arithmetic::Div,
        "Pow" => Arithmetic::Pow,
        "Mod" if node.flag("fmod", false)? => Arithmetic::Fmod,
        "Mod" => Arithmetic::Mod,
        _ => Arithmetic::PRelu,
    };
    if !a.kind.is_number() || !b.kind.is_number() || (a.kind != b.kind && op != Arithmetic::Pow) {
        return Err(OpError(format!("{} does not take {} and {}", node.op, a.kind, b.kind)));
    }
    let shape = broadcast(&[&a.shape, &b.shape])?;
    let walk = Walk::broadcast(&shape, [&a.shape, &b.shape])?;
    let in_place = a.shape == shape && a.kind == b.kind;
    Ok(Built::op(Binary { op, walk, in_place, of: [TensorType::new(a.kind, shape)] }))
}

#[derive(Debug)]
struct Binary {
    op: Arithmetic,
    walk: Walk<2>,
    in_place: bool,
    of: [TensorType; 1],
}

fn float32(op: Arithmetic) -> fn(f32, f32) -> f32 {
    match op {
        Arithmetic::Add => |a, b| a + b,
        Arithmetic::Sub => |a, b| a - b,
        Arithmetic::Mul => |a, b| a * b,
        Arithmetic::Div => |a, b| a / b,
        Arithmetic::Pow => f32::powf,
        Arithmetic::Mod => |a, b| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        },
        Arithmetic::Fmod => |a, b| a % b,
        // The first where it is NaN, and the second where that is.
        Arithmetic::Max => |a, b| if a > b || a.is_nan() { a } else { b },
        Arithmetic::Min => |a, b| if a < b || a.is_nan() { a } else { b },
        Arithmetic::PRelu => |a, b| if a < 0.0 { a * b } else { a },
    }
}

fn float64(op: Arithmetic) -> fn(f64, f64) -> f64 {
    match op {
        Arithmetic::Add => |a, b| a + b,
        Arithmetic::Sub => |a, b| a - b,
        Arithmetic::Mul => |a, b| a * b,
        Arithmetic::Div => |a, b| a / b,
        Arithmetic::Pow => f64::powf,
        Arithmetic::Mod => |a, b| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        },
        Arithmetic::Fmod => |a, b| a % b,
        Arithmetic::Max => |a, b| if a > b || a.is_nan() { a } else { b },
        Arithmetic::Min => |a, b| if a < b || a.is_nan() { a } else { b },
        Arithmetic::PRelu => |a, b| if a < 0.0 { a * b } else { a },
    }
}

macro_rules! integers {
    ($name:ident, $type:ty) => {
        fn $name(op: Arithmetic) -> fn($type, $type) -> $type {
            match op {
                Arithmetic::Add => <$type>::wrapping_add,
                Arithmetic::Sub => <$type>::wrapping_sub,
                Arithmetic::Mul => <$type>::wrapping_mul,
                Arithmetic::Div => |a, b| a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a }),
                Arithmetic::Pow => |a, b| match u32::try_from(b) {
                    Ok(b) => a.wrapping_pow(b),
                    // 1 / a^|b|: nothing is left of it but of 1 and -1.
                    Err(_) if a == 1 || (a == -1 && b % 2 == 0) => 1,
                    Err(_) if a == -1 => -1,
                    Err(_) => 0,
                },
                Arithmetic::Mod => |a, b| {
                    let rest = a.checked_rem(b).unwrap_or(0);
                    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
                },
                Arithmetic::Fmod => |a, b| a.checked_rem(b).unwrap_or(0),
                Arithmetic::Max => <$type>::max,
                Arithmetic::Min => <$type>::min,
                Arithmetic::PRelu => |a, b| if a < 0 { a.wrapping_mul(b) } else { a },
            }
        }
    };
}
integers!(int64, i64);
integers!(int32, i32);

impl Op for Binary {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn in_place(&self) -> bool {
        self.in_place
    }

    fn flow<'a>(&self, constant: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        let positive = |view: View<'_>| (0..view.len()).all(|n| view.number(n) > 0.0);
        let grows = match (self.op, constant(0), constant(1)) {
            (Arithmetic::Add, ..) | (Arithmetic::Sub, None, Some(_)) => true,
            (Arithmetic::Mul, Some(factor), None) | (Arithmetic::Mul | Arithmetic::Div, None, Some(factor)) => {
                positive(factor)
            }
            _ => false,
        };
        Flow::Each { grows }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        match (inputs.get(0), inputs.get(1), out) {
            (View::F32(a), View::F32(b), Data::F32(out)) => match self.op {
                Arithmetic::Add => zip(&self.walk, a, b, out, |a, b| a + b),
                Arithmetic::Sub => zip(&self.walk, a, b, out, |a, b| a - b),
                Arithmetic::Mul => zip(&self.walk, a, b, out, |a, b| a * b),
                Arithmetic::Div => zip(&self.walk, a, b, out, |a, b| a / b),
                other => zip(&self.walk, a, b, out, float32(other)),
            },
            (View::F64(a), View::F64(b), Data::F64(out)) => zip(&self.walk, a, b, out, float64(self.op)),
            (View::I64(a), View::I64(b), Data::I64(out)) => zip(&self.walk, a, b, out, int64(self.op)),
            (View::I32(a), View::I32(b), Data::I32(out)) => zip(&self.walk, a, b, out, int32(self.op)),
            (a, b, out) => power(&self.walk, a, b, out),
        }
    }

    fn run_in_place(&self, inputs: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        match (data, inputs.get(1)) {
            (Data::F32(a), View::F32(b)) => match self.op {
                Arithmetic::Add => onto(&self.walk, a, b, |a, b| a + b),
                Arithmetic::Sub => onto(&self.walk, a, b, |a, b| a - b),
                Arithmetic::Mul => onto(&self.walk, a, b, |a, b| a * b),
                Arithmetic::Div => onto(&self.walk, a, b, |a, b| a / b),
                other => onto(&self.walk, a, b, float32(other)),
            },
            (Data::F64(a), View::F64(b)) => onto(&self.walk, a, b, float64(self.op)),
            (Data::I64(a), View::I64(b)) => onto(&self.walk, a, b, int64(self.op)),
            (Data::I32(a), View::I32(b)) => onto(&self.walk, a, b, int32(self.op)),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("{:?}", self.op)
    }
}

/// `a[i] = f(a[i], b[i])` where a has the output's shape and b is stretched.
#[inline]
fn onto<T: Copy + Default>(walk: &Walk<2>, a: &mut [T], b: &[T], f: impl Fn(T, T) -> T) {
    let [_, step] = walk.inner();
    walk.each(|to, [_, at], len| {
        let Some(row) = a.get_mut(to..to + len) else { return };
        let other = usize::try_from(at).ok().and_then(|at| b.get(at..)?.get(..len));
        match other {
            Some(b) if step == 1 => row.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, *b)),
            _ => row.iter_mut().enumerate().for_each(|(n, a)| *a = f(*a, pick(b, at, step, n))),
        }
    });
}

/// Pow where base and exponent are of different kinds: in f64, cut to the base's.
#[allow(clippy::cast_possible_truncation)] // said above
fn power(walk: &Walk<2>, a: View<'_>, b: View<'_>, out: &mut Data) {
    let [sa, sb] = walk.inner();
    walk.each(|to, [at_a, at_b], len| {
        for n in 0..len {
            let at = |at: isize, step: isize| usize::try_from(at + step * n.cast_signed()).unwrap_or(usize::MAX);
            let value = a.number(at(at_a, sa)).powf(b.number(at(at_b, sb)));
            match out {
                Data::F32(out) => out[to + n] = value as f32,
                Data::F64(out) => out[to + n] = value,
                Data::I64(out) => out[to + n] = value as i64,
                Data::I32(out) => out[to + n] = value as i32,
                Data::Bool(_) | Data::Text(_) => {}
            }
        }
    });
}

#[derive(Clone, Copy, Debug)]
enum Compare {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    And,
    Or,
    Xor,
}

/// Comparisons and logic: to truth values.
pub fn build_compare(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (a, b) = (need(inputs, 0)?, need(inputs, 1)?);
    let op = match node.op.as_str() {
        "Equal" => Compare::Equal,
        "Greater" => Compare::Greater,
        "GreaterOrEqual" => Compare::GreaterOrEqual,
        "Less" => Compare::Less,
        "LessOrEqual" => Compare::LessOrEqual,
        "And" => Compare::And,
        "Or" => Compare::Or,
        _ => Compare::Xor,
    };
    let kind = a.of.kind;
    let takes = match op {
        Compare::And | Compare::Or | Compare::Xor => kind == Kind::Bool,
        Compare::Equal => true,
        _ => kind.is_number(),
    };
    if kind != b.of.kind || !takes {
        return Err(OpError(format!("{} does not take {} and {}", node.op, kind, b.of.kind)));
    }
    // Two texts that no constant equals have one code.
    if kind == Kind::Text && a.constant.is_none() && b.constant.is_none() {
        return Err("two texts of a row cannot be compared, only one with a constant".into());
    }
    let shape = broadcast(&[&a.of.shape, &b.of.shape])?;
    let walk = Walk::broadcast(&shape, [&a.of.shape, &b.of.shape])?;
    Ok(Built::op(Comparison { op, walk, of: [TensorType::new(Kind::Bool, shape)] }))
}

#[derive(Debug)]
struct Comparison {
    op: Compare,
    walk: Walk<2>,
    of: [TensorType; 1],
}

fn compare<T: PartialOrd>(op: Compare) -> fn(T, T) -> u8 {
    match op {
        Compare::Equal => |a, b| u8::from(a == b),
        Compare::Greater => |a, b| u8::from(a > b),
        Compare::GreaterOrEqual => |a, b| u8::from(a >= b),
        Compare::Less => |a, b| u8::from(a < b),
        Compare::LessOrEqual => |a, b| u8::from(a <= b),
        Compare::And | Compare::Or | Compare::Xor => |_, _| 0,
    }
}

impl Op for Comparison {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut().map(Data::bool_mut) else { return };
        match (inputs.get(0), inputs.get(1)) {
            (View::F32(a), View::F32(b)) => zip(&self.walk, a, b, out, compare(self.op)),
            (View::F64(a), View::F64(b)) => zip(&self.walk, a, b, out, compare(self.op)),
            (View::I64(a), View::I64(b)) => zip(&self.walk, a, b, out, compare(self.op)),
            (View::I32(a), View::I32(b)) => zip(&self.walk, a, b, out, compare(self.op)),
            (View::Text(a), View::Text(b)) => zip(&self.walk, a, b, out, compare(self.op)),
            (View::Bool(a), View::Bool(b)) => {
                let f: fn(u8, u8) -> u8 = match self.op {
                    Compare::And => |a, b| a & b,
                    Compare::Or => |a, b| a | b,
                    Compare::Xor => |a, b| a ^ b,
                    other => compare(other),
                };
                zip(&self.walk, a, b, out, f);
            }
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("{:?}", self.op)
    }
}

/// Sum, Mean, Max, Min of any number of inputs.
pub fn build_many(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let first = &need(inputs, 0)?.of;
    let facts = inputs.iter().flatten().map(|fact| &fact.of).collect::<Vec<_>>();
    if facts.len() != inputs.len() || facts.iter().any(|of| of.kind != first.kind) || !first.kind.is_number() {
        return Err(OpError(format!("{} takes numbers of one kind", node.op)));
    }
    let op = match node.op.as_str() {
        "Max" => Arithmetic::Max,
        "Min" => Arithmetic::Min,
        _ => Arithmetic::Add,
    };
    let mean = node.op == "Mean";
    if mean && !first.kind.is_float() {
        return Err(OpError(format!("Mean does not take {}", first.kind)));
    }
    let shapes: Vec<&[usize]> = facts.iter().map(|of| of.shape.as_slice()).collect();
    let shape = broadcast(&shapes)?;
    let walks = shapes.iter().map(|of| Walk::broadcast(&shape, [&shape, of])).collect::<Result<Vec<_>, _>>()?;
    Ok(Built::op(Many { op, mean, walks, of: [TensorType::new(first.kind, shape)] }))
}

#[derive(Debug)]
struct Many {
    op: Arithmetic,
    mean: bool,
    walks: Vec<Walk<2>>,
    of: [TensorType; 1],
}

impl Op for Many {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn work(&self) -> u64 {
        (self.walks.len() as u64).saturating_mul(self.of[0].len() as u64)
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // a count of inputs
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        for (n, walk) in self.walks.iter().enumerate() {
            match (&mut *out, inputs.get(n), n) {
                (Data::F32(out), View::F32(b), 0) => onto(walk, out, b, |_, b| b),
                (Data::F64(out), View::F64(b), 0) => onto(walk, out, b, |_, b| b),
                (Data::I64(out), View::I64(b), 0) => onto(walk, out, b, |_, b| b),
                (Data::I32(out), View::I32(b), 0) => onto(walk, out, b, |_, b| b),
                (Data::F32(out), View::F32(b), _) => onto(walk, out, b, float32(self.op)),
                (Data::F64(out), View::F64(b), _) => onto(walk, out, b, float64(self.op)),
                (Data::I64(out), View::I64(b), _) => onto(walk, out, b, int64(self.op)),
                (Data::I32(out), View::I32(b), _) => onto(walk, out, b, int32(self.op)),
                _ => {}
            }
        }
        let count = self.walks.len() as f64;
        match out {
            Data::F32(out) if self.mean => out.iter_mut().for_each(|x| *x /= count as f32),
            Data::F64(out) if self.mean => out.iter_mut().for_each(|x| *x /= count),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        if self.mean { "Mean".to_owned() } else { format!("{:?} of {}", self.op, self.walks.len()) }
    }
}
