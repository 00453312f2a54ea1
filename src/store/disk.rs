//! Room on the disk: the budget of the state-dir, the reserve, and the ballast.
//!
//! # How sled uses space, and what follows
//!
//! Its file is a row of 512 KiB segments. A segment is reused when nothing in it is live, and moved together
//! when less than half of it is; the file shrinks only at its end. So the file's length says how much there
//! once was, not how much is there: what counts is the live bytes, kept by the writer. In steady state the
//! file is at most [`AMPLIFICATION_PERCENT`] of them (measured: `cargo bench --bench store -- space`), so
//! live bytes are held below that share of the budget.
//!
//! # The reserve
//!
//! The log engine must never meet a full disk in the middle of a write. Where the file system can, blocks for
//! [`AHEAD_BYTES`] beyond the file's end are allocated ahead, so that its growth cannot fail; what it would
//! take to renew them is what `room` asks for. Elsewhere free space is compared with [`RESERVE_BYTES`].
//! Commits without new events (cursors, trimming) may use the deeper reserve, so that draining goes on.
//!
//! The ballast is a file that is given up when there is really nothing left: half of it by a commit, so that
//! what is on its way and draining go on; the rest only by a start, which needs some bytes too. A new store
//! makes it at once, any other within seconds of its start, as soon as there is room.

use super::error::StoreError;
use super::layout::Layout;
use crate::notice;
use rustix::fs::FallocateFlags;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Free space that must remain for new events, bytes.
pub const RESERVE_BYTES: u64 = 16 << 20;
/// Free space that a commit without new events (cursors, trimming) may go down to, bytes.
pub const DEEP_RESERVE_BYTES: u64 = 4 << 20;
/// Size of the ballast file, bytes.
pub const BALLAST_BYTES: u64 = 8 << 20;
/// Blocks allocated beyond the end of the engine's file, bytes: more than a commit can write.
pub const AHEAD_BYTES: u64 = 8 << 20;
/// The engine's file is at most so many hundredths of the live bytes in it.
pub const AMPLIFICATION_PERCENT: u64 = 300;
/// The file's length that is there whatever stands in it, bytes: a few segments are always in use.
const BASE_BYTES: u64 = 8 << 20;
const REFRESH_EVERY: Duration = Duration::from_secs(1);

/// Whether new events can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    Yes,
    /// The state-dir's budget is reached by what may not be removed.
    BudgetReached,
    /// The file system is full.
    DiskFull,
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "there is room",
            Self::BudgetReached => "the disk budget is reached by events that may not be removed",
            Self::DiskFull => "the disk is full",
        })
    }
}

/// What is known of the space, and what follows from it. Decides without I/O.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Budget of the state-dir.
    pub budget: u64,
    /// Files in it other than the engine's and the ballast.
    pub others: u64,
    /// Length of the engine's file.
    pub file: u64,
    /// Live bytes in it.
    pub live: u64,
    /// Free on the file system.
    pub free: u64,
    /// Whether the blocks ahead of the file's end are there.
    pub ahead: bool,
}

impl Space {
    /// Most live bytes that fit into the budget and onto the disk.
    pub fn live_limit(&self) -> u64 {
        let by_budget = self.budget.saturating_sub(self.others).saturating_sub(BALLAST_BYTES);
        let by_disk = self.file.saturating_add(self.free.saturating_sub(RESERVE_BYTES));
        by_budget.min(by_disk).saturating_sub(BASE_BYTES) / AMPLIFICATION_PERCENT * 100
    }

    pub fn room(&self) -> Room {
        if self.live > self.live_limit() {
            return if self.free < RESERVE_BYTES { Room::DiskFull } else { Room::BudgetReached };
        }
        // With far less live than the file is long, the engine has free segments to write into.
        let hollow = self.live * 100 / self.file.max(1) < 100 * 100 / (2 * AMPLIFICATION_PERCENT);
        if self.free < DEEP_RESERVE_BYTES || (self.free < RESERVE_BYTES && !hollow && !self.ahead) {
            return Room::DiskFull;
        }
        Room::Yes
    }

    /// Whether delivered events should go although they are still in the window: a tenth before the limit.
    pub fn is_tight(&self) -> bool {
        self.live > self.live_limit() / 10 * 9
    }
}

