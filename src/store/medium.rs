//! The log engine (sled 0.34.7) behind one type: a batch is atomic and, once [`Medium::write`] has returned,
//! on the medium.
//!
//! What sled does not do by itself, and what is done about it here:
//!
//! - `flush()` calls only `sync_file_range`, which is no barrier: after it, `sync_data` on a handle of our own.
//! - A write that fails on one of sled's threads may set its error without waking the thread that waits in
//!   `flush()`: a watchdog looks at sled's error while a write is under way and wakes the waiter, and after
//!   [`STUCK_AFTER`] gives the process up.
//! - Damaged files can make it panic: every call is made under `catch_unwind`.
//! - Its epoch garbage grows for as long as a thread pins without being asked to collect: cheap reads after
//!   each write do that.
//! - Dropping it after a failed write can hang or panic: then it is leaked, the process ends anyway.

use super::error::StoreError;
use crate::notice;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// A write that takes longer than this will not come back.
pub const STUCK_AFTER: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub type Bytes = sled::IVec;
pub type Batch = sled::Batch;

pub struct Medium {
    db: Option<sled::Db>,
    file: File,
    path: PathBuf,
    failed: OnceLock<String>,
    watch: Arc<Watch>,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

/// What the watchdog looks at.
struct Watch {
    /// Odd while a write is under way.
    writes: AtomicU64,
    stop: AtomicBool,
}

/// The default of [`super::Options::on_stuck`]: says so and ends the process with 74.
pub fn exit_stuck(what: &str) {
    tracing::error!(kind = notice::STORE_STUCK.kind, "{what}");
    std::process::exit(74);
}

fn sled_config(dir: &Path, cache_bytes: u64) -> sled::Config {
    sled::Config::new().path(dir).cache_capacity(cache_bytes.max(1 << 20)).flush_every_ms(None)
}

/// Opens the engine. Its own lock may outlive the last handle in this process by the time one of its threads
/// needs to let go; other processes are kept out by [`super::lock`].
fn open_unlocked(config: &sled::Config) -> Result<sled::Db, StoreError> {
    for _ in 0..1000 {
        match guard("open the store", || config.open()) {
            Err(StoreError::Engine { message, .. }) if message.contains("could not acquire lock") => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
    guard("open the store", || config.open())
}

impl Medium {
    /// Opens the engine's files in `dir`, which [`super::layout::prepare`] has readied.
    pub fn open(dir: &Path, cache_bytes: u64, on_stuck: fn(&str)) -> Result<Self, StoreError> {
        let config = sled_config(dir, cache_bytes);
        let db = open_unlocked(&config)?;
        let path = dir.join("db");
        let file = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| StoreError::io("open", &path, &error))?;
        let watch = Arc::new(Watch { writes: AtomicU64::new(0), stop: AtomicBool::new(false) });
        let watcher = std::thread::Builder::new()
            .name(String::from("store-watch"))
            .spawn({
                let (watch, config, db) = (Arc::clone(&watch), config.clone(), db.clone());
                move || watch.run(&config, db, on_stuck)
            })
            .map_err(|error| StoreError::io("start a thread for", &path, &error))?;
        Ok(Self { db: Some(db), file, path, failed: OnceLock::new(), watch, watcher: Mutex::new(Some(watcher)) })
    }

    /// Writes a batch: all of it or nothing, on the medium when this returns. After the first error every
    /// later call fails too; a sync is never tried again.
    pub fn write(&self, batch: Batch) -> Result<(), StoreError> {
        if let Some(failed) = self.failed.get() {
            return Err(StoreError::Latched(failed.clone()));
        }
        self.watch.writes.fetch_add(1, Ordering::Relaxed);
        let result = self.write_and_sync(batch);
        self.watch.writes.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = &result {
            let _ = self.failed.set(error.to_string());
        }
        result
    }

    fn write_and_sync(&self, batch: Batch) -> Result<(), StoreError> {
        let db = self.db()?;
        guard("write", || db.apply_batch(batch))?;
        guard("write", || db.flush())?;
        self.file.sync_data().map_err(|error| StoreError::io("sync", &self.path, &error))
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let db = self.db()?;
        guard("read", || db.get(key))
    }

    /// The last entry below `key`.
    pub fn last_before(&self, key: &[u8]) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        let db = self.db()?;
        guard("read", || db.get_lt(key))
    }

    /// Entries whose keys start with `family`, from `start` on, ascending. Ends after the first error.
    pub fn scan(&self, family: u8, start: &[u8]) -> Scan {
        let range = self.db.as_ref().map(|db| db.range(start.to_vec()..vec![family + 1]));
        Scan { range, failed: false }
    }

    /// Makes the engine collect its garbage: without this memory grows with every write.
    pub fn collect_garbage(&self, reads: usize) {
        if let Some(db) = &self.db {
            for _ in 0..reads {
                let _ = guard("read", || db.get(b"m"));
            }
        }
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Notes a failure beside the log engine: nothing is written any more.
    pub fn latch(&self, error: &StoreError) {
        let _ = self.failed.set(error.to_string());
    }

    pub fn failed(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }

    fn db(&self) -> Result<&sled::Db, StoreError> {
        self.db.as_ref().ok_or_else(|| StoreError::Latched(String::from("the store is closed")))
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        self.watch.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.lock().ok().and_then(|mut watcher| watcher.take()) {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
        if let Some(db) = self.db.take() {
            if self.failed.get().is_some() {
                std::mem::forget(db);
            } else {
                let _ = catch_unwind(AssertUnwindSafe(|| drop(db)));
            }
        }
    }
}

impl Watch {
    fn run(&self, config: &sled::Config, db: sled::Db, on_stuck: fn(&str)) {
        let mut seen = 0;
        let mut rounds = 0;
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(LOOK_EVERY);
            let writes = self.writes.load(Ordering::Relaxed);
            if writes.is_multiple_of(2) || writes != seen {
                (seen, rounds) = (writes, 0);
                continue;
            }
            rounds += 1;
            if config.global_error().is_err() {
                // With its error set, a flush by this thread wakes whoever waits and returns at once.
                let _ = guard("write", || db.flush());
            }
            if LOOK_EVERY * rounds > STUCK_AFTER {
                on_stuck("a write to the store has hung for 120 s");
                rounds = 0;
            }
        }
        let failed = config.global_error().is_err() || self.writes.load(Ordering::Relaxed) % 2 == 1;
        if failed {
            std::mem::forget(db);
        }
    }
}

/// Entries of one family. See [`Medium::scan`].
pub struct Scan {
    range: Option<sled::Iter>,
    failed: bool,
}

impl Iterator for Scan {
    type Item = Result<(Bytes, Bytes), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let range = self.range.as_mut().filter(|_| !self.failed)?;
        let item = guard("read", || range.next().transpose());
        self.failed = item.is_err();
        item.transpose()
    }
}

/// Calls the engine, with a panic as an error. That space is missing says nothing of the store: it must not be
/// taken for damage.
fn guard<T>(what: &'static str, call: impl FnOnce() -> sled::Result<T>) -> Result<T, StoreError> {
    let message = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(sled::Error::Io(error))) => match StoreError::io(what, Path::new("store/db"), &error) {
            full if full.is_full() => return Err(full),
            _ => error.to_string(),
        },
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| String::from("it panicked")),
    };
    Err(StoreError::Engine { what, message })
}
