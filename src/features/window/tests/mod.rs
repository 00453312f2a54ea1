//! What windows promise, against a model that keeps everything and counts it again for each event.

// Numbers are compared exactly because they are exact.
#![allow(
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

mod corners;
mod costs;
mod declared;
mod late;
mod leaves;
mod memory;
mod naive;
mod property;
mod sums;
mod trees;

use super::*;
use crate::event::{Field, Pointer, Span};
use crate::features::{FeatureSet, Problems, read_features};
use std::sync::Arc;

pub const SECOND: i64 = 1_000_000;
pub const HOUR: i64 = 3_600 * SECOND;
pub const DAY: i64 = 24 * HOUR;
/// When the tests' events begin.
pub const START: i64 = 1_522_540_800 * SECOND;

/// An event of the tests.
#[derive(Clone, Debug, Default)]
pub struct Event {
    pub time: i64,
    pub card: Option<u32>,
    pub shop: Option<u32>,
    pub amount: Option<f64>,
    pub kind: Option<&'static str>,
}

pub fn read(features: &str) -> (FeatureSet, Vec<String>) {
    let table: toml::Table = features.parse().unwrap();
    let mut problems = Problems::default();
    let set = read_features(table["feature"].as_array().unwrap(), &mut problems);
    (set, problems.0.iter().map(ToString::to_string).collect())
}

/// A table a window, the features being named F0, F1, …; `window` may be followed by other keys, each on its line.
pub fn declare(windows: &[&str]) -> String {
    let table = |(n, window)| format!("[[feature]]\nname = \"F{n}\"\nwindow = {window}");
    windows.iter().enumerate().map(table).collect::<Vec<_>>().join("\n")
}

/// Windows with a set that asks them.
pub struct Rig {
    pub set: FeatureSet,
    pub windows: Windows,
    reader: CellReader,
    next: u64,
}

pub const ROOM: Limits = Limits { bytes: 1 << 30, lateness_us: None };

impl Rig {
    pub fn new(windows: &[&str], limits: Limits) -> Self {
        let (set, problems) = read(&declare(windows));
        assert!(problems.is_empty(), "{problems:?}");
        let plan = Arc::new(Plan::of(&[&set]).unwrap());
        let reader = plan.reading(set.pointers());
        Self { set: set.bound_to(&plan), windows: Windows::new(plan, limits), reader, next: 1 }
    }

    fn fields(&self, event: &Event) -> (Vec<Field>, String) {
        let mut text = String::new();
        let mut span = |value: &str| {
            let start = text.len() as u32;
            text.push_str(value);
            Field::Text(Span { start, end: text.len() as u32 })
        };
        let field = |pointer: &Pointer| match pointer.to_string().as_str() {
            "/card" => event.card.map_or(Field::Missing, |card| Field::Number(f64::from(card))),
            "/shop" => event.shop.map_or(Field::Null, |shop| span(&shop.to_string())),
            "/amount" => event.amount.map_or(Field::Missing, Field::Number),
            "/kind" => event.kind.map_or(Field::Missing, &mut span),
            other => panic!("{other}"),
        };
        let fields = self.set.pointers().iter().map(field).collect();
        (fields, text)
    }

    pub fn cells(&self, event: &Event) -> Vec<u64> {
        let (fields, text) = self.fields(event);
        let mut cells = Vec::new();
        self.reader.read(&fields, &text, 7, &mut cells);
        cells
    }

    /// Only puts it in; returns its sequence.
    pub fn enter(&mut self, event: &Event) -> u64 {
        let cells = self.cells(event);
        self.next += 1;
        if self.windows.admit(event.time, event.time) {
            self.windows.insert(self.next, event.time, &cells);
        }
        self.next
    }

    /// The row that the event sees.
    pub fn row(&self, event: &Event) -> Result<Vec<f64>, String> {
        let ((fields, text), cells) = (self.fields(event), self.cells(event));
        let mut row = vec![-9.0; self.set.width()];
        let view = self.windows.view(self.next, event.time, &cells);
        self.set.fill(&fields, &text, Some(&view), &mut row).map_err(|error| error.to_string())?;
        Ok(row)
    }

    /// Puts it in and gives its row.
    pub fn see(&mut self, event: &Event) -> Vec<f64> {
        self.enter(event);
        self.row(event).unwrap()
    }

    pub fn label(&mut self, sequence: u64, event: &Event, value: f64) -> bool {
        let cells = self.cells(event);
        self.windows.label(sequence, event.time, &cells, value)
    }
}

/// An event of card 1.
pub fn event(time: i64, amount: f64) -> Event {
    Event { time: START + time, card: Some(1), shop: Some(2), amount: Some(amount), kind: None }
}
