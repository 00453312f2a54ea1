//! `ZipMap`: the scores of the classes under their names. Here the scores stay a tensor and the names are told.

use super::super::op::{Built, Context, Fact, Node, OpError, need};
use super::labels::Labels;

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let scores = need(inputs, 0)?;
    let labels = Labels::of(node, "classlabels_int64s", "classlabels_strings", context)?;
    let width = scores.of.shape.last().copied().unwrap_or_default();
    if width != labels.len() {
        return Err(OpError(format!("expected {} scores a row, one a class, found {}", labels.len(), scores.of)));
    }
    let names = labels.names(context);
    context.label(0, names);
    Ok(Built::Alias(0, scores.of.clone()))
}
