//! LightGBM's text models: what loads also runs, to the leaves that its definition leads to.
#![no_main]

#[path = "../forest.rs"]
mod forest;

use libfuzzer_sys::fuzz_target;
use verdictd::model::lightgbm::load;

fuzz_target!(|data: &[u8]| {
    if let Ok(native) = load(data) {
        forest::check(&native);
    }
});
