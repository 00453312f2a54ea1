//! The objective line: its name, then parameters such as `sigmoid:2.5`.

use super::super::trees::Objective;

/// What `predict` does to the raw sums.
pub fn parse(line: &str) -> Result<Objective, String> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().unwrap_or("none");
    let parameters: Vec<&str> = words.collect();
    let slope = || match parameters.iter().find_map(|word| word.strip_prefix("sigmoid:")) {
        None => Ok(1.0),
        Some(text) => match text.parse::<f64>() {
            Ok(slope) if slope > 0.0 && slope.is_finite() => Ok(slope),
            _ => Err(format!("expected sigmoid:NUMBER above 0, found sigmoid:{text}")),
        },
    };
    match name {
        "binary" | "multiclassova" => Ok(Objective::Sigmoid { slope: slope()? }),
        "cross_entropy" => Ok(Objective::Sigmoid { slope: 1.0 }),
        "cross_entropy_lambda" => Ok(Objective::Softplus),
        "multiclass" => Ok(Objective::Softmax),
        "poisson" | "gamma" | "tweedie" => Ok(Objective::Exp),
        "regression" | "regression_l1" | "huber" | "fair" | "quantile" | "mape" => {
            Ok(if parameters.contains(&"sqrt") { Objective::SignedSquare } else { Objective::Identity })
        }
        "lambdarank" | "rank_xendcg" | "custom" | "none" | "null" | "na" => Ok(Objective::Identity),
        other => Err(format!("the objective {other:?} is not known")),
    }
}
