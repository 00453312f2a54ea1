//! Where the file stands and what is to be read next: no waiting, no tasks.

use super::super::files::{BlockError, Blocks, HEAD_BYTES_MAX, Head, Place};
use super::{Options, Start, rotated};
use crate::event::EventBatch;
use crate::ingest::Intake;
use crate::link::Trouble;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{}: expected a file", .0.display())]
    NoFile(PathBuf),
    #[error("{}: {error}", path.display())]
    Block { path: PathBuf, error: BlockError },
}

impl Fault {
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Io { error, .. } | Self::Block { error: BlockError::Io(error), .. } => match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => Trouble::Configuration,
                _ => Trouble::Transient,
            },
            Self::Block { .. } | Self::NoFile(_) => Trouble::Configuration,
        }
    }
}

/// What is to be done.
pub(super) enum Look {
    /// There is no such file.
    Absent,
    /// Nothing new.
    Nothing,
    /// Something was written to a file after it was left.
    Late(String),
    /// Another file is followed from now on; `gap` says what can no longer be read.
    Opened { place: Place, gap: Option<String> },
    /// [`Follower::read`] will find something; it costs at most so many bytes of memory.
    More { cost: usize },
    /// The same, of a file that is left then.
    Finished { cost: usize },
}

pub(super) struct Follower {
    options: Arc<Options>,
    named: u64,
    /// Where it was left before the start.
    kept: Option<Place>,
    current: Option<Following>,
    generation: u64,
    /// A rotated file that comes before the one of the configured path.
    next: Option<(PathBuf, File)>,
    /// What can no longer be read.
    gap: Option<String>,
    /// The file before this one, and how far it was read.
    left: Option<(File, u64)>,
    /// A file was followed, or missed: the next one is read from its start.
    begun: bool,
}

/// One file.
struct Following {
    blocks: Blocks,
    /// Behind what was decoded last.
    place: Place,
    path: PathBuf,
    /// Since when it has been renamed and quiet.
    quiet: Option<Instant>,
    /// It will not grow, or is not to be looked at any more.
    finished: bool,
    /// It was emptied: the same path is begun anew.
    emptied: bool,
}

/// Tries at what comes after a file.
const LIST_TRIES: u32 = 3;

fn failed(path: &Path) -> impl Fn(io::Error) -> Fault {
    move |error| Fault::Io { path: path.to_owned(), error }
}

/// Opens a file, but waits for nobody to write into a pipe.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)
}

impl Follower {
    pub fn new(options: Arc<Options>, kept: Option<Place>) -> Self {
        let named = Place::name(&options.path);
        // Of another path there is nothing to go on with.
        let kept = kept.filter(|place| place.named == named);
        let generation = kept.as_ref().map_or(0, |place| place.generation);
        Self {
            options,
            named,
            begun: kept.is_some(),
            kept,
            current: None,
            generation,
            next: None,
            gap: None,
            left: None,
        }
    }

    /// What is to be done now.
    pub fn look(&mut self) -> Result<Look, Fault> {
        let Some(following) = &mut self.current else { return self.open() };
        let size = following.size()?;
        if following.finished && !following.emptied && size > following.blocks.read_to() {
            // Somebody still writes to it.
            following.finished = false;
        }
        if !following.finished {
            if size < following.blocks.read_to() || !following.is_itself()? {
                (following.finished, following.emptied) = (true, true);
            } else if size > following.blocks.read_to() || following.blocks.may_hold() {
                following.quiet = following.quiet.map(|_| Instant::now());
                return Ok(Look::More { cost: following.blocks.cost(size - following.blocks.read_to()) });
            } else if !following.is_left(&self.options)? {
                return Ok(self.late().map_or(Look::Nothing, Look::Late));
            }
        }
        let pending = if following.emptied { 0 } else { size.saturating_sub(following.blocks.read_to()) };
        Ok(Look::Finished { cost: following.blocks.cost(pending) })
    }

