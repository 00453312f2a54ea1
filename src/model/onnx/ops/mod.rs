//! The operators of ai.onnx that tabular models use, by name.
//!
//! Each file holds operators of one kind. What an operator meant in older opsets (axes as attribute or as input,
//! Softmax over all trailing dimensions, …) is decided by the node's version when it is built.

mod args;
mod binary;
mod cast;
mod copy;
pub mod dense;
mod einsum;
mod gather;
mod join;
mod matmul;
mod normalise;
mod one_hot;
mod order;
mod reduce;
mod scatter;
mod select;
mod shape;
mod softmax;
mod unary;
mod walk;

use super::error::shown;
use super::ml;
use super::op::{Build, Node, OpError};

/// What builds a node.
///
/// # Errors
/// Nothing does, by name.
pub fn find(node: &Node) -> Result<Build, OpError> {
    match node.domain.as_str() {
        "" => by_name(node),
        ml::DOMAIN => ml::find(&node.op).ok_or_else(|| OpError::new("the operator of ai.onnx.ml is not supported")),
        other => Err(OpError(format!("operators of domain '{}' are not supported", shown(other)))),
    }
}

fn by_name(node: &Node) -> Result<Build, OpError> {
    Ok(match node.op.as_str() {
        name if unary::is_unary(name) => unary::build,
        "Not" | "IsNaN" | "IsInf" => unary::build_test,
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "PRelu" => binary::build,
        "Sum" | "Mean" | "Max" | "Min" => binary::build_many,
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" => binary::build_compare,
        "Where" => select::build_where,
        "Clip" => select::build_clip,
        "Cast" | "CastLike" => cast::build,
        "Identity" | "Dropout" => shape::build_identity,
        "Constant" => shape::build_constant,
        "Shape" => shape::build_shape,
        "Size" => shape::build_size,
        "Reshape" => shape::build_reshape,
        "Flatten" => shape::build_flatten,
        "Squeeze" => shape::build_squeeze,
        "Unsqueeze" => shape::build_unsqueeze,
        "ConstantOfShape" => shape::build_filled,
        "Range" => shape::build_range,
        "EyeLike" => shape::build_eye,
        "Transpose" => copy::build_transpose,
        "Slice" => copy::build_slice,
        "Expand" => copy::build_expand,
        "Tile" => copy::build_tile,
        "Split" => copy::build_split,
        "Trilu" => select::build_trilu,
        "Concat" => join::build_concat,
        "Pad" => join::build_pad,
        "Gather" => gather::build,
        "GatherElements" => gather::build_elements,
        "GatherND" => gather::build_nd,
        "ScatterElements" | "Scatter" => scatter::build_elements,
        "ScatterND" => scatter::build_nd,
        "OneHot" => one_hot::build,
        "MatMul" => matmul::build,
        "Gemm" => matmul::build_gemm,
        "Einsum" => einsum::build,
        "ArgMax" | "ArgMin" => reduce::build_arg,
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => reduce::build,
        "Softmax" | "LogSoftmax" | "Hardmax" | "LpNormalization" => softmax::build,
        "BatchNormalization" => normalise::build_batch,
        "LayerNormalization" | "RMSNormalization" => normalise::build_layer,
        "InstanceNormalization" | "GroupNormalization" => normalise::build_group,
        "MeanVarianceNormalization" => normalise::build_mean_variance,
        "TopK" => order::build_top_k,
        "CumSum" => order::build_cum_sum,
        "NonZero" => order::build_non_zero,
        "If" | "Loop" | "Scan" => return Err("subgraphs are not supported".into()),
        _ => return Err("the operator is not supported".into()),
    })
}
