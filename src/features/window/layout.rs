//! What a stream keeps of an entry and of many: the cells of a row, the words of a summary.
//!
//! A row has a cell for each number and then for each category that some feature asks of the stream; a summary of many
//! rows has a word for their count and a few for each number, as far as they are asked for:
//!
//! | words | hold |
//! |---|---|
//! | 1 | entries |
//! | 1 a number | entries that have it |
//! | 2 | its sum, in 2^-60 ([`super::fixed`]) |
//! | 4 | the sum of its squares, in 2^-120 |
//! | 1, 1 | its least, its greatest |
//! | 1 a category | entries that are the last of the key with their value |

use super::fixed::{self, Parts};
use super::wide::Wide;
use super::work;

/// Numbers summed in one [`Parts`].
const PARTS: usize = 64;

/// The words of one stream's summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    numbers: Vec<Number>,
    /// The word of each category.
    categories: Vec<usize>,
    /// Cells behind those, which are carried along.
    carried: usize,
    words: usize,
}

/// Where the words of a number are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Number {
    has: usize,
    sum: Option<usize>,
    squares: Option<usize>,
    least: Option<usize>,
    most: Option<usize>,
}

/// What is asked of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // four independent questions
pub struct Needs {
    pub sum: bool,
    pub squares: bool,
    pub least: bool,
    pub most: bool,
}

/// What a feature reads of a summary, by the number or category in the stream's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Count,
    Sum(usize),
    Mean(usize),
    Least(usize),
    Most(usize),
    Std(usize),
    Distinct(usize),
    SinceLast,
    Ratio(usize),
    FirstSeen,
    LabelSum,
    LabelMean,
}

impl Layout {
    /// `numbers`: what is asked of each; `categories`: how many.
    #[must_use]
    pub fn new(numbers: &[Needs], categories: usize) -> Self {
        let mut words = 1;
        let mut take = |count: usize, wanted: bool| {
            let at = words;
            words += if wanted { count } else { 0 };
            wanted.then_some(at)
        };
        let number = |needs: &Needs| Number {
            has: take(1, true).unwrap_or_default(),
            sum: take(2, needs.sum || needs.squares),
            squares: take(4, needs.squares),
            least: take(1, needs.least),
            most: take(1, needs.most),
        };
        let numbers = numbers.iter().map(number).collect();
        let categories = (words..words + categories).collect();
        Self { words: words + Vec::len(&categories), numbers, categories, carried: 0 }
    }

    /// Of labels: the value, which is summed, and the sequence of its event.
    #[must_use]
    pub fn of_labels() -> Self {
        Self { carried: 1, ..Self::new(&[Needs { sum: true, ..Needs::default() }], 0) }
    }

    /// Words of a summary.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Cells of a row.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.numbers.len() + self.categories.len() + self.carried
    }

    /// Numbers of a row; its categories stand behind them.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.numbers.len()
    }

    #[must_use]
    pub fn categories(&self) -> usize {
        self.categories.len()
    }

    /// The summary of nothing.
    #[must_use]
    pub fn nothing(&self) -> Vec<u64> {
        let mut summary = vec![0; self.words];
        self.clear(&mut summary);
        summary
    }

    /// Makes it the summary of nothing.
    pub fn clear(&self, summary: &mut [u64]) {
        summary.fill(0);
        for number in &self.numbers {
            set(summary, number.least, f64::INFINITY);
            set(summary, number.most, f64::NEG_INFINITY);
        }
    }

    /// Adds the rows to the summary: `rows` are those of `count` entries, one after the other.
    pub fn add_rows(&self, summary: &mut [u64], rows: &[u64], count: usize) {
        work::done(count);
        add_word(summary, 0, count as u64);
        let width = self.cells();
        if width == 0 {
            return;
        }
        for rows in rows.chunks(PARTS * width) {
            for (cell, number) in self.numbers.iter().enumerate() {
                number.add(summary, rows.iter().skip(cell).step_by(width).map(|cell| f64::from_bits(*cell)));
            }
            for (cell, word) in self.categories.iter().enumerate() {
                let last = rows.iter().skip(self.numbers.len() + cell).step_by(width).map(|cell| cell & 1).sum();
                add_word(summary, *word, last);
            }
        }
    }

    /// Adds a summary to another.
    pub fn add(&self, summary: &mut [u64], other: &[u64]) {
        add_word(summary, 0, word(other, 0));
        for number in &self.numbers {
            number.merge(summary, other);
        }
        for at in &self.categories {
            add_word(summary, *at, word(other, *at));
        }
    }

    /// One entry less, or more, is the last of its key with its value.
    pub fn add_last(&self, summary: &mut [u64], category: usize, more: bool) {
        if let Some(at) = self.categories.get(category) {
            add_word(summary, *at, if more { 1 } else { u64::MAX });
        }
    }

    #[must_use]
    pub fn count(&self, summary: &[u64]) -> u64 {
        word(summary, 0)
    }

    /// Entries that are the last of the key with their value of a category.
    #[must_use]
    pub fn last_ones(&self, summary: &[u64], category: usize) -> u64 {
        self.categories.get(category).map_or(0, |at| word(summary, *at))
    }

    /// The sum of a number; 0 of nothing.
    #[must_use]
    pub fn sum(&self, summary: &[u64], number: usize) -> i128 {
        self.number(number).sum.map_or(0, |at| sum(summary, at))
    }

    #[must_use]
    pub fn mean(&self, summary: &[u64], number: usize) -> Option<f64> {
        fixed::mean(self.sum(summary, number), word(summary, self.number(number).has))
    }

    #[must_use]
    pub fn deviation(&self, summary: &[u64], number: usize) -> Option<f64> {
        let has = word(summary, self.number(number).has);
        let squares = self.number(number).squares.map(|at| wide(summary, at))?;
        fixed::deviation(self.sum(summary, number), &squares, has)
    }

    #[must_use]
    pub fn least(&self, summary: &[u64], number: usize) -> Option<f64> {
        self.number(number).least.map(|at| f64::from_bits(word(summary, at))).filter(|least| least.is_finite())
    }

    #[must_use]
    pub fn most(&self, summary: &[u64], number: usize) -> Option<f64> {
        self.number(number).most.map(|at| f64::from_bits(word(summary, at))).filter(|most| most.is_finite())
    }

    fn number(&self, at: usize) -> Number {
        self.numbers.get(at).copied().unwrap_or_default()
    }
}

