//! What became of a submission, and its rendering.
//!
//! A verdict is rendered from the log's own record, whether it is new or a repeat: that makes a repeat's
//! answer the same bytes.

use crate::event::{BadRecord, Event, EventBatch, Item, Permit};
use crate::store::{Chunk, Record};
use crate::verdict::{write_json, write_json_string};
use std::io::Write;
use std::sync::Arc;
use tokio::sync::oneshot;

/// An answer on its way to the one who asked.
#[derive(Debug)]
pub struct Delivery {
    pub answer: Answer,
    pub reply: oneshot::Sender<Answer>,
}

impl Delivery {
    /// Hands the answer over. The asker may have gone; the events are durable all the same.
    pub fn deliver(self) {
        drop(self.reply.send(self.answer));
    }
}

/// Takes a commit's answers to the threads that wait for them, in one go.
///
/// To wake 64 tasks of another runtime one by one from here costs 64 wake-ups of a thread; to hand all of
/// them to one task there costs one.
pub type Courier = Box<dyn Fn(Vec<Delivery>) + Send + Sync>;

/// What became of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has this durable verdict; `replayed`: an earlier arrival made it.
    Verdict { sequence: u64, replayed: bool },
    /// A label, and durable; `known`: its event has a verdict.
    Label { known: bool },
    /// Its id is known with another payload; it is in quarantine.
    Conflict,
    /// It is no event; it is in quarantine.
    Bad,
    /// It cannot be taken now and was not taken.
    Refused,
}

/// The answer to one submission, given after its commit.
#[derive(Debug)]
pub struct Answer {
    pub batch: EventBatch,
    /// One for each of the batch's items.
    pub outcomes: Vec<Outcome>,
    /// Why events were refused, if any were.
    pub refusal: Option<Arc<str>>,
    /// Chunks that hold the verdicts, by their first sequence.
    pub chunks: Vec<Arc<Chunk>>,
    /// The memory that the submission was paid for with.
    pub held: Option<Permit>,
}

impl Answer {
    #[must_use]
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// What became of event `n`.
    #[must_use]
    pub fn outcome(&self, n: usize) -> Outcome {
        self.outcomes.get(n).copied().unwrap_or(Outcome::Refused)
    }

    /// Event `n`, if it is one.
    #[must_use]
    pub fn event(&self, n: usize) -> Option<&Event> {
        match self.batch.items.get(n) {
            Some(Item::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// What is wrong with item `n`, if it is no event.
    #[must_use]
    pub fn bad(&self, n: usize) -> Option<&BadRecord> {
        match self.batch.items.get(n) {
            Some(Item::Bad(bad)) => Some(bad),
            _ => None,
        }
    }

    /// The record that answers event `n`.
    #[must_use]
    pub fn record(&self, n: usize) -> Option<Record<'_>> {
        let Outcome::Verdict { sequence, .. } = self.outcome(n) else { return None };
        self.chunk(sequence).and_then(|chunk| chunk.get(sequence))
    }

    /// Appends what label `n` is answered with, one JSON object; nothing where it is none.
    pub fn write_label(&self, n: usize, out: &mut Vec<u8>) {
        if let (Some(Item::Label(label)), Outcome::Label { known }) = (self.batch.items.get(n), self.outcome(n)) {
            out.extend_from_slice(b"{\"type\":\"verdictd.label.v1\",\"source\":");
            write_json_string(self.batch.str(label.source), out);
            out.extend_from_slice(b",\"id\":");
            write_json_string(self.batch.str(label.id), out);
            // Writing to a Vec does not fail.
            let _ = write!(out, ",\"label\":{},\"known\":{known}}}", label.value);
        }
    }

    fn chunk(&self, sequence: u64) -> Option<&Arc<Chunk>> {
        // Excerpts may stand among whole chunks, so the nearest one before is not always it.
        let end = self.chunks.partition_point(|chunk| chunk.first() <= sequence);
        self.chunks.get(..end)?.iter().rev().find(|chunk| sequence < chunk.next())
    }

    /// Appends verdict `n` as one JSON object; nothing where the outcome is another.
    pub fn write_verdict(&self, n: usize, out: &mut Vec<u8>) {
        if let Some(record) = self.record(n) {
            write_json(&record.verdict, out);
        }
    }

    /// Calls `each` for every event in order, with its record where it has a verdict. Verdicts that follow
    /// each other in the log, as a rule all of them, are read in one pass.
    pub fn for_each(&self, mut each: impl FnMut(usize, Outcome, Option<&Record<'_>>)) {
        let mut at: Option<(u64, Box<dyn Iterator<Item = Record<'_>> + '_>)> = None;
        for (n, outcome) in self.outcomes.iter().enumerate() {
            let Outcome::Verdict { sequence, .. } = *outcome else {
                each(n, *outcome, None);
                continue;
            };
            let follows = at.as_ref().is_some_and(|(next, _)| *next == sequence);
            let mut record = if follows { at.as_mut().and_then(|(_, records)| records.next()) } else { None };
            if record.is_none() {
                at = self.chunk(sequence).map(|chunk| {
                    let skip = usize::try_from(sequence - chunk.first()).unwrap_or(usize::MAX);
                    let records: Box<dyn Iterator<Item = Record<'_>>> = Box::new(chunk.records().skip(skip));
                    (sequence, records)
                });
                record = at.as_mut().and_then(|(_, records)| records.next());
            }
            if let Some((next, _)) = &mut at {
                *next = sequence + 1;
            }
            each(n, *outcome, record.as_ref());
        }
    }
}
