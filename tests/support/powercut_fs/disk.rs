//! Files, folders and their names at one moment: the live state, and what a cut leaves.

use super::trace::{Inode, Operation, ROOT};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The piece of a write that reaches the medium whole or not at all.
pub const SECTOR_BYTES: usize = 512;

#[derive(Clone)]
pub struct Disk {
    pub files: HashMap<Inode, Vec<u8>>,
    pub folders: HashMap<Inode, BTreeMap<String, Inode>>,
    pub modes: HashMap<Inode, u32>,
}

impl Disk {
    pub fn new() -> Self {
        let folders = HashMap::from([(ROOT, BTreeMap::new())]);
        Self { files: HashMap::new(), folders, modes: HashMap::new() }
    }

    pub fn find(&self, folder: Inode, name: &str) -> Option<Inode> {
        self.folders.get(&folder)?.get(name).copied()
    }

    pub fn len(&self, inode: Inode) -> usize {
        self.files.get(&inode).map_or(0, Vec::len)
    }

    /// Does the operation, whole.
    pub fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Make { folder, name, inode, is_folder, mode } => {
                if *is_folder {
                    self.folders.entry(*inode).or_default();
                } else {
                    self.files.entry(*inode).or_default();
                }
                self.modes.entry(*inode).or_insert(*mode);
                self.names(*folder).insert(name.clone(), *inode);
            }
            Operation::Remove { folder, name } => {
                self.names(*folder).remove(name);
            }
            Operation::Rename { from, old, to, new, inode, swapped } => {
                self.names(*from).remove(old);
                if let Some(other) = swapped {
                    self.names(*from).insert(old.clone(), *other);
                }
                self.names(*to).insert(new.clone(), *inode);
            }
            Operation::Write { inode, at, data } => self.put(*inode, *at, data),
            Operation::Resize { inode, len } => self.files.entry(*inode).or_default().resize(*len, 0),
            Operation::Mode { inode, mode } => {
                self.modes.insert(*inode, *mode);
            }
            Operation::Sync { .. }
            | Operation::SyncFolder { .. }
            | Operation::LostSync { .. }
            | Operation::Nothing { .. } => {}
        }
    }

    /// Does of a write only the sectors that `keep` names; of any other operation all or, when it refuses
    /// the first, nothing.
    pub fn apply_sectors(&mut self, operation: &Operation, mut keep: impl FnMut(usize) -> bool) {
        let Operation::Write { inode, at, data } = operation else {
            if keep(0) {
                self.apply(operation);
            }
            return;
        };
        let mut start = *at;
        let end = at + data.len();
        let mut sector = 0;
        while start < end {
            let stop = ((start / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
            if keep(sector) {
                self.put(*inode, start, &data[start - at..stop - at]);
            }
            start = stop;
            sector += 1;
        }
    }

    /// Writes all that has a name below the root into a folder of another file system.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
        self.write_inode(ROOT, path)
    }

    fn write_inode(&self, inode: Inode, path: &Path) -> io::Result<()> {
        if let Some(names) = self.folders.get(&inode) {
            std::fs::create_dir_all(path)?;
            for (name, child) in names {
                self.write_inode(*child, &path.join(name))?;
            }
        } else {
            std::fs::write(path, self.files.get(&inode).map_or(&[][..], |data| data))?;
        }
        match self.modes.get(&inode) {
            Some(mode) => std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o7777)),
            None => Ok(()),
        }
    }

    fn names(&mut self, folder: Inode) -> &mut BTreeMap<String, Inode> {
        self.folders.entry(folder).or_default()
    }

    fn put(&mut self, inode: Inode, at: usize, data: &[u8]) {
        let file = self.files.entry(inode).or_default();
        let end = at + data.len();
        if file.len() < end {
            file.resize(end, 0);
        }
        file[at..end].copy_from_slice(data);
    }
}
