//! One number to one number: arithmetic, functions, activations.
//!
//! Floats are reckoned in their own precision. NaN stays NaN in each (`Relu` of NaN is NaN).

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use std::any::Any;

/// What std lacks.
trait Erf {
    fn error_function(self) -> Self;
}

impl Erf for f32 {
    fn error_function(self) -> Self {
        libm::erff(self)
    }
}

impl Erf for f64 {
    fn error_function(self) -> Self {
        libm::erf(self)
    }
}

macro_rules! functions {
    ($($name:ident($x:ident, $a:ident, $b:ident) = $body:expr;)*) => {
        // The f64 constants are cut once; not all functions take both parameters.
        #[allow(unused_variables, clippy::cast_possible_truncation, trivial_numeric_casts, clippy::unnecessary_cast)]
        mod single {
            use super::Erf as _;
            type Number = f32;
            // Not clamp: a NaN stays, and limits in the wrong order do not panic.
            fn between(x: Number, low: Number, high: Number) -> Number {
                if x < low { low } else if x > high { high } else { x }
            }
            /// ln(1 + e^x) without an overflow.
            fn softplus_of(x: Number) -> Number {
                if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
            }
            $(pub fn $name(v: &mut [f32], $a: f32, $b: f32) {
                for place in v {
                    let $x = *place;
                    *place = $body;
                }
            })*
        }
        // The f64 constants are cut once; not all functions take both parameters.
        #[allow(unused_variables, clippy::cast_possible_truncation, trivial_numeric_casts, clippy::unnecessary_cast)]
        mod double {
            use super::Erf as _;
            type Number = f64;
            // Not clamp: a NaN stays, and limits in the wrong order do not panic.
            fn between(x: Number, low: Number, high: Number) -> Number {
                if x < low { low } else if x > high { high } else { x }
            }
            /// ln(1 + e^x) without an overflow.
            fn softplus_of(x: Number) -> Number {
                if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
            }
            $(pub fn $name(v: &mut [f64], $a: f64, $b: f64) {
                for place in v {
                    let $x = *place;
                    *place = $body;
                }
            })*
        }
        fn by_name(name: &str) -> Option<(Single, Double)> {
            match name {
                $(stringify!($name) => Some((single::$name, double::$name)),)*
                _ => None,
            }
        }
    };
}

type Single = fn(&mut [f32], f32, f32);
type Double = fn(&mut [f64], f64, f64);

functions! {
    neg(x, a, b) = -x;
    abs(x, a, b) = x.abs();
    sqrt(x, a, b) = x.sqrt();
    exp(x, a, b) = x.exp();
    log(x, a, b) = x.ln();
    floor(x, a, b) = x.floor();
    ceil(x, a, b) = x.ceil();
    round(x, a, b) = x.round_ties_even();
    sign(x, a, b) = if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x };
    reciprocal(x, a, b) = 1.0 / x;
    erf(x, a, b) = x.error_function();
    sin(x, a, b) = x.sin();
    cos(x, a, b) = x.cos();
    tan(x, a, b) = x.tan();
    asin(x, a, b) = x.asin();
    acos(x, a, b) = x.acos();
    atan(x, a, b) = x.atan();
    sinh(x, a, b) = x.sinh();
    cosh(x, a, b) = x.cosh();
    asinh(x, a, b) = x.asinh();
    acosh(x, a, b) = x.acosh();
    atanh(x, a, b) = x.atanh();
    relu(x, a, b) = if x < 0.0 { 0.0 } else { x };
    leakyrelu(x, a, b) = if x < 0.0 { a * x } else { x };
    elu(x, a, b) = if x < 0.0 { a * (x.exp() - 1.0) } else { x };
    selu(x, a, b) = if x > 0.0 { b * x } else { b * (a * x.exp() - a) };
    celu(x, a, b) = if x > 0.0 { x } else { a * ((x / a).exp() - 1.0) };
    gelu(x, a, b) = 0.5 * x * (1.0 + (x * std::f64::consts::FRAC_1_SQRT_2 as Number).error_function());
    gelutanh(x, a, b) = {
        let inner = (2.0 / std::f64::consts::PI).sqrt() as Number * (x + 0.044_715 * x * x * x);
        0.5 * x * (1.0 + inner.tanh())
    };
    hardsigmoid(x, a, b) = between(a * x + b, 0.0, 1.0);
    hardswish(x, a, b) = x * between(x / 6.0 + 0.5, 0.0, 1.0);
    sigmoid(x, a, b) = 1.0 / (1.0 + (-x).exp());
    tanh(x, a, b) = x.tanh();
    softplus(x, a, b) = softplus_of(x);
    softsign(x, a, b) = x / (1.0 + x.abs());
    mish(x, a, b) = x * softplus_of(x).tanh();
    swish(x, a, b) = x / (1.0 + (-a * x).exp());
    thresholdedrelu(x, a, b) = if x > a || x.is_nan() { x } else { 0.0 };
    shrink(x, a, b) = if x < -a { x + b } else if x > a { x - b } else if x.is_nan() { x } else { 0.0 };
}

