//! What was decided of each event, and what is now: one entry an event, and what is known of it since.

use crate::{model::Bundle, verdict::Verdict};
use std::collections::{HashMap, hash_map::Entry};

/// The names of decisions, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The number that stands for a name.
    pub fn number(&mut self, name: &str) -> u16 {
        let at = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    pub fn name(&self, number: u16) -> &str {
        self.0.get(usize::from(number)).map_or("", String::as_str)
    }

    pub fn all(&self) -> &[String] {
        &self.0
    }
}

/// One verdict, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Side {
    pub decision: u16,
    /// NaN where there is none.
    score: f64,
}

impl Side {
    pub fn new(decision: u16, score: Option<f64>) -> Self {
        Self { decision, score: score.unwrap_or(f64::NAN) }
    }

    pub fn of(verdict: &Verdict<'_>, names: &mut Names) -> Self {
        Self::new(names.number(verdict.decision), verdict.score)
    }

    pub fn score(self) -> Option<f64> {
        Some(self.score).filter(|score| score.is_finite())
    }
}

/// All that was read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub names: Names,
    /// By the fingerprint of (source, id): what was decided, where it is known, and what is decided now.
    rows: HashMap<u64, (Option<Side>, Side)>,
    /// By the same: what became known. The last counts.
    pub labels: HashMap<u64, f64>,
    /// Records that are no event.
    pub bad: u64,
    /// Events under a known identity.
    pub repeats: u64,
    /// Values where a label was to be that are no number.
    pub no_labels: u64,
    /// Earlier verdicts without an event.
    pub unmet: u64,
}

impl Tally {
    pub fn new(bundle: &Bundle, against: Option<&Bundle>) -> Self {
        let mut names = Names::default();
        for bundle in [Some(bundle), against].into_iter().flatten() {
            // From the mildest on, as far as thresholds say.
            names.number(bundle.otherwise());
            let thresholds: Vec<&str> = bundle.manifest().decisions.thresholds().map(|(name, _)| name).collect();
            for name in thresholds.into_iter().rev() {
                names.number(name);
            }
            names.number(bundle.fallback());
        }
        Self { names, ..Self::default() }
    }

    /// False for a repeat, which counts once.
    pub fn add(&mut self, identity: u64, was: Option<Side>, is: Side) -> bool {
        match self.rows.entry(identity) {
            Entry::Vacant(entry) => {
                entry.insert((was, is));
                true
            }
            Entry::Occupied(_) => {
                self.repeats += 1;
                false
            }
        }
    }

    pub fn label(&mut self, identity: u64, value: f64) {
        self.labels.insert(identity, value);
    }

    /// Events that have an earlier verdict.
    pub fn met(&self) -> u64 {
        self.rows.values().filter(|(was, _)| was.is_some()).count() as u64
    }

    pub fn events(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The events with both verdicts, each with its label where it is known.
    pub fn pairs(&self) -> impl Iterator<Item = (Side, Side, Option<f64>)> + '_ {
        self.rows.iter().filter_map(|(identity, (was, is))| Some(((*was)?, *is, self.labels.get(identity).copied())))
    }
}
