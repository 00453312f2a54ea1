//! The classes of a classifier: whole numbers, or texts by code.

use super::super::op::{Context, Node, OpError};
use super::super::tensor::{Data, Kind};

#[derive(Clone, Debug)]
pub(super) enum Labels {
    Numbers(Vec<i64>),
    Texts(Vec<u32>),
}

impl Labels {
    /// Of the two attributes, exactly one of which is given and not empty.
    pub(super) fn of(node: &Node, numbers: &str, texts: &str, context: &mut Context) -> Result<Self, OpError> {
        let found = (node.ints(numbers)?.unwrap_or_default(), node.texts(texts)?.unwrap_or_default());
        match found {
            ([], []) => Err(OpError(format!("expected class labels in {numbers} or {texts}, found none"))),
            ([], texts) => {
                Ok(Self::Texts(texts.iter().map(|t| context.dictionary.intern(t)).collect::<Result<_, _>>()?))
            }
            (numbers, []) => Ok(Self::Numbers(numbers.to_vec())),
            _ => Err(OpError(format!("expected class labels in {numbers} or {texts}, found both"))),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(labels) => labels.len(),
            Self::Texts(labels) => labels.len(),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Numbers(_) => Kind::I64,
            Self::Texts(_) => Kind::Text,
        }
    }

    /// As names of columns.
    pub(super) fn names(&self, context: &Context) -> Vec<String> {
        match self {
            Self::Numbers(labels) => labels.iter().map(ToString::to_string).collect(),
            Self::Texts(labels) => {
                labels.iter().map(|code| context.dictionary.text(*code).unwrap_or_default().to_owned()).collect()
            }
        }
    }

    /// Writes the label of `class` as `row`'s.
    pub(super) fn write(&self, class: usize, row: usize, out: &mut Data) {
        match (self, out) {
            (Self::Numbers(labels), Data::I64(out)) => put(out, row, labels.get(class)),
            (Self::Texts(labels), Data::Text(out)) => put(out, row, labels.get(class)),
            _ => {}
        }
    }
}

fn put<T: Copy>(out: &mut [T], row: usize, label: Option<&T>) {
    if let (Some(out), Some(label)) = (out.get_mut(row), label) {
        *out = *label;
    }
}

/// The first of the greatest; 0 of none, NaN never.
pub(super) fn argmax(scores: &[f32]) -> usize {
    let mut best = 0;
    for (at, score) in scores.iter().enumerate() {
        if scores.get(best).is_some_and(|best| score > best) {
            best = at;
        }
    }
    best
}