/// A function with its parameters.
#[derive(Clone, Debug)]
pub struct Unary {
    single: Single,
    double: Double,
    a: f32,
    b: f32,
}

impl Unary {
    /// To each number, in place.
    pub fn apply_f32(&self, v: &mut [f32]) {
        (self.single)(v, self.a, self.b);
    }
}

/// The node's function with its parameters, `alpha` and `beta` as each calls them.
fn function(node: &Node) -> Result<Option<Unary>, OpError> {
    let name = match node.op.as_str() {
        "Gelu" if node.text("approximate")? == Some("tanh") => "gelutanh".to_owned(),
        other => other.to_ascii_lowercase(),
    };
    let (a, b) = match node.op.as_str() {
        "LeakyRelu" => ("alpha", "").with(node, 0.01, 0.0)?,
        "Elu" | "Celu" | "ThresholdedRelu" | "Swish" => ("alpha", "").with(node, 1.0, 0.0)?,
        "Selu" => ("alpha", "gamma").with(node, 1.673_263_2, 1.050_701)?,
        "HardSigmoid" => ("alpha", "beta").with(node, 0.2, 0.5)?,
        "Shrink" => ("lambd", "bias").with(node, 0.5, 0.0)?,
        _ => (0.0, 0.0),
    };
    Ok(by_name(&name).filter(|_| is_unary(&node.op)).map(|(single, double)| Unary { single, double, a, b }))
}

trait Parameters {
    fn with(self, node: &Node, a: f32, b: f32) -> Result<(f32, f32), OpError>;
}

impl Parameters for (&str, &str) {
    fn with(self, node: &Node, a: f32, b: f32) -> Result<(f32, f32), OpError> {
        Ok((node.float(self.0)?.unwrap_or(a), node.float(self.1)?.unwrap_or(b)))
    }
}

/// Whether this is an operator of this file: its name as ONNX writes it, not `gelutanh`.
#[must_use]
pub fn is_unary(op: &str) -> bool {
    const NAMES: [&str; 38] = [
        "Neg",
        "Abs",
        "Sqrt",
        "Exp",
        "Log",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Reciprocal",
        "Erf",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Relu",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Celu",
        "Gelu",
        "HardSigmoid",
        "HardSwish",
        "Sigmoid",
        "Tanh",
        "Softplus",
        "Softsign",
        "Mish",
        "Swish",
        "ThresholdedRelu",
        "Shrink",
    ];
    NAMES.contains(&op)
}

/// The function of a node that a dense layer may take in.
#[must_use]
pub fn activation(node: &Node) -> Option<Unary> {
    function(node).ok().flatten()
}

/// Neg, Abs, Sign and Relu of integers; everything of floats.
pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    if matches!(of.kind, Kind::I64 | Kind::I32) {
        return whole(node, of);
    }
    let function = function(node)?.filter(|_| of.kind.is_float());
    let function = function.ok_or_else(|| OpError(format!("{} does not take {}", node.op, of.kind)))?;
    Ok(Built::op(Float { function, name: node.op.clone(), of: [of] }))
}