    /// Reads on, and decodes a block of what is whole: it and the place behind it. `ended` after
    /// [`Look::Finished`].
    pub fn read<I: Intake>(&mut self, intake: &I, ended: bool) -> Result<Option<(EventBatch, Place)>, Fault> {
        loop {
            let wanting = self.current.as_ref().is_none_or(|following| following.blocks.wants_more());
            let before = self.current.as_ref().map(|following| following.blocks.read_to());
            if let Some(read) = self.read_once(intake, ended)? {
                return Ok(Some(read));
            }
            // Nothing was whole, and nothing more was there to make it so.
            if wanting && before == self.current.as_ref().map(|following| following.blocks.read_to()) {
                return Ok(None);
            }
        }
    }

    fn read_once<I: Intake>(&mut self, intake: &I, ended: bool) -> Result<Option<(EventBatch, Place)>, Fault> {
        let Some(following) = &mut self.current else { return Ok(None) };
        let path = following.path.clone();
        let block = |error| Fault::Block { path: path.clone(), error };
        if !following.emptied {
            following.fill()?;
        }
        let ended = ended && (following.emptied || following.size()? <= following.blocks.read_to());
        if self.options.default_id && following.place.ids.is_empty() {
            let head = Head::of(following.blocks.file(), HEAD_BYTES_MAX as u64).map_err(failed(&path))?;
            let place = &mut following.place;
            place.ids = Place::ids_of(&[place.named, place.inode, place.generation], head);
        }
        let ids = self.options.default_id.then_some(following.place.ids.as_str());
        let Some(decoded) = following.blocks.decode(intake, ids, ended).map_err(block)? else { return Ok(None) };
        let place = &mut following.place;
        place.offset = decoded.next;
        if !following.emptied && (place.head.bytes as usize) < HEAD_BYTES_MAX {
            place.head = Head::of(following.blocks.file(), place.offset).map_err(failed(&path))?;
        }
        Ok(Some((decoded.batch, place.clone())))
    }

    /// What a writer that has not noticed the rotation writes too late.
    fn late(&mut self) -> Option<String> {
        let (file, read_to) = self.left.take()?;
        let more = file.metadata().ok()?.len().saturating_sub(read_to);
        if more == 0 {
            self.left = Some((file, read_to));
            return None;
        }
        let path = self.options.path.display();
        Some(format!("{path}: {more} bytes were written to the rotated file after it was left; raise rotate-wait"))
    }

    /// Leaves a finished file for the next one.
    pub fn leave(&mut self) {
        let Some(left) = self.current.take() else { return };
        self.generation = left.place.generation + 1;
        self.left = None;
        // One that was emptied has no successor but itself.
        if !left.emptied {
            self.left = left.blocks.file().try_clone().ok().map(|file| (file, left.blocks.read_to()));
            // A rotation may go on meanwhile and take away what was listed.
            for _ in 0..LIST_TRIES {
                if self.list_next(left.place.inode).is_ok() {
                    break;
                }
            }
        }
    }

    fn list_next(&mut self, inode: u64) -> io::Result<()> {
        let after = rotated::after(&self.options.path, inode)?;
        let lost: Vec<_> = after.iter().take_while(|rotated| rotated.is_compressed()).collect();
        self.gap = (!lost.is_empty()).then(|| {
            let paths: Vec<_> = lost.iter().map(|rotated| rotated.path.display().to_string()).collect();
            format!("{}: compressed before it was read, and passed over", paths.join(", "))
        });
        let next = after.into_iter().find(|rotated| !rotated.is_compressed());
        self.next = next.map(|next| open(&next.path).map(|file| (next.path, file))).transpose()?;
        Ok(())
    }

    fn open(&mut self) -> Result<Look, Fault> {
        if let Some(kept) = self.kept.clone() {
            return self.take_up(&kept);
        }
        if let Some((path, file)) = self.next.take() {
            let inode = file.metadata().map_err(failed(&path))?.ino();
            let place = Place { generation: self.generation, ..Place::start(self.named, inode) };
            return Ok(self.begin(file, path, place));
        }
        let path = self.options.path.clone();
        let Some((file, metadata)) = regular(&path)? else {
            self.begun = true;
            return Ok(Look::Absent);
        };
        let mut place = Place { generation: self.generation, ..Place::start(self.named, metadata.ino()) };
        if !self.begun && self.options.start == Start::End {
            place.offset = last_line_end(&file, metadata.len()).map_err(failed(&path))?;
            place.head = Head::of(&file, place.offset).map_err(failed(&path))?;
        }
        Ok(self.begin(file, path, place))
    }

