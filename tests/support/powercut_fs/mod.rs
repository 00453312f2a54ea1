//! A file system in memory that knows what a power cut would leave.
//!
//! It is mounted by FUSE into an empty folder; the program under test works on it as on any other, from a
//! process of its own (a process that uses the file system it serves can wait for itself). Every change is
//! kept in a trace, so that *one* run can be cut behind any operation afterwards, as often as one likes.
//!
//! What a cut leaves (no kinder than a real disk):
//!
//! - a file's data, size and mode are durable up to the last fsync or fdatasync of that file;
//! - a name (create, link, rename, unlink) is durable after an fsync of its folder ([`Names::Strict`]), or
//!   after any fsync, all older names with it, as a journal orders them ([`Names::Journal`]);
//! - the rest may be there or not: names as a prefix in their order, a rename whole or not at all; of each
//!   write nothing, all, a beginning cut at a 512-byte sector, or any choice of its sectors;
//! - after a failed sync the pages count as clean: no later sync brings that data back.
//!
//! Faults: an operation fails with EIO, once or from there on ([`Fault`]); the disk runs full
//! ([`Setup::size_bytes`]); a sync answers well and does nothing ([`Syncs`]), which is the control that a
//! test must catch. A write to [`NOTES`] in the root is no file but a remark in the trace: a program under
//! test says there what it has promised, and a cut then knows what was promised before it.
//!
//! Layout: `trace` holds the operations, `disk` the files they make, `cut` the disk that a cut leaves, `faults`
//! what fails, `state` the live state, `server` the FUSE side, this file the handle that tests hold.

mod cut;
mod disk;
mod faults;
mod server;
mod state;
mod trace;

pub use faults::{Fault, Syncs};
pub use trace::Names;

use disk::Disk;
use faults::Faults;
use fuser::{BackgroundSession, MountOption, spawn_mount2};
use server::Served;
use state::State;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name, in the root, whose writes are remarks in the trace.
pub const NOTES: &str = ".notes";

/// How the file system behaves from its mounting on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Bytes of all files before a write finds the disk full; 0 is no limit.
    pub size_bytes: u64,
    pub syncs: Syncs,
}

/// What is left of the data that no sync has made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: the synced state alone.
    Nothing,
    /// All names, no data.
    Names,
    /// All of it, as after a kill.
    All,
    /// A choice of names, writes and sectors that this seed draws.
    Some(u64),
}

/// A remark of the program under test.
#[derive(Clone, Debug)]
pub struct Note {
    /// Operations in the trace when it was made.
    pub after: usize,
    pub text: String,
}

/// The mounted file system; dropping it unmounts.
pub struct PowercutFs {
    mount: PathBuf,
    shared: Arc<Mutex<State>>,
    _session: BackgroundSession,
}

impl PowercutFs {
    /// Mounts into the existing empty folder `mount`.
    ///
    /// # Errors
    /// Where FUSE is missing or mounting is not permitted.
    pub fn mount(mount: &Path, setup: Setup) -> io::Result<Self> {
        let shared = Arc::new(Mutex::new(State::new(setup)));
        let options = [MountOption::FSName("powercut".into()), MountOption::DefaultPermissions];
        let session = spawn_mount2(Served(Arc::clone(&shared)), mount, &options)?;
        Ok(Self { mount: mount.to_owned(), shared, _session: session })
    }

    pub fn path(&self) -> &Path {
        &self.mount
    }

    /// Operations in the trace so far.
    pub fn operations(&self) -> usize {
        self.state().trace.len()
    }

    /// From operation `at` on (counted from 1) `fault` happens.
    pub fn fail(&self, at: usize, fault: Fault) {
        self.state().faults.plan(at, fault);
    }

    /// What failed since the last [`fail`](Self::fail): what was done, with the file's name.
    pub fn failed(&self) -> Vec<String> {
        self.state().faults.failed().to_vec()
    }

    /// Nothing fails any more, and no spot is bad.
    pub fn heal(&self) {
        self.state().faults = Faults::default();
    }

    /// Sets the bytes at which the disk is full; 0 is no limit.
    pub fn resize(&self, size_bytes: u64) {
        self.state().size_bytes = size_bytes;
    }

    /// Bytes of all files.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes()
    }

    /// All remarks so far.
    pub fn notes(&self) -> Vec<Note> {
        self.state().notes.clone()
    }

    /// Operations in words, for a failure's report.
    pub fn trace(&self, from: usize, to: usize) -> Vec<String> {
        let state = self.state();
        state.trace.iter().take(to).skip(from).map(ToString::to_string).collect()
    }

    /// Writes into the folder `into` (made anew) the disk that a power cut behind operation `cut` leaves.
    ///
    /// # Errors
    /// When the image cannot be written.
    pub fn image(&self, cut: usize, names: Names, rest: Rest, into: &Path) -> io::Result<()> {
        let disk = cut::after(&self.state().trace, cut, names, rest);
        write_anew(&disk, into)
    }

    /// Writes into the folder `into` (made anew) the files as they are now, without a cut: what a process that
    /// is started again sees.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn live(&self, into: &Path) -> io::Result<()> {
        let disk = self.state().live.clone();
        write_anew(&disk, into)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_anew(disk: &Disk, into: &Path) -> io::Result<()> {
    if into.exists() {
        std::fs::remove_dir_all(into)?;
    }
    disk.write_to(into)
}
