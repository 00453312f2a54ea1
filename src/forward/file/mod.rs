//! Sink `file`: a line a verdict, on the medium before the cursor moves.
//!
//! - **Layout**: NDJSON, every line whole. Rotation renames `verdicts.ndjson` to
//!   `verdicts-20261129T162000Z-41.ndjson` (time of rotation, last sequence) and begins anew, so a reader
//!   that follows the name sees each line once.
//! - **Order**: write, fdatasync, cursor. Rotation only when the cursor is stored too, so that after a crash
//!   only the current file can hold lines behind the stored cursor.
//! - **Recovery** (`resume.rs`): lines behind the stored cursor are compared with the log one by one; the
//!   file is cut at the first that differs or is torn, and the cursor set there. So a crash repeats no line
//!   and leaves no half one.
//! - **Limits**: at most [`WRITE_BYTES_MAX`] are rendered before they are written and synced.

mod resume;
mod rotate;
mod writer;

#[cfg(test)]
mod tests;

pub use rotate::Rotation;
pub use writer::FileSink;

use super::{Backoff, Encoding, Filter, SinkStatus};
use crate::store::Store;
use rand::SeedableRng;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;

/// Bytes rendered into memory before they are written.
pub const WRITE_BYTES_MAX: usize = 512 << 10;

/// How often an idle file's age is looked at.
const AGE_CHECK: Duration = Duration::from_secs(1);

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
pub async fn run(options: Options, store: Arc<Store>, status: Arc<SinkStatus>, mut stop: watch::Receiver<bool>) {
    let mut committed = store.watch();
    let interval = options.sync_interval;
    let ages = options.rotation.age.is_some();
    let mut sink = Some(FileSink::new(options, store, Arc::clone(&status)));
    let mut backoff = Backoff::default();
    let mut random = rand_pcg::Pcg64::from_os_rng();
    loop {
        let stopping = *stop.borrow();
        committed.borrow_and_update();
        let Some(mut taken) = sink.take() else { return };
        let drained = tokio::task::spawn_blocking(move || {
            let drained = taken.drain(stopping);
            (taken, drained)
        });
        // The closure catches panics of single records; one of its own would end the sink, not the data.
        let Ok((taken, drained)) = drained.await else {
            tracing::error!(sink = status.name, "a bug stopped the sink; restart the service");
            return;
        };
        sink = Some(taken);
        let wait = match drained {
            Ok(()) => {
                backoff.reset();
                if status.recovered() {
                    tracing::info!(sink = status.name, "the sink takes verdicts again");
                }
                interval
            }
            Err(error) => {
                let wait = backoff.next(&mut random);
                if status.failed(&error.to_string()) {
                    tracing::warn!(sink = status.name, %error, "the sink fails; its verdicts wait in the store");
                }
                wait
            }
        };
        if stopping {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stop.changed() => continue,
        }
        if status.is_up() && sink.as_ref().is_some_and(FileSink::is_settled) {
            tokio::select! {
                _ = committed.changed() => {}
                _ = stop.changed() => {}
                // A file can come of age without a verdict.
                () = tokio::time::sleep(AGE_CHECK), if ages => {}
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

impl SinkStatus {
    fn add_delivered(&self, count: u64) {
        self.delivered.fetch_add(count, Relaxed);
    }
}