impl Number {
    /// Adds at most [`PARTS`] values; those that are missing are NaN.
    fn add(&self, summary: &mut [u64], values: impl Iterator<Item = f64> + Clone) {
        let there = values.filter(|value| !value.is_nan());
        let mut parts = Parts::default();
        let mut has = 0;
        for value in there.clone() {
            parts.add(value);
            has += 1;
        }
        add_word(summary, self.has, has);
        if let Some(at) = self.sum {
            add_sum(summary, at, parts.sum());
        }
        if let Some(at) = self.squares {
            for value in there.clone() {
                add_wide(summary, at, &Wide::square(fixed::fixed(value).unsigned_abs()));
            }
        }
        if let Some(at) = self.least {
            let least = there.clone().fold(f64::from_bits(word(summary, at)), f64::min);
            set(summary, Some(at), least);
        }
        if let Some(at) = self.most {
            let most = there.fold(f64::from_bits(word(summary, at)), f64::max);
            set(summary, Some(at), most);
        }
    }

    fn merge(&self, summary: &mut [u64], other: &[u64]) {
        add_word(summary, self.has, word(other, self.has));
        if let Some(at) = self.sum {
            add_sum(summary, at, sum(other, at));
        }
        if let Some(at) = self.squares {
            add_wide(summary, at, &wide(other, at));
        }
        if let Some(at) = self.least {
            let least = f64::from_bits(word(summary, at)).min(f64::from_bits(word(other, at)));
            set(summary, Some(at), least);
        }
        if let Some(at) = self.most {
            let most = f64::from_bits(word(summary, at)).max(f64::from_bits(word(other, at)));
            set(summary, Some(at), most);
        }
    }
}

fn word(words: &[u64], at: usize) -> u64 {
    words.get(at).copied().unwrap_or(0)
}

fn add_word(words: &mut [u64], at: usize, value: u64) {
    if let Some(word) = words.get_mut(at) {
        *word = word.wrapping_add(value);
    }
}

fn set(words: &mut [u64], at: Option<usize>, value: f64) {
    if let Some(word) = at.and_then(|at| words.get_mut(at)) {
        *word = value.to_bits();
    }
}

fn sum(words: &[u64], at: usize) -> i128 {
    (u128::from(word(words, at)) | (u128::from(word(words, at + 1)) << 64)).cast_signed()
}

#[allow(clippy::cast_possible_truncation)] // the halves
fn add_sum(words: &mut [u64], at: usize, value: i128) {
    let sum = sum(words, at).wrapping_add(value).cast_unsigned();
    if let Some([low, high]) = words.get_mut(at..at + 2) {
        (*low, *high) = (sum as u64, (sum >> 64) as u64);
    }
}

fn wide(words: &[u64], at: usize) -> Wide {
    Wide([word(words, at), word(words, at + 1), word(words, at + 2), word(words, at + 3)])
}

fn add_wide(words: &mut [u64], at: usize, value: &Wide) {
    let mut sum = wide(words, at);
    sum.add(value);
    if let Some(places) = words.get_mut(at..at + 4) {
        places.copy_from_slice(&sum.0);
    }
}
