//! Objectives by name: what `predict` does to the margins, and what the base score is before it is one.

use super::super::trees::Objective;

/// How the base score stands in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Base {
    /// As it is added.
    Margin,
    /// A probability.
    Logit,
    /// A positive number.
    Log,
}

impl Base {
    /// What is added, computed in f32 as the library does.
    pub fn margin(self, score: f32) -> f32 {
        match self {
            Self::Margin => score,
            Self::Logit => -(1.0 / score - 1.0).ln(),
            Self::Log => score.ln(),
        }
    }
}

/// By the objective's name.
pub fn parse(name: &str) -> Result<(Objective, Base), String> {
    let sigmoid = Objective::Sigmoid { slope: 1.0 };
    match name {
        "binary:logistic" | "reg:logistic" => Ok((sigmoid, Base::Logit)),
        "binary:hinge" => Ok((Objective::Step, Base::Margin)),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => {
            Ok((Objective::Exp, Base::Log))
        }
        "multi:softprob" => Ok((Objective::Softmax, Base::Margin)),
        "multi:softmax" => Ok((Objective::ArgMax, Base::Margin)),
        "binary:logitraw"
        | "reg:squarederror"
        | "reg:linear"
        | "reg:squaredlogerror"
        | "reg:absoluteerror"
        | "reg:quantileerror"
        | "reg:pseudohubererror"
        | "rank:pairwise"
        | "rank:ndcg"
        | "rank:map" => Ok((Objective::Identity, Base::Margin)),
        other => Err(format!("the objective {other:?} is not known")),
    }
}
