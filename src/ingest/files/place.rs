//! Where a file was left, as it is kept with the verdicts; and a file's head, by which it is known again.
//!
//! An inode number alone does not name a file: it is given away again after a deletion, and stays the same when a
//! file is emptied and written anew. So the first bytes are hashed, as many as were read, at most [`HEAD_BYTES_MAX`].

use serde::{Deserialize, Serialize};
use std::{fs::File, io, os::unix::fs::FileExt, path::Path};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a file that are hashed at most.
pub const HEAD_BYTES_MAX: usize = 1024;
/// The form of a kept place.
const VERSION: u32 = 1;
/// Bytes of the prefix of ids.
const IDS_BYTES_MAX: usize = 64;

/// The first bytes of a file: how many, and their hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub bytes: u32,
    pub hash: u64,
}

impl Head {
    /// The head of `file`, of `bytes` or as many as it has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(file: &File, bytes: u64) -> io::Result<Self> {
        let mut head = [0; HEAD_BYTES_MAX];
        let room = usize::try_from(bytes).unwrap_or(HEAD_BYTES_MAX).min(HEAD_BYTES_MAX);
        let mut filled = 0;
        while let Some(rest) = head.get_mut(filled..room).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let hash = if filled == 0 { 0 } else { xxh3_64(head.get(..filled).unwrap_or_default()) };
        Ok(Self { bytes: u32::try_from(filled).unwrap_or(u32::MAX), hash })
    }

    /// Whether `file` begins with it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_of(&self, file: &File) -> io::Result<bool> {
        Ok(Self::of(file, u64::from(self.bytes))? == *self)
    }

    /// Whether it is long enough to tell files from each other without their inodes.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        self.bytes as usize >= HEAD_BYTES_MAX
    }
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Place {
    /// Of the form in which it is kept.
    pub version: u32,
    /// Hash of the path that the file was found by (`file`), or of its name (`spool`).
    pub named: u64,
    pub inode: u64,
    /// Everything before it was taken.
    pub offset: u64,
    pub head: Head,
    /// How often the file at this path was another one.
    pub generation: u64,
    /// What stands before the offset in the ids of events that have none.
    pub ids: String,
    /// Size and time of change (nanoseconds since 1970), of a file that does not change any more.
    #[serde(default)]
    pub size: u64,
    #[serde(default)]
    pub changed: i64,
}

impl Place {
    /// The start of a file.
    #[must_use]
    pub fn start(named: u64, inode: u64) -> Self {
        Self { version: VERSION, named, inode, ..Self::default() }
    }

    /// As it is kept: JSON, some 250 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A kept place. None where it is of another version, or no place.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let place: Self = serde_json::from_slice(bytes).ok()?;
        (place.version == VERSION && place.ids.len() <= IDS_BYTES_MAX).then_some(place)
    }

    /// The hash of a path or a name.
    #[must_use]
    pub fn name(path: &Path) -> u64 {
        xxh3_64(path.as_os_str().as_encoded_bytes())
    }

    /// The prefix of ids: a hash of what the file is known by.
    #[must_use]
    pub fn ids_of(parts: &[u64], head: Head) -> String {
        let parts = parts.iter().copied().chain([u64::from(head.bytes), head.hash]);
        let bytes: Vec<u8> = parts.flat_map(u64::to_le_bytes).collect();
        format!("{:016x}/", xxh3_64(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    #[test]
    fn a_file_is_known_by_its_head_however_it_grows() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(Head::of(&file, 10).unwrap(), Head::default());
        file.write_all(b"one\n").unwrap();
        let head = Head::of(&file, u64::MAX).unwrap();
        assert_eq!(head.bytes, 4);
        file.write_all(&[b'x'; 5000]).unwrap();
        assert!(head.is_of(&file).unwrap() && Head::default().is_of(&file).unwrap() && !head.is_telling());
        assert!(Head::of(&file, u64::MAX).unwrap().is_telling());
        file.set_len(0).unwrap();
        assert!(!head.is_of(&file).unwrap());
    }

    proptest! {
        #[test]
        fn a_place_is_read_as_it_was_kept(offset: u64, inode: u64, generation: u64, size: u64, changed: i64) {
            let ids = Place::ids_of(&[inode, generation], Head { bytes: 3, hash: 9 });
            let place = Place { offset, generation, ids, size, changed, ..Place::start(7, inode) };
            let kept = place.encode();
            prop_assert!(kept.len() < 4096);
            prop_assert_eq!(Place::decode(&kept), Some(place));
        }

        #[test]
        fn what_is_no_place_is_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(Place::decode(&bytes), None);
        }
    }
}
