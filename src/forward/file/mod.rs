//! Sink `file`: a line a verdict, on the medium before the cursor moves.
//!
//! - **Layout**: NDJSON, every line whole. Rotation renames `verdicts.ndjson` to
//!   `verdicts-20261129T162000Z-41.ndjson` (time of rotation, last sequence) and begins anew, so a reader
//!   that follows the name sees each line once.
//! - **Order**: write, fdatasync, cursor. Rotation only when the cursor is stored too, so that after a crash
//!   only the current file can hold lines behind the stored cursor.
//! - **Recovery** (`resume.rs`): lines behind the stored cursor are compared with the log one by one, and
//!   the cursor set at the first that differs. A torn one is cut, so a crash repeats no line and leaves no
//!   half one. A whole verdict that the log does not hold there (it lost it, or `encoding` or `decisions`
//!   have changed) is never cut: the file is put aside under a rotated name and a new one begun.
//! - **Failed syncs**: after one the kernel takes pages for clean that the medium does not have. What was to
//!   be synced is cut off at once, so that it is written anew.
//! - **Others' hands**: a file that was renamed, removed or truncated from outside is opened anew.
//! - **Limits**: at most [`WRITE_BYTES_MAX`] are rendered before they are written and synced.

mod resume;
mod rotate;
mod writer;

#[cfg(test)]
mod tests;

pub use rotate::Rotation;
pub use writer::FileSink;

use super::{Encoding, Filter, SinkStatus};
use crate::link::{Backoff, Trouble};
use crate::store::Store;
use rand::SeedableRng;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Bytes rendered into memory before they are written.
pub const WRITE_BYTES_MAX: usize = 512 << 10;

/// How long it may write after it was told to stop.
const DRAIN_MAX: Duration = Duration::from_secs(15);

/// How often an idle file's age is looked at.
const AGE_CHECK: Duration = Duration::from_secs(1);

/// Least time between two looks at whether the cursor is stored, for which a rotation waits.
const STORED_CHECK: Duration = Duration::from_millis(5);

/// One file sink, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    pub path: PathBuf,
    pub rotation: Rotation,
    /// Least time between two syncs.
    pub sync_interval: Duration,
    pub encoding: Encoding,
    pub filter: Filter,
}

/// Runs the sink until `stop` turns true, and then drains what is committed, once.
pub async fn run(options: Options, store: Arc<Store>, status: Arc<SinkStatus>, stop: watch::Receiver<bool>) {
    let make = || FileSink::new(options.clone(), Arc::clone(&store), Arc::clone(&status));
    run_made(make, &options, store.watch(), &status, stop).await;
}

/// The same with sinks as `make` makes them: the first, and one after each that was lost to a panic.
async fn run_made(
    make: impl Fn() -> FileSink,
    options: &Options,
    mut committed: watch::Receiver<u64>,
    status: &SinkStatus,
    mut stop: watch::Receiver<bool>,
) {
    let mut kept = None;
    let mut backoff = Backoff::default();
    let mut random = rand_pcg::Pcg64::from_os_rng();
    loop {
        let stopping = *stop.borrow();
        committed.borrow_and_update();
        let mut sink = kept.take().unwrap_or_else(&make);
        let stopped = stop.clone();
        let drained = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            // Once it is to stop it has a time of its own for what is left; the rest waits in the store.
            let is_over = || if stopping { begun.elapsed() >= DRAIN_MAX } else { *stopped.borrow() };
            let drained = sink.drain_until(stopping, &is_over);
            (sink, drained)
        });
        let outcome = match drained.await {
            Ok((sink, drained)) => {
                kept = Some(sink);
                drained.map_err(|error| error.to_string())
            }
            // Single records that panic are passed over; this is a bug elsewhere, and may go by.
            Err(_) => Err("internal error: a bug stopped the sink, it is started anew".to_owned()),
        };
        let mut wait = options.sync_interval;
        match outcome {
            Ok(()) => {
                backoff.reset();
                status.recovered();
                if kept.as_ref().is_some_and(FileSink::is_waiting) {
                    wait = wait.max(STORED_CHECK);
                }
            }
            Err(error) => {
                wait = backoff.next(&mut random);
                status.failed(Trouble::Transient, &error);
            }
        }
        if stopping {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stop.changed() => continue,
        }
        if status.link.is_up() && kept.as_ref().is_some_and(FileSink::is_settled) {
            tokio::select! {
                _ = committed.changed() => {}
                _ = stop.changed() => {}
                // A file can come of age without a verdict.
                () = tokio::time::sleep(AGE_CHECK), if options.rotation.age.is_some() => {}
            }
        }
    }
}

/// Why a file sink cannot go on just now. All are transient: it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
}
