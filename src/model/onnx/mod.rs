//! ONNX models, compiled at load to a plan.
//!
//! The way of a file: [`survey()`] counts what it holds without reading a weight; `proto` reads its messages (weights
//! stay slices of the file); `import` makes a [`graph::Graph`] of them, in order and without what nobody needs;
//! `compile` computes what does not depend on the rows and builds the rest for 1, 8 and 64 rows, operator by operator
//! (`ops` for ai.onnx, `ml` for ai.onnx.ml); `buffers` lets values share memory; the [`Plan`] runs it.
//!
//! **Rules.** What is not known is refused by name. Sizes decide before anything is allocated. Nothing in a run
//! allocates or panics. A row's numbers do not depend on its neighbours, bit for bit.

mod buffers;
mod compile;
mod drivers;
mod error;
mod evaluate;
mod external;
pub mod graph;
mod import;
pub mod ml;
pub mod op;
mod ops;
mod plan;
mod probe;
mod program;
mod proto;
mod sums;
mod survey;
pub mod tensor;
#[cfg(test)]
mod tests;
mod weights;
mod wire;

pub use drivers::{Drivers, Work};
pub use error::Error;
pub use evaluate::{Evaluation, Known, evaluate};
pub use external::{External, plain_name};
pub use op::Dictionary;
pub use plan::{Column, Options, OutputKind, OutputSpec, Plan, Scratch, load};
pub use survey::{Survey, survey};
