//! An intake in memory: an event's id is its member `id`, its verdict is short.

use super::super::{
    Answer, Budget, EventRoutes, Form, Intake, Limits, Outcome, Permit, Problem, ProblemKind, Submission,
    server::Shared,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::sync::{Semaphore, watch};

pub struct Fake {
    seen: Mutex<HashMap<String, Value>>,
    /// Forms as they came, for tests of what is understood how.
    pub forms: Mutex<Vec<Form>>,
    /// Submissions wait for one of these.
    pub gate: Semaphore,
    /// Submissions so far, waiting or not.
    pub entered: std::sync::atomic::AtomicUsize,
    /// Answers `busy` to all.
    pub full: std::sync::atomic::AtomicBool,
    /// Events counted as refused for want of memory.
    pub refused: std::sync::atomic::AtomicU64,
}

pub struct FakeAnswer {
    outcomes: Vec<Result<(String, bool), Problem<'static>>>,
    permit: Permit,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            seen: Mutex::default(),
            forms: Mutex::default(),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            entered: 0.into(),
            full: false.into(),
            refused: 0.into(),
        }
    }
}

impl Fake {
    fn one(&self, bytes: &[u8], id: Option<&str>) -> Result<(String, bool), Problem<'static>> {
        let malformed = |detail: String| Problem::new(ProblemKind::Malformed, detail);
        let event: Value = serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        let id = id.or(event["id"].as_str()).ok_or_else(|| malformed("expected an id".into()))?.to_owned();
        let mut seen = self.seen.lock().unwrap();
        let replayed = match seen.get(&id) {
            Some(first) if *first != event => {
                let conflict = Problem::new(ProblemKind::Conflict, "known with another payload");
                return Err(Problem { id: Some(id.into()), ..conflict });
            }
            first => first.is_some(),
        };
        seen.insert(id.clone(), event);
        Ok((id, replayed))
    }
}

impl Answer for FakeAnswer {
    fn into_held(self) -> Option<Permit> {
        Some(self.permit)
    }

    fn into_batch(self) -> (crate::event::EventBatch, Option<Permit>) {
        (crate::event::EventBatch::default(), Some(self.permit))
    }

    fn len(&self) -> usize {
        self.outcomes.len()
    }

    fn outcome(&self, n: usize) -> Outcome<'_> {
        match &self.outcomes[n] {
            Ok((_, replayed)) => Outcome::Verdict { replayed: *replayed },
            Err(problem) => Outcome::Problem(problem.clone()),
        }
    }

    fn write_verdict(&self, n: usize, out: &mut Vec<u8>) {
        let (id, _) = self.outcomes[n].as_ref().unwrap();
        if id == "lost" {
            return;
        }
        out.extend_from_slice(format!("{{\"id\":\"{id}\",\"decision\":\"allow\"}}").as_bytes());
    }
}

impl Intake for Fake {
    type Answer = FakeAnswer;

    async fn submit(&self, submission: Submission) -> Result<FakeAnswer, Problem<'static>> {
        self.entered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.gate.acquire().await.unwrap().forget();
        if self.full.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Problem { retry_after_s: Some(7), ..Problem::busy("the disk is full") });
        }
        let Submission { form, body, permit, .. } = submission;
        let outcomes = match &form {
            Form::Json | Form::Record | Form::CloudEvent => vec![self.one(&body, None)],
            Form::Binary(attributes) => vec![self.one(&body, attributes.get("id"))],
            Form::Ndjson => {
                let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
                lines.map(|line| self.one(line, None)).collect()
            }
            Form::CloudEventBatch => {
                let events: Vec<Value> = serde_json::from_slice(&body)
                    .map_err(|_| Problem::new(ProblemKind::Malformed, "expected a JSON array"))?;
                events.iter().map(|event| self.one(event.to_string().as_bytes(), None)).collect()
            }
        };
        self.forms.lock().unwrap().push(form);
        Ok(FakeAnswer { outcomes, permit })
    }

    fn assemble(&self) -> crate::event::Assembly {
        panic!("servers have no use for it")
    }

    fn decode_lines(&self, _: bytes::Bytes, _: Option<crate::event::LineIds<'_>>) -> crate::event::EventBatch {
        panic!("servers have no use for it")
    }

    fn hand_in(
        &self,
        _: crate::event::EventBatch,
        _: Option<Permit>,
        _: Vec<(Arc<str>, Vec<u8>)>,
    ) -> impl Future<Output = Result<FakeAnswer, Problem<'static>>> + Send + 'static {
        std::future::ready(Err(Problem::busy("servers have no use for it")))
    }

    fn offset(&self, _: &str) -> Result<Option<Vec<u8>>, Problem<'static>> {
        Ok(None)
    }

    fn refused(&self, events: u64) {
        self.refused.fetch_add(events, std::sync::atomic::Ordering::Relaxed);
    }

    async fn find(&self, source: &str, id: &str) -> Result<Option<Vec<u8>>, Problem<'static>> {
        let known = source == "pos" && self.seen.lock().unwrap().contains_key(id);
        Ok(known.then(|| serde_json::json!({ "id": id }).to_string().into_bytes()))
    }
}

pub struct Server {
    pub shared: Arc<Shared<EventRoutes<Fake>>>,
    pub fake: Arc<Fake>,
    pub budget: Budget,
    pub stop: watch::Sender<bool>,
}

/// A server without a listener; connections are made by [`Server::connect`](super::peer).
pub fn server(limits: Limits) -> Server {
    let budget = Budget::new(limits.budget_bytes_min());
    with_budget(limits, budget)
}

pub fn with_budget(limits: Limits, budget: Budget) -> Server {
    let fake = Arc::new(Fake::default());
    let routes = EventRoutes::new(Arc::clone(&fake), budget.clone(), limits.clone());
    let shared = Arc::new(Shared { routes, limits, token: None, connections: Arc::default() });
    Server { shared, fake, budget, stop: watch::Sender::new(false) }
}
