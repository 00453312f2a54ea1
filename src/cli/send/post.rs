//! One batch, posted until each of its events has a final answer.

use super::{SendError, input::Batch};
use crate::cli::client::{Answered, Client};
use bytes::Bytes;
use rand::Rng;
use serde::{Deserialize, de::IgnoredAny};
use std::time::{Duration, Instant};

/// The first pause after a failure; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// A daemon's Retry-After counts up to this.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

/// A batch's answers.
#[derive(Debug, Default)]
pub(super) struct Posted {
    /// In the order of the batch, each with its line end.
    pub lines: Vec<Bytes>,
    pub acked: u64,
    pub refused: u64,
    pub retries: u64,
}

/// What tells a verdict, or a label that was taken, from a problem.
#[derive(Deserialize)]
struct AnswerLine {
    decision: Option<IgnoredAny>,
    label: Option<IgnoredAny>,
    status: Option<u16>,
}

enum Step {
    /// Some events got their final answer.
    Progress,
    /// None did; why, and when the daemon wants to be asked again.
    Wait(String, Option<Duration>),
    /// The body is too large for the daemon: fewer a request.
    Halve,
}

pub(super) async fn post(client: &mut Client, batch: &Batch, limit: Option<Duration>) -> Result<Posted, SendError> {
    let started = Instant::now();
    let mut answers: Vec<Option<Bytes>> = vec![None; batch.lines.len()];
    let mut open: Vec<usize> = (0..batch.lines.len()).collect();
    let mut at_once = open.len();
    let mut pause = PAUSE_MIN;
    let mut posted = Posted::default();
    while !open.is_empty() {
        at_once = at_once.clamp(1, open.len());
        let body = body(batch, open.get(..at_once).unwrap_or(&open));
        let step = match client.post("/v1/events", "application/x-ndjson", body).await {
            Ok(answered) => settle(&answered, &mut open, at_once, &mut answers, &mut posted)?,
            Err(error) if error.is_transient() => Step::Wait(error.to_string(), None),
            Err(error) => return Err(error.into()),
        };
        let (why, asked) = match step {
            Step::Progress => {
                pause = PAUSE_MIN;
                continue;
            }
            Step::Halve => {
                at_once = at_once.div_ceil(2);
                continue;
            }
            Step::Wait(why, asked) => (why, asked),
        };
        // Half of the pause at random, so that many senders do not come back at one moment.
        let spread = pause.mul_f64(rand::rng().random_range(0.5..1.0));
        let wait = asked.map_or(spread, |asked| asked.min(RETRY_AFTER_MAX) + spread);
        if let Some(limit) = limit.filter(|limit| started.elapsed() + wait > *limit) {
            return Err(SendError::TimedOut(limit, why));
        }
        posted.retries += 1;
        tracing::debug!(%why, ?wait, "trying again");
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    posted.lines = answers.into_iter().flatten().collect();
    Ok(posted)
}

fn body(batch: &Batch, open: &[usize]) -> Bytes {
    if open.len() == batch.lines.len() {
        return batch.body.clone();
    }
    let lines = open.iter().filter_map(|n| batch.lines.get(*n)).filter_map(|range| batch.body.get(range.clone()));
    lines.collect::<Vec<_>>().concat().into()
}

/// Takes the answers to the first `sent` of the `open` events.
fn settle(
    answered: &Answered,
    open: &mut Vec<usize>,
    sent: usize,
    answers: &mut [Option<Bytes>],
    posted: &mut Posted,
) -> Result<Step, SendError> {
    let text = || String::from_utf8_lossy(&answered.body).trim().to_owned();
    match answered.status {
        200 => {}
        413 if sent > 1 => return Ok(Step::Halve),
        400 | 413 if sent == 1 => {
            let mut line = answered.body.to_vec();
            line.push(b'\n');
            if let Some(answer) = open.first().and_then(|n| answers.get_mut(*n)) {
                *answer = Some(line.into());
            }
            open.remove(0);
            posted.refused += 1;
            return Ok(Step::Progress);
        }
        408 | 429 | 500.. => return Ok(Step::Wait(text(), answered.retry_after())),
        status => return Err(SendError::Refused { status, body: text() }),
    }
    let lines: Vec<&[u8]> = answered.body.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.len() != sent {
        return Err(SendError::Protocol { expected: sent, got: lines.len() });
    }
    let mut later = Vec::new();
    let mut why = String::new();
    for (n, line) in open.drain(..sent).zip(lines) {
        let parsed: Option<AnswerLine> = serde_json::from_slice(line).ok();
        match parsed {
            Some(AnswerLine { decision: Some(_), .. } | AnswerLine { label: Some(_), .. }) => posted.acked += 1,
            Some(AnswerLine { status: Some(400 | 409 | 413), .. }) => posted.refused += 1,
            _ => {
                String::from_utf8_lossy(line).trim().clone_into(&mut why);
                later.push(n);
                continue;
            }
        }
        if let Some(answer) = answers.get_mut(n) {
            *answer = Some(answered.body.slice_ref(line));
        }
    }
    let progress = later.len() < sent;
    later.append(open);
    *open = later;
    // Some were put off: ask again at once only where others got through.
    Ok(if progress && why.is_empty() { Step::Progress } else { Step::Wait(why, answered.retry_after()) })
}
