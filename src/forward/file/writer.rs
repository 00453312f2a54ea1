//! The sink itself: drains the log into the file.

use super::resume::resume;
use super::rotate::{free_name, rotated, sync_folder};
use super::{FileError, Options, SinkStatus, WRITE_BYTES_MAX};
use crate::link::Trouble;
use crate::notice;
use crate::store::Store;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

/// One file sink.
pub struct FileSink {
    options: Options,
    store: Arc<Store>,
    status: Arc<SinkStatus>,
    /// None before the first try and after an error: then it is opened and repaired anew.
    open: Option<Open>,
    buffer: Vec<u8>,
    /// Makes what was written durable: [`File::sync_data`], but in tests of its failures.
    pub(super) sync: fn(&File) -> io::Result<()>,
}

struct Open {
    file: File,
    /// Something was written behind `length` and may be on the medium or not.
    torn: bool,
    /// Bytes that are written and synced.
    length: u64,
    cursor: u64,
    begun: SystemTime,
}

impl FileSink {
    #[must_use]
    pub fn new(options: Options, store: Arc<Store>, status: Arc<SinkStatus>) -> Self {
        Self { options, store, status, open: None, buffer: Vec::new(), sync: File::sync_data }
    }

    /// Whether it has nothing left to do until the next commit.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.cursor >= self.store.committed() && !self.is_rotation_due(open))
    }

    /// Whether it waits for its cursor to be stored, to put a file aside.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.open.as_ref().is_none_or(|open| self.is_rotation_due(open))
    }

    /// Writes and syncs all that is committed. `stopping`: no rotation any more.
    ///
    /// # Errors
    /// When the file or the store cannot be read or written; the next call repairs and goes on.
    pub fn drain(&mut self, stopping: bool) -> Result<(), FileError> {
        self.drain_until(stopping, &|| false)
    }

    /// The same, but leaves the rest where `is_over` says so.
    ///
    /// # Errors
    /// As those of [`FileSink::drain`].
    pub fn drain_until(&mut self, stopping: bool, is_over: &dyn Fn() -> bool) -> Result<(), FileError> {
        let kept = match self.open.take() {
            Some(open) if open.torn => return self.cut_back(open).and_then(|()| self.drain_until(stopping, is_over)),
            open => open.filter(|open| self.is_still_the_file(open)),
        };
        let Some(mut open) = kept.map_or_else(|| self.open_file(), |open| Ok(Some(open)))? else { return Ok(()) };
        while open.cursor < self.store.committed() && !is_over() {
            if !stopping && self.is_rotation_due(&open) {
                break;
            }
            if let Err(error) = self.write_some(&mut open) {
                if open.torn {
                    // Should this fail too, it comes first the next time.
                    let _ = self.cut_back(open);
                }
                return Err(error);
            }
        }
        if !stopping && self.is_rotation_due(&open) && self.store.stored_cursor(&self.options.name)? >= open.cursor {
            self.rotate(&open)?;
            return Ok(());
        }
        self.open = Some(open);
        Ok(())
    }

    /// Takes off what a failed write or sync left. The kernel may hold it in clean pages that the medium
    /// does not have: they would compare equal, and be "synced" without being written.
    fn cut_back(&mut self, open: Open) -> Result<(), FileError> {
        open.file.set_len(open.length).map_err(|source| {
            let path = self.options.path.clone();
            self.open = Some(open);
            FileError::Io { what: "cannot cut", path, source }
        })
    }

    /// Whether the path still leads to the file, and to as much of it as was written.
    fn is_still_the_file(&self, open: &Open) -> bool {
        let (Ok(at), Ok(ours)) = (std::fs::metadata(&self.options.path), open.file.metadata()) else { return false };
        (at.dev(), at.ino(), at.len()) == (ours.dev(), ours.ino(), open.length)
    }

    fn is_rotation_due(&self, open: &Open) -> bool {
        self.options.rotation.is_due(open.length, open.begun, SystemTime::now())
    }

    /// None where the cursor must be stored before it can go on.
    fn open_file(&self) -> Result<Option<Open>, FileError> {
        let path = &self.options.path;
        let fail = |what| move |source| FileError::Io { what, path: path.clone(), source };
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o750).create(folder).map_err(fail("cannot make the folder of"))?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o640)
            .open(path)
            .map_err(fail("cannot open"))?;
        sync_folder(path).map_err(fail("cannot sync the folder of"))?;
        let stored = self.store.cursor(&self.options.name)?;
        let resumed = resume(&file, &self.store, stored, self.options.encoding, &self.options.filter)
            .map_err(|error| error.at(path))?;
        if resumed.rest > 0 && resumed.is_verdict {
            self.store.set_cursor(&self.options.name, resumed.cursor)?;
            // The file to come does not hold the lines that were just found.
            if self.store.stored_cursor(&self.options.name)? < resumed.cursor {
                return Ok(None);
            }
            let aside = free_name(path, SystemTime::now(), resumed.cursor.saturating_sub(1));
            tracing::warn!(
                kind = notice::FILE_PUT_ASIDE.kind,
                sink = self.options.name,
                file = %aside.display(),
                "put aside a file with verdicts that the store does not hold as they are there"
            );
            std::fs::rename(path, aside).map_err(fail("cannot rename"))?;
            return self.open_file();
        }
        if resumed.rest > 0 {
            tracing::warn!(
                kind = notice::TORN_LINES.kind,
                sink = self.options.name,
                bytes = resumed.rest,
                "cut off lines that were not whole after the last stop; they are written again"
            );
            file.set_len(resumed.length).map_err(fail("cannot cut"))?;
        }
        // What is counted as delivered from here on is on the medium.
        (self.sync)(&file).map_err(fail("cannot sync"))?;
        self.store.set_cursor(&self.options.name, resumed.cursor)?;
        let metadata = file.metadata().map_err(fail("cannot look at"))?;
        let begun = metadata.created().or_else(|_| metadata.modified()).unwrap_or_else(|_| SystemTime::now());
        Ok(Some(Open { file, torn: false, length: resumed.length, cursor: resumed.cursor, begun }))
    }

    fn write_some(&mut self, open: &mut Open) -> Result<(), FileError> {
        self.buffer.clear();
        let mut next = open.cursor;
        let mut lines = 0;
        // Read before the log: what is committed in between is not to be passed over.
        let end = self.store.committed();
        while self.buffer.len() < WRITE_BYTES_MAX {
            let Some(chunk) = self.store.next_chunk(next)? else {
                // A gap at the end of the log (chunks set aside as damaged) is passed over.
                next = end.max(next);
                break;
            };
            for record in chunk.records().filter(|record| record.verdict.sequence >= next) {
                if !self.options.filter.wants(record.verdict.decision) {
                    continue;
                }
                let start = self.buffer.len();
                let (encoding, buffer) = (self.options.encoding, &mut self.buffer);
                if catch_unwind(AssertUnwindSafe(|| encoding.write(&record.verdict, buffer))).is_err() {
                    self.buffer.truncate(start);
                    self.status.link.note(Trouble::Poison, "internal error: a verdict cannot be rendered");
                    let sequence = record.verdict.sequence;
                    let (kind, sink) = (notice::VERDICT_UNWRITABLE.kind, &self.options.name);
                    tracing::error!(kind, sink, sequence, "a bug: this verdict cannot be written");
                    continue;
                }
                self.buffer.push(b'\n');
                lines += 1;
            }
            next = chunk.next().max(next);
        }
        let path = &self.options.path;
        let fail = |what| move |source: io::Error| FileError::Io { what, path: path.clone(), source };
        if !self.buffer.is_empty() {
            open.torn = true;
            open.file.write_all_at(&self.buffer, open.length).map_err(fail("cannot write"))?;
            (self.sync)(&open.file).map_err(fail("cannot sync"))?;
            open.torn = false;
            if open.length == 0 {
                open.begun = SystemTime::now();
            }
            open.length += self.buffer.len() as u64;
        }
        open.cursor = next;
        self.store.set_cursor(&self.options.name, next)?;
        self.status.add_delivered(lines);
        Ok(())
    }

    /// Puts the current file aside; the next drain begins a new one.
    fn rotate(&self, open: &Open) -> Result<(), FileError> {
        let path = &self.options.path;
        let fail = |what| move |source: io::Error| FileError::Io { what, path: path.clone(), source };
        let aside = free_name(path, SystemTime::now(), open.cursor.saturating_sub(1));
        std::fs::rename(path, aside).map_err(fail("cannot rename"))?;
        sync_folder(path).map_err(fail("cannot sync the folder of"))?;
        if let Some(keep) = self.options.rotation.keep {
            let files = rotated(path)?;
            for old in files.iter().take(files.len().saturating_sub(keep)) {
                let (kind, sink) = (notice::FILE_REMOVED.kind, &self.options.name);
                tracing::info!(kind, sink, file = %old.display(), "removing the oldest rotated file");
                std::fs::remove_file(old).map_err(fail("cannot remove a rotated file of"))?;
            }
        }
        Ok(())
    }
}
