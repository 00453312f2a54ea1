//! Events through decoder, features and model, one verdict line each.

use super::{
    EVENT_BYTES_MAX, Failure, Format, Input, Output, SLICE_BYTES_MAX,
    input::{Records, read_line},
};
use crate::{
    event::{BadKind, BadRecord, CsvHeader, Decoder, Event, EventBatch, Form, IdentityRules, Item, Pointer},
    features::{ColumnKind, FeatureSet},
    ingest::{Problem, ProblemKind},
    model::{Bundle, Scorer},
    verdict::{Verdict, write_json, write_json_string, write_number},
};
use bytes::Bytes;
use std::{
    io::BufRead,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Events that are scored in one call.
pub(super) const BATCH_EVENTS_MAX: usize = 1024;

pub(super) fn score(
    bundle: &Bundle,
    input: Input,
    rules: IdentityRules,
    with_features: bool,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = rules.id.clone();
    let decoder = Decoder::new(rules, Arc::clone(bundle.features().pointers()), EVENT_BYTES_MAX, 0);
    let mut slice = Slice {
        bundle,
        scorer: bundle.scorer(BATCH_EVENTS_MAX),
        decoder,
        with_features,
        body: Vec::new(),
        events: 0,
        line: Vec::new(),
    };
    match input.format {
        Format::Ndjson => ndjson(input.stream, &mut slice, out),
        Format::Csv => csv(input.stream, &id, &mut slice, out),
    }
}

fn ndjson(mut stream: Box<dyn BufRead>, slice: &mut Slice<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
    let mut line = Vec::new();
    while read_line(&mut *stream, &mut line, EVENT_BYTES_MAX).map_err(|error| Failure::input("input", &error))? {
        if !line.trim_ascii().is_empty() {
            slice.add(&line, out)?;
        }
    }
    slice.write(out)
}

fn csv(stream: Box<dyn BufRead>, id: &Pointer, slice: &mut Slice<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
    let unreadable = |error: csv::Error| Failure::does_not_hold(format!("input: {error}"));
    let mut records = Records::new(stream).map_err(unreadable)?;
    let header =
        CsvHeader::new(&records.header, &[]).map_err(|fault| Failure::does_not_hold(format!("input: {fault}")))?;
    let header = header.with_nan_missing();
    // Only a pointer of one part can be a column.
    let id_column = id.parts().first().filter(|_| id.parts().len() == 1).map(String::as_str);
    let numbered = id_column.filter(|name| !header.has(name));
    let mut record = csv::ByteRecord::new();
    let mut object = Vec::new();
    for number in 1_u64.. {
        if !records.read(&mut record).map_err(unreadable)? {
            break;
        }
        object.clear();
        let place = number.to_string();
        match header.write_object(record.iter(), numbered.map(|name| (name, place.as_str())), &mut object) {
            Ok(()) => slice.add(&object, out)?,
            Err(reason) => {
                slice.write(out)?;
                slice.problem(ProblemKind::Malformed, &format!("record {number}: {reason}"), None, None, out)?;
            }
        }
    }
    slice.write(out)
}

/// Events gathered to be scored together.
struct Slice<'a> {
    bundle: &'a Bundle,
    scorer: Scorer,
    decoder: Decoder,
    with_features: bool,
    body: Vec<u8>,
    events: usize,
    line: Vec<u8>,
}

/// What became of one event: its row's number among those scored, or why it has none.
type Filled = Result<usize, String>;

