//! Dropping the cursor of a sink that is no longer wanted, in a store that no daemon has open.

use super::error::StoreError;
use super::frame::{self, Kind};
use super::keys;
use super::layout::Layout;
use super::lock::Lock;
use super::medium::Batch;
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
    let layout = Layout::new(dir);
    if !layout.db().exists() {
        return Err(StoreError::io("open", &layout.db(), &io::ErrorKind::NotFound.into()));
    }
    let _lock = Lock::take(&layout.lock(), FORGET_SINK)?;
    let mut recovery = Recovery::default();
    let Recovered { medium, mut state, folded } =
        recover::recover(&layout, &Options::new(dir), &mut recovery, &mut Laps::start())?;
    let cursors = recover::read_cursors(&medium)?;
    let Some((_, next)) = cursors.iter().find(|(known, _)| known == name) else {
        let there = cursors.into_iter().map(|(name, _)| name).collect();
        return Err(StoreError::NoSuchCursor { name: name.to_owned(), there });
    };
    state.next = state.next.max(folded.next);
    state.log_floor = folded.first;
    state.note_time(&folded.clock);
    state.generation += 1;
    let commit = state.generation << 40;
    let mut batch = Batch::default();
    batch.insert(keys::named(keys::META, state::STATE), frame::wrap(Kind::Meta, commit, &state.encode()));
    batch.remove(keys::named(keys::CURSOR, name));
    medium.write(batch)?;
    Ok(*next)
}
