//! A way into the engine that can be shut, as a full disk shuts it.

use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::watch;
use verdictd::event::{Assembly, EventBatch, LineIds, Permit};
use verdictd::ingest::{Intake, Problem, Submission};
use verdictd::service::SourceIntake;

pub struct Gate {
    inner: Arc<SourceIntake>,
    open: watch::Receiver<bool>,
}

impl Gate {
    /// Shut, until the sender says true.
    pub fn before(inner: Arc<SourceIntake>) -> (Self, watch::Sender<bool>) {
        let (sender, open) = watch::channel(false);
        (Self { inner, open }, sender)
    }
}

impl Intake for Gate {
    type Answer = <SourceIntake as Intake>::Answer;

    async fn submit(&self, submission: Submission) -> Result<Self::Answer, Problem<'static>> {
        self.inner.submit(submission).await
    }

    fn assemble(&self) -> Assembly {
        self.inner.assemble()
    }

    fn decode_lines(&self, body: Bytes, ids: Option<LineIds<'_>>) -> EventBatch {
        self.inner.decode_lines(body, ids)
    }

    fn hand_in(
        &self,
        batch: EventBatch,
        permit: Option<Permit>,
        offsets: Vec<(Arc<str>, Vec<u8>)>,
    ) -> impl Future<Output = Result<Self::Answer, Problem<'static>>> + Send + 'static {
        let (inner, mut open) = (Arc::clone(&self.inner), self.open.clone());
        async move {
            open.wait_for(|open| *open).await.expect("a gate that opens");
            inner.hand_in(batch, permit, offsets).await
        }
    }

    fn offset(&self, name: &str) -> Result<Option<Vec<u8>>, Problem<'static>> {
        self.inner.offset(name)
    }

    fn refused(&self, events: u64) {
        self.inner.refused(events);
    }

    async fn find(&self, source: &str, id: &str) -> Result<Option<Vec<u8>>, Problem<'static>> {
        self.inner.find(source, id).await
    }
}
