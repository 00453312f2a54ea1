//! The HTTP source with an intake that only pretends to commit; and a whole engine for the other sources' tests.

// Bodies of a few thousand lines: clearer so than with a buffer.
#![allow(clippy::format_collect)]

mod arbitrary;
mod fake;
mod limits;
mod listeners;
mod peer;
pub(super) mod rig;
mod routes;
pub(super) mod tls;
