//! Dropping the cursor of a sink that is no longer wanted, in a store that no daemon has open.

use super::error::StoreError;
use super::frame::{self, Kind};
use super::keys;
use super::layout::Layout;
use super::lock::Lock;
use super::medium::{Batch, Medium};
use super::options::Options;
use super::recover::{self, Laps, Recovered};
use super::state;
use super::stats::Recovery;
use std::io;
use std::path::Path;

/// Who holds the lock meanwhile, as it says of itself.
pub const FORGET_SINK: &str = "store forget-sink";

/// Drops a sink's cursor; returns where it stood. A sink of that name that is configured again is a new one.
///
/// # Errors
/// [`StoreError::Held`] while a daemon runs, [`StoreError::NoSuchCursor`] with the names there are, `NotFound`
/// where there is no store, otherwise when the medium fails.
pub fn forget_sink(dir: &Path, name: &str) -> Result<u64, StoreError> {
    changed(dir, FORGET_SINK, |medium, _, batch| {
        let cursors = recover::read_cursors(medium)?;
        let Some((_, next)) = cursors.iter().find(|(known, _)| known == name) else {
            let there = cursors.into_iter().map(|(name, _)| name).collect();
            return Err(StoreError::NoSuchCursor { name: name.to_owned(), there });
        };
        batch.remove(keys::named(keys::CURSOR, name));
        Ok(*next)
    })
}

/// Opens a store that nobody holds, has `change` put what it changes into a batch, given the engine and the commit's
/// number, and writes that with the state.
pub(super) fn changed<T>(
    dir: &Path,
    holder: &str,
    change: impl FnOnce(&Medium, u64, &mut Batch) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let layout = Layout::new(dir);
    if !layout.db().exists() {
        return Err(StoreError::io("open", &layout.db(), &io::ErrorKind::NotFound.into()));
    }
    let _lock = Lock::take(&layout.lock(), holder)?;
    let mut recovery = Recovery::default();
    let Recovered { medium, mut state, folded, .. } =
        recover::recover(&layout, &Options::new(dir), &mut recovery, &mut Laps::start())?;
    state.format = state::FORMAT;
    state.next = state.next.max(folded.next);
    state.log_floor = folded.first;
    state.note_time(&folded.clock);
    state.generation += 1;
    let commit = state.generation << 40;
    let mut batch = Batch::default();
    let outcome = change(&medium, commit, &mut batch)?;
    batch.insert(keys::named(keys::META, state::STATE), frame::wrap(Kind::Meta, commit, &state.encode()));
    medium.write(batch)?;
    Ok(outcome)
}
