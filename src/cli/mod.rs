//! cli (to be written)

pub mod bench;
pub mod client;
pub mod demo;
pub mod send;
