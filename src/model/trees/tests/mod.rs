//! Every way to a leaf is the same way.

// Numbers of a test's own making, all small; sums are meant to be equal bit for bit.
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::float_cmp)]

mod equal;
mod make;
mod shap;
