//! A model as a tree library wrote it: what every loader of such files gives.

use super::forest::Forest;
use super::linear::Linear;
use super::objective::Objective;

/// A model with what its file tells of its columns and its output.
#[derive(Clone, Debug, PartialEq)]
pub struct Native {
    pub body: Body,
    /// From raw sums to what the library's `predict` gives.
    pub objective: Objective,
    /// The objective's name, as the file has it.
    pub objective_name: String,
    /// One a column. Empty where the file has none.
    pub feature_names: Vec<String>,
    /// The names were made up by the library (`Column_0`, `f0`), or there are none.
    pub generic_names: bool,
    /// One a column: what its cells are before they are looked up.
    pub columns: Vec<Kind>,
    /// What an operator may want to know: lines of text.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Forest(Forest),
    Linear(Linear),
}

/// What the cells of a column are.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Number,
    /// Categories by their number, as the trees have them.
    Category,
    /// One of these numbers; the trees know its place among them. Another is missing.
    Numbers(Vec<f64>),
    /// One of these texts; the trees know its place among them. Another is missing.
    Texts(Vec<String>),
}

impl Native {
    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.body {
            Body::Forest(forest) => forest.width,
            Body::Linear(linear) => linear.width,
        }
    }

    /// Raw sums of a row.
    #[must_use]
    pub fn targets(&self) -> usize {
        match &self.body {
            Body::Forest(forest) => forest.targets,
            Body::Linear(linear) => linear.targets,
        }
    }

    /// Numbers that `predict` gives for a row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.objective.outputs(self.targets())
    }
}

/// True if every name is `prefix` and the column's place.
#[must_use]
pub fn are_generic(names: &[String], prefix: &str) -> bool {
    names.iter().enumerate().all(|(at, name)| name.strip_prefix(prefix).is_some_and(|n| *n == at.to_string()))
}
