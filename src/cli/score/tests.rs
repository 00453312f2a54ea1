//! Promises of offline scoring.
