//! Settling a call that nobody knows the outcome of, in a store that no daemon has open.

use super::case::{self, Case, CaseState};
use super::error::StoreError;
use super::forget::changed;
use super::frame::{self, Kind};
use super::keys;
use super::recover;
use super::state;
use std::path::Path;

/// Who holds the lock meanwhile, as it says of itself.
pub const SETTLE_CASE: &str = "uncertain resolve";

/// Settles the case of a sink's verdict: it counts as made, or (`again`) is made again by the next start. What was under
/// way when the daemon ended is uncertain, too. Gives the case as it was.
///
/// # Errors
/// [`StoreError::Held`] while a daemon runs, [`StoreError::NoSuchCase`], `NotFound` where there is no store, otherwise when
/// the medium fails.
pub fn settle_case(dir: &Path, sink: &str, sequence: u64, again: bool, at_ms: i64) -> Result<Case, StoreError> {
    changed(dir, SETTLE_CASE, |medium, commit, batch| {
        let found = case::get(medium, sink, sequence)?.filter(|case| !again || case.state != CaseState::Again);
        let found = found.ok_or_else(|| StoreError::NoSuchCase { sink: sink.to_owned(), sequence })?;
        let (key, value) =
            Case { state: CaseState::Again, at_ms, reason: String::new(), ..found.clone() }.stored(commit);
        if again {
            batch.insert(key, value);
        } else {
            batch.remove(key);
        }
        // The outcome of what was under way would have moved the cursor.
        let next = recover::read_cursors(medium)?.into_iter().find(|(name, _)| name == sink).map(|(_, next)| next);
        if next.is_some_and(|next| next <= sequence) {
            let body = state::encode_cursor(sink, sequence + 1);
            batch.insert(keys::named(keys::CURSOR, sink), frame::wrap(Kind::Cursor, commit, &body));
        }
        Ok(found)
    })
}
