//! The lists of numbers that versions 1 and 3 describe trees with.

use super::super::super::op::{Node, OpError};
use super::super::super::tensor::Data;

/// Floats, or doubles where the attribute's twin `…_as_tensor` is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Numbers<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    pub(super) fn get(self, at: usize) -> Option<f64> {
        match self {
            Self::F32(v) => v.get(at).copied().map(f64::from),
            Self::F64(v) => v.get(at).copied(),
        }
    }

    pub(super) fn all(self) -> Vec<f64> {
        (0..self.len()).filter_map(|at| self.get(at)).collect()
    }
}

/// One number a node, and one an entry of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed<'a> {
    pub trees: &'a [i64],
    pub nodes: &'a [i64],
    pub features: &'a [i64],
    pub modes: &'a [String],
    pub values: Numbers<'a>,
    pub yes: &'a [i64],
    pub no: &'a [i64],
    /// May be empty.
    pub missing: &'a [i64],
    /// May be empty.
    pub hits: Numbers<'a>,
    pub leaf_trees: &'a [i64],
    pub leaf_nodes: &'a [i64],
    pub leaf_targets: &'a [i64],
    pub leaf_weights: Numbers<'a>,
    pub base: Numbers<'a>,
}

impl<'a> Listed<'a> {
    /// `kind` is `class` or `target`.
    ///
    /// # Errors
    /// Lists of different lengths, or of the wrong kinds.
    pub(super) fn of(node: &'a Node, kind: &str) -> Result<Self, OpError> {
        let ints = |name: &str| node.ints(name).map(Option::unwrap_or_default);
        let listed = Self {
            trees: ints("nodes_treeids")?,
            nodes: ints("nodes_nodeids")?,
            features: ints("nodes_featureids")?,
            modes: node.texts("nodes_modes")?.unwrap_or_default(),
            values: numbers(node, "nodes_values")?,
            yes: ints("nodes_truenodeids")?,
            no: ints("nodes_falsenodeids")?,
            missing: ints("nodes_missing_value_tracks_true")?,
            hits: numbers(node, "nodes_hitrates")?,
            leaf_trees: ints(&format!("{kind}_treeids"))?,
            leaf_nodes: ints(&format!("{kind}_nodeids"))?,
            leaf_targets: ints(&format!("{kind}_ids"))?,
            leaf_weights: numbers(node, &format!("{kind}_weights"))?,
            base: numbers(node, "base_values")?,
        };
        listed.lengths(kind)?;
        Ok(listed)
    }

    fn lengths(&self, kind: &str) -> Result<(), OpError> {
        let count = self.nodes.len();
        let lists = [
            ("nodes_treeids", self.trees.len()),
            ("nodes_featureids", self.features.len()),
            ("nodes_modes", self.modes.len()),
            ("nodes_values", self.values.len()),
            ("nodes_truenodeids", self.yes.len()),
            ("nodes_falsenodeids", self.no.len()),
        ];
        if count == 0 {
            return Err(OpError::new("expected nodes, found none"));
        }
        for (name, found) in lists {
            if found != count {
                return Err(OpError(format!("attribute {name}: expected {count} entries, one a node, found {found}")));
            }
        }
        let leaves = self.leaf_nodes.len();
        let lists = [
            ("treeids", self.leaf_trees.len()),
            ("ids", self.leaf_targets.len()),
            ("weights", self.leaf_weights.len()),
        ];
        for (name, found) in lists {
            if found != leaves {
                return Err(OpError(format!(
                    "attribute {kind}_{name}: expected {leaves} entries, one a weight, found {found}"
                )));
            }
        }
        Ok(())
    }
}

/// Of the attribute or its twin.
fn numbers<'a>(node: &'a Node, name: &str) -> Result<Numbers<'a>, OpError> {
    let twin = format!("{name}_as_tensor");
    if !node.has(&twin) {
        return Ok(Numbers::F32(node.floats(name)?.unwrap_or_default()));
    }
    if node.floats(name)?.is_some_and(|floats| !floats.is_empty()) {
        return Err(OpError(format!("expected {name} or {twin}, found both")));
    }
    tensor(node, &twin)
}

/// Of a tensor of floats or doubles; empty where it is left out.
pub(super) fn tensor<'a>(node: &'a Node, name: &str) -> Result<Numbers<'a>, OpError> {
    match node.tensor(name)?.map(|tensor| &tensor.data) {
        None => Ok(Numbers::F32(&[])),
        Some(Data::F32(v)) => Ok(Numbers::F32(v)),
        Some(Data::F64(v)) => Ok(Numbers::F64(v)),
        Some(other) => Err(OpError(format!("attribute {name}: expected floats or doubles, found {}", other.kind()))),
    }
}