#[derive(Debug)]
struct Float {
    function: Unary,
    name: String,
    of: [TensorType; 1],
}

impl Op for Float {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn in_place(&self) -> bool {
        true
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: ["Exp", "Sigmoid", "Log", "Sqrt", "Tanh"].contains(&self.name.as_str()) }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        copy(inputs.get(0), out);
        self.run_in_place(inputs, out, scratch);
    }

    fn run_in_place(&self, _: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        let Unary { single, double, a, b } = self.function;
        match data {
            Data::F32(v) => single(v, a, b),
            Data::F64(v) => double(v, a.into(), b.into()),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        self.name.clone()
    }
}

/// Copies numbers of one kind and length.
pub fn copy(from: View<'_>, to: &mut Data) {
    fn each<T: Copy>(from: &[T], to: &mut [T]) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
    match (from, to) {
        (View::F32(a), Data::F32(b)) => each(a, b),
        (View::F64(a), Data::F64(b)) => each(a, b),
        (View::I64(a), Data::I64(b)) => each(a, b),
        (View::I32(a), Data::I32(b)) => each(a, b),
        (View::Bool(a), Data::Bool(b)) => each(a, b),
        (View::Text(a), Data::Text(b)) => each(a, b),
        _ => {}
    }
}

fn whole(node: &Node, of: TensorType) -> Result<Built, OpError> {
    let function: fn(i64) -> i64 = match node.op.as_str() {
        "Neg" => i64::wrapping_neg,
        "Abs" => i64::wrapping_abs,
        "Sign" => i64::signum,
        "Relu" => |x| x.max(0),
        other => return Err(OpError(format!("{other} does not take {}", of.kind))),
    };
    Ok(Built::op(Whole { function, of: [of] }))
}

#[derive(Debug)]
struct Whole {
    function: fn(i64) -> i64,
    of: [TensorType; 1],
}

impl Op for Whole {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    #[allow(clippy::cast_possible_truncation)] // wraps, as the i32 would
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        match (inputs.get(0), outputs.first_mut()) {
            (View::I64(x), Some(Data::I64(y))) => y.iter_mut().zip(x).for_each(|(y, x)| *y = (self.function)(*x)),
            (View::I32(x), Some(Data::I32(y))) => {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = (self.function)(i64::from(*x)) as i32);
            }
            _ => {}
        }
    }
}

/// Not, `IsNaN`, `IsInf`: to a truth value.
pub fn build_test(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let input = &need(inputs, 0)?.of;
    let fits = if node.op == "Not" { input.kind == Kind::Bool } else { input.kind.is_float() };
    if !fits {
        return Err(OpError(format!("{} does not take {}", node.op, input.kind)));
    }
    let (positive, negative) = (node.flag("detect_positive", true)?, node.flag("detect_negative", true)?);
    let test = match node.op.as_str() {
        "IsNaN" => Test::Nan,
        "IsInf" => Test::Infinite { positive, negative },
        _ => Test::Not,
    };
    Ok(Built::op(Tested { test, of: [TensorType::new(Kind::Bool, input.shape.clone())] }))
}

#[derive(Clone, Copy, Debug)]
enum Test {
    Not,
    Nan,
    Infinite { positive: bool, negative: bool },
}

#[derive(Debug)]
struct Tested {
    test: Test,
    of: [TensorType; 1],
}

impl Op for Tested {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        let input = inputs.get(0);
        for (n, out) in out.bool_mut().iter_mut().enumerate() {
            let x = input.number(n);
            *out = u8::from(match self.test {
                Test::Not => x == 0.0,
                Test::Nan => x.is_nan(),
                Test::Infinite { positive, negative } => {
                    (positive && x == f64::INFINITY) || (negative && x == f64::NEG_INFINITY)
                }
            });
        }
    }
}
