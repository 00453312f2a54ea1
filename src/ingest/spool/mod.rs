//! The `spool` source: a folder into which whole files are renamed.
//!
//! Rules: files are taken in the order of their names (bytes), one after the other. What begins with a dot or ends in
//! `.tmp` or `.part` is passed over, and so is what is no plain file. After the commit of its last record a file is
//! moved to `done/` or deleted, and the folder synced. A crash between the two takes nothing twice: the place in the
//! file, and what it is known by (name, inode, size, time of change, first 1,024 bytes), are in the commit. The same
//! name with another content is another file.
//!
//! A record that is bad is set aside, as everywhere, and its file goes on. A file that cannot be taken as a whole
//! (it may not be read, is no text, or is a CSV without a header) goes to `failed/`, with `NAME.reason` beside it.
//!
//! Ids of events that have none are made of the file's name, size and first bytes, and the record's place: the same
//! file dropped again is a repeat. Names in `done/` and `failed/` are not overwritten: `NAME.1`, `NAME.2` follow.

mod folder;
mod taken;

#[cfg(test)]
mod tests;

use super::files::{Ended, Format, Place, Pump, blocking};
use super::{Budget, Intake, SourceStatus};
use crate::link::{Backoff, Trouble};
use crate::notice;
use folder::Folder;
use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};
use taken::{Taken, Unfit};
use tokio::sync::watch;

/// How often the folder is looked at.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long a read waits for memory before it is counted.
const BUDGET_WAIT: Duration = Duration::from_secs(1);

/// What becomes of a file that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Move,
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The source's name.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    pub format: Format,
    pub after: After,
    /// Where files go that were taken; on the folder's file system. As a rule `done` in the folder.
    pub done: PathBuf,
    /// Where files go that cannot be taken; as a rule `failed` in the folder.
    pub failed: PathBuf,
    /// Events without an id get one made of what the file is known by and their place in it.
    pub default_id: bool,
    /// Bytes of one event: a longer line or row is set aside.
    pub event_bytes_max: usize,
    pub poll_interval: Duration,
}

impl Options {
    /// The defaults for a folder.
    #[must_use]
    pub fn new(name: &str, path: PathBuf, event_bytes_max: usize) -> Self {
        Self {
            name: name.to_owned(),
            format: Format::Ndjson,
            after: After::default(),
            done: path.join("done"),
            failed: path.join("failed"),
            path,
            default_id: true,
            event_bytes_max,
            poll_interval: POLL_INTERVAL,
        }
    }
}

/// Takes files until `stop` holds true or the engine ends.
pub async fn run<I: Intake>(
    options: Options,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let offset: Arc<str> = format!("spool:{}", options.name).into();
    let mut pump = Pump::new(Arc::clone(&intake), Arc::clone(&offset), stop.clone());
    let folder = Arc::new(Folder::new(&options));
    let mut work = Work { options, folder, intake, budget, status, kept: None, backoff: Backoff::default() };
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => {}
        _ = work.follow(&offset, &mut pump) => {}
    }
    let _ = pump.settle().await;
}

struct Work<I> {
    options: Options,
    folder: Arc<Folder>,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    /// Where the last file was left before the start.
    kept: Option<Place>,
    backoff: Backoff,
}

impl<I: Intake> Work<I> {
    async fn follow(&mut self, offset: &str, pump: &mut Pump<I>) -> Result<(), Ended> {
        match self.intake.offset(offset) {
            Ok(kept) => self.kept = kept.as_deref().and_then(Place::decode),
            Err(problem) => {
                self.status.failed(Trouble::Configuration, &problem.detail);
                return Err(Ended);
            }
        }
        loop {
            let (folder, first) = (Arc::clone(&self.folder), self.kept.as_ref().map(|kept| kept.named));
            match blocking(move || folder.list(first)).await.ok_or(Ended)? {
                Ok(names) if names.is_empty() => {
                    self.well();
                    tokio::time::sleep(self.options.poll_interval).await;
                }
                Ok(names) => {
                    for name in names {
                        self.file(name, pump).await?;
                    }
                }
                Err(error) => self.fault(&format!("{}: {error}", self.options.path.display()), error.kind()).await,
            }
        }
    }

