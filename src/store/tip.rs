//! The tip file: how far the log was durable when last heard of.
//!
//! Written after each commit's sync and never synced itself: it may lag behind the log but never be ahead of
//! it. So a log that ends before the tip has lost something, which the log engine by itself would not say.
//!
//! ```text
//!  0  4  magic "vdT1"
//!  4  8  next sequence
//! 12  8  seed of fingerprints
//! 20  8  generation
//! 28  4  CRC-32 of what stands before
//! ```

use super::error::StoreError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 4] = *b"vdT1";
const LENGTH: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    pub next: u64,
    pub seed: u64,
    pub generation: u64,
}

#[derive(Debug)]
pub struct TipFile {
    file: File,
    path: PathBuf,
}

impl Tip {
    /// The tip in a file; none where there is no whole one.
    pub fn read(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut bytes = [0; LENGTH];
        file.read_exact_at(&mut bytes, 0).ok()?;
        Self::decode(&bytes)
    }

    fn decode(bytes: &[u8; LENGTH]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let sound = bytes[..4] == MAGIC && crc32fast::hash(&bytes[..28]).to_le_bytes() == bytes[28..];
        sound.then_some(())?;
        Some(Self { next: number(4)?, seed: number(12)?, generation: number(20)? })
    }

    fn encode(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..12].copy_from_slice(&self.next.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.seed.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.generation.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

impl TipFile {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| StoreError::io("open", path, &error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    pub fn write(&self, tip: Tip) -> Result<(), StoreError> {
        self.file.write_all_at(&tip.encode(), 0).map_err(|error| StoreError::io("write", &self.path, &error))
    }
}
