//! The HTTP source with an intake that only pretends to commit.

mod arbitrary;
mod fake;
mod limits;
mod listeners;
mod peer;
mod routes;
mod tls;
