//! Verdicts that were given before, and labels that are known: from the file sink's lines, or from a store.

use super::tally::{Names, Side};
use crate::{
    cli::{
        Failure,
        offline::{SEED, read_line},
    },
    event::identity_fingerprint,
    store::inspect::Inspector,
};
use serde::Deserialize;
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader},
    ops::ControlFlow,
    path::Path,
};

/// Longest line of a verdict: far above what identity, key and reasons can make.
const LINE_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct Past {
    /// By the fingerprint of (source, id). The last counts.
    verdicts: HashMap<u64, Side>,
    names: Names,
    pub labels: HashMap<u64, f64>,
    /// The sources of the verdicts, as long as it is one.
    sources: Sources,
}

#[derive(Debug, Default)]
enum Sources {
    #[default]
    None,
    One(String),
    Several,
}

#[derive(Deserialize)]
struct Line {
    source: String,
    id: String,
    decision: String,
    score: Option<f64>,
}

impl Past {
    /// Reads lines of the file sink.
    pub fn from_file(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| Failure::input(&path.display().to_string(), &error);
        let mut stream = BufReader::with_capacity(64 << 10, File::open(path).map_err(unreadable)?);
        let mut past = Self::default();
        let mut line = Vec::new();
        for number in 1_u64.. {
            if !read_line(&mut stream, &mut line, LINE_BYTES_MAX).map_err(unreadable)? {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let verdict: Line = serde_json::from_slice(&line).map_err(|error| {
                let what = "expected a verdict, with source, id, decision and score";
                Failure::does_not_hold(format!("{}: line {number}: {what}: {error}", path.display()))
            })?;
            past.add(&verdict.source, &verdict.id, &verdict.decision, verdict.score.map(meant));
        }
        Ok(past)
    }

    /// Reads a copy of a store.
    pub fn from_store(inspector: &Inspector) -> Result<Self, Failure> {
        let mut past = Self::default();
        inspector.events(0, |record| {
            let verdict = &record.verdict;
            past.add(verdict.source, verdict.id, verdict.decision, verdict.score);
            ControlFlow::Continue(())
        })?;
        inspector.each_label(|label| {
            past.labels.insert(identity_fingerprint(SEED, &label.source, &label.id), label.value);
        })?;
        Ok(past)
    }

    fn add(&mut self, source: &str, id: &str, decision: &str, score: Option<f64>) {
        match &self.sources {
            Sources::None => self.sources = Sources::One(source.to_owned()),
            Sources::One(one) if one != source => self.sources = Sources::Several,
            _ => {}
        }
        let decision = self.names.number(decision);
        self.verdicts.insert(identity_fingerprint(SEED, source, id), Side::new(decision, score));
    }

    /// The source of all verdicts, where it is one.
    pub fn only_source(&self) -> Option<&str> {
        match &self.sources {
            Sources::One(source) => Some(source),
            _ => None,
        }
    }

    pub fn len(&self) -> u64 {
        self.verdicts.len() as u64
    }

    /// An event's verdict, its decision numbered as in `names`.
    pub fn get(&self, identity: u64, names: &mut Names) -> Option<Side> {
        let side = self.verdicts.get(&identity)?;
        Some(Side::new(names.number(self.names.name(side.decision)), side.score()))
    }
}

/// The score that a number in a verdict's line stands for: where it is the shortest text of an f32, that f32.
fn meant(written: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "tried and compared")]
    let short = written as f32;
    let text = format!("{short:?}").parse().unwrap_or(f64::NAN);
    // The reader of JSON may be one unit in the last place off.
    if (text - written).abs() <= f64::EPSILON * written.abs() { f64::from(short) } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_was_written_is_read_as_what_it_was() {
        for score in [0.1_f32, 0.973_1, 1.0, 2.017_026e-5, 0.0] {
            let mut text = Vec::new();
            crate::verdict::write_score(Some(f64::from(score)), &mut text);
            let read: f64 = serde_json::from_slice(&text).unwrap();
            assert_eq!(meant(read).to_bits(), f64::from(score).to_bits(), "{score}");
        }
        let double = 0.123_456_789_012_345_6;
        assert_eq!(meant(double).to_bits(), double.to_bits());
    }
}
