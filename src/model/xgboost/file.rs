//! The members of a file that count, in JSON as in UBJ; others are passed over.

use super::super::trees::cut;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Deserialize)]
pub struct File {
    pub learner: Learner,
    #[serde(default)]
    pub version: Vec<u32>,
}

#[derive(Debug, Deserialize)]
#[allow(clippy::struct_field_names)] // the file's own names
pub struct Learner {
    #[serde(default)]
    pub attributes: Attributes,
    #[serde(default)]
    pub feature_names: Vec<String>,
    #[serde(default)]
    pub feature_types: Vec<String>,
    pub gradient_booster: Booster,
    pub learner_model_param: LearnerParameters,
    pub objective: ObjectiveName,
}

#[derive(Debug, Default, Deserialize)]
pub struct Attributes {
    #[serde(default)]
    pub best_iteration: Option<Text<usize>>,
}

#[derive(Debug, Deserialize)]
pub struct ObjectiveName {
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub struct LearnerParameters {
    pub base_score: BaseScore,
    #[serde(default)]
    pub num_class: Text<usize>,
    pub num_feature: Text<usize>,
    #[serde(default)]
    pub num_target: Text<usize>,
}

/// gbtree has a model of trees; dart has one in a gbtree of its own; gblinear has one of weights.
#[derive(Debug, Deserialize)]
pub struct Booster {
    pub name: String,
    #[serde(default)]
    pub model: Option<Model>,
    #[serde(default)]
    pub gbtree: Option<Inner>,
    #[serde(default)]
    pub weight_drop: Vec<f32>,
}

#[derive(Debug, Deserialize)]
pub struct Inner {
    pub model: Model,
}

#[derive(Debug, Deserialize)]
pub struct Model {
    #[serde(default)]
    pub cats: Option<Cats>,
    #[serde(default)]
    pub gbtree_model_param: Option<ModelParameters>,
    /// First tree of each iteration, and the number of trees.
    #[serde(default)]
    pub iteration_indptr: Vec<usize>,
    #[serde(default)]
    pub tree_info: Vec<u32>,
    #[serde(default)]
    pub trees: Vec<TreeFile>,
    /// gblinear: `[column][target]`, then the biases.
    #[serde(default)]
    pub weights: Vec<f32>,
}

#[derive(Debug, Deserialize)]
#[allow(clippy::struct_field_names)] // the file's own names
pub struct ModelParameters {
    #[serde(default)]
    pub num_parallel_tree: Text<usize>,
    #[serde(default)]
    pub num_trees: Text<usize>,
}

/// Categories of a data frame.
#[derive(Debug, Deserialize)]
pub struct Cats {
    #[serde(default)]
    pub enc: Vec<Encoding>,
}

/// One column's: numbers as they are, texts end to end with their bounds.
#[derive(Debug, Deserialize)]
pub struct Encoding {
    #[serde(default)]
    pub offsets: Option<Vec<usize>>,
    #[serde(default)]
    pub values: Vec<f64>,
}

/// Lists by node; a leaf has a left child of -1.
#[derive(Debug, Deserialize)]
pub struct TreeFile {
    pub left_children: Vec<i32>,
    pub right_children: Vec<i32>,
    pub split_indices: Vec<u32>,
    /// A leaf's is its value.
    pub split_conditions: Vec<Real>,
    pub default_left: Vec<Flag>,
    #[serde(default)]
    pub split_type: Vec<Flag>,
    #[serde(default)]
    pub sum_hessian: Vec<Real>,
    #[serde(default)]
    pub base_weights: Vec<Real>,
    #[serde(default)]
    pub leaf_weights: Vec<Real>,
    #[serde(default)]
    pub categories: Vec<u32>,
    #[serde(default)]
    pub categories_nodes: Vec<u32>,
    #[serde(default)]
    pub categories_segments: Vec<usize>,
    #[serde(default)]
    pub categories_sizes: Vec<usize>,
    pub tree_param: TreeParameters,
}

#[derive(Debug, Deserialize)]
pub struct TreeParameters {
    #[serde(default)]
    pub size_leaf_vector: Text<usize>,
}

/// A number, or the text that [`quoted`](super::json::quoted) made of one that JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real(pub f32);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Real;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Real, E> {
                text.parse().map(Real).map_err(|_| E::custom(format!("expected a number, found {text:?}")))
            }
            fn visit_f32<E: Error>(self, number: f32) -> Result<Real, E> {
                Ok(Real(number))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Real, E> {
                Ok(Real(cut(number)))
            }
            #[allow(clippy::cast_precision_loss)] // an f32 by definition
            fn visit_u64<E: Error>(self, number: u64) -> Result<Real, E> {
                Ok(Real(number as f32))
            }
            #[allow(clippy::cast_precision_loss)] // an f32 by definition
            fn visit_i64<E: Error>(self, number: i64) -> Result<Real, E> {
                Ok(Real(number as f32))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A number that is written as text, or as one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Text<T>(pub T);

impl<'de, T: FromStr + TryFrom<u64>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(std::marker::PhantomData<T>);
        impl<T: FromStr + TryFrom<u64>> Visitor<'_> for Reader<T> {
            type Value = Text<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or one as text")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<T>, E> {
                text.trim().parse().map(Text).map_err(|_| E::custom(format!("expected a whole number, found {text:?}")))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Text<T>, E> {
                T::try_from(number).map(Text).map_err(|_| E::custom(format!("{number} is out of range")))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Text<T>, E> {
                let number = u64::try_from(number).map_err(|_| E::custom(format!("{number} is out of range")))?;
                self.visit_u64(number)
            }
        }
        deserializer.deserialize_any(Reader(std::marker::PhantomData))
    }
}

/// 0 or 1, false or true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("0, 1, false or true")
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Flag, E> {
                Ok(Flag(number != 0))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Flag, E> {
                Ok(Flag(number != 0))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A number, its text, or the text of a list of them in brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseScore(pub Vec<f32>);

impl<'de> Deserialize<'de> for BaseScore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = BaseScore;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or the text of one or of a list")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<BaseScore, E> {
                let list = text.trim();
                let list = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
                let numbers: Result<Vec<f32>, _> = list.split(',').map(|number| number.trim().parse()).collect();
                numbers.map(BaseScore).map_err(|_| E::custom(format!("base_score: expected numbers, found {text:?}")))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<BaseScore, E> {
                Ok(BaseScore(vec![cut(number)]))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<BaseScore, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<BaseScore, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
