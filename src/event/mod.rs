//! What comes in: the envelope of an event, its identity, its framing and its limits.
//!
//! A request body is decoded once, on the thread that read it, into an [`EventBatch`]: one allocation for
//! the text that is kept (identities, keys, field texts), one for the items, one for the fields.

mod assembly;
mod batch;
mod budget;
mod cloudevents;
mod csv;
mod decode;
mod elements;
mod fingerprint;
mod identity;
mod kept;
mod label;
mod pointer;
mod reader;
mod time;
mod trie;
mod walk;
mod zone;

#[cfg(test)]
mod tests;

pub use assembly::Assembly;
pub use batch::{BadKind, BadRecord, Event, EventBatch, Field, Item, Label, Span};
pub use budget::{Budget, Exhausted, Permit};
pub use cloudevents::Attributes;
pub use csv::{Column, CsvForm, CsvHeader, CsvParser, HeaderFault, is_json_number};
pub use decode::{BATCH_EVENTS_MAX, Beside, Decoder, Form, LineIds};
pub use elements::batch_events;
pub use fingerprint::identity_fingerprint;
pub use identity::{ID_BYTES_MAX, IdentityRules, KEY_BYTES_MAX, KeyRule, SOURCE_BYTES_MAX, SourceRule};
pub use kept::{KEPT_TYPE, KeptForm};
pub use label::LABEL_TYPE;
pub use pointer::{POINTER_PARTS_MAX, Pointer, PointerError};
pub use time::{EpochUnit, TimeError, TimeForm, Timestamp};
pub use walk::DEPTH_MAX;
pub use zone::zone;

use trie::Trie;
