//! `SVMClassifier`, `SVMRegressor`: support vector machines of libsvm, and linear ones of liblinear.

mod classifier;
mod coupling;
mod kernel;
mod regressor;

pub(super) use classifier::build as build_classifier;
pub(super) use regressor::build as build_regressor;

use super::super::op::{Node, OpError};
use kernel::Kernel;

impl Kernel {
    /// Of the attributes `kernel_type` and `kernel_params` (gamma, coef0, degree).
    fn of(node: &Node) -> Result<Self, OpError> {
        let parameters = node.floats("kernel_params")?.unwrap_or_default();
        let (gamma, offset, degree) = match parameters {
            [] => (0.0, 0.0, 0.0),
            [gamma, offset, degree, ..] => (*gamma, *offset, *degree),
            _ => {
                return Err(OpError(format!(
                    "attribute kernel_params: expected gamma, coef0 and degree, found {}",
                    parameters.len()
                )));
            }
        };
        match node.text("kernel_type")?.unwrap_or("LINEAR") {
            "LINEAR" => Ok(Self::Linear),
            "POLY" => Ok(Self::Poly { gamma, offset, degree }),
            "RBF" => Ok(Self::Rbf { gamma }),
            "SIGMOID" => Ok(Self::Sigmoid { gamma, offset }),
            other => {
                Err(OpError(format!("attribute kernel_type: expected LINEAR, POLY, RBF or SIGMOID, found {other:?}")))
            }
        }
    }
}
