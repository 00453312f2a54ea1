//! The operators of ai.onnx.ml that tabular models use.
//!
//! **Source.** The operator specification (versions 1 to 5 of the domain). Where it is silent the answer is that of
//! ONNX Runtime 1.2x on one thread; where that differs from the library that trained the model, the head of the
//! operator's file says so.
//!
//! **Rows.** An input of one dimension is one row, as ONNX Runtime takes it. Numbers that are no floats count as f32,
//! except where an operator compares or copies them.
//!
//! **Refused rows.** Where the specification lets an operator fail on a row (`OneHotEncoder` with `zeros = 0` and an
//! unseen category), the row's numbers become NaN: its result then takes the bundle's fallback.

mod binarizer;
mod category;
mod ensemble;
mod extractor;
mod imputer;
mod label_encoder;
mod labels;
mod linear;
mod lookup;
mod normalizer;
mod one_hot;
mod rows;
mod scaler;
mod svm;
#[cfg(test)]
mod tests;
mod transform;
mod vectorizer;
mod zip_map;

pub use linear::Weights;
pub use vectorizer::dictionary_columns;

use super::op::Build;

/// The domain's name in a file.
pub const DOMAIN: &str = "ai.onnx.ml";

/// What builds an operator of this domain; None for one that is not known.
#[must_use]
pub fn find(op: &str) -> Option<Build> {
    Some(match op {
        "ArrayFeatureExtractor" => extractor::build,
        "Binarizer" => binarizer::build,
        "CategoryMapper" => category::build,
        "DictVectorizer" => vectorizer::build_dictionary,
        "FeatureVectorizer" => vectorizer::build_features,
        "Imputer" => imputer::build,
        "LabelEncoder" => label_encoder::build,
        "LinearClassifier" => linear::build_classifier,
        "LinearRegressor" => linear::build_regressor,
        "Normalizer" => normalizer::build,
        "OneHotEncoder" => one_hot::build,
        "SVMClassifier" => svm::build_classifier,
        "SVMRegressor" => svm::build_regressor,
        "Scaler" => scaler::build,
        "TreeEnsemble" => ensemble::build_five,
        "TreeEnsembleClassifier" => ensemble::build_classifier,
        "TreeEnsembleRegressor" => ensemble::build_regressor,
        "ZipMap" => zip_map::build,
        _ => return None,
    })
}
