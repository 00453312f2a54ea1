//! Room on the disk: the budget of the state-dir, the reserve, and the ballast.

use super::error::StoreError;
use super::layout::Layout;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Free space that must remain for new events, bytes.
pub const RESERVE_BYTES: u64 = 16 << 20;
/// Free space that a commit without new events (cursors, trimming) may go down to, bytes.
pub const DEEP_RESERVE_BYTES: u64 = 4 << 20;
/// Size of the ballast file, bytes.
pub const BALLAST_BYTES: u64 = 8 << 20;
/// The engine's file may be this many times the live bytes in it (hundredths); measured, see benches/store.rs.
pub const AMPLIFICATION_PERCENT: u64 = 300;
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
            Self::BudgetReached => "the disk budget is reached by events that no sink has taken",
            Self::DiskFull => "the disk is full",
        })
    }
}

#[derive(Debug)]
pub struct Disk {
    layout: Layout,
    budget: u64,
    room: AtomicU8,
    live: AtomicU64,
    file: AtomicU64,
    others: AtomicU64,
    free: AtomicU64,
    refreshed: Mutex<Option<Instant>>,
}

impl Disk {
    pub fn new(layout: Layout, budget: u64) -> Self {
        Self {
            layout,
            budget,
            room: AtomicU8::new(0),
            live: AtomicU64::new(0),
            file: AtomicU64::new(0),
            others: AtomicU64::new(0),
            free: AtomicU64::new(u64::MAX),
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

    /// Takes in what the writer knows, and at most once a second the sizes of the other files and what is free.
    pub fn update(&self, live: u64, file: u64) -> Result<(), StoreError> {
        self.live.store(live, Ordering::Relaxed);
        self.file.store(file, Ordering::Relaxed);
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        if refreshed.is_none_or(|at| at.elapsed() >= REFRESH_EVERY) {
            *refreshed = Some(Instant::now());
            self.refresh()?;
        }
        drop(refreshed);
        let room = if self.live_limit() >= live {
            0
        } else if self.free.load(Ordering::Relaxed) < RESERVE_BYTES {
            2
        } else {
            1
        };
        self.room.store(room, Ordering::Relaxed);
        Ok(())
    }

    fn refresh(&self) -> Result<(), StoreError> {
        let dir = &self.layout.dir;
        let stat =
            rustix::fs::statvfs(dir).map_err(|error| StoreError::io("ask for free space in", dir, &error.into()))?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        self.free.store(free, Ordering::Relaxed);
        let all = size_of_dir(dir, 4);
        self.others.store(all.saturating_sub(self.file.load(Ordering::Relaxed)), Ordering::Relaxed);
        Ok(())
    }

    /// Most live bytes that fit.
    pub fn live_limit(&self) -> u64 {
        let file = self.file.load(Ordering::Relaxed);
        let by_budget = self.budget.saturating_sub(self.others.load(Ordering::Relaxed));
        let by_disk = file.saturating_add(self.free.load(Ordering::Relaxed).saturating_sub(RESERVE_BYTES));
        by_budget.min(by_disk) / AMPLIFICATION_PERCENT * 100
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

/// Makes the ballast if it is not there and there is room for it.
pub fn make_ballast(layout: &Layout, free: u64) {
    let path = layout.ballast();
    if path.exists() || free < RESERVE_BYTES + BALLAST_BYTES {
        return;
    }
    // Written, not only allocated: not every file system keeps a promise of blocks.
    let written = File::create(&path).and_then(|mut file| {
        let block = vec![0x5a; 1 << 20];
        (0..BALLAST_BYTES >> 20).try_for_each(|_| std::io::Write::write_all(&mut file, &block))?;
        file.sync_all()
    });
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
}

/// Gives the ballast up, if it is there. Says whether it was.
pub fn drop_ballast(layout: &Layout) -> bool {
    fs::remove_file(layout.ballast()).is_ok()
}