impl Slice<'_> {
    fn add(&mut self, event: &[u8], out: &mut Output<'_>) -> Result<(), Failure> {
        self.body.extend_from_slice(event);
        self.body.push(b'\n');
        self.events += 1;
        if self.events >= BATCH_EVENTS_MAX || self.body.len() >= SLICE_BYTES_MAX { self.write(out) } else { Ok(()) }
    }

    fn write(&mut self, out: &mut Output<'_>) -> Result<(), Failure> {
        self.events = 0;
        let body = Bytes::from(std::mem::take(&mut self.body));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let batch = self.decoder.decode(&Form::Ndjson, body, i64::try_from(now.as_micros()).unwrap_or(i64::MAX));
        let (rows, filled) = self.fill(&batch);
        let mut scores = vec![f64::NAN; filled.iter().filter(|f| f.is_ok()).count()];
        self.scorer.score(&rows, &mut scores);
        let width = self.bundle.features().width();
        let mut filled = filled.into_iter();
        for item in &batch.items {
            match item {
                Item::Bad(bad) => self.bad(&batch, bad, out)?,
                // It has no row, and no window that it would count in.
                Item::Label(_) => {}
                Item::Event(event) => {
                    let (row, score, reason) = match filled.next() {
                        Some(Ok(n)) => {
                            (rows.get(n * width..(n + 1) * width), scores.get(n).copied().unwrap_or(f64::NAN), None)
                        }
                        Some(Err(reason)) => (None, f64::NAN, Some(reason)),
                        None => (None, f64::NAN, None),
                    };
                    self.verdict(&batch, event, row, score, reason, out)?;
                }
            }
        }
        Ok(())
    }

    /// The rows of the events that can have one, and for each event which row that is.
    fn fill(&self, batch: &EventBatch) -> (Vec<f64>, Vec<Filled>) {
        let features = self.bundle.features();
        let mut rows = Vec::new();
        let mut filled = Vec::new();
        let mut count = 0;
        for item in &batch.items {
            let Item::Event(event) = item else { continue };
            let start = rows.len();
            rows.resize(start + features.width(), 0.0);
            let row = rows.get_mut(start..).unwrap_or_default();
            match features.fill(batch.fields_of(event, features.pointers().len()), &batch.text, None, row) {
                Ok(()) => {
                    filled.push(Ok(count));
                    count += 1;
                }
                Err(unscorable) => {
                    filled.push(Err(unscorable.to_string()));
                    rows.truncate(start);
                }
            }
        }
        (rows, filled)
    }

    fn verdict(
        &mut self,
        batch: &EventBatch,
        event: &Event,
        row: Option<&[f64]>,
        score: f64,
        unscorable: Option<String>,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let bundle = self.bundle;
        let score = Some(score).filter(|score| score.is_finite());
        let unscorable =
            unscorable.or_else(|| score.is_none().then(|| "the model's result is not a finite number".to_owned()));
        let decision = score.map_or(bundle.fallback(), |score| bundle.decide(score));
        let mut reasons: Vec<&str> = unscorable.iter().map(String::as_str).collect();
        let found = match row {
            Some(row) if score.is_some() && bundle.wants_reasons(decision) => self.scorer.reasons(row),
            _ => crate::model::Reasons::default(),
        };
        reasons.extend(found.names(bundle.features()));
        let verdict = Verdict {
            sequence: 0,
            source: batch.str(event.source),
            id: batch.str(event.id),
            key: event.key.map(|key| batch.str(key)),
            time_us: event.time_us,
            decision,
            score,
            reasons,
            model: bundle.label(),
            model_sha256: bundle.sha256(),
            decided_ms: 0,
        };
        self.line.clear();
        write_json(&verdict, &mut self.line);
        // What only a commit gives stands at the end, and holds no text of the event.
        if let Some(end) = self.line.windows(SEQUENCE.len()).rposition(|window| window == SEQUENCE) {
            self.line.truncate(end);
        }
        if self.with_features {
            write_features(bundle.features(), row, &mut self.line);
        }
        self.line.extend_from_slice(b"}\n");
        out.bytes(&self.line)
    }

    fn bad(&mut self, batch: &EventBatch, bad: &BadRecord, out: &mut Output<'_>) -> Result<(), Failure> {
        let kind = match bad.kind {
            BadKind::Malformed => ProblemKind::Malformed,
            BadKind::Oversized => ProblemKind::Oversized,
        };
        let source = Some(batch.str(bad.source)).filter(|source| !source.is_empty());
        self.problem(kind, &bad.reason, source, bad.id.map(|id| batch.str(id)), out)
    }

    fn problem(
        &mut self,
        kind: ProblemKind,
        reason: &str,
        source: Option<&str>,
        id: Option<&str>,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        self.line.clear();
        let mut problem = Problem::new(kind, reason);
        problem.source = source.map(Into::into);
        problem.id = id.map(Into::into);
        problem.write_json(&mut self.line);
        self.line.push(b'\n');
        out.bytes(&self.line)
    }
}

/// The first member that only a commit gives.
const SEQUENCE: &[u8] = b",\"sequence\":";

/// Appends `,"features":{…}`: null for NaN, and for all where there is no row.
pub(super) fn write_features(features: &FeatureSet, row: Option<&[f64]>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"features\":");
    let Some(row) = row else {
        out.extend_from_slice(b"null");
        return;
    };
    for (n, ((name, kind), value)) in features.names().iter().zip(features.kinds()).zip(row).enumerate() {
        out.push(if n == 0 { b'{' } else { b',' });
        write_json_string(name, out);
        out.push(b':');
        match kind {
            ColumnKind::Text(texts) => match texts.text(*value) {
                Some(text) => write_json_string(text, out),
                None => out.extend_from_slice(b"null"),
            },
            _ => write_number(*value, out),
        }
    }
    out.push(b'}');
}
