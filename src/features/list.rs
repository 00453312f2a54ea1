//! A list of keys in a file that is looked at again while the daemon runs: known good, known bad.
//!
//! **The file.** UTF-8, one key a line; blanks around it do not count, nor do empty lines and lines that begin with
//! `#`. Limits: 64 MiB, 4,194,304 keys, 1,024 bytes a key; control characters are refused.
//!
//! **Reload.** [`List::look`] compares what the system says of the file (identity, length, times) with what was taken. A
//! change is taken when two looks in a row have found the same, so that a file which is just being written is left
//! alone, and only if it did not change while it was read. What cannot be taken leaves the old keys in force and is
//! told once. The swap is whole: a look-up sees the old keys or the new ones.

use super::keys::{Keys, fingerprint};
use super::raw::{Digits, Value};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Longest file of a list, bytes.
pub const LIST_BYTES_MAX: u64 = 64 << 20;
/// Most keys of a list.
pub const LIST_KEYS_MAX: usize = 4 << 20;
/// Longest key of a list, bytes; an event's key is no longer.
const KEY_BYTES_MAX: usize = 1_024;

/// A list by its name, with the keys that its file last had.
#[derive(Debug)]
pub struct List {
    name: String,
    file: PathBuf,
    keys: RwLock<Arc<Keys>>,
    watch: Mutex<Watch>,
}

/// What was seen of the file.
#[derive(Debug)]
struct Watch {
    /// Of the keys in force.
    taken: Stamp,
    /// At the last look; None: the file was not there.
    seen: Option<Stamp>,
    refused: Option<Refused>,
}

/// A state of the file that could not be taken.
#[derive(Debug)]
struct Refused {
    state: Option<Stamp>,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    /// The system does not let us; the next look may be luckier.
    Access(String),
    /// What stands in it; looked at again when it changes.
    Content(String),
}

