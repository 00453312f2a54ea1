//! `[network]`: the layers of a dense network, as the manifest names them.

mod dense;
mod output;
mod plan;
mod reference;
pub(super) mod weights;

pub use dense::{Dense, Op, fold};
pub use output::Output;
pub use plan::{Plan, Scratch, bytes_of};
pub use reference::Reference;

use crate::features::{Problems, Reader, found};
use toml::Value;

/// Most layers of a network.
pub const LAYERS_MAX: usize = 64;
/// Longest name of a tensor.
const NAME_BYTES_MAX: usize = 256;
const EPS_DEFAULT: f64 = 1e-5;
const SLOPE_DEFAULT: f64 = 0.01;

/// A network without its weights.
#[derive(Clone, Debug)]
pub struct Network {
    pub output: Output,
    pub layers: Vec<Layer>,
}

/// One layer. Names are prefixes of tensors, as a `PyTorch` `state_dict` has them.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// `NAME.weight` `[out, in]` and, if `bias`, `NAME.bias` `[out]`.
    Linear {
        name: String,
        bias: bool,
    },
    /// `NAME.weight`, `.bias`, `.running_mean`, `.running_var`, each `[n]`.
    BatchNorm {
        name: String,
        eps: f64,
    },
    Activation(Activation),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    Relu,
    LeakyRelu {
        slope: f32,
    },
    Tanh,
    Sigmoid,
    /// With the error function.
    Gelu,
    /// The tanh approximation.
    GeluTanh,
    Silu,
    /// Over the whole row.
    Softmax,
}

impl Activation {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::LeakyRelu { .. } => "leaky-relu",
            Self::Tanh => "tanh",
            Self::Sigmoid => "sigmoid",
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu-tanh",
            Self::Silu => "silu",
            Self::Softmax => "softmax",
        }
    }
}

impl Network {
    pub(super) fn read(mut reader: Reader<'_>, problems: &mut Problems) -> Self {
        const OUTPUTS: &str = "expected \"logit\", \"probability\" or \"raw\"";
        let output = match reader.required_text("output", problems) {
            Some("logit") | None => Output::Logit,
            Some("probability") => Output::Probability,
            Some("raw") => Output::Raw,
            Some(other) => {
                problems.add(reader.key("output"), format!("{OUTPUTS}, found {other:?}"));
                Output::Logit
            }
        };
        let at = reader.key("layers");
        let list = reader.array("layers", problems).unwrap_or_default();
        if list.is_empty() || list.len() > LAYERS_MAX {
            problems.add(at.clone(), format!("expected 1 to {LAYERS_MAX} layers, found {}", list.len()));
        }
        let mut layers = Vec::new();
        for (n, value) in list.iter().take(LAYERS_MAX).enumerate() {
            let at = format!("{at}[{n}]");
            match value {
                Value::Table(table) => layers.extend(read_layer(Reader::new(table, at), problems)),
                other => problems.add(at, format!("expected a table, found {}", found(other))),
            }
        }
        if !layers.iter().any(|layer| matches!(layer, Layer::Linear { .. })) && !list.is_empty() {
            problems.add(at, "expected at least one linear layer");
        }
        reader.finish(problems);
        Self { output, layers }
    }
}

fn read_layer(mut reader: Reader<'_>, problems: &mut Problems) -> Option<Layer> {
    let kinds: Vec<&str> = reader
        .rest()
        .map(|(key, _)| key)
        .filter(|key| matches!(*key, "linear" | "batch-norm" | "activation"))
        .collect();
    let layer = match kinds.as_slice() {
        ["linear"] => {
            let name = read_name(&mut reader, "linear", problems);
            let bias = reader.boolean("bias", problems).unwrap_or(true);
            name.map(|name| Layer::Linear { name, bias })
        }
        ["batch-norm"] => {
            let name = read_name(&mut reader, "batch-norm", problems);
            let eps = reader.number("eps", problems).unwrap_or(EPS_DEFAULT);
            if eps < 0.0 {
                problems.add(reader.key("eps"), format!("expected a number from 0, found {eps}"));
            }
            name.map(|name| Layer::BatchNorm { name, eps })
        }
        ["activation"] => read_activation(&mut reader, problems).map(Layer::Activation),
        _ => {
            problems.add(reader.key(""), "expected exactly one of linear, batch-norm, activation");
            return None;
        }
    };
    reader.finish(problems);
    layer
}

fn read_name(reader: &mut Reader<'_>, key: &'static str, problems: &mut Problems) -> Option<String> {
    let name = reader.text(key, problems)?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        problems.add(reader.key(key), format!("expected a name of 1 to {NAME_BYTES_MAX} bytes"));
    }
    Some(name.to_owned())
}

fn read_activation(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Activation> {
    Some(match reader.text("activation", problems)? {
        "relu" => Activation::Relu,
        "leaky-relu" => {
            // The kernels and Candle both work in f32.
            #[allow(clippy::cast_possible_truncation)]
            let slope = reader.number("slope", problems).unwrap_or(SLOPE_DEFAULT) as f32;
            Activation::LeakyRelu { slope }
        }
        "tanh" => Activation::Tanh,
        "sigmoid" => Activation::Sigmoid,
        "gelu" => Activation::Gelu,
        "gelu-tanh" => Activation::GeluTanh,
        "silu" => Activation::Silu,
        "softmax" => Activation::Softmax,
        other => {
            let what =
                format!("expected relu, leaky-relu, tanh, sigmoid, gelu, gelu-tanh, silu or softmax, found {other:?}");
            problems.add(reader.key("activation"), what);
            return None;
        }
    })
}
