//! Joins a source to the engine: decodes, submits, and says in the source's terms what became of it.

use crate::engine::{self, Along, Engine, Origin};
use crate::event::{Assembly, BadKind, Decoder, EventBatch, Item, LineIds, Permit, Pointer, Timestamp};
use crate::ingest::{Answer, Intake, Outcome, Problem, ProblemKind, Submission};
use crate::notice;
use crate::store::Store;
use crate::verdict::write_json;
use bytes::Bytes;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;
use tokio::sync::oneshot;

/// One source's way into the engine.
pub struct SourceIntake {
    pub engine: Arc<Engine>,
    pub store: Arc<Store>,
    /// Changes with the model.
    decoder: RwLock<Arc<Decoder>>,
    /// For what comes as labels.
    label_decoder: Arc<Decoder>,
    pub origin: Arc<Origin>,
}

impl SourceIntake {
    /// A source whose records `decoder` reads: events, or labels where it is one for labels.
    #[must_use]
    pub fn new(engine: Arc<Engine>, store: Arc<Store>, decoder: Decoder, origin: Arc<Origin>) -> Self {
        let label_decoder = Arc::new(decoder.for_labels());
        Self { label_decoder, engine, store, decoder: RwLock::new(Arc::new(decoder)), origin }
    }

    fn decoder(&self) -> Arc<Decoder> {
        Arc::clone(&self.decoder.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decodes what comes from now on for a model whose features want these fields. The engine must know it by then.
    pub fn want(&self, fields: &Arc<[Pointer]>) {
        let mut decoder = self.decoder.write().unwrap_or_else(PoisonError::into_inner);
        *decoder = Arc::new(decoder.for_fields(fields));
    }

    /// Decodes a body. The decoder catches the panics of single records; should it panic itself, the whole
    /// body is one bad record: it must not bring the process down at each repeat.
    fn decoded(&self, body: &Bytes, decode: impl FnOnce() -> EventBatch) -> EventBatch {
        let batch = catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| {
            let reason = "internal error while decoding";
            EventBatch { panics: 1, ..self.decoder().whole_as_bad(BadKind::Malformed, reason, body.clone()) }
        });
        self.tell_panics(&batch);
        batch
    }

    fn tell_panics(&self, batch: &EventBatch) {
        if batch.panics > 0 {
            let (source, events) = (&self.origin.name, batch.panics);
            (0..events).for_each(|_| self.engine.counters().add_panic());
            let kind = notice::EVENT_PANIC.kind;
            tracing::error!(kind, source, events, "events made the code panic: they are set aside; please report it");
        }
    }

    /// Submits at once; resolves after the commit.
    fn ask(
        &self,
        batch: EventBatch,
        held: Option<Permit>,
        along: Along,
    ) -> impl Future<Output = Result<engine::Answer, Problem<'static>>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let origin = Arc::clone(&self.origin);
        let submitted =
            self.engine.submit(engine::Submission { batch, origin, arrived: Instant::now(), held, along, reply });
        async move {
            submitted.map_err(|_| Problem::busy("verdictd is stopping"))?;
            // Without an answer the events may be durable or not: a repeat will tell.
            answer.await.map_err(|_| {
                Problem::new(ProblemKind::Internal, "the state directory failed; send it again, a repeat does no harm")
            })
        }
    }
}

impl Intake for SourceIntake {
    type Answer = engine::Answer;

