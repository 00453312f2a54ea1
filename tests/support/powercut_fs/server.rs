//! The FUSE side: passes the kernel's requests to the live state and its answers back.

use super::state::{Answer, BLOCK_BYTES, NOTES_INODE, State};
use super::trace::ROOT;
use fuser::consts::FOPEN_DIRECT_IO;
use fuser::{
    FileType, Filesystem, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow,
};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Nothing is cached by the kernel: names and sizes may change under it.
const TTL: Duration = Duration::ZERO;

/// What an unlimited disk says it holds.
const UNLIMITED_BYTES: u64 = 16 << 30;

/// The bits of a mode that say what kind of file it is, and those of a plain one.
const KIND_MASK: u32 = 0o170_000;
const PLAIN_FILE: u32 = 0o100_000;

/// The served file system.
pub struct Served(pub Arc<Mutex<State>>);

impl Served {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Direct I/O would pass the page cache by, which no rule here speaks of.
fn is_direct(flags: i32) -> bool {
    OFlags::from_bits_retain(flags.cast_unsigned()).contains(OFlags::DIRECT)
}

fn reply_empty(answer: Answer<()>, reply: ReplyEmpty) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error.raw_os_error()),
    }
}

fn reply_entry(answer: Answer<fuser::FileAttr>, reply: ReplyEntry) {
    match answer {
        Ok(attributes) => reply.entry(&TTL, &attributes, 0),
        Err(error) => reply.error(error.raw_os_error()),
    }
}

fn reply_attr(answer: Answer<fuser::FileAttr>, reply: ReplyAttr) {
    match answer {
        Ok(attributes) => reply.attr(&TTL, &attributes),
        Err(error) => reply.error(error.raw_os_error()),
    }
}

impl Filesystem for Served {
    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        let found = state.find(parent, name).ok_or(Errno::NOENT);
        reply_entry(found.and_then(|inode| state.attributes(inode)), reply);
    }

    fn getattr(&mut self, _: &Request<'_>, ino: u64, _: Option<u64>, reply: ReplyAttr) {
        reply_attr(self.state().attributes(ino), reply);
    }

    fn setattr(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        reply_attr(self.state().set(ino, mode, size), reply);
    }

    fn mknod(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, mode: u32, umask: u32, _: u32, reply: ReplyEntry) {
        if mode & KIND_MASK != PLAIN_FILE {
            return reply.error(Errno::PERM.raw_os_error());
        }
        reply_entry(self.state().make(parent, name, mode & !umask, false), reply);
    }

    fn mkdir(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        reply_entry(self.state().make(parent, name, mode & !umask, true), reply);
    }

    fn create(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        if is_direct(flags) {
            return reply.error(Errno::INVAL.raw_os_error());
        }
        match self.state().make(parent, name, mode & !umask, false) {
            Ok(attributes) => reply.created(&TTL, &attributes, 0, 0, 0),
            Err(error) => reply.error(error.raw_os_error()),
        }
    }

    fn open(&mut self, _: &Request<'_>, ino: u64, flags: i32, reply: ReplyOpen) {
        if is_direct(flags) {
            reply.error(Errno::INVAL.raw_os_error());
        } else {
            // A remark comes in one piece; through the page cache it would be cut at page borders.
            reply.opened(0, if ino == NOTES_INODE { FOPEN_DIRECT_IO } else { 0 });
        }
    }

    fn link(&mut self, _: &Request<'_>, ino: u64, parent: u64, name: &OsStr, reply: ReplyEntry) {
        reply_entry(self.state().link(ino, parent, name), reply);
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let state = self.state();
        let data = state.live.files.get(&ino).map_or(&[][..], |data| data);
        let start = usize::try_from(offset).unwrap_or(0).min(data.len());
        let end = start.saturating_add(size as usize).min(data.len());
        reply.data(&data[start..end]);
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        ino: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        match self.state().write(ino, offset, data) {
            Ok(count) => reply.written(count),
            Err(error) => reply.error(error.raw_os_error()),
        }
    }

    fn fallocate(&mut self, _: &Request<'_>, ino: u64, _: u64, offset: i64, len: i64, mode: i32, reply: ReplyEmpty) {
        reply_empty(self.state().allocate(ino, offset, len, mode), reply);
    }

    fn fsync(&mut self, _: &Request<'_>, ino: u64, _: u64, datasync: bool, reply: ReplyEmpty) {
        reply_empty(self.state().sync(ino, datasync), reply);
    }

    fn fsyncdir(&mut self, _: &Request<'_>, ino: u64, _: u64, datasync: bool, reply: ReplyEmpty) {
        reply_empty(self.state().sync(ino, datasync), reply);
    }

    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        reply.ok();
    }

    fn unlink(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.state().remove(parent, name), reply);
    }

    fn rmdir(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.state().remove(parent, name), reply);
    }

    fn rename(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        newparent: u64,
        newname: &OsStr,
        flags: u32,
        reply: ReplyEmpty,
    ) {
        reply_empty(self.state().rename(parent, name, newparent, newname, flags), reply);
    }

    fn readdir(&mut self, _: &Request<'_>, ino: u64, _: u64, offset: i64, mut reply: ReplyDirectory) {
        let state = self.state();
        let Some(names) = state.live.folders.get(&ino) else {
            return reply.error(Errno::NOTDIR.raw_os_error());
        };
        let dots = [(".", ino), ("..", ROOT)];
        let all = dots.into_iter().chain(names.iter().map(|(name, inode)| (name.as_str(), *inode)));
        // An entry's offset is where to go on behind it.
        for ((name, inode), next) in all.zip(1_i64..).skip(usize::try_from(offset).unwrap_or(0)) {
            let is_folder = state.live.folders.contains_key(&inode);
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&mut self, _: &Request<'_>, _: u64, reply: ReplyStatfs) {
        let state = self.state();
        let all = if state.size_bytes == 0 { UNLIMITED_BYTES } else { state.size_bytes };
        let block = u64::from(BLOCK_BYTES);
        let free = all.saturating_sub(state.used_bytes()) / block;
        reply.statfs(all / block, free, free, 1 << 20, 1 << 20, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
