//! The store by itself: what commits cost at several sizes, what they write, how fast a store of a million
//! events opens after it was left without a close, what the index takes, and what the observations of the window
//! features cost.
//!
//! `cargo bench --bench store [-- commits | open | space | observed]`; the directory is `$STORE_BENCH_DIR` or the
//! system's temporary one. Figures are of this machine and its disk.

// Figures for people: rounding does not matter, and the counts are small.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_wrap)]

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use verdictd::store::{
    BatchBuilder, CellKind, Commit, Index, NewRecord, Observation, Observed, Opened, Options, Schema, SinkDecl,
    SinkStart, StoreError, WhenFull, open,
};

const SHA: [u8; 32] = [7; 32];

fn main() -> Result<(), StoreError> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if let [first, dir] = &wanted[..]
        && first == "reopen"
    {
        return reopen(Path::new(dir));
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|arg| arg == name);
    if is_wanted("index") {
        index();
    }
    if is_wanted("commits") {
        commits()?;
    }
    if is_wanted("open") {
        open_after_kill()?;
    }
    if is_wanted("space") {
        space()?;
    }
    if is_wanted("observed") {
        observed_commits()?;
        observed_read()?;
    }
    Ok(())
}

fn options(dir: &Path) -> Options {
    Options { sinks: vec![SinkDecl { name: "file".into(), start: SinkStart::Oldest }], ..Options::new(dir) }
}

/// A directory of this run, removed when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let base = std::env::var_os("STORE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let dir = base.join(format!("verdictd-store-bench-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Self(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Appends card transactions as the engine would: ids of six digits, customers, scores, now and then a reason.
fn append(builder: &mut BatchBuilder, count: u64, log_ms: u64) -> Result<(), StoreError> {
    use std::io::Write;
    let (mut id, mut key) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let n = builder.next_sequence();
        let noise = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        id.clear();
        key.clear();
        let _ = write!(id, "{n}");
        let _ = write!(key, "{}", noise >> 50);
        let flagged = noise.is_multiple_of(50);
        builder.append(&NewRecord {
            source: "pos",
            id: std::str::from_utf8(&id).unwrap_or_default(),
            key: std::str::from_utf8(&key).ok(),
            time_us: 1_525_134_011_000_000 + (n as i64) * 1_300_000,
            payload: noise ^ 0x5555,
            decision: if flagged { "block" } else { "allow" },
            score: Some(f64::from((noise >> 40) as f32 / 16_777_216.0)),
            reasons: if flagged { &["TERMINAL_ID_RISK_7DAY_WINDOW", "TX_AMOUNT"] } else { &[] },
            model: "card-fraud@2018.07",
            model_sha256: &SHA,
            decided_ms: 1_800_000_000_000 + (log_ms % 1_000_000) as i64,
            log_ms,
            shadow: None,
        })?;
    }
    Ok(())
}

