//! Everything that must outlive a power cut: one log, and what is folded from it.
//!
//! # What survives what
//!
//! A commit ([`Writer::commit`]) is atomic and durable when it returns: written, flushed and fdatasync'ed. A
//! crash or a power cut takes only commits that had not returned. After a failed write or sync nothing more
//! is committed; the process ends and the next start recovers.
//!
//! # Shape
//!
//! The log engine is sled, behind [`medium`]; nobody else names it. One tree, key families by one byte
//! ([`keys`]), values framed with a checksum ([`frame`]). Verdicts stand in chunks ([`Chunk`]) of up to 6 KB,
//! beside them what window features need of their events ([`ObservationChunk`]) and labels ([`Label`]): in the same commit,
//! and kept for longer, until the windows' horizon has passed them. Where it is asked for, what models read of the events
//! is kept, too ([`KeptEvent`]), for a replay through another model.
//! The dedup index ([`Index`]) and the window's edge are folds of the log, made anew at each open.
//!
//! # Threads
//!
//! [`Writer`] belongs to the committing thread, [`Index`] and [`BatchBuilder`] to the engine's, [`Store`] is
//! shared by all.

mod builder;
mod case;
mod chunk;
mod clock;
mod codec;
mod commit;
mod disk;
mod error;
mod fold;
mod forget;
mod frame;
mod history;
mod index;
pub mod inspect;
mod keep;
mod kept_chunk;
mod kept_log;
mod keys;
mod known;
mod label;
mod label_log;
mod layout;
mod lock;
mod lookup;
mod medium;
mod merge;
mod model_use;
mod observation;
mod observed;
mod open;
mod options;
mod permit;
mod quarantine;
mod record;
mod recover;
mod salvage;
mod scan;
mod schema;
mod settle;
mod shadow;
mod shared;
mod sinks;
mod state;
mod stats;
mod tail;
mod tip;
mod window;
mod writer;

pub use builder::BatchBuilder;
pub use case::{CASE_REASON_BYTES_MAX, Calls, Case, CaseChange, CaseState, verdict_of};
pub use chunk::Chunk;
pub use clock::LogClock;
pub use commit::{Commit, Committed, Kept};
pub use disk::{BALLAST_BYTES, RESERVE_BYTES, Room};
pub use error::StoreError;
pub use forget::{FORGET_SINK, forget_sink};
pub use index::{INDEX_ENTRY_BYTES, INDEX_HEAD_BYTES, Index};
pub use kept_chunk::{KeptEvent, LINE_BYTES_MAX};
pub use kept_log::{Keeping, KeptEvents, kept_list_bytes};
pub use known::KnownModels;
pub use label::Label;
pub use label_log::PENDING_MAX;
pub use medium::STUCK_AFTER;
pub use model_use::{ModelId, ModelUse, Stamp, Why, model_before};
pub use observation::{Observation, ObservationChunk, Observed};
pub use open::{Opened, open};
pub use options::{Options, SinkDecl, SinkStart, WhenFull};
pub use permit::{PERMIT_MODEL, permit_model};
pub use quarantine::{QUARANTINE_ENTRY_BYTES_MAX, QuarantineEntry, QuarantineInfo};
pub use record::{
    KEY_BYTES_MAX, LABEL_BYTES_MAX, MODEL_BYTES_MAX, NAME_BYTES_MAX, NewRecord, REASON_BYTES_MAX, REASONS_MAX, Record,
};
pub use schema::{COLUMNS_MAX, CellKind, NAMES_BYTES_MAX, Schema};
pub use settle::{SETTLE_CASE, settle_case};
pub use shadow::Shadowed;
pub use shared::Store;
pub use state::OFFSET_BYTES_MAX;
pub use stats::{Recovery, Stats, WindowCut};
pub use writer::Writer;

#[cfg(test)]
mod tests;
