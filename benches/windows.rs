//! What window features cost: `cargo bench --bench windows`.
//!
//! Time is that of this thread's processor; of an event it is the reading of its cells from its fields (keys are hashed),
//! the entering and the row. 100,000 keys do not fit in a processor's cache, so that most of it is waiting for memory: on
//! a box that others use it says more of them. Reading JSON is the decoder's, which `--bench score` measures.

#![allow(clippy::expect_used, clippy::cast_precision_loss)] // a measurement may stop; what is counted is small

use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write;
use std::sync::Arc;
use verdictd::event::{Field, Pointer};
use verdictd::features::{Ahead, CellReader, FeatureSet, Limits, Plan, Problems, Windows, read_features};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
const START: i64 = 1_522_540_800 * SECOND;
const ROOM: Limits = Limits { bytes: 4 << 30, lateness_us: Some(DAY) };

/// Events that come together, as the engine looks ahead.
const WAVE: usize = 16;

/// An event: when, by whom, where, how much.
type Event = (i64, u32, u32, f64);

struct Rig {
    set: FeatureSet,
    windows: Windows,
    reader: CellReader,
    cells: Vec<u64>,
    row: Vec<f64>,
    fields: Vec<Field>,
    sequence: u64,
    /// Times and cells of the events that come next.
    ahead: (Vec<i64>, Vec<u64>),
}

impl Rig {
    fn new(features: &str, limits: Limits) -> Self {
        let table: toml::Table = features.parse().expect("TOML");
        let mut problems = Problems::default();
        let list = table.get("feature").and_then(toml::Value::as_array).expect("features");
        let set = read_features(list, &mut problems);
        assert!(problems.0.is_empty(), "{problems:?}");
        let plan = Arc::new(Plan::of(&[&set]).expect("windows"));
        let (set, reader) = (set.bound_to(&plan), plan.reading(set.pointers()));
        let (row, windows) = (vec![0.0; set.width()], Windows::new(plan, limits));
        Self {
            set,
            windows,
            reader,
            cells: Vec::new(),
            row,
            fields: Vec::new(),
            sequence: 0,
            ahead: Default::default(),
        }
    }

    fn read(&mut self, (time, card, shop, amount): Event) {
        let field = |pointer: &Pointer| match pointer.to_string().as_str() {
            "/CARD" => Field::Number(f64::from(card)),
            "/SHOP" => Field::Number(f64::from(shop)),
            "/TIME" => Field::Number((time / SECOND) as f64),
            _ => Field::Number(amount),
        };
        self.fields.clear();
        self.fields.extend(self.set.pointers().iter().map(field));
    }

    /// As the daemon does it for the events of a wave, which are read a second time for it.
    fn warm(&mut self, events: &[Event], ahead: Ahead) {
        self.ahead.0.clear();
        self.ahead.1.clear();
        for event in events {
            self.read(*event);
            self.ahead.0.push(event.0);
            self.reader.read(&self.fields, "", 7, &mut self.ahead.1);
        }
        self.windows.warm(&self.ahead.0, &self.ahead.1, ahead);
    }

    fn enter(&mut self, event: Event) {
        self.cells.clear();
        self.reader.read(&self.fields, "", 7, &mut self.cells);
        self.sequence += 1;
        if self.windows.admit(event.0, event.0) {
            self.windows.insert(self.sequence, event.0, &self.cells);
        }
    }

    fn fill(&mut self, event: Event) {
        let view = self.windows.view(self.sequence, event.0, &self.cells);
        self.set.fill(&self.fields, "", Some(&view), &mut self.row).expect("a row");
    }

    /// Nanoseconds an event: cells read, entered and, where it is to be, the row filled; of events that come together,
    /// as many as `wave`, or each alone.
    fn cost(&mut self, events: &[Event], wave: usize, fill: bool) -> f64 {
        let mut took = 0.0;
        let times_read = if wave > 1 { 2.0 } else { 1.0 };
        for some in events.chunks(1_024) {
            // Looking up what a field is stands outside, as a decoder does it.
            let begun = cpu();
            for event in some {
                self.read(*event);
            }
            let reading = (cpu() - begun) * times_read;
            let begun = cpu();
            for wave in some.chunks(wave) {
                if wave.len() > 1 {
                    self.warm(wave, if fill { Ahead::Asked } else { Ahead::Entered });
                }
                for event in wave {
                    self.read(*event);
                    self.enter(*event);
                    if fill {
                        self.fill(*event);
                    }
                }
            }
            took += cpu() - begun - reading;
        }
        took * 1e9 / events.len() as f64
    }
}

