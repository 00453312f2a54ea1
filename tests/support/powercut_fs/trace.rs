//! The operations that change the file system, as the trace keeps them.

use std::fmt;

/// Number of a file or a folder.
pub type Inode = u64;

/// The root folder's inode, as FUSE has it.
pub const ROOT: Inode = 1;

/// When a name is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// After an fsync of its folder.
    Strict,
    /// After any fsync, with all older names.
    Journal,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// A new name, for a new or (link) an existing inode.
    Make {
        folder: Inode,
        name: String,
        inode: Inode,
        is_folder: bool,
        mode: u32,
    },
    Remove {
        folder: Inode,
        name: String,
    },
    /// `swapped` is what the new name held, where the two change places.
    Rename {
        from: Inode,
        old: String,
        to: Inode,
        new: String,
        inode: Inode,
        swapped: Option<Inode>,
    },
    Write {
        inode: Inode,
        at: usize,
        data: Vec<u8>,
    },
    Resize {
        inode: Inode,
        len: usize,
    },
    Mode {
        inode: Inode,
        mode: u32,
    },
    Sync {
        inode: Inode,
    },
    SyncFolder {
        inode: Inode,
    },
    /// A sync that failed: what waited for it will never be written.
    LostSync {
        inode: Inode,
    },
    /// A sync that answered well and did nothing, or any operation that failed.
    Nothing {
        what: &'static str,
    },
}

impl Operation {
    /// Whether it changes names rather than a file's content.
    pub fn is_name(&self) -> bool {
        matches!(self, Self::Make { .. } | Self::Remove { .. } | Self::Rename { .. })
    }

    /// Whether it changes names in this folder.
    pub fn is_name_in(&self, inode: Inode) -> bool {
        match self {
            Self::Make { folder, .. } | Self::Remove { folder, .. } => *folder == inode,
            Self::Rename { from, to, .. } => *from == inode || *to == inode,
            _ => false,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Make { folder, name, inode, is_folder: true, .. } => write!(f, "mkdir {folder}/{name} = {inode}"),
            Self::Make { folder, name, inode, .. } => write!(f, "create {folder}/{name} = {inode}"),
            Self::Remove { folder, name } => write!(f, "remove {folder}/{name}"),
            Self::Rename { from, old, to, new, inode, .. } => write!(f, "rename {from}/{old} to {to}/{new} = {inode}"),
            Self::Write { inode, at, data } => write!(f, "write {inode} {at}+{}", data.len()),
            Self::Resize { inode, len } => write!(f, "resize {inode} to {len}"),
            Self::Mode { inode, mode } => write!(f, "chmod {inode} {mode:o}"),
            Self::Sync { inode } => write!(f, "sync {inode}"),
            Self::SyncFolder { inode } => write!(f, "sync folder {inode}"),
            Self::LostSync { inode } => write!(f, "lost sync {inode}"),
            Self::Nothing { what } => write!(f, "no {what}"),
        }
    }
}
