//! The model: all events are kept, and each window is counted by looking at every one.

use super::{DAY, Event};
use std::collections::BTreeSet;

/// What a feature asks, said in the model's own way.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub what: &'static str,
    pub keys: &'static [&'static str],
    pub over: i64,
    pub delay: i64,
    pub kinds: &'static [&'static str],
    pub pane: i64,
}

impl Asked {
    pub fn declared(&self) -> String {
        let what = match self.what {
            "count" | "since-last" | "first-seen" | "label-sum" | "label-mean" => format!("{} = true", self.what),
            "distinct" => "distinct = \"/shop\"".to_owned(),
            other => format!("{other} = \"/amount\""),
        };
        let seconds = |micros: i64| format!("\"{} s\"", micros / 1_000_000);
        let mut out = format!("{{ {what}, key = {:?}, over = {}", self.keys, seconds(self.over));
        if self.delay > 0 {
            out += &format!(", delay = {}", seconds(self.delay));
        }
        if !self.kinds.is_empty() {
            out += &format!(", where = \"/kind\", in = {:?}", self.kinds);
        }
        if self.pane > 0 {
            out += &format!(", resolution = {}", seconds(self.pane));
        }
        out + " }"
    }
}

/// Everything that was counted.
#[derive(Clone, Debug)]
pub struct Naive {
    pub asked: Vec<Asked>,
    pub lateness: Option<i64>,
    pub events: Vec<(u64, Event)>,
    pub labels: Vec<(u64, f64)>,
    pub newest: Option<i64>,
    ahead: Vec<i64>,
}

impl Naive {
    pub fn new(asked: Vec<Asked>, lateness: Option<i64>) -> Self {
        Self { asked, lateness, events: Vec::new(), labels: Vec::new(), newest: None, ahead: Vec::new() }
    }

    pub fn longest(&self) -> i64 {
        self.asked.iter().map(|asked| asked.over + asked.delay).max().unwrap()
    }

    fn lateness(&self) -> i64 {
        self.lateness.unwrap_or(self.longest())
    }

    /// Whether it counts.
    pub fn see(&mut self, sequence: u64, event: &Event, wall: i64) -> bool {
        let far = |of: i64| event.time > of + DAY;
        if far(wall) && self.newest.is_none_or(far) {
            self.ahead.push(event.time);
            if self.ahead.len() == 16 {
                self.newest = self.ahead.iter().min().copied();
                self.ahead.clear();
            }
        } else {
            self.newest = self.newest.max(Some(event.time));
            self.ahead.clear();
        }
        let counts = self.newest.is_none_or(|newest| event.time > newest - self.longest());
        if counts {
            self.events.push((sequence, event.clone()));
        }
        counts
    }

    pub fn label(&mut self, sequence: u64, value: f64) {
        self.labels.retain(|(labelled, _)| *labelled != sequence);
        self.labels.push((sequence, value));
    }

    pub fn row(&self, sequence: u64, event: &Event) -> Vec<f64> {
        self.asked.iter().map(|asked| self.value(asked, sequence, event)).collect()
    }

    /// -1 stands for an event without the key.
    fn value(&self, asked: &Asked, sequence: u64, event: &Event) -> f64 {
        let Some(key) = key(asked, event) else { return -1.0 };
        let alike = |a: &&Asked| a.keys == asked.keys && a.kinds == asked.kinds && a.pane == asked.pane;
        let span = self.asked.iter().filter(alike).map(|a| a.over + a.delay).max().unwrap();
        let floor = |time: i64| if asked.pane > 0 { time - time.rem_euclid(asked.pane) } else { time };
        let until = event.time - asked.delay;
        let mut after = floor(until - asked.over);
        if let Some(newest) = self.newest {
            after = after.max(floor(newest - span - self.lateness()));
        }
        let passes =
            |other: &Event| asked.kinds.is_empty() || other.kind.is_some_and(|kind| asked.kinds.contains(&kind));
        let mut window: Vec<&(u64, Event)> = self.events.iter().collect();
        window.retain(|(_, other)| self::key(asked, other).as_ref() == Some(&key) && passes(other));
        window.retain(|(_, other)| floor(other.time) > after && floor(other.time) <= floor(until));
        window.sort_by_key(|(sequence, other)| (other.time, *sequence));
        let before = window.iter().filter(|(there, _)| *there != sequence).copied();
        let values: Vec<f64> = window.iter().filter_map(|(_, other)| other.amount).collect();
        let (count, sum) = (window.len() as f64, values.iter().sum::<f64>());
        let mean = sum / values.len() as f64;
        let label = |sequence: u64| self.labels.iter().find(|(there, _)| *there == sequence).map_or(0.0, |(_, v)| *v);
        let labels: f64 = window.iter().map(|(sequence, _)| label(*sequence)).sum();
        let value = match asked.what {
            "count" => count,
            "sum" => sum,
            "mean" => mean,
            "min" => values.iter().copied().fold(f64::NAN, f64::min),
            "max" => values.iter().copied().fold(f64::NAN, f64::max),
            "std" => {
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                if values.len() < 2 { f64::NAN } else { (squares / (values.len() as f64 - 1.0)).sqrt() }
            }
            "distinct" => window.iter().filter_map(|(_, other)| other.shop).collect::<BTreeSet<_>>().len() as f64,
            "since-last" => before.last().map_or(f64::NAN, |(_, last)| (event.time - floor(last.time)) as f64 / 1e6),
            "ratio" if mean != 0.0 => event.amount.map_or(f64::NAN, |amount| amount / mean),
            "ratio" => f64::NAN,
            "first-seen" => f64::from(u8::from(before.count() == 0)),
            "label-sum" => labels,
            "label-mean" => labels / count,
            other => panic!("{other}"),
        };
        if value.is_nan() { 0.0 } else { value }
    }
}

fn key<'a>(asked: &Asked, event: &'a Event) -> Option<Vec<(&'a str, u32)>> {
    let part = |name: &&str| match *name {
        "/card" => event.card.map(|card| ("", card)),
        "/shop" => event.shop.map(|shop| ("", shop)),
        _ => event.kind.map(|kind| (kind, 0)),
    };
    asked.keys.iter().map(part).collect()
}