    async fn submit(&self, submission: Submission) -> Result<engine::Answer, Problem<'static>> {
        let Submission { form, body, labels, permit } = submission;
        let decoder = if labels { Arc::clone(&self.label_decoder) } else { self.decoder() };
        let batch = self.decoded(&body, || decoder.decode(&form, body.clone(), Timestamp::now().0));
        let answer = self.ask(batch, Some(permit), Along::default()).await?;
        let all_refused = answer.outcomes.iter().all(|outcome| *outcome == engine::Outcome::Refused);
        match &answer.refusal {
            Some(why) if all_refused => Err(Problem::busy(why.to_string())),
            _ => Ok(answer),
        }
    }

    fn assemble(&self) -> Assembly {
        self.decoder().assemble(Timestamp::now().0)
    }

    fn decode_lines(&self, body: Bytes, ids: Option<LineIds<'_>>) -> EventBatch {
        self.decoded(&body, || self.decoder().decode_lines(body.clone(), Timestamp::now().0, ids))
    }

    fn hand_in(
        &self,
        batch: EventBatch,
        permit: Option<Permit>,
        offsets: Vec<(Arc<str>, Vec<u8>)>,
    ) -> impl Future<Output = Result<engine::Answer, Problem<'static>>> + Send + 'static {
        self.tell_panics(&batch);
        self.ask(batch, permit, Along { offsets, ..Along::default() })
    }

    fn offset(&self, name: &str) -> Result<Option<Vec<u8>>, Problem<'static>> {
        self.store
            .offset(name)
            .map_err(|error| Problem::new(ProblemKind::Internal, format!("the offset {name} cannot be read: {error}")))
    }

    fn refused(&self, events: u64) {
        self.origin.refused.fetch_add(events, Relaxed);
    }

    async fn find(&self, source: &str, id: &str) -> Result<Option<Vec<u8>>, Problem<'static>> {
        let found = self.engine.find(source, id).await;
        let found = found.map_err(|_| Problem::busy("verdictd is stopping"))?;
        Ok(found.map(|(chunk, sequence)| {
            let mut out = Vec::new();
            if let Some(record) = chunk.get(sequence) {
                write_json(&record.verdict, &mut out);
            }
            out
        }))
    }
}

impl Answer for engine::Answer {
    fn into_held(self) -> Option<Permit> {
        self.held
    }

    fn into_batch(self) -> (EventBatch, Option<Permit>) {
        (self.batch, self.held)
    }

    fn is_all_taken(&self) -> bool {
        self.refusal.is_none()
    }

    fn len(&self) -> usize {
        self.outcomes.len()
    }

    fn outcome(&self, n: usize) -> Outcome<'_> {
        describe(self, n, self.outcome(n))
    }

    fn write_verdict(&self, n: usize, out: &mut Vec<u8>) {
        self.write_verdict(n, out);
        self.write_label(n, out);
    }

    fn write_lines(&self, out: &mut Vec<u8>) {
        self.for_each(|n, outcome, record| {
            match (record, describe(self, n, outcome)) {
                (Some(record), _) => write_json(&record.verdict, out),
                (None, Outcome::Problem(problem)) => problem.write_json(out),
                (None, Outcome::Label { .. }) => self.write_label(n, out),
                (None, Outcome::Verdict { .. }) => lost().write_json(out),
            }
            out.push(b'\n');
        });
    }
}

/// An outcome in the terms of the API.
fn describe(answer: &engine::Answer, n: usize, outcome: engine::Outcome) -> Outcome<'_> {
    let problem = match outcome {
        engine::Outcome::Verdict { replayed, .. } => return Outcome::Verdict { replayed },
        engine::Outcome::Label { known } => return Outcome::Label { known },
        engine::Outcome::Conflict => {
            Problem::new(ProblemKind::Conflict, "expected the payload that this id first came with; found another")
        }
        engine::Outcome::Bad => {
            let kind = match answer.bad(n).map(|bad| bad.kind) {
                Some(BadKind::Oversized) => ProblemKind::Oversized,
                _ => ProblemKind::Malformed,
            };
            Problem::new(kind, answer.bad(n).map_or("not an event", |bad| bad.reason.as_str()))
        }
        engine::Outcome::Refused => Problem::busy(answer.refusal.as_deref().unwrap_or("not taken")),
    };
    let text = |span| answer.batch.str(span).into();
    let (source, id) = match answer.batch.items.get(n) {
        Some(Item::Event(event)) => (Some(text(event.source)), Some(text(event.id))),
        Some(Item::Label(label)) => (Some(text(label.source)), Some(text(label.id))),
        Some(Item::Bad(bad)) => (Some(text(bad.source)), bad.id.map(text)),
        None => (None, None),
    };
    Outcome::Problem(Problem { source, id, ..problem })
}

/// A verdict whose record cannot be found: cannot be, and must not pass for an answer.
fn lost() -> Problem<'static> {
    Problem::new(ProblemKind::Internal, "internal error: the verdict is durable but cannot be shown; ask again")
}
