//! What a model keeps in files beside its own.

use super::error::{Error, shown};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// Where tensors may lie that are not in the model's file.
#[derive(Clone, Copy, Debug)]
pub enum External<'a> {
    Nowhere,
    /// Of a bare file: any file in its folder.
    Folder(&'a Path),
    /// Of a bundle: these files, whose bytes have been checked. Nothing else is opened, and nothing a second time.
    Held(&'a BTreeMap<String, Bytes>),
}

/// A place found in such a file.
pub enum Place {
    File(PathBuf),
    Bytes(Bytes),
}

impl External<'_> {
    /// The file `location` and its length.
    ///
    /// # Errors
    /// It leads elsewhere, is not there, or is none of those that were checked.
    pub fn find(self, location: &str) -> Result<(Place, u64), Error> {
        let at = format!("external data '{}'", shown(location));
        let path = Path::new(location);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !plain || location.is_empty() {
            return Err(Error(format!("{at}: expected a path inside the bundle, without .. and not absolute")));
        }
        match self {
            Self::Nowhere => Err(Error(format!("{at}: a bare model's directory is not known: pack it first"))),
            Self::Held(files) => match files.get(&plain_name(location)) {
                Some(bytes) => Ok((Place::Bytes(bytes.clone()), bytes.len() as u64)),
                None => Err(Error(format!("{at}: expected the file's sha256 under [files] of model.toml"))),
            },
            Self::Folder(folder) => {
                let real = |path: &Path| path.canonicalize().map_err(|error| Error(format!("{at}: {error}")));
                let (root, path) = (real(folder)?, real(&folder.join(location))?);
                if !path.starts_with(&root) {
                    return Err(Error(format!("{at}: it leads out of the bundle")));
                }
                let file = path.metadata().map_err(|error| Error(format!("{at}: {error}")))?;
                if !file.is_file() {
                    return Err(Error(format!("{at}: expected a regular file")));
                }
                Ok((Place::File(path), file.len()))
            }
        }
    }
}

impl Place {
    /// Hands the bytes from `offset` on to `take`, in parts of up to `part` bytes.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn read(&self, offset: u64, mut bytes: usize, part: usize, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
        let broken = |error: std::io::Error| Error(format!("external data: {error}"));
        match self {
            Self::Bytes(held) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let held = from.checked_add(bytes).and_then(|to| held.get(from..to));
                held.map(take).ok_or_else(|| Error::new("external data: it ends before the tensor does"))
            }
            Self::File(path) => {
                let mut file = File::open(path).map_err(broken)?;
                file.seek(SeekFrom::Start(offset)).map_err(broken)?;
                let mut buffer = vec![0; part];
                while bytes > 0 {
                    let now = bytes.min(part);
                    let Some(buffer) = buffer.get_mut(..now) else { break };
                    file.read_exact(buffer).map_err(broken)?;
                    take(buffer);
                    bytes -= now;
                }
                Ok(())
            }
        }
    }
}

/// `./weights` is the file `weights`.
#[must_use]
pub fn plain_name(location: &str) -> String {
    let parts = Path::new(location).components().filter(|part| matches!(part, Component::Normal(_)));
    parts.collect::<PathBuf>().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_bundle_only_what_was_checked_is_read() {
        let held = BTreeMap::from([("w".to_owned(), Bytes::from_static(b"abcd"))]);
        let (place, length) = External::Held(&held).find("./w").unwrap();
        let mut found = Vec::new();
        place.read(1, 2, 8, |part| found.extend_from_slice(part)).unwrap();
        assert_eq!((length, found.as_slice()), (4, &b"bc"[..]));
        assert!(place.read(3, 2, 8, |_| {}).is_err());
        let refused = External::Held(&held).find("v").err().unwrap().to_string();
        assert!(refused.contains("[files]"), "{refused}");
        assert!(External::Held(&held).find("../w").is_err() && External::Held(&held).find("/w").is_err());
    }
}
