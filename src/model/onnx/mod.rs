//! ONNX graphs, compiled at load to a plan.

pub mod op;
pub mod tensor;