/// What the system says of a file; a change of its content changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What a look at a list's file has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// Nothing new.
    Same,
    /// New keys are in force.
    Changed { before: usize, now: usize },
    /// The file cannot be taken; the keys before stay in force. Said once for each state of the file.
    Refused(String),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl List {
    /// Reads a list's file.
    ///
    /// # Errors
    /// Says what is wrong with it, and in which line.
    pub fn open(name: &str, file: &Path) -> Result<Self, String> {
        let (keys, stamp) = read(file, usize::MAX).map_err(Fault::text)?;
        let watch = Watch { taken: stamp, seen: Some(stamp), refused: None };
        Ok(Self {
            name: name.to_owned(),
            file: file.to_owned(),
            keys: RwLock::new(Arc::new(keys)),
            watch: Mutex::new(watch),
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Number of keys in force.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held(Keys::len)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.held(Keys::bytes) + size_of::<Self>()
    }

    /// Whether it has the key: a text, a whole number as its decimal digits, `true` or `false`. None: the value is
    /// missing or none of these.
    #[must_use]
    pub fn holds(&self, value: Value<'_>) -> Option<bool> {
        let mut digits = Digits::default();
        let fingerprint = fingerprint(value.text(&mut digits)?);
        Some(self.held(|keys| keys.has(fingerprint)))
    }

    /// Why the file as it is was not taken; None: its keys are in force.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.refused.as_ref().map(|refused| refused.fault.clone().text())
    }

    /// Looks at the file and takes it if it has changed and is whole. Does input and output: not for the thread that
    /// answers events.
    pub fn look(&self) -> Looked {
        self.look_within(usize::MAX)
    }

    /// The same; new keys that take more memory than `bytes_max` are refused.
    pub fn look_within(&self, bytes_max: usize) -> Looked {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let now = std::fs::metadata(&self.file).ok().as_ref().map(Stamp::of);
        let before = std::mem::replace(&mut watch.seen, now);
        if now == Some(watch.taken) {
            watch.refused = None;
            return Looked::Same;
        }
        let told = watch.refused.as_ref().filter(|refused| refused.state == now).map(|refused| &refused.fault);
        // It moves, or there is nothing new to learn.
        if now != before || matches!(told, Some(Fault::Content(_))) {
            return Looked::Same;
        }
        match read(&self.file, bytes_max) {
            Ok((keys, stamp)) => {
                let now = keys.len();
                let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
                let before = std::mem::replace(&mut *held, Arc::new(keys)).len();
                watch.taken = stamp;
                watch.refused = None;
                Looked::Changed { before, now }
            }
            Err(fault) if told == Some(&fault) => Looked::Same,
            Err(fault) => {
                watch.refused = Some(Refused { state: now, fault: fault.clone() });
                Looked::Refused(fault.text())
            }
        }
    }

    fn held<T>(&self, of: impl FnOnce(&Keys) -> T) -> T {
        of(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A regular file; a pipe, which would be waited for for ever, is refused.
fn open(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(file)
}

impl Fault {
    fn text(self) -> String {
        match self {
            Self::Access(what) | Self::Content(what) => what,
        }
    }
}

// Taken by value, as `map_err` gives it.
#[allow(clippy::needless_pass_by_value)]
fn access(error: io::Error) -> Fault {
    Fault::Access(error.to_string())
}

/// The keys of a file and its state, which was the same before and after.
fn read(file: &Path, bytes_max: usize) -> Result<(Keys, Stamp), Fault> {
    let content = |what: String| Fault::Content(what);
    let mut handle = open(file).map_err(access)?;
    let metadata = handle.metadata().map_err(access)?;
    if !metadata.is_file() {
        return Err(content("expected a regular file".to_owned()));
    }
    if metadata.len() > LIST_BYTES_MAX {
        return Err(content(format!("expected at most {LIST_BYTES_MAX} bytes, found {}", metadata.len())));
    }
    // Twice, so that a table of the right size is filled and the keys themselves are never all in memory.
    let mut count = 0;
    each_key(&handle, |_| {
        count += 1;
        if count > LIST_KEYS_MAX { Err(content(format!("expected at most {LIST_KEYS_MAX} keys"))) } else { Ok(()) }
    })?;
    let need = Keys::bytes_of(count);
    if need > bytes_max {
        let what = format!("its {count} keys need {need} bytes of memory, expected at most {bytes_max}");
        return Err(content(what));
    }
    handle.rewind().map_err(access)?;
    let moving = || Fault::Content("it changed while it was read".to_owned());
    let mut keys = Keys::with_room(count);
    let mut left = count;
    each_key(&handle, |key| {
        left = left.checked_sub(1).ok_or_else(moving)?;
        if keys.insert(fingerprint(key)) { Ok(()) } else { Err(moving()) }
    })?;
    let stamp = Stamp::of(&metadata);
    if Stamp::of(&handle.metadata().map_err(access)?) != stamp {
        return Err(moving());
    }
    Ok((keys, stamp))
}

fn each_key(file: &File, mut take: impl FnMut(&str) -> Result<(), Fault>) -> Result<(), Fault> {
    let content = |number: u64, what: String| Fault::Content(format!("line {number}: expected {what}"));
    let mut file = BufReader::with_capacity(1 << 16, file).take(LIST_BYTES_MAX + 1);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        // No line is held that is longer than a key can be, with blanks around it.
        let read = (&mut file).take(KEY_BYTES_MAX as u64 * 2).read_until(b'\n', &mut line);
        if read.map_err(access)? == 0 {
            break;
        }
        let key = match number {
            1 => line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line),
            _ => &line,
        };
        let key = str::from_utf8(key).map_err(|_| content(number, "UTF-8".to_owned()))?.trim();
        if key.len() > KEY_BYTES_MAX || (line.len() >= KEY_BYTES_MAX * 2 && line.last() != Some(&b'\n')) {
            return Err(content(number, format!("a key of at most {KEY_BYTES_MAX} bytes")));
        }
        // Zeros are what a power cut can leave of a file that was being written.
        if key.chars().any(char::is_control) {
            return Err(content(number, "a key, found a control character".to_owned()));
        }
        if !key.is_empty() && !key.starts_with('#') {
            take(key)?;
        }
    }
    Ok(())
}
