//! Hands in one batch while the next is read.

use crate::event::{EventBatch, Permit};
use crate::ingest::{Intake, Problem, until_taken};
use std::sync::Arc;
use tokio::{sync::watch, task::JoinHandle};

/// The source is being stopped, or the engine has ended: nothing more is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) struct Ended;

/// At most one batch is under way, so that no later one can move the offset over what was refused.
pub(in crate::ingest) struct Pump<I: Intake> {
    intake: Arc<I>,
    /// The offset's name.
    name: Arc<str>,
    stop: watch::Receiver<bool>,
    under_way: Option<JoinHandle<Result<(), Problem<'static>>>>,
}

impl<I: Intake> Pump<I> {
    pub fn new(intake: Arc<I>, name: Arc<str>, stop: watch::Receiver<bool>) -> Self {
        Self { intake, name, stop, under_way: None }
    }

    /// Hands a batch in when the one before was taken.
    pub async fn push(&mut self, batch: EventBatch, permit: Option<Permit>, offset: Vec<u8>) -> Result<(), Ended> {
        self.settle().await?;
        let (intake, mut stop) = (Arc::clone(&self.intake), self.stop.clone());
        let offsets = vec![(Arc::clone(&self.name), offset)];
        self.under_way =
            Some(tokio::spawn(async move { until_taken(&*intake, batch, permit, offsets, &mut stop).await.map(drop) }));
        Ok(())
    }

    /// Waits until all that was handed in is taken.
    pub async fn settle(&mut self) -> Result<(), Ended> {
        let Some(under_way) = self.under_way.take() else { return Ok(()) };
        match under_way.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(problem)) => {
                tracing::debug!(source = &*self.name, reason = &*problem.detail, "the last batch was not taken");
                Err(Ended)
            }
            Err(_) => Err(Ended),
        }
    }
}

/// Runs what reads and decodes on a thread where it may wait. None where the runtime is ending.
pub(in crate::ingest) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
