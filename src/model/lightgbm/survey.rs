//! What a file holds, counted as it streams by: nothing of it is kept.

use super::super::trees::{Node, Set, TreePlan, Weight};
use std::io::{ErrorKind, Read};

/// Longest key that is told apart.
const KEY_MAX: usize = 32;

/// Numbers of things in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Bytes of the file.
    pub bytes: u64,
    pub trees: usize,
    pub leaves: usize,
    pub splits: usize,
    pub columns: usize,
    /// Words of category sets.
    pub words: usize,
    pub sets: usize,
}

impl Survey {
    /// Bytes that loading takes at most: the file, the forest and the plan made from it, all there at once.
    #[must_use]
    pub fn memory(&self) -> usize {
        let file = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let nodes = self.splits.saturating_add(self.leaves).saturating_mul(size_of::<Node>() + 16);
        let sets = self.words.saturating_mul(4).saturating_add(self.sets.saturating_mul(size_of::<Set>()));
        let forest = nodes.saturating_add(self.leaves.saturating_mul(size_of::<Weight>())).saturating_add(sets);
        let plan = TreePlan::bytes_of(self.trees, self.splits, self.leaves, self.leaves, self.columns);
        file.saturating_add(forest.saturating_mul(2)).saturating_add(plan)
    }
}

/// Counts. Of a file that is no model the counts mean nothing, but they are never more than its bytes.
///
/// # Errors
/// Those of reading.
pub fn survey(mut file: impl Read) -> std::io::Result<Survey> {
    let mut survey = Survey::default();
    let mut buffer = vec![0; 64 << 10];
    let mut line = Line::default();
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        survey.bytes += count as u64;
        for byte in &buffer[..count] {
            line.take(*byte, &mut survey);
        }
    }
    line.take(b'\n', &mut survey);
    Ok(survey)
}

/// The line that streams by.
#[derive(Default)]
struct Line {
    key: [u8; KEY_MAX],
    length: usize,
    in_value: bool,
    in_word: bool,
    words: usize,
}

impl Line {
    fn take(&mut self, byte: u8, survey: &mut Survey) {
        match byte {
            b'\n' => {
                self.end(survey);
                *self = Self::default();
            }
            b'=' if !self.in_value => self.in_value = true,
            _ if self.in_value => {
                let blank = byte.is_ascii_whitespace();
                self.words += usize::from(self.in_word && blank);
                self.in_word = !blank;
            }
            _ => {
                if let Some(place) = self.key.get_mut(self.length) {
                    *place = byte;
                    self.length += 1;
                }
            }
        }
    }

    fn end(&self, survey: &mut Survey) {
        let words = self.words + usize::from(self.in_word);
        match self.key.get(..self.length).unwrap_or_default() {
            b"Tree" => survey.trees += 1,
            b"leaf_value" => survey.leaves += words,
            b"split_feature" => survey.splits += words,
            b"feature_names" => survey.columns = survey.columns.max(words),
            b"cat_threshold" => survey.words += words,
            b"cat_boundaries" => survey.sets += words,
            _ => {}
        }
    }
}
