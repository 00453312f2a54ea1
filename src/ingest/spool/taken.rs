//! One file of the spool, from where it was left to its end.

use super::super::files::{BlockError, Blocks, HEAD_BYTES_MAX, Head, Place};
use super::Options;
use crate::event::EventBatch;
use crate::ingest::Intake;
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

/// The reason why a file is not taken.
pub(super) enum Unfit {
    /// For now.
    Now(io::Error),
    /// For what it is.
    Forever(String),
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        // Bad sectors, and a symbolic link put in the file's place.
        let is_its_own = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::EIO | libc::ELOOP));
        if is_its_own { Self::Forever(error.to_string()) } else { Self::Now(error) }
    }
}

impl From<BlockError> for Unfit {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::Io(error) => error.into(),
            other => Self::Forever(other.to_string()),
        }
    }
}

pub(super) struct Taken {
    blocks: Blocks,
    /// Behind what was decoded last.
    place: Place,
    default_id: bool,
}

impl Taken {
    /// Opens a file of the folder, None where it is gone; `kept` is where a file was left before.
    pub fn open(options: &Options, name: &OsStr, kept: Option<&Place>) -> Result<Option<Self>, Unfit> {
        let path = options.path.join(name);
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = match File::options().read(true).custom_flags(flags).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        let head = Head::of(&file, HEAD_BYTES_MAX as u64)?;
        check_text(&file)?;
        let named = Place::name(Path::new(name));
        let changed = metadata.mtime().wrapping_mul(1_000_000_000).wrapping_add(metadata.mtime_nsec());
        let start = Place {
            head,
            size: metadata.len(),
            changed,
            ids: Place::ids_of(&[named, metadata.len()], head),
            ..Place::start(named, metadata.ino())
        };
        // Everything but how far it was read must be the same.
        let same = kept.filter(|kept| Place { offset: 0, ..(*kept).clone() } == start);
        let place = same.cloned().unwrap_or(start);
        let blocks = Blocks::new(file, place.offset, &options.format, options.event_bytes_max);
        Ok(Some(Self { blocks, place, default_id: options.default_id }))
    }

    /// Behind what was decoded last.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What the next read costs at most, in bytes of memory.
    pub fn cost(&self) -> usize {
        let size = self.blocks.file().metadata().map_or(self.place.size, |metadata| metadata.len());
        self.blocks.cost(size.saturating_sub(self.blocks.read_to()))
    }

    /// The next records and the place behind them; None at the end.
    pub fn read<I: Intake>(&mut self, intake: &I) -> Result<Option<(EventBatch, Place)>, Unfit> {
        loop {
            let size = self.blocks.file().metadata()?.len();
            let read = self.blocks.fill(size.saturating_sub(self.blocks.read_to()))?;
            let ended = self.blocks.read_to() >= size;
            let ids = self.default_id.then_some(self.place.ids.as_str());
            if let Some(decoded) = self.blocks.decode(intake, ids, ended)? {
                self.place.offset = decoded.next;
                return Ok(Some((decoded.batch, self.place.clone())));
            }
            if ended && read == 0 {
                return Ok(None);
            }
        }
    }
}

/// Refuses what is no text at its first bytes: binary, compressed, UTF-16.
fn check_text(file: &File) -> Result<(), Unfit> {
    let mut first = [0; 4096];
    let read = file.read_at(&mut first, 0)?;
    let first = first.get(..read).unwrap_or_default();
    let what = if first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff") {
        "UTF-16"
    } else if first.starts_with(b"\x1f\x8b")
        || first.starts_with(b"\x28\xb5\x2f\xfd")
        || first.starts_with(b"PK\x03\x04")
    {
        "a compressed file"
    } else if first.contains(&0) {
        "bytes that are no text"
    } else {
        return Ok(());
    };
    Err(Unfit::Forever(format!("expected UTF-8 text, found {what}")))
}
