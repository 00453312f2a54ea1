//! What a swap of the model costs those who send meanwhile: the longest answer around a swap, beside the longest
//! around as many moments without one, of the same run.
//!
//! `cargo bench --bench swap [-- --units N]`: two models of 4 × N² bytes (N = 1,400: 7.8 MB) with a shadow beside them,
//! an engine on a folder in memory where there is one (so that no disk is measured), one sender in a closed loop. A new
//! bundle is loaded and warmed on a thread of its own, as the daemon does.
#![allow(clippy::expect_used)] // a measurement may stop at the first surprise

#[path = "../tests/support/bundle.rs"]
#[allow(dead_code)]
mod bundle;

use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use verdictd::engine::{Along, Engine, Lineup, Parts, Shares, Submission};
use verdictd::event::{Decoder, Form, IdentityRules, KeyRule, Pointer, SourceRule, TimeForm};
use verdictd::model::{self, LoadOptions};
use verdictd::store;

const MOMENTS: usize = 60;
/// An answer that began so long after a moment is counted to it.
const AFTER: Duration = Duration::from_millis(40);
const APART: Duration = Duration::from_millis(80);

fn load(folder: &Path) -> Arc<Lineup> {
    let options = LoadOptions { memory_bytes_max: 1 << 30, max_batch: 256, ..LoadOptions::default() };
    let load = || Arc::new(model::load(folder, &options).expect("a bundle"));
    Lineup::with_shadow(load(), load(), Duration::from_secs(1))
}

struct Sent {
    begun: Instant,
    took: Duration,
}

/// The longest answer around each moment, sorted.
fn longest(sent: &[Sent], moments: &[Instant]) -> Vec<Duration> {
    let around = |moment: &Instant| {
        let near = sent.iter().filter(|one| one.begun + one.took >= *moment && one.begun < *moment + AFTER);
        near.map(|one| one.took).max().unwrap_or_default()
    };
    let mut longest: Vec<Duration> = moments.iter().map(around).collect();
    longest.sort();
    longest
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let units = arguments.iter().position(|argument| argument == "--units").and_then(|at| arguments.get(at + 1));
    let units: usize = units.and_then(|units| units.parse().ok()).unwrap_or(1_400);
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("verdictd-swap-").tempdir_in(parent).expect("a folder");
    let bundles = ["1", "2"].map(|version| {
        let at = folder.path().join(version);
        bundle::write_wide(&at, "test", version, units);
        at
    });
    let opened = store::open(&store::Options::new(folder.path().join("state"))).expect("a store");
    let pointer = |text: &str| Pointer::parse(text).expect("a pointer");
    let rules = IdentityRules {
        id: pointer("/id"),
        time: pointer("/time"),
        time_form: TimeForm::Any,
        source: SourceRule::Fixed("bench".to_owned()),
        key: KeyRule { pointers: vec![pointer("/id")], ..KeyRule::default() },
    };
    let lineup = load(&bundles[0]);
    let decoder = Decoder::new(rules, Arc::clone(lineup.pointers()), 1 << 16, opened.store.seed());
    let decoder = RwLock::new(Arc::new(decoder));
    let parts = Parts {
        store: opened.store,
        index: opened.index,
        writer: opened.writer,
        lineup,
        courier: None,
        keep_payload: true,
        keep_events: false,
        refolded: None,
    };
    let engine = Engine::start(parts).expect("an engine");
    let (stop, sent) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let (mut still, mut swaps, mut loads) = (Vec::new(), Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| send(&engine, &decoder, &stop, &sent));
        for n in 0..2 * MOMENTS {
            std::thread::sleep(APART);
            if n % 2 == 0 {
                still.push(Instant::now());
                continue;
            }
            let begun = Instant::now();
            let lineup = load(&bundles[(n / 2 + 1) % 2]);
            lineup.warm();
            loads.push(begun.elapsed());
            swaps.push(Instant::now());
            engine.swap(Arc::clone(&lineup), Shares { index: 16 << 20, windows: 0 });
            let mut decoder = decoder.write().expect("a lock");
            *decoder = Arc::new(decoder.for_fields(lineup.pointers()));
        }
        std::thread::sleep(APART);
        stop.store(true, Relaxed);
    });
    engine.close().expect("a clean end");
    let sent = sent.into_inner().expect("a lock");
    loads.sort();
    let shown = |name: &str, sorted: &[Duration]| {
        let at = |share: usize| sorted.get((sorted.len() - 1) * share / 100).map_or(0.0, |d| d.as_secs_f64() * 1e3);
        println!("{name:<32} median {:>7.3} ms   p90 {:>7.3} ms   worst {:>7.3} ms", at(50), at(90), at(100));
    };
    println!("{} answers, {MOMENTS} swaps of models of {} MB", sent.len(), 4 * units * units / 1_000_000);
    shown("longest answer without a swap", &longest(&sent, &still));
    shown("longest answer around a swap", &longest(&sent, &swaps));
    shown("to load and warm both models", &loads);
}

/// Sends one event after the other and notes how long each answer took.
fn send(engine: &Engine, decoder: &RwLock<Arc<Decoder>>, stop: &AtomicBool, sent: &Mutex<Vec<Sent>>) {
    let mut n = 0_u64;
    while !stop.load(Relaxed) {
        n += 1;
        let body = format!("{{\"id\":\"{n}\",\"time\":\"2026-01-01T00:00:00Z\",\"amount\":{}}}\n", n % 1_000);
        let begun = Instant::now();
        let (reply, answer) = oneshot::channel();
        let now = Arc::clone(&decoder.read().expect("a lock"));
        let batch = now.decode(&Form::Ndjson, Bytes::from(body), 0);
        let along = Along::default();
        let submission = Submission { batch, origin: Arc::default(), arrived: begun, held: None, along, reply };
        engine.submit(submission).expect("an engine that takes events");
        drop(answer.blocking_recv());
        sent.lock().expect("a lock").push(Sent { begun, took: begun.elapsed() });
    }
}
