//! The live state: does what the kernel asks, fails what is to fail, keeps the trace.

use super::disk::Disk;
use super::faults::{Faults, Syncs};
use super::trace::{Inode, Operation, ROOT};
use super::{NOTES, Note, Setup};
use fuser::{FileAttr, FileType};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::time::SystemTime;

pub const BLOCK_BYTES: u32 = 4096;

/// The inode of [`NOTES`], which is in no folder.
pub const NOTES_INODE: Inode = u64::MAX;

/// The flags of rename(2), which `fuser` passes on as a number.
const RENAME_NOREPLACE: u32 = 1;
const RENAME_EXCHANGE: u32 = 2;

pub struct State {
    pub live: Disk,
    links: HashMap<Inode, u32>,
    times: HashMap<Inode, SystemTime>,
    last_inode: Inode,
    syncs: Syncs,
    pub size_bytes: u64,
    pub trace: Vec<Operation>,
    pub notes: Vec<Note>,
    pub faults: Faults,
}

/// An answer to the kernel, or the error to give it.
pub type Answer<T> = Result<T, Errno>;

impl State {
    pub fn new(setup: Setup) -> Self {
        Self {
            live: Disk::new(),
            links: HashMap::new(),
            times: HashMap::new(),
            last_inode: ROOT,
            syncs: setup.syncs,
            size_bytes: setup.size_bytes,
            trace: Vec::new(),
            notes: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// Bytes of the files that have a name.
    pub fn used_bytes(&self) -> u64 {
        self.live.files.keys().filter(|inode| self.links_of(**inode) > 0).map(|i| self.live.len(*i) as u64).sum()
    }

    fn links_of(&self, inode: Inode) -> u32 {
        self.links.get(&inode).copied().unwrap_or(1)
    }

    pub fn attributes(&self, inode: Inode) -> Answer<FileAttr> {
        let (kind, len) = if self.live.folders.contains_key(&inode) {
            (FileType::Directory, BLOCK_BYTES as usize)
        } else if inode == NOTES_INODE || self.live.files.contains_key(&inode) {
            (FileType::RegularFile, self.live.len(inode))
        } else {
            return Err(Errno::NOENT);
        };
        let time = self.times.get(&inode).copied().unwrap_or(SystemTime::UNIX_EPOCH);
        let mode = self.live.modes.get(&inode).map_or(0o755, |mode| mode & 0o7777);
        Ok(FileAttr {
            ino: inode,
            size: len as u64,
            blocks: len.div_ceil(512) as u64,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: u16::try_from(mode).unwrap_or(0o755),
            nlink: self.links_of(inode),
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        })
    }

    pub fn find(&self, folder: Inode, name: &OsStr) -> Option<Inode> {
        if folder == ROOT && name == NOTES {
            return Some(NOTES_INODE);
        }
        self.live.find(folder, name.to_str()?)
    }

    /// A name of the inode, for reports.
    fn name_of(&self, inode: Inode) -> &str {
        let mut names = self.live.folders.values().flatten();
        names.find_map(|(name, of)| (*of == inode).then_some(name.as_str())).unwrap_or("?")
    }

    /// Does the operation and traces it.
    fn done(&mut self, operation: Operation) {
        if let Operation::Write { inode, .. } | Operation::Resize { inode, .. } | Operation::Make { inode, .. } =
            operation
        {
            self.times.insert(inode, SystemTime::now());
        }
        self.live.apply(&operation);
        self.trace.push(operation);
    }

    /// Lets the next operation pass, or fails it. A failed sync loses what waited for it.
    fn pass(&mut self, what: &'static str) -> Answer<()> {
        if self.faults.hits(self.trace.len() + 1, false) {
            self.faults.took(what.to_owned());
            self.trace.push(Operation::Nothing { what });
            return Err(Errno::IO);
        }
        Ok(())
    }

    fn room(&self, inode: Inode, end: usize) -> Answer<()> {
        let grows = end.saturating_sub(self.live.len(inode)) as u64;
        let fits = self.size_bytes == 0 || grows == 0 || self.used_bytes() + grows <= self.size_bytes;
        if fits { Ok(()) } else { Err(Errno::NOSPC) }
    }

    pub fn make(&mut self, folder: Inode, name: &OsStr, mode: u32, is_folder: bool) -> Answer<FileAttr> {
        self.pass(if is_folder { "mkdir" } else { "create" })?;
        if self.find(folder, name).is_some() {
            return Err(Errno::EXIST);
        }
        self.last_inode += 1;
        let inode = self.last_inode;
        self.done(Operation::Make { folder, name: text(name)?, inode, is_folder, mode });
        self.attributes(inode)
    }

    pub fn link(&mut self, inode: Inode, folder: Inode, name: &OsStr) -> Answer<FileAttr> {
        self.pass("link")?;
        self.done(Operation::Make { folder, name: text(name)?, inode, is_folder: false, mode: 0o644 });
        *self.links.entry(inode).or_insert(1) += 1;
        self.attributes(inode)
    }

    pub fn set(&mut self, inode: Inode, mode: Option<u32>, size: Option<u64>) -> Answer<FileAttr> {
        if let Some(size) = size {
            self.pass("truncate")?;
            let len = usize::try_from(size).map_err(|_| Errno::FBIG)?;
            self.room(inode, len)?;
            self.done(Operation::Resize { inode, len });
        }
        if let Some(mode) = mode {
            self.pass("chmod")?;
            self.done(Operation::Mode { inode, mode });
        }
        self.attributes(inode)
    }

    pub fn write(&mut self, inode: Inode, offset: i64, data: &[u8]) -> Answer<u32> {
        let count = u32::try_from(data.len()).map_err(|_| Errno::INVAL)?;
        if inode == NOTES_INODE {
            let text = String::from_utf8_lossy(data).trim_end().to_owned();
            self.notes.push(Note { after: self.trace.len(), text });
            return Ok(count);
        }
        if self.faults.hits_write(self.trace.len() + 1, (inode, offset)) {
            self.faults.took(format!("write {}", self.name_of(inode)));
            self.trace.push(Operation::Nothing { what: "write" });
            return Err(Errno::IO);
        }
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        self.room(inode, at + data.len())?;
        self.done(Operation::Write { inode, at, data: data.to_vec() });
        Ok(count)
    }

    /// fallocate(2): grows the file, or puts zeros in a range of it.
    pub fn allocate(&mut self, inode: Inode, offset: i64, len: i64, mode: i32) -> Answer<()> {
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let zeroing = FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE;
        if !(zeroing | FallocateFlags::KEEP_SIZE).contains(flags) {
            return Err(Errno::OPNOTSUPP);
        }
        self.pass("fallocate")?;
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        let mut end = at + usize::try_from(len).map_err(|_| Errno::INVAL)?;
        if flags.contains(FallocateFlags::KEEP_SIZE) {
            end = end.min(self.live.len(inode));
        } else if end > self.live.len(inode) {
            self.room(inode, end)?;
            self.done(Operation::Resize { inode, len: end });
        }
        if flags.intersects(zeroing) && at < end {
            self.done(Operation::Write { inode, at, data: vec![0; end - at] });
        }
        Ok(())
    }

    pub fn sync(&mut self, inode: Inode, data_only: bool) -> Answer<()> {
        if self.faults.hits(self.trace.len() + 1, true) {
            self.faults.took(format!("sync {}", self.name_of(inode)));
            self.trace.push(Operation::LostSync { inode });
            return Err(Errno::IO);
        }
        let lies = match self.syncs {
            Syncs::Honest => false,
            Syncs::Lie => true,
            Syncs::DataSyncLies => data_only,
        };
        self.trace.push(match self.live.folders.contains_key(&inode) {
            _ if lies => Operation::Nothing { what: "sync" },
            true => Operation::SyncFolder { inode },
            false => Operation::Sync { inode },
        });
        Ok(())
    }

    pub fn remove(&mut self, folder: Inode, name: &OsStr) -> Answer<()> {
        self.pass("unlink")?;
        let inode = self.find(folder, name).ok_or(Errno::NOENT)?;
        self.must_be_empty(inode)?;
        self.done(Operation::Remove { folder, name: text(name)? });
        self.drop_link(inode);
        Ok(())
    }

    pub fn rename(&mut self, from: Inode, old: &OsStr, to: Inode, new: &OsStr, flags: u32) -> Answer<()> {
        self.pass("rename")?;
        let inode = self.find(from, old).ok_or(Errno::NOENT)?;
        let target = self.find(to, new);
        if flags & RENAME_NOREPLACE != 0 && target.is_some() {
            return Err(Errno::EXIST);
        }
        if target == Some(inode) {
            return Ok(());
        }
        let swapped = if flags & RENAME_EXCHANGE == 0 {
            target.map_or(Ok(()), |target| self.must_be_empty(target))?;
            None
        } else {
            Some(target.ok_or(Errno::NOENT)?)
        };
        self.done(Operation::Rename { from, old: text(old)?, to, new: text(new)?, inode, swapped });
        if let (Some(target), None) = (target, swapped) {
            self.drop_link(target);
        }
        Ok(())
    }

    fn must_be_empty(&self, inode: Inode) -> Answer<()> {
        match self.live.folders.get(&inode) {
            Some(names) if !names.is_empty() => Err(Errno::NOTEMPTY),
            _ => Ok(()),
        }
    }

    /// Content stays, an open handle may still use it; only the space is given back.
    fn drop_link(&mut self, inode: Inode) {
        let links = self.links.entry(inode).or_insert(1);
        *links = links.saturating_sub(1);
    }
}

fn text(name: &OsStr) -> Answer<String> {
    name.to_str().map(str::to_owned).ok_or(Errno::ILSEQ)
}
