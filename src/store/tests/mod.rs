//! The store's promises, each against a store on disk.

mod basics;
mod cases;
mod chunks;
mod damage;
mod history;
#[path = "inspect.rs"]
mod inspecting;
mod keeping;
mod limits;
mod model;
mod observations;
mod traps;

use super::*;
use std::path::Path;

pub const SHA: [u8; 32] = [7; 32];

/// Options for a small store.
pub fn options(dir: &Path) -> Options {
    Options {
        cache_bytes: 2 << 20,
        tail_bytes: 64 << 10,
        index_bytes: 1 << 20,
        sinks: vec![SinkDecl { name: "file".into(), start: SinkStart::Oldest }],
        ..Options::new(dir)
    }
}

/// A store with its builder, as the engine uses them.
pub struct Rig {
    pub store: std::sync::Arc<Store>,
    pub index: Index,
    pub writer: Writer,
    pub builder: BatchBuilder,
    pub recovery: Recovery,
    /// Whether commits carry observations.
    pub observing: bool,
    /// Whether they carry lines of events.
    pub keeping: bool,
}

impl Rig {
    pub fn open(options: &Options) -> Self {
        let opened = open(options).expect("open");
        let builder = BatchBuilder::new(opened.writer.next_sequence());
        Self {
            store: opened.store,
            index: opened.index,
            writer: opened.writer,
            builder,
            recovery: opened.recovery,
            observing: false,
            keeping: false,
        }
    }

    /// Appends an event to the open batch.
    pub fn add(&mut self, id: &str) -> u64 {
        let log_ms = self.writer.clock().now_ms();
        self.add_at(id, log_ms)
    }

    pub fn add_at(&mut self, id: &str, log_ms: u64) -> u64 {
        let sequence = self
            .builder
            .append(&NewRecord {
                source: "pos",
                id,
                key: Some("customer"),
                time_us: 1_525_134_011_000_000,
                payload: id.len() as u64,
                decision: "allow",
                score: Some(0.25),
                reasons: &[],
                model: "card-fraud@1",
                model_sha256: &SHA,
                decided_ms: 1_800_000_000_123,
                log_ms,
                shadow: None,
            })
            .expect("append");
        self.index.insert(crate::event::identity_fingerprint(self.store.seed(), "pos", id), sequence);
        sequence
    }

    pub fn commit(&mut self) -> Committed {
        let chunks = self.builder.seal();
        let next = chunks.last().map_or(1, |chunk| chunk.next());
        let sequences = chunks.first().map_or(1, |chunk| chunk.first())..next;
        let observed = self.observing.then(|| std::sync::Arc::new(observations::observed(sequences.clone())));
        let kept = self.keeping.then(|| keeping::kept(sequences));
        self.writer.commit(&Commit { chunks, observed, kept, ..Commit::default() }).expect("commit")
    }

    /// A commit of `count` events with ids `<prefix><n>`.
    pub fn load(&mut self, prefix: &str, count: usize) {
        for n in 0..count {
            self.add(&format!("{prefix}{n}"));
        }
        self.commit();
    }

    /// Ids in the log from `from` on, with their sequences.
    pub fn log(&self, from: u64) -> Vec<(u64, String)> {
        log(&self.store, from)
    }

    pub fn find(&self, id: &str) -> Option<u64> {
        self.index.find(crate::event::identity_fingerprint(self.store.seed(), "pos", id)).find(|&sequence| {
            let chunk = self.store.chunk_of(sequence).expect("read");
            chunk.is_some_and(|chunk| chunk.get(sequence).is_some_and(|record| record.verdict.id == id))
        })
    }
}

pub fn log(store: &Store, mut from: u64) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    while let Some(chunk) = store.next_chunk(from).expect("read") {
        let records = chunk.records().filter(|record| record.verdict.sequence >= from);
        found.extend(records.map(|record| (record.verdict.sequence, record.verdict.id.to_owned())));
        from = chunk.next();
    }
    found
}

/// All labels kept.
pub fn labels(store: &Store) -> Vec<Label> {
    let mut found = Vec::new();
    store.each_label(&mut |label| found.push(label)).expect("read");
    found
}

/// A label of an event.
pub fn label(id: &str, log_ms: u64) -> Label {
    Label {
        source: "pos".into(),
        id: id.into(),
        key: None,
        identity: 0,
        sequence: None,
        event_us: None,
        time_us: 0,
        value: 1.0,
        log_ms,
        next: 0,
        schema: None,
        cells: Vec::new(),
    }
}

/// A number that does not compress.
pub fn noise(n: u64) -> u64 {
    let mut x = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

/// An id of 32 digits that does not compress.
pub fn noisy_id(n: u64) -> String {
    format!("{:016x}{:016x}", noise(n), noise(!n))
}
