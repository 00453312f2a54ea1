//! How events come in: one file per source, and what the sources share.
//!
//! ```text
//! listen (address, mode, who may)  ─┐
//! tls                               ├─> accept (connections, places, drain)
//! socket (stream, pulse)           ─┘     ├─> server (HTTP requests, time-outs)
//!                                         │     ├─> http  (routes of events) ─> body (budget) ─> Intake ─> reply
//!                                         │     └─> admin (metrics, health, status)
//!                                         └─> lines (the `socket` source) ─> slices ─> Intake
//! file, spool ─> files (blocks of whole records, one batch under way) ─> Intake
//! serial ─> splitter (lines, frames, noise) ─> Intake ─> reply
//! ```
//!
//! Rules: every buffer is paid for out of one [`Budget`] before it is filled; nothing waits without a
//! limit on a client; a source knows the rest of the program by [`Intake`] alone.

mod accept;
mod admin;
mod body;
mod cloudevents;
pub mod file;
mod files;
mod http;
mod intake;
pub mod kafka;
mod limits;
pub mod lines;
mod listen;
pub mod mqtt;
mod problem;
mod reply;
pub mod serial;
mod server;
mod slices;
mod socket;
pub mod spool;
mod status;
mod tls;

#[cfg(test)]
mod tests;

pub use crate::event::{Attributes, Budget, Exhausted, Form, Permit};
pub use accept::{Connections, Places};
pub use admin::{Admin, AdminRoutes, Health, Reloaded, Resolve, Resolved};
pub use files::{BLOCK_BYTES, BLOCK_EVENTS_MAX, Format, Place};
pub use http::EventRoutes;
pub use intake::{Answer, Intake, Outcome, Submission, until_taken};
pub use limits::Limits;
pub use listen::{ListenError, ListenOptions, Listener, TlsFiles, listening};
pub use problem::{Problem, ProblemKind};
pub use reply::Reply;
pub use server::{Routes, serve};
pub(crate) use socket::Socket;
pub use status::SourceStatus;
