//! What comes in: the envelope of an event, its identity, its framing and its limits.
//!
//! A request body is decoded once, on the thread that read it, into an [`EventBatch`]: one allocation for
//! the text that is kept (identities, keys, field texts), one for the items, one for the fields.

mod batch;
mod pointer;
mod time;

pub use batch::{BadKind, BadRecord, Event, EventBatch, Field, Item, Span};
pub use pointer::{Pointer, PointerError};
pub use time::{TimeError, Timestamp};