fn commits() -> Result<(), StoreError> {
    println!(
        "{:>8} {:>12} {:>12} {:>10} {:>12} {:>10} {:>10}",
        "a commit", "events/s", "ms/commit", "value B/e", "written B/e", "db MiB", "RSS MiB"
    );
    for size in [1u64, 16, 256, 1024, 4096] {
        let dir = Dir::new("commits");
        let Opened { store, mut writer, .. } = open(&options(&dir.0))?;
        let mut builder = BatchBuilder::new(writer.next_sequence());
        let count = (size * 3000).clamp(20_000, 1_000_000);
        let rounds = count / size;
        let (mut values, before, start) = (0, written(), Instant::now());
        for _ in 0..rounds {
            append(&mut builder, size, writer.clock().now_ms())?;
            let done = writer.commit(&Commit { chunks: builder.seal(), ..Commit::default() })?;
            values += done.bytes;
            store.set_cursor("file", done.next)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let events = (rounds * size) as f64;
        println!(
            "{size:>8} {:>12.0} {:>12.3} {:>10.1} {:>12.1} {:>10.1} {:>10.1}",
            events / seconds,
            seconds * 1e3 / rounds as f64,
            values as f64 / events,
            (written() - before) as f64 / events,
            store.stats().disk_bytes as f64 / 1_048_576.0,
            status_mib("VmRSS:")
        );
    }
    Ok(())
}

fn schema() -> Arc<Schema> {
    let columns =
        [(CellKind::Hash, "key /CUSTOMER"), (CellKind::Hash, "key /TERMINAL"), (CellKind::Number, "number /AMOUNT")];
    Arc::new(Schema { columns: columns.map(|(kind, name)| (kind, name.to_owned())).to_vec() })
}

fn event_us(sequence: u64) -> i64 {
    1_525_134_011_000_000 + (sequence as i64) * 9_000_000
}

/// What windows need of card transactions: 5,000 customers, 10,000 terminals, amounts in cents.
fn observed(schema: &Arc<Schema>, sequences: Range<u64>) -> Observed {
    let newest_us = event_us(sequences.end - 1);
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for sequence in sequences {
        let noise = mix(sequence);
        let amount = (noise >> 20) % 22_000;
        rows.push(Observation { sequence, time_us: event_us(sequence), identity: mix(noise), counted: true });
        cells.extend([mix(noise % 5_000), mix(20_000 + (noise >> 8) % 10_000), (amount as f64 / 100.0).to_bits()]);
    }
    Observed { schema: Arc::clone(schema), rows, cells, newest_us }
}

/// Commits without and with observations, in turns; the windows reach back 200,000 events.
fn observed_commits() -> Result<(), StoreError> {
    for size in [1u64, 16, 1024] {
        let mut seconds = [0.0; 2];
        let mut bytes = [0.0; 2];
        let rounds = (20_000 / size).max(500);
        for _ in 0..3 {
            for with in [false, true] {
                let dir = Dir::new("observed");
                let Opened { store, mut writer, .. } = open(&options(&dir.0))?;
                let mut builder = BatchBuilder::new(writer.next_sequence());
                let schema = schema();
                let (before, start) = (written(), Instant::now());
                for _ in 0..rounds {
                    let first = builder.next_sequence();
                    append(&mut builder, size, writer.clock().now_ms())?;
                    let next = builder.next_sequence();
                    let observed = with.then(|| Arc::new(observed(&schema, first..next)));
                    let horizon_us = with.then(|| event_us(next.saturating_sub(200_000)));
                    let commit = Commit { chunks: builder.seal(), observed, horizon_us, ..Commit::default() };
                    store.set_cursor("file", writer.commit(&commit)?.next)?;
                }
                seconds[usize::from(with)] += start.elapsed().as_secs_f64();
                bytes[usize::from(with)] += (written() - before) as f64;
            }
        }
        let commits = (3 * rounds) as f64;
        println!(
            "observed, {size} a commit: {:.0} commits/s without, {:.0} with: {:.2} of it; written {:.0} and {:.0} bytes a commit",
            commits / seconds[0],
            commits / seconds[1],
            seconds[0] / seconds[1],
            bytes[0] / commits,
            bytes[1] / commits
        );
    }
    Ok(())
}

/// Bytes an observation, and the time to open with three million of them and read them back.
fn observed_read() -> Result<(), StoreError> {
    for (count, size) in [(3_000_000u64, 256u64), (60_000, 1)] {
        let dir = Dir::new("observed");
        // The verdicts leave the dedup window at once, so that what is read is the observations.
        let options = Options { window: std::time::Duration::from_millis(1), ..options(&dir.0) };
        let Opened { store, mut writer, .. } = open(&options)?;
        let mut builder = BatchBuilder::new(writer.next_sequence());
        let schema = schema();
        while builder.next_sequence() <= count {
            let first = builder.next_sequence();
            append(&mut builder, size, writer.clock().now_ms())?;
            let observed = Some(Arc::new(observed(&schema, first..builder.next_sequence())));
            let commit = Commit { chunks: builder.seal(), observed, ..Commit::default() };
            store.set_cursor("file", writer.commit(&commit)?.next)?;
        }
        let stats = store.stats();
        println!(
            "observed, {count} by {size}: {:.1} bytes each on disk, {} chunks, the list takes {} KiB",
            stats.observation_bytes as f64 / stats.observations as f64,
            stats.observation_chunks,
            stats.observation_memory_bytes >> 10
        );
        writer.close()?;
        drop(store);
        for _ in 0..2 {
            let start = Instant::now();
            let Opened { store, recovery, writer, .. } = open(&options)?;
            let opened = start.elapsed().as_secs_f64() * 1e3;
            let (start, mut rows) = (Instant::now(), 0);
            store.observations(0, &mut |chunk| {
                rows += chunk.rows.len();
                ControlFlow::Continue(())
            })?;
            println!(
                "observed, {rows} read in {:.0} ms, after an open of {opened:.0} ms ({})",
                start.elapsed().as_secs_f64() * 1e3,
                recovery.phases.iter().map(|(name, ms)| format!("{name} {ms:.0}")).collect::<Vec<_>>().join(", ")
            );
            drop((store, writer));
        }
    }
    Ok(())
}

fn open_after_kill() -> Result<(), StoreError> {
    for size in [1000u64, 20] {
        let dir = Dir::new("open");
        {
            let Opened { writer, store, .. } = open(&options(&dir.0))?;
            let (mut writer, mut builder) = (writer, BatchBuilder::new(1));
            for _ in 0..1_000_000 / size {
                append(&mut builder, size, writer.clock().now_ms())?;
                let done = writer.commit(&Commit { chunks: builder.seal(), ..Commit::default() })?;
                store.set_cursor("file", done.next)?;
            }
            // As after kill -9: nothing is closed.
            let copy = dir.0.join("copy");
            copy_dir(&dir.0, &copy);
        }
        let copy = dir.0.join("copy");
        for _ in 0..5 {
            let again = dir.0.join("again");
            let _ = std::fs::remove_dir_all(&again);
            copy_dir(&copy, &again);
            // In a process of its own, for its memory.
            let program = std::env::current_exe().unwrap_or_default();
            print!("open, 1 M events, {size} a commit: ");
            let _ = std::io::Write::flush(&mut std::io::stdout());
            let _ = std::process::Command::new(program).arg("reopen").arg(&again).status();
        }
    }
    Ok(())
}

fn reopen(dir: &Path) -> Result<(), StoreError> {
    let start = Instant::now();
    let opened = open(&options(dir))?;
    println!(
        "{:.0} ms, {} chunks, index {:.2} B/event, RSS {:.1} MiB (peak {:.1}); {}",
        start.elapsed().as_secs_f64() * 1e3,
        opened.recovery.chunks,
        opened.index.bytes() as f64 / opened.index.len() as f64,
        status_mib("VmRSS:"),
        status_mib("VmHWM:"),
        opened.recovery.phases.iter().map(|(name, ms)| format!("{name} {ms:.0}")).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

/// How the engine's file grows against the live bytes in it, in steady state and after draining.
fn space() -> Result<(), StoreError> {
    for size in [20u64, 1000, 1] {
        let dir = Dir::new("space");
        let index_bytes = 40_000 * 12;
        let Opened { store, mut writer, .. } =
            open(&Options { index_bytes, when_full: WhenFull::Shorten, ..options(&dir.0) })?;
        let mut builder = BatchBuilder::new(1);
        let (mut peak_ratio, mut last) = (0.0f64, 0.0);
        let mut index = Index::new(index_bytes);
        let _ = &mut index;
        for round in 0..if size == 1 { 60_000 } else { 600_000 / size } {
            append(&mut builder, size, writer.clock().now_ms())?;
            let done = writer.commit(&Commit { chunks: builder.seal(), ..Commit::default() })?;
            store.set_cursor("file", done.next.saturating_sub(if size == 1 { 20_000 } else { 200_000 }))?;
            if round.is_multiple_of(64) {
                let stats = store.stats();
                if done.next > 50_000 {
                    last = stats.disk_bytes as f64 / stats.live_bytes as f64;
                    peak_ratio = peak_ratio.max(last);
                }
            }
        }
        let stats = store.stats();
        println!(
            "space, {size} a commit: live {} KiB, file x{last:.2}, at most x{peak_ratio:.2}",
            stats.live_bytes >> 10
        );
    }
    Ok(())
}

fn index() {
    for count in [100_000u64, 130_000, 170_000, 250_000, 1_000_000, 1_150_000, 3_000_000] {
        let mut index = Index::new(1 << 30);
        let start = Instant::now();
        let mut worst = 0.0f64;
        for n in 1..=count {
            index.insert(mix(n), n);
            if n >= 100_000 && n.is_multiple_of(512) {
                worst = worst.max(index.bytes() as f64 / n as f64);
            }
        }
        let insert = start.elapsed().as_nanos() as f64 / count as f64;
        let start = Instant::now();
        let found = (1..=count).filter(|&n| index.find(mix(n)).any(|sequence| sequence == n)).count();
        let find = start.elapsed().as_nanos() as f64 / count as f64;
        let start = Instant::now();
        let ghosts = (1..=count).filter(|&n| index.find(mix(n + (1 << 40))).next().is_some()).count();
        let miss = start.elapsed().as_nanos() as f64 / count as f64;
        println!(
            "index, {count} events: {:.2} B/event now, {worst:.2} at most; insert {insert:.0} ns, find {find:.0} ns, miss {miss:.0} ns; {found} found, {ghosts} ghosts",
            index.bytes() as f64 / count as f64
        );
    }
}

fn mix(n: u64) -> u64 {
    let mut x = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

fn copy_dir(from: &Path, to: &Path) {
    let _ = std::fs::create_dir_all(to);
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            if path != to && entry.file_name() != "copy" {
                copy_dir(&path, &target);
            }
        } else {
            let _ = std::fs::copy(&path, &target);
        }
    }
}

/// Bytes this process had written to storage, by the kernel's account.
fn written() -> u64 {
    number_in("/proc/self/io", "write_bytes:")
}

fn status_mib(name: &str) -> f64 {
    number_in("/proc/self/status", name) as f64 / 1024.0
}

fn number_in(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
