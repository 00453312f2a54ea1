//! Over arbitrary texts and expressions.
