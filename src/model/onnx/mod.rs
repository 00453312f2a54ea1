//! ONNX graphs, compiled at load to a plan.

pub mod ml;
pub mod op;
pub mod tensor;
