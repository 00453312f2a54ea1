//! XGBoost's models, JSON and UBJ: what loads also runs, to the leaves that its definition leads to.
#![no_main]

#[path = "../forest.rs"]
mod forest;

use libfuzzer_sys::fuzz_target;
use verdictd::model::xgboost::{Iterations, load};

fuzz_target!(|data: &[u8]| {
    for iterations in [Iterations::Best, Iterations::All] {
        if let Ok(native) = load(data, iterations) {
            forest::check(&native);
        }
    }
});