    /// One file, from its first record to its last place.
    async fn file(&mut self, name: OsString, pump: &mut Pump<I>) -> Result<(), Ended> {
        loop {
            match self.records(&name, pump).await? {
                Ok(true) => break,
                // Somebody took it away.
                Ok(false) => return Ok(()),
                Err(Unfit::Now(error)) => self.fault(&error.to_string(), error.kind()).await,
                Err(Unfit::Forever(reason)) => return self.give_up(name, reason, pump).await,
            }
        }
        pump.settle().await?;
        self.put_away(move |folder| folder.done(&name)).await
    }

    /// Takes a file's records. False where there is no such file.
    async fn records(&mut self, name: &OsString, pump: &mut Pump<I>) -> Result<Result<bool, Unfit>, Ended> {
        let (options, kept, name) = (self.options.clone(), self.kept.clone(), name.clone());
        let mut taken = match blocking(move || Taken::open(&options, &name, kept.as_ref())).await.ok_or(Ended)? {
            Ok(Some(taken)) => {
                self.kept = None;
                Some(taken)
            }
            Ok(None) => return Ok(Ok(false)),
            Err(unfit) => return Ok(Err(unfit)),
        };
        while let Some(mut file) = taken.take() {
            let cost = file.cost().min(self.budget.bytes());
            let permit = loop {
                match self.budget.take(cost, BUDGET_WAIT).await {
                    Ok(permit) => break permit,
                    Err(_) => self.status.add("memory-waits", 1),
                }
            };
            let intake = Arc::clone(&self.intake);
            let read = move || {
                let read = file.read(&*intake);
                (file, read)
            };
            let (file, read) = blocking(read).await.ok_or(Ended)?;
            match read {
                Ok(Some((batch, place))) => {
                    pump.push(batch, Some(permit), place.encode()).await?;
                    taken = Some(file);
                }
                Ok(None) => {}
                Err(unfit) => {
                    // What was handed in of it is to be found again when it is read on.
                    self.kept = Some(file.place().clone());
                    return Ok(Err(unfit));
                }
            }
        }
        Ok(Ok(true))
    }

    async fn give_up(&mut self, name: OsString, reason: String, pump: &mut Pump<I>) -> Result<(), Ended> {
        pump.settle().await?;
        self.kept = None;
        self.status.add("failed-files", 1);
        let (kind, source) = (notice::SPOOL_FILE_FAILED.kind, &self.options.name);
        tracing::error!(kind, source, file = %name.display(), error = reason, "a file cannot be taken: set aside");
        self.put_away(move |folder| folder.failed(&name, &reason)).await
    }

    /// Moves a file until it is done: it would be taken again if it stayed.
    async fn put_away(
        &mut self,
        work: impl Fn(&Folder) -> std::io::Result<()> + Clone + Send + 'static,
    ) -> Result<(), Ended> {
        loop {
            let (folder, work) = (Arc::clone(&self.folder), work.clone());
            match blocking(move || work(&folder)).await.ok_or(Ended)? {
                Ok(()) => {
                    self.status.add("files", 1);
                    self.well();
                    return Ok(());
                }
                Err(error) => self.fault(&format!("a file cannot be put away: {error}"), error.kind()).await,
            }
        }
    }

    fn well(&mut self) {
        self.backoff.reset();
        self.status.recovered();
    }

    async fn fault(&mut self, error: &str, kind: std::io::ErrorKind) {
        use std::io::ErrorKind::{CrossesDevices, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
        let person = matches!(kind, CrossesDevices | NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem);
        self.status.failed(if person { Trouble::Configuration } else { Trouble::Transient }, error);
        let wait = self.backoff.next(&mut rand::rng());
        tokio::time::sleep(wait).await;
    }
}
