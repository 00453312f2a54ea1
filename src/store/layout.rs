//! The files of a store, and what must be right with them before the log engine opens them.
//!
//! ```text
//! <state-dir>/
//!   lock            held while a daemon runs; says by whom
//!   ballast         given up when the disk is full, so that the daemon can still open, drain and trim
//!   tip             how far the log was durable: tells a loss that the log engine would pass over
//!   segments        the log engine's newest segments as they were before it was opened last
//!   damaged-<n>/    files set aside by a salvage
//!   store/          the log engine's: conf, db, blobs/, snap.*
//! ```
//!
//! Traps of the engine that are closed here, before every open:
//!
//! - `conf` is never synced by it, and cut off it makes it refuse for ever. Its content is fixed for this
//!   version and segment size, so it is written here, whole and synced, whenever it differs.
//! - A left-over `snap.*.generating` makes the open fail, and a snapshot's name is not durable before
//!   segments that the older one needs are zeroed. So no snapshot is ever read: all `snap.*` are deleted and
//!   each open recovers from the log itself.
//! - That needs one thing more: at open, the engine zeroes segments that hold nothing live, also in the middle
//!   of the newest ones, where a recovery without a snapshot takes the hole for the log's end. So which
//!   segments there were is written down before each open (`segments`), and holes are filled before the next.
//! - Files and folders are made here first and their names synced.

use super::error::StoreError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Segment size of the log engine, bytes; fixed at creation.
pub const SEGMENT_BYTES: u64 = 512 * 1024;

/// Where things stand in a state-dir.
#[derive(Clone, Debug)]
pub struct Layout {
    pub dir: PathBuf,
    /// Name of the log engine's folder in it.
    pub store: &'static str,
}

impl Layout {
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), store: "store" }
    }

    pub fn store(&self) -> PathBuf {
        self.dir.join(self.store)
    }

    pub fn db(&self) -> PathBuf {
        self.store().join("db")
    }

    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub fn tip(&self) -> PathBuf {
        self.dir.join("tip")
    }

    pub fn ballast(&self) -> PathBuf {
        self.dir.join("ballast")
    }

    pub fn segments(&self) -> PathBuf {
        self.dir.join("segments")
    }

    /// The folders `damaged-<n>` that there are, from 1 on.
    pub fn damaged(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (1..=u32::MAX).map(|n| self.dir.join(format!("damaged-{n}"))).take_while(|path| path.exists())
    }

    /// The first of them that is free.
    pub fn next_damaged(&self) -> PathBuf {
        self.dir.join(format!("damaged-{}", self.damaged().count() + 1))
    }
}

/// Readies the files. Idempotent, and safe to be cut off anywhere.
pub fn prepare(layout: &Layout) -> Result<(), StoreError> {
    let store = layout.store();
    make_dir(&store.join("blobs"))?;
    remove_snapshots(&store)?;
    let conf = store.join("conf");
    let content = conf_content();
    let mut made = false;
    if fs::read(&conf).ok().as_deref() != Some(&content) {
        write_durably(&conf, &content)?;
        made = true;
    }
    let db = layout.db();
    if !db.exists() {
        File::create(&db).and_then(|file| file.sync_all()).map_err(|error| StoreError::io("create", &db, &error))?;
        made = true;
    }
    if made {
        sync_dir(&store.join("blobs"))?;
        sync_dir(&store)?;
        sync_dir(&layout.dir)?;
    }
    Ok(())
}

/// The list in `segments`; empty where there is no whole one.
pub fn read_segments(layout: &Layout) -> Vec<(u64, i64)> {
    let Ok(bytes) = fs::read(layout.segments()) else { return Vec::new() };
    let Some((crc, list)) = bytes.split_first_chunk::<4>() else { return Vec::new() };
    if crc32fast::hash(list).to_le_bytes() != *crc {
        return Vec::new();
    }
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    list.chunks_exact(16).map(|pair| (number(&pair[..8]), number(&pair[8..]).cast_signed())).collect()
}

pub fn write_segments(layout: &Layout, chain: &[(u64, i64)]) -> Result<(), StoreError> {
    let mut list: Vec<u8> = Vec::with_capacity(16 * chain.len());
    for (offset, lsn) in chain {
        list.extend_from_slice(&offset.to_le_bytes());
        list.extend_from_slice(&lsn.to_le_bytes());
    }
    let mut bytes = crc32fast::hash(&list).to_le_bytes().to_vec();
    bytes.extend_from_slice(&list);
    write_durably(&layout.segments(), &bytes)
}

/// Whether the engine ever put a value into a file of its own: an alarm, for such files are not synced.
pub fn has_blobs(layout: &Layout) -> bool {
    fs::read_dir(layout.store().join("blobs")).is_ok_and(|mut entries| entries.next().is_some())
}

/// What sled 0.34 writes into `conf` for this segment size: three lines and their CRC-32.
fn conf_content() -> Vec<u8> {
    let mut content = format!("segment_size: {SEGMENT_BYTES}\nuse_compression: false\nversion: 0.34\n").into_bytes();
    let crc = crc32fast::hash(&content);
    content.extend_from_slice(&crc.to_le_bytes());
    content
}

fn remove_snapshots(store: &Path) -> Result<(), StoreError> {
    let entries = fs::read_dir(store).map_err(|error| StoreError::io("list", store, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| StoreError::io("list", store, &error))?;
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            let path = entry.path();
            fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, &error))?;
        }
    }
    Ok(())
}

/// Makes a folder and those above it, their names synced.
pub fn make_dir(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_dir(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StoreError::io("create", path, &error)),
    }
    path.parent().map_or(Ok(()), sync_dir)
}

pub fn sync_dir(path: &Path) -> Result<(), StoreError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path).and_then(|dir| dir.sync_all()).map_err(|error| StoreError::io("sync", path, &error))
}

/// Replaces a file's content: after a power cut it is the old or the new one, whole.
pub fn write_durably(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let new = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| StoreError::io("write", path, &error))?;
    path.parent().map_or(Ok(()), sync_dir)
}
