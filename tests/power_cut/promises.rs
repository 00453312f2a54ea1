//! What the load had been told before a cut, read from the notes in the trace.

use crate::support::powercut_fs::Note;
use std::collections::{BTreeMap, BTreeSet};

/// What must hold of the disk that a cut leaves.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// The last commit that returned (0: none), and the sequence it reached up to.
    pub acked: u64,
    pub acked_next: u64,
    /// Where each begun commit reaches up to.
    pub next_of: BTreeMap<u64, u64>,
    /// Sequences from here on may not have been trimmed: the sink has not passed them, or they are in the window.
    pub floor: u64,
    /// Observations of later sequences may not have gone.
    pub horizon: u64,
    /// The sink's cursor: at least what the last returned commit stored, at most what was last set.
    pub cursor_min: u64,
    pub cursor_max: u64,
    /// Quarantine entries, by sequence, with the commit that brought them; and those whose removal had begun.
    pub kept: BTreeMap<u64, u64>,
    pub dropped: BTreeSet<u64>,
}

impl Promises {
    /// Those of the notes made before or at operation `cut`.
    pub fn until(notes: &[Note], cut: usize) -> Self {
        let mut promises = Self { floor: 1, cursor_min: 1, cursor_max: 1, acked_next: 1, ..Self::default() };
        for note in notes.iter().take_while(|note| note.after <= cut) {
            let words: Vec<&str> = note.text.split(' ').collect();
            match words[..] {
                ["begin", commit, ..] => promises.begin(number(commit), &words[2..]),
                ["ack", commit, quarantine] => promises.ack(number(commit), field(quarantine, "quarantine")),
                _ => {}
            }
        }
        promises
    }

    fn begin(&mut self, commit: u64, fields: &[&str]) {
        let of =
            |name: &str| fields.iter().find_map(|text| text.strip_prefix(name)?.strip_prefix('=')).map_or(0, number);
        self.next_of.insert(commit, of("next"));
        self.cursor_max = self.cursor_max.max(of("cursor"));
        self.floor = self.floor.max(of("cursor").min(of("floor")));
        self.horizon = self.horizon.max(of("horizon"));
        self.dropped.extend(Some(of("drop")).filter(|sequence| *sequence > 0));
    }

    fn ack(&mut self, commit: u64, quarantine: u64) {
        self.acked = commit;
        self.acked_next = self.next_of.get(&commit).copied().unwrap_or(1);
        self.cursor_min = self.cursor_max;
        if quarantine > 0 {
            self.kept.insert(quarantine, commit);
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("expected a number in a note, got {text:?}"))
}

fn field(text: &str, name: &str) -> u64 {
    text.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).map_or(0, number)
}
