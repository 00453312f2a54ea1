//! The `file` source: follows one file as it grows, over rotations.
//!
//! | what happens to the file | what is done |
//! |---|---|
//! | it grows | whole lines (rows) are taken; the last one waits, however long, until it has its line end |
//! | it is renamed, and made anew | the old one is read to its end; when it has been quiet for `rotate-wait`, its last line is taken as it stands, and the next one begun |
//! | its writer goes on with a renamed file after that | a warning, counted as `gaps` |
//! | it is renamed several times while verdictd is down | the old one is found by inode and content, and what came after it (`NAME.2`, `NAME.1`, `NAME-20261129`) read in order |
//! | it is copied and emptied (copytruncate) | it is begun anew; what was written between the last read and the emptying is in the copy only. After a stop the rest is read from the copy, if its first 1,024 bytes tell it |
//! | its inode is given to another file | its first bytes tell that |
//! | the rest is nowhere (deleted, compressed) | a warning that names the gap, counted as `gaps` |
//!
//! The place (offset, inode, hash of the first bytes) moves in the commit of the verdicts before it. New bytes are
//! looked for every `poll-interval`, and at once while there are more.

mod follower;
mod rotated;

#[cfg(test)]
mod tests;

use super::files::{Ended, Format, Place, Pump, blocking};
use super::{Budget, Intake, SourceStatus};
use crate::link::{Backoff, Trouble};
use crate::notice;
use follower::{Fault, Follower, Look};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::watch;

/// How often new bytes are looked for.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a renamed file must have been quiet before the next one is begun.
pub const ROTATE_WAIT: Duration = Duration::from_secs(2);
/// How long a read waits for memory before it says so.
const BUDGET_WAIT: Duration = Duration::from_secs(1);

/// Where a file is begun that was never seen before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    Beginning,
    /// At its end. A file that does not exist yet is read whole when it comes.
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The source's name.
    pub name: String,
    pub path: PathBuf,
    pub format: Format,
    pub start: Start,
    /// Events without an id get one made of what the file is known by and their place in it.
    pub default_id: bool,
    /// Bytes of one event: a longer line or row is set aside.
    pub event_bytes_max: usize,
    pub poll_interval: Duration,
    pub rotate_wait: Duration,
}

impl Options {
    /// The defaults for a path.
    #[must_use]
    pub fn new(name: &str, path: PathBuf, event_bytes_max: usize) -> Self {
        Self {
            name: name.to_owned(),
            path,
            format: Format::Ndjson,
            start: Start::default(),
            default_id: true,
            event_bytes_max,
            poll_interval: POLL_INTERVAL,
            rotate_wait: ROTATE_WAIT,
        }
    }
}

/// Follows the file until `stop` holds true or the engine ends.
pub async fn run<I: Intake>(
    options: Options,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let offset: Arc<str> = format!("file:{}", options.name).into();
    let mut pump = Pump::new(Arc::clone(&intake), Arc::clone(&offset), stop.clone());
    let work = Work { options: Arc::new(options), intake, budget, status };
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => {}
        _ = work.follow(&offset, &mut pump) => {}
    }
    let _ = pump.settle().await;
}

/// Why a step was not done.
enum Stop {
    Ended,
    Fault(Fault),
}

impl From<Ended> for Stop {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

struct Work<I> {
    options: Arc<Options>,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
}

impl<I: Intake> Work<I> {
    async fn follow(&self, offset: &str, pump: &mut Pump<I>) -> Result<(), Ended> {
        let kept = match self.intake.offset(offset) {
            Ok(kept) => kept,
            Err(problem) => {
                self.status.failed(Trouble::Configuration, &problem.detail);
                return Err(Ended);
            }
        };
        let place = kept.as_deref().and_then(Place::decode);
        if place.is_none() && kept.is_some() {
            self.gap("the place kept by another version is not understood: the file is read from its start");
        }
        let mut follower = Some(Follower::new(Arc::clone(&self.options), place));
        let mut backoff = Backoff::default();
        loop {
            let look = self.with(&mut follower, |follower, _| follower.look()).await?;
            let done = match look {
                Ok(look) => self.act(&mut follower, look, pump).await,
                Err(error) => Err(Stop::Fault(error)),
            };
            let wait = match done {
                Ok(None) => {
                    backoff.reset();
                    continue;
                }
                Ok(Some(wait)) => wait,
                Err(Stop::Ended) => return Err(Ended),
                Err(Stop::Fault(error)) => {
                    self.status.failed(error.trouble(), &error.to_string());
                    backoff.next(&mut rand::rng())
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// What is to be done now; how long to wait after it, if at all.
    async fn act(
        &self,
        follower: &mut Option<Follower>,
        look: Look,
        pump: &mut Pump<I>,
    ) -> Result<Option<Duration>, Stop> {
        match look {
            Look::Nothing => return Ok(Some(self.options.poll_interval)),
            Look::Absent => {
                let path = self.options.path.display();
                self.status.warn("absent", Some(format!("{path} does not exist (yet)")));
                return Ok(Some(self.options.poll_interval));
            }
            Look::Late(gap) => {
                self.gap(&gap);
                return Ok(Some(self.options.poll_interval));
            }
            Look::Opened { place, gap } => {
                self.status.warn("absent", None);
                if let Some(gap) = gap {
                    self.gap(&gap);
                }
                // At once, so that a crash finds this file again and not the one before.
                pump.push(self.intake.assemble().finish(), None, place.encode()).await?;
            }
            Look::More { cost } => drop(self.take(follower, cost, false, pump).await?),
            Look::Finished { cost } => match self.take(follower, cost, true, pump).await {
                Ok(true) => {}
                Ok(false) => self.with(follower, |follower, _| follower.leave()).await?,
                Err(Stop::Fault(error)) => {
                    self.gap(&format!("the rest of a rotated file is given up: {error}"));
                    self.with(follower, |follower, _| follower.leave()).await?;
                }
                Err(Stop::Ended) => return Err(Stop::Ended),
            },
        }
        self.status.recovered();
        Ok(None)
    }

    /// Reads on, and hands in a block of what is whole. False where nothing was.
    async fn take(
        &self,
        follower: &mut Option<Follower>,
        cost: usize,
        ended: bool,
        pump: &mut Pump<I>,
    ) -> Result<bool, Stop> {
        let permit = loop {
            match self.budget.take(cost.min(self.budget.bytes()), BUDGET_WAIT).await {
                Ok(permit) => break permit,
                Err(_) => self.status.add("memory-waits", 1),
            }
        };
        let read = self.with(follower, move |follower, intake| follower.read(intake, ended)).await?;
        let Some((batch, place)) = read? else { return Ok(false) };
        pump.push(batch, Some(permit), place.encode()).await?;
        Ok(true)
    }

    /// Runs what reads and decodes on a thread where it may wait.
    async fn with<T: Send + 'static>(
        &self,
        follower: &mut Option<Follower>,
        work: impl FnOnce(&mut Follower, &I) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let intake = Arc::clone(&self.intake);
        let mut moved = follower.take().ok_or(Ended)?;
        let both = blocking(move || {
            let result = work(&mut moved, &*intake);
            (moved, result)
        });
        let (back, result) = both.await.ok_or(Ended)?;
        *follower = Some(back);
        Ok(result)
    }

    fn gap(&self, what: &str) {
        self.status.add("gaps", 1);
        tracing::warn!(kind = notice::SOURCE_GAP.kind, source = self.options.name, "{what}");
    }
}