#[derive(Debug)]
pub struct Disk {
    layout: Layout,
    budget: u64,
    /// The store was made just now, and has the ballast made with it.
    created: bool,
    room: AtomicU8,
    tight: AtomicBool,
    live: AtomicU64,
    file: AtomicU64,
    others: AtomicU64,
    free: AtomicU64,
    /// Up to where blocks are allocated.
    ahead: AtomicU64,
    refreshed: Mutex<Option<Instant>>,
}

impl Disk {
    pub fn new(layout: Layout, budget: u64, created: bool) -> Self {
        Self {
            layout,
            budget,
            created,
            room: AtomicU8::new(0),
            tight: AtomicBool::new(false),
            live: AtomicU64::new(0),
            file: AtomicU64::new(0),
            others: AtomicU64::new(0),
            free: AtomicU64::new(u64::MAX),
            ahead: AtomicU64::new(0),
            refreshed: Mutex::new(None),
        }
    }

    pub fn room(&self) -> Room {
        match self.room.load(Ordering::Relaxed) {
            0 => Room::Yes,
            1 => Room::BudgetReached,
            _ => Room::DiskFull,
        }
    }

    /// Whether delivered events should go before their time.
    pub fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// Takes in what the writer knows, and at most once a second the sizes of the other files and what is free.
    pub fn update(&self, live: u64, file: &File) -> Result<(), StoreError> {
        let length = file.metadata().map_or(0, |meta| meta.len());
        self.live.store(live, Ordering::Relaxed);
        self.file.store(length, Ordering::Relaxed);
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        if refreshed.is_none_or(|at| at.elapsed() >= REFRESH_EVERY) {
            // Only the first open of all waits for the ballast.
            let is_open = refreshed.replace(Instant::now()).is_none();
            self.refresh(length, !is_open || self.created)?;
        }
        drop(refreshed);
        let ahead = self.allocate_ahead(file, length);
        let space = self.space(ahead);
        let room = space.room();
        let before = self.room.swap(room as u8, Ordering::Relaxed);
        if before != room as u8 {
            match room {
                Room::Yes => tracing::info!(kind = notice::INTAKE_RESUMED.kind, "new events are taken again"),
                reason => tracing::error!(kind = notice::INTAKE_STOPPED.kind, %reason, "no new events are taken"),
            }
        }
        self.tight.store(space.is_tight(), Ordering::Relaxed);
        Ok(())
    }

    fn space(&self, ahead: bool) -> Space {
        let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        Space {
            budget: self.budget,
            others: load(&self.others),
            file: load(&self.file),
            live: load(&self.live),
            free: load(&self.free),
            ahead,
        }
    }

    /// Whether the blocks beyond the file's end are there, allocating them when half is used up.
    fn allocate_ahead(&self, file: &File, length: u64) -> bool {
        if self.ahead.load(Ordering::Relaxed) >= length + AHEAD_BYTES / 2 {
            return true;
        }
        let allocated = rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, length, AHEAD_BYTES).is_ok();
        if allocated {
            self.ahead.store(length + AHEAD_BYTES, Ordering::Relaxed);
        }
        allocated
    }

    fn refresh(&self, file: u64, with_ballast: bool) -> Result<(), StoreError> {
        let free = free_bytes(&self.layout.dir)?;
        self.free.store(free, Ordering::Relaxed);
        let ballast = fs::metadata(self.layout.ballast()).map_or(0, |meta| meta.len());
        let all = size_of_dir(&self.layout.dir, 4);
        self.others.store(all.saturating_sub(file).saturating_sub(ballast), Ordering::Relaxed);
        // Truncation gives the blocks ahead back: ask for them anew.
        self.ahead.store(0, Ordering::Relaxed);
        if free < DEEP_RESERVE_BYTES && ballast > BALLAST_BYTES / 2 {
            self.halve_ballast();
        } else if with_ballast && ballast < BALLAST_BYTES {
            make_ballast(&self.layout, free)?;
        }
        Ok(())
    }

    /// Before a commit on a full disk: what was on its way when the disk became full still gets its room.
    pub fn make_way(&self) -> Result<(), StoreError> {
        let ballast = fs::metadata(self.layout.ballast()).map_or(0, |meta| meta.len());
        if ballast > BALLAST_BYTES / 2 && free_bytes(&self.layout.dir)? < DEEP_RESERVE_BYTES {
            self.halve_ballast();
        }
        Ok(())
    }

    fn halve_ballast(&self) {
        let path = self.layout.ballast();
        match File::options().write(true).open(&path).and_then(|file| file.set_len(BALLAST_BYTES / 2)) {
            Ok(()) => {
                let kind = notice::BALLAST_GIVEN_UP.kind;
                tracing::error!(kind, "the disk is full: half the ballast is given up so that draining can go on");
            }
            Err(error) => {
                let kind = notice::BALLAST_STUCK.kind;
                tracing::error!(kind, %error, "the disk is full and the ballast cannot be given up");
            }
        }
    }

    pub fn used(&self) -> u64 {
        self.file.load(Ordering::Relaxed).saturating_add(self.others.load(Ordering::Relaxed))
    }

    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    pub fn free(&self) -> u64 {
        self.free.load(Ordering::Relaxed)
    }
}