/// Seconds of this thread's processor.
fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The 15 features of card fraud: amount, night, weekend, and of three windows count and mean by card, count and share
/// of fraud by shop.
fn features() -> String {
    let mut out = String::from("[[feature]]\nname = \"AMOUNT\"\nfrom = \"/AMOUNT\"\n");
    for part in ["night", "weekend"] {
        let _ = write!(out, "[[feature]]\nname = \"{part}\"\nfrom = \"/TIME\"\ntransform = [{{ {part} = \"UTC\" }}]\n");
    }
    let by_card = ["count = true", "mean = \"/AMOUNT\""];
    let by_shop = ["count = true, delay = \"7 d\"", "label-mean = true, delay = \"7 d\""];
    for (key, asked) in [("CARD", by_card), ("SHOP", by_shop)] {
        for days in [1, 7, 30] {
            for (n, what) in asked.into_iter().enumerate() {
                let window = format!("{{ {what}, key = \"/{key}\", over = \"{days} d\" }}");
                let _ = write!(out, "[[feature]]\nname = \"{key} {n} {days}\"\nwindow = {window}\n");
            }
        }
    }
    out
}

fn by_card() -> String {
    let each = [("count = true", 1), ("mean = \"/AMOUNT\"", 7), ("mean = \"/AMOUNT\"", 30)];
    let table = |(what, days): (&str, u32)| {
        format!("[[feature]]\nname = \"{days} d\"\nwindow = {{ {what}, key = \"/CARD\", over = \"{days} d\" }}\n")
    };
    each.into_iter().map(table).collect()
}

/// `count` events of so many cards and shops over so many days, in whole seconds.
fn events(count: i64, cards: i64, shops: i64, days: i64) -> Vec<Event> {
    let mut random = 1_u64;
    let mut next = |below: i64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((random >> 33) % below.unsigned_abs()).unwrap_or(0)
    };
    let event = |n: i64| {
        let time = START + n * (days * DAY / SECOND) / count * SECOND;
        (time, next(cards), next(shops), f64::from(next(10_000)) / 100.0)
    };
    (0..count).map(event).collect()
}

fn main() {
    let all = events(3_600_000, 100_000, 10_000, 36);
    let (before, measured) = all.split_at(3_000_000);
    let (alone, together) = measured.split_at(300_000);
    let mut rig = Rig::new(&features(), ROOM);
    let folded = rig.cost(before, WAVE, false);
    let entries = rig.windows.stats().entries;
    let alone = rig.cost(alone, 1, true);
    let whole = rig.cost(together, WAVE, true);
    println!("100,000 cards, 10,000 shops, 30 events a card in the longest window");
    println!("  3 M events folded in again       {:>8.2} s ({} rows of two streams)", folded * 3e-3, entries);
    println!("  an event, entered                {folded:>8.0} ns");
    println!("  an event, with its 15 features   {whole:>8.0} ns");
    println!("  the same of an event alone       {alone:>8.0} ns");
    println!("  a row                            {:>8.1} bytes, all {:.0} MiB", per_row(&rig), mib(&rig));

    for (late, name) in [(0, "none"), (30, "30 d late")] {
        let mut rig = Rig::new(&by_card(), Limits { lateness_us: Some(late * DAY), ..ROOM });
        for event in events(6_000_000, 10_000, 1, 60) {
            rig.read(event);
            rig.enter(event);
        }
        println!("10,000 cards, 10 events a day for 60 days, 30 d windows, late events {name}");
        let entries = rig.windows.stats().entries;
        println!(
            "  a row                            {:>8.1} bytes, all {:.0} MiB of {entries}",
            per_row(&rig),
            mib(&rig)
        );
    }

    let mut rig = Rig::new(&by_card(), ROOM);
    let hot = events(1_010_000, 1, 1, 30);
    let (before, measured) = hot.split_at(1_000_000);
    let _ = rig.cost(before, WAVE, false);
    let in_order = rig.cost(measured, WAVE, true);
    let mut place = 1;
    let late: Vec<Event> = (0..10_000)
        .map(|_| {
            place = place * 7_919 % 999_983;
            (START + 2 * DAY + place * 2 * SECOND, 0, 0, 5.0)
        })
        .collect();
    let late = rig.cost(&late, WAVE, true);
    println!("one card with {} events in its window, 3 features", rig.windows.stats().entries);
    println!("  an event in order                {in_order:>8.0} ns");
    println!("  an event late, anywhere          {late:>8.0} ns");
}

fn per_row(rig: &Rig) -> f64 {
    let stats = rig.windows.stats();
    stats.bytes as f64 / stats.entries as f64
}

fn mib(rig: &Rig) -> f64 {
    rig.windows.stats().bytes as f64 / f64::from(1 << 20)
}
