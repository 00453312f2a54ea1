//! Which entry is the last of its key with a value: as many as are marked so in a window that ends with the newest
//! entry, so many different values it holds.
//!
//! The mark is the lowest bit of the value's cell, and summaries count the marks.

use super::layout::Layout;
use super::leaf::ALLOCATION;
use super::tree::{Fix, Shape, Tree};
use std::collections::HashMap;

/// The values of one key's categories.
#[derive(Debug)]
pub struct Lasts {
    /// Of each category, the time of the marked entry of each value.
    values: Vec<HashMap<u64, i64>>,
    /// The newest entry that takes part.
    newest: i64,
    /// The oldest entry that does not, its time being doubted.
    doubted: Option<i64>,
}

impl Lasts {
    /// None where the stream has no categories.
    #[must_use]
    pub fn new(layout: &Layout) -> Option<Box<Self>> {
        let values: Vec<_> = (0..layout.categories()).map(|_| HashMap::new()).collect();
        (!values.is_empty()).then(|| Box::new(Self { values, newest: i64::MIN, doubted: None }))
    }

    /// Marks a row that is about to be entered, and takes the mark from those that are the last no longer. Times after
    /// `doubted_us` do not take part: one that is far ahead would leave all others without mark.
    pub fn enter(&mut self, time_us: i64, row: &mut [u64], doubted_us: i64, entries: &mut Tree, layout: &Layout) {
        if time_us > doubted_us {
            self.doubted = Some(self.doubted.map_or(time_us, |least| least.min(time_us)));
            return;
        }
        if self.doubted.is_some_and(|least| least <= doubted_us) {
            self.mark_all(doubted_us, entries, layout);
        }
        self.newest = self.newest.max(time_us);
        for (category, values) in self.values.iter_mut().enumerate() {
            let cell = layout.numbers() + category;
            let Some(value) = row.get(cell).copied().filter(|value| *value != 0) else { continue };
            let before = values.get(&value).copied();
            if before.is_some_and(|before| before > time_us) {
                continue;
            }
            if let Some(before) = before {
                unmark(value, before, category, entries, layout);
            }
            values.insert(value, time_us);
            if let Some(mark) = row.get_mut(cell) {
                *mark |= 1;
            }
        }
    }

    /// Whether the marks count the values of a window with that end.
    #[must_use]
    pub fn counts(&self, until: i64) -> bool {
        until >= self.newest && self.doubted.is_none_or(|least| least > until)
    }

    /// A row went.
    pub fn leave(&mut self, row: &[u64], layout: &Layout) {
        for (category, values) in self.values.iter_mut().enumerate() {
            if let Some(cell) = row.get(layout.numbers() + category).filter(|cell| **cell & 1 == 1) {
                values.remove(&(cell & !1));
            }
            if values.capacity() > 64 && values.len() * 4 < values.capacity() {
                values.shrink_to_fit();
            }
        }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(u64, i64)>() + 1;
        let each = self.values.iter().map(|values| values.capacity() * 8 / 7 * entry + size_of::<HashMap<u64, i64>>());
        size_of::<Self>() + 2 * ALLOCATION + each.sum::<usize>()
    }

    /// Times that were doubted are not any more: all marks are set anew.
    fn mark_all(&mut self, doubted_us: i64, entries: &mut Tree, layout: &Layout) {
        let shape = Shape::events(layout);
        let mut rows = Vec::with_capacity(entries.len());
        entries.back(i64::MIN, i64::MAX, shape, &mut |time, row| {
            rows.push((time, row.to_vec()));
            false
        });
        *entries = Tree::new();
        self.values.iter_mut().for_each(HashMap::clear);
        (self.newest, self.doubted) = (i64::MIN, None);
        for (time, mut row) in rows.into_iter().rev() {
            row.iter_mut().skip(layout.numbers()).for_each(|cell| *cell &= !1);
            self.enter(time, &mut row, doubted_us, entries, layout);
            entries.insert(time, &row, shape);
        }
    }
}

fn unmark(value: u64, time_us: i64, category: usize, entries: &mut Tree, layout: &Layout) {
    let mut less = layout.nothing();
    layout.add_last(&mut less, category, false);
    entries.change(time_us, Shape::events(layout), Fix::Add(&less), &mut |row| {
        let cell = row.get_mut(layout.numbers() + category).filter(|cell| **cell == value | 1);
        cell.map(|cell| *cell = value).is_some()
    });
}