/// Free bytes for us on the file system of a folder.
pub fn free_bytes(dir: &Path) -> Result<u64, StoreError> {
    let stat = rustix::fs::statvfs(dir).map_err(|error| StoreError::io("ask for free space in", dir, &error.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Bytes of the files in a folder and those below it, to a depth; what vanishes meanwhile counts nothing.
fn size_of_dir(dir: &Path, depth: u32) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => size_of_dir(&entry.path(), depth - 1),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |meta| meta.len()),
            _ => 0,
        })
        .sum()
}

/// Makes the ballast if it is not there, or was cut off, and there is room for it.
fn make_ballast(layout: &Layout, free: u64) -> Result<(), StoreError> {
    let path = layout.ballast();
    let whole = fs::metadata(&path).is_ok_and(|meta| meta.len() == BALLAST_BYTES);
    if whole || free < RESERVE_BYTES + BALLAST_BYTES {
        return Ok(());
    }
    // Written, not only allocated: not every file system keeps a promise of blocks.
    let written = File::create(&path).and_then(|mut file| {
        let block = vec![0x5a; 1 << 20];
        (0..BALLAST_BYTES >> 20).try_for_each(|_| file.write_all(&block))?;
        file.sync_all()
    });
    let Err(error) = written else { return Ok(()) };
    let _ = fs::remove_file(&path);
    // Without room for it there is none; any other error is the medium's.
    let error = StoreError::io("write", &path, &error);
    if error.is_full() { Ok(()) } else { Err(error) }
}

/// Gives all of the ballast up, if it is there. Says whether it was.
pub fn drop_ballast(layout: &Layout) -> bool {
    fs::remove_file(layout.ballast()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn space() -> Space {
        Space { budget: 1024 * MIB, others: 0, file: 100 * MIB, live: 50 * MIB, free: 10_000 * MIB, ahead: true }
    }

    #[test]
    fn the_budget_bounds_what_is_live() {
        assert_eq!(space().room(), Room::Yes);
        assert!(!space().is_tight());
        let full = Space { live: 340 * MIB, file: 900 * MIB, ..space() };
        assert_eq!(full.room(), Room::BudgetReached);
        let tight = Space { live: 310 * MIB, file: 900 * MIB, ..space() };
        assert!(tight.is_tight() && tight.room() == Room::Yes);
        assert_eq!(Space { others: 1020 * MIB, ..space() }.room(), Room::BudgetReached);
    }

    #[test]
    fn a_full_disk_refuses_and_a_drained_store_on_it_goes_on() {
        assert_eq!(Space { free: 2 * MIB, ..space() }.room(), Room::DiskFull);
        // The file takes up the disk, but hardly anything in it is live any more.
        let drained = Space { file: 800 * MIB, live: 10 * MIB, free: 10 * MIB, ahead: false, ..space() };
        assert_eq!(drained.room(), Room::Yes);
        assert_eq!(Space { live: 300 * MIB, ..drained }.room(), Room::DiskFull);
    }
}
