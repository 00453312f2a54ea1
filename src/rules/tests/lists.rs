//! Lists at work.