    /// Goes on where it was left before the start.
    fn take_up(&mut self, kept: &Place) -> Result<Look, Fault> {
        let path = self.options.path.clone();
        let is_it = |file: &File, metadata: &fs::Metadata| {
            metadata.len() >= kept.offset && kept.head.is_of(file).unwrap_or(false)
        };
        let current = regular(&path)?;
        let same = |(file, metadata): &(File, fs::Metadata)| metadata.ino() == kept.inode && is_it(file, metadata);
        if let Some((file, metadata)) = current.as_ref().filter(|current| same(current)) {
            let place = Place { inode: metadata.ino(), ..kept.clone() };
            let file = file.try_clone().map_err(failed(&path))?;
            return Ok(self.begin(file, path, place));
        }
        let found = rotated::find(&path, |file, metadata| {
            (metadata.ino() == kept.inode || kept.head.is_telling()) && is_it(file, metadata)
        });
        if let Some((rotated, file)) = found.map_err(failed(&path))? {
            let inode = file.metadata().map_err(failed(&path))?.ino();
            return Ok(self.begin(file, rotated.path, Place { inode, ..kept.clone() }));
        }
        let Some((file, metadata)) = current else { return Ok(Look::Absent) };
        let place = Place { generation: self.generation + 1, ..Place::start(self.named, metadata.ino()) };
        self.gap = (kept.offset > 0).then(|| {
            let path = path.display();
            format!(
                "{path}: the file that was read up to byte {} is gone: what else stood in it was not read; the file \
                 that is there now is read from its start",
                kept.offset
            )
        });
        Ok(self.begin(file, path, place))
    }

    fn begin(&mut self, file: File, path: PathBuf, place: Place) -> Look {
        (self.kept, self.begun, self.generation) = (None, true, place.generation);
        let blocks = Blocks::new(file, place.offset, &self.options.format, self.options.event_bytes_max);
        let opened = Look::Opened { place: place.clone(), gap: self.gap.take() };
        self.current = Some(Following { blocks, place, path, quiet: None, finished: false, emptied: false });
        opened
    }
}

impl Following {
    fn size(&self) -> Result<u64, Fault> {
        Ok(self.blocks.file().metadata().map_err(failed(&self.path))?.len())
    }

    /// Whether it begins as it did: it was not written anew.
    fn is_itself(&self) -> Result<bool, Fault> {
        self.place.head.is_of(self.blocks.file()).map_err(failed(&self.path))
    }

    fn fill(&mut self) -> Result<(), Fault> {
        let before = self.blocks.read_to();
        let path = self.path.clone();
        let pending = self.size()?.saturating_sub(before);
        self.blocks.fill(pending).map_err(failed(&path))?;
        // A file that is shorter now was emptied after it was read; one that is not, and begins otherwise, before.
        if self.size()? >= self.blocks.read_to() && !self.is_itself()? {
            self.blocks.forget(before);
            (self.finished, self.emptied) = (true, true);
        }
        Ok(())
    }

    /// Whether its name now means another file, and it has been quiet since.
    fn is_left(&mut self, options: &Options) -> Result<bool, Fault> {
        match fs::metadata(&options.path) {
            Ok(named) if named.ino() != self.place.inode => {}
            // While there is no next one, it may still be written to.
            Ok(_) => {
                self.quiet = None;
                return Ok(false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Fault::Io { path: options.path.clone(), error }),
        }
        let since = *self.quiet.get_or_insert_with(Instant::now);
        self.finished = since.elapsed() >= options.rotate_wait;
        Ok(self.finished)
    }
}

/// None where there is no such file.
fn regular(path: &Path) -> Result<Option<(File, fs::Metadata)>, Fault> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Fault::Io { path: path.to_owned(), error }),
    };
    let metadata = file.metadata().map_err(failed(path))?;
    if metadata.is_file() { Ok(Some((file, metadata))) } else { Err(Fault::NoFile(path.to_owned())) }
}

/// Where the last whole line ends.
fn last_line_end(file: &File, size: u64) -> io::Result<u64> {
    use std::os::unix::fs::FileExt;
    let mut block = [0; 4096];
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let length = usize::try_from(end - start).unwrap_or_default();
        let Some(part) = block.get_mut(..length) else { break };
        file.read_exact_at(part, start)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
