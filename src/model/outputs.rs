//! What a model gives for a row: named outputs of one or more numbers each, side by side.

use crate::features::Texts;
use std::sync::Arc;

/// What the numbers of an output are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// A probability each; where there are several, one a class, summing to 1.
    Probability,
    /// Log odds, one or one a class: a sigmoid or a softmax makes probabilities of them.
    Logit,
    /// Which class it is taken for. Never the score unless asked for by name.
    Label,
    Number,
}

/// One output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSpec {
    pub name: String,
    /// Numbers a row.
    pub width: usize,
    /// Names of its numbers, where the model has some: the classes of a classifier.
    pub labels: Vec<String>,
    pub means: Means,
    /// Where its numbers stand for texts.
    pub texts: Option<Arc<Texts>>,
    /// Only for who asks for it by name: what a library's model adds up before its objective's transform.
    pub aside: bool,
}

impl OutputSpec {
    #[must_use]
    pub fn new(name: impl Into<String>, width: usize, means: Means) -> Self {
        Self { name: name.into(), width, labels: Vec::new(), means, texts: None, aside: false }
    }
}

/// Numbers a row of all outputs together.
#[must_use]
pub fn width(outputs: &[OutputSpec]) -> usize {
    outputs.iter().map(|output| output.width).sum()
}

/// The outputs by name with their widths, for messages.
#[must_use]
pub fn shown(outputs: &[OutputSpec]) -> String {
    let one = |output: &OutputSpec| match output.width {
        1 => format!("{:?}", output.name),
        width => format!("{:?} ({width} numbers)", output.name),
    };
    outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}
