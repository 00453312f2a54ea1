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
//! | 1 a category | entries that are the last of the key with their value |
//! | 1, 1 a number, behind all sums | its least, its greatest |
//!
//! The sums are whole numbers, so that one can be taken from another again, exactly.

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
    /// A word each that is summed: 1 where it takes the carry of the word before it, as the same number goes on.
    carries: Vec<u64>,
    words: usize,
}

/// Which way sums go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Added.
    In,
    /// Taken out again; of the least and greatest nothing can be.
    Out,
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
        let mut carries = vec![0];
        let mut take = |count: usize, wanted: bool| {
            let at = carries.len();
            carries.extend((0..count).filter(|_| wanted).map(|n| u64::from(n > 0)));
            wanted.then_some(at)
        };
        let summed = |needs: &Needs| Number {
            has: take(1, true).unwrap_or_default(),
            sum: take(2, needs.sum || needs.squares),
            squares: take(4, needs.squares),
            ..Number::default()
        };
        let mut places: Vec<Number> = numbers.iter().map(summed).collect();
        let categories: Vec<usize> = (carries.len()..carries.len() + categories).collect();
        carries.resize(carries.len() + categories.len(), 0);
        let mut words = carries.len();
        let mut take = |wanted: bool| {
            words += usize::from(wanted);
            wanted.then(|| words - 1)
        };
        for (place, needs) in places.iter_mut().zip(numbers) {
            (place.least, place.most) = (take(needs.least), take(needs.most));
        }
        Self { numbers: places, categories, carried: 0, carries, words }
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
        let mut summary = Vec::new();
        self.prepare(&mut summary);
        summary
    }

    /// Makes a list of any length the summary of nothing.
    pub fn prepare(&self, summary: &mut Vec<u64>) {
        summary.resize(self.words, 0);
        self.clear(summary);
    }

    /// Makes it the summary of nothing.
    pub fn clear(&self, summary: &mut [u64]) {
        summary.fill(0);
        for number in &self.numbers {
            set(summary, number.least, f64::INFINITY);
            set(summary, number.most, f64::NEG_INFINITY);
        }
    }

    /// Whether some number's least or greatest is kept.
    #[must_use]
    pub fn has_extremes(&self) -> bool {
        self.words > self.carries.len()
    }

    /// Adds the rows to the summary: `rows` are those of `count` entries, one after the other.
    pub fn add_rows(&self, summary: &mut [u64], rows: &[u64], count: usize) {
        self.sum_rows(summary, rows, count, Way::In);
    }

    /// The same, or takes them out.
    pub fn sum_rows(&self, summary: &mut [u64], rows: &[u64], count: usize, way: Way) {
        let width = self.cells();
        // Where nothing is kept of an entry but that it was there, none is looked at.
        work::done(if width == 0 { 1 } else { count });
        add_word(summary, 0, count as u64, way);
        if width == 0 {
            return;
        }
        for rows in rows.chunks(PARTS * width) {
            if let ([number], 1) = (&self.numbers[..], width) {
                number.add(summary, rows.iter().map(|cell| f64::from_bits(*cell)), way);
                continue;
            }
            for (cell, number) in self.numbers.iter().enumerate() {
                number.add(summary, rows.iter().skip(cell).step_by(width).map(|cell| f64::from_bits(*cell)), way);
            }
            for (cell, word) in self.categories.iter().enumerate() {
                let last = rows.iter().skip(self.numbers.len() + cell).step_by(width).map(|cell| cell & 1).sum();
                add_word(summary, *word, last, way);
            }
        }
    }

    /// Adds a summary to another.
    pub fn add(&self, summary: &mut [u64], other: &[u64]) {
        self.sum(summary, other, Way::In);
        self.reach(summary, other);
    }

    /// Adds the sums alone of a summary to those of another, or takes them out.
    pub fn sum(&self, summary: &mut [u64], other: &[u64], way: Way) {
        let words = summary.iter_mut().zip(other).zip(&self.carries);
        let mut carry = 0;
        // One after the other as they stand: numbers of several words have their lowest first.
        match way {
            Way::In => words.for_each(|((word, other), carries)| {
                let (sum, first) = word.overflowing_add(*other);
                let (sum, second) = sum.overflowing_add(carry & carries);
                (*word, carry) = (sum, u64::from(first | second));
            }),
            Way::Out => words.for_each(|((word, other), carries)| {
                let (rest, first) = word.overflowing_sub(*other);
                let (rest, second) = rest.overflowing_sub(carry & carries);
                (*word, carry) = (rest, u64::from(first | second));
            }),
        }
    }

    /// Has the least and greatest of a summary reach as far as those of another.
    pub fn reach(&self, summary: &mut [u64], other: &[u64]) {
        if !self.has_extremes() {
            return;
        }
        let least = self.numbers.iter().filter_map(|number| number.least);
        least.for_each(|at| set(summary, Some(at), value(summary, at).min(value(other, at))));
        let most = self.numbers.iter().filter_map(|number| number.most);
        most.for_each(|at| set(summary, Some(at), value(summary, at).max(value(other, at))));
    }

    /// Takes over the least and greatest of another summary.
    pub fn copy_extremes(&self, summary: &mut [u64], other: &[u64]) {
        let words = summary.iter_mut().zip(other).skip(self.carries.len());
        words.for_each(|(word, other)| *word = *other);
    }

    /// One entry less, or more, is the last of its key with its value.
    pub fn add_last(&self, summary: &mut [u64], category: usize, more: bool) {
        if let Some(at) = self.categories.get(category) {
            add_word(summary, *at, 1, if more { Way::In } else { Way::Out });
        }
    }

    /// Entries.
    #[must_use]
    pub fn count(summary: &[u64]) -> u64 {
        word(summary, 0)
    }

    /// Entries that are the last of the key with their value of a category.
    #[must_use]
    pub fn last_ones(&self, summary: &[u64], category: usize) -> u64 {
        self.categories.get(category).map_or(0, |at| word(summary, *at))
    }

    /// The sum of a number; 0 of nothing.
    #[must_use]
    pub fn total(&self, summary: &[u64], number: usize) -> i128 {
        self.number(number).sum.map_or(0, |at| sum(summary, at))
    }

    #[must_use]
    pub fn mean(&self, summary: &[u64], number: usize) -> Option<f64> {
        fixed::mean(self.total(summary, number), word(summary, self.number(number).has))
    }

    #[must_use]
    pub fn deviation(&self, summary: &[u64], number: usize) -> Option<f64> {
        let has = word(summary, self.number(number).has);
        let squares = self.number(number).squares.map(|at| wide(summary, at))?;
        fixed::deviation(self.total(summary, number), &squares, has)
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
    /// Adds at most [`PARTS`] values, or takes them out; those that are missing are NaN.
    fn add(&self, summary: &mut [u64], values: impl Iterator<Item = f64> + Clone, way: Way) {
        let mut parts = Parts::default();
        let mut has = 0;
        for value in values.clone() {
            let is_there = !value.is_nan();
            has += u64::from(is_there);
            parts.add(if is_there { value } else { 0.0 });
        }
        add_word(summary, self.has, has, way);
        if let Some(at) = self.sum {
            add_sum(summary, at, if way == Way::In { parts.sum() } else { -parts.sum() });
        }
        let there = values.filter(|value| !value.is_nan());
        if let Some(at) = self.squares {
            for value in there.clone() {
                add_wide(summary, at, &Wide::square(fixed::fixed(value).unsigned_abs()), way);
            }
        }
        if way == Way::Out {
            return;
        }
        if let Some(at) = self.least {
            set(summary, Some(at), there.clone().fold(value(summary, at), f64::min));
        }
        if let Some(at) = self.most {
            set(summary, Some(at), there.fold(value(summary, at), f64::max));
        }
    }
}

fn word(words: &[u64], at: usize) -> u64 {
    words.get(at).copied().unwrap_or(0)
}

fn value(words: &[u64], at: usize) -> f64 {
    f64::from_bits(word(words, at))
}

fn add_word(words: &mut [u64], at: usize, value: u64, way: Way) {
    if let Some(word) = words.get_mut(at) {
        *word = if way == Way::In { word.wrapping_add(value) } else { word.wrapping_sub(value) };
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

fn add_wide(words: &mut [u64], at: usize, value: &Wide, way: Way) {
    let mut sum = wide(words, at);
    match way {
        Way::In => sum.add(value),
        Way::Out => sum.subtract(value),
    }
    if let Some(places) = words.get_mut(at..at + 4) {
        places.copy_from_slice(&sum.0);
    }
}
