//! The engine alone: dedup, features, scoring and commits, fed with decoded events, no socket and no sink.

use super::child::{Scratch, io_error};
use super::events::Requests;
use super::{BATCH_EVENTS, BenchError};
use crate::engine::{Along, Engine, Lineup, Origin, Parts, Submission};
use crate::event::{Decoder, EventBatch, Form, IdentityRules, KeyRule, Pointer, SourceRule, TimeForm};
use crate::model::{self, LoadOptions};
use crate::store;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Events decoded beforehand.
const EVENTS: usize = 400_000;
/// Submissions that wait at once.
const IN_FLIGHT: usize = 64;

/// Events a second.
///
/// # Errors
/// When the store or the bundle cannot be used.
pub fn events_per_second(parent: &Path, bundle: &Path) -> Result<f64, BenchError> {
    let scratch = Scratch::new(parent, "engine")?;
    let fail = |what: &str, error: String| io_error(what, io::Error::other(error));
    let bundle = model::load(bundle, &LoadOptions::default()).map_err(|error| fail("bundle", error.to_string()))?;
    let opened = store::open(&store::Options::new(scratch.path.join("state")))
        .map_err(|error| fail("store", error.to_string()))?;
    let batches = decoded(&bundle, opened.store.seed()).map_err(|error| fail("pointer", error))?;
    let parts = Parts {
        store: opened.store,
        index: opened.index,
        writer: opened.writer,
        lineup: Lineup::alone(Arc::new(bundle)),
        courier: None,
        keep_payload: true,
        keep_events: false,
        refolded: None,
    };
    let engine = Engine::start(parts).map_err(|error| io_error("engine", error))?;
    let origin = Arc::new(Origin::new("bench"));
    let events: usize = batches.iter().map(|batch| batch.items.len()).sum();
    let mut waiting = VecDeque::new();
    let began = Instant::now();
    for batch in batches {
        if waiting.len() >= IN_FLIGHT {
            let oldest: Option<oneshot::Receiver<_>> = waiting.pop_front();
            drop(oldest.map(oneshot::Receiver::blocking_recv));
        }
        let (reply, answer) = oneshot::channel();
        let submission = Submission {
            batch,
            origin: Arc::clone(&origin),
            arrived: Instant::now(),
            held: None,
            along: Along::default(),
            reply,
        };
        engine.submit(submission).map_err(|error| fail("engine", error.to_string()))?;
        waiting.push_back(answer);
    }
    for answer in waiting {
        answer.blocking_recv().map_err(|_| fail("engine", "it failed".to_owned()))?;
    }
    let took = began.elapsed();
    engine.close().map_err(|error| fail("engine", error.to_string()))?;
    #[allow(clippy::cast_precision_loss)] // far below 2^52
    Ok(events as f64 / took.as_secs_f64())
}

fn decoded(bundle: &model::Bundle, seed: u64) -> Result<Vec<EventBatch>, String> {
    let pointer = |text: &str| Pointer::parse(text).map_err(|error| error.to_string());
    let rules = IdentityRules {
        id: pointer("/TRANSACTION_ID")?,
        time: pointer("/TX_DATETIME")?,
        time_form: TimeForm::Any,
        source: SourceRule::Fixed("bench".to_owned()),
        key: KeyRule { pointers: vec![pointer("/CUSTOMER_ID")?], hmac_key: None, ..KeyRule::default() },
    };
    let decoder = Decoder::new(rules, Arc::clone(bundle.features().pointers()), 1 << 18, seed);
    let mut requests = Requests::new(BATCH_EVENTS, 9);
    let mut batches = Vec::new();
    for _ in 0..EVENTS / BATCH_EVENTS {
        let mut request = Vec::new();
        requests.write(&mut request);
        let head = memchr::memmem::find(&request, b"\r\n\r\n").map_or(0, |at| at + 4);
        batches.push(decoder.decode(&Form::Ndjson, request.split_off(head).into(), 0));
    }
    Ok(batches)
}
