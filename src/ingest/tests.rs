//! The HTTP source with an intake that only pretends to commit.

// Bodies of a few thousand lines: clearer so than with a buffer.
#![allow(clippy::format_collect)]

mod arbitrary;
mod fake;
mod limits;
mod listeners;
mod peer;
mod routes;
mod tls;
