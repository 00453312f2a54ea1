//! What a row of one model costs, for tests/models/bench.py, which measures other libraries beside it:
//!
//! `cargo bench --bench models -- MODEL ROWS.csv` prints a line of JSON: microseconds a row at 1, 64 and 1,024 rows a
//! call (each call other rows than the one before), of reasons, and what loading took: milliseconds, and the most MiB
//! while loading above what the process had.

#![allow(clippy::expect_used)] // a bench may stop

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use verdictd::features::ColumnKind;
use verdictd::model::{Bundle, LoadOptions, load};

const RUNS: usize = 5;
const RUN: Duration = Duration::from_millis(50);
const BATCHES: [usize; 3] = [1, 64, 1024];

fn main() {
    // SAFETY: nothing has started a thread yet.
    unsafe { verdictd::model::keep_candle_single_threaded() };
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(model), Some(rows)) = (arguments.next(), arguments.next()) else {
        println!("tests/models/bench.py says which MODEL and ROWS.csv");
        return;
    };
    // The high-water mark starts again at what is held now.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (held, begun) = (status("VmRSS"), Instant::now());
    let options = LoadOptions { memory_bytes_max: 1 << 30, ..LoadOptions::default() };
    let bundle = load(Path::new(&model), &options).expect("a model that loads");
    let mut scorer = bundle.scorer(options.max_batch);
    let took = begun.elapsed();
    let mut line =
        format!("{{\"load-ms\":{:.3},\"memory-mib\":{:.3}", took.as_secs_f64() * 1e3, status("VmHWM") - held);

    let rows = read(&bundle, Path::new(&rows));
    let width = scorer.width();
    let mut out = vec![0.0; options.max_batch];
    for batch in BATCHES {
        let cost = micros_a_row(&rows, width, batch, |rows| scorer.score(rows, &mut out[..batch]));
        let _ = write!(line, ",\"{batch}\":{cost:.4}");
    }
    let reasons = micros_a_row(&rows, width, 1, |row| {
        std::hint::black_box(scorer.reasons(row));
    });
    println!("{line},\"reasons\":{reasons:.3}}}");
}

/// The rows of the model's columns, in its order.
fn read(bundle: &Bundle, file: &Path) -> Vec<f64> {
    let kinds = bundle.features().kinds();
    let mut rows = Vec::new();
    let mut csv = csv::Reader::from_path(file).expect("rows.csv");
    for record in csv.records() {
        let record = record.expect("a row");
        assert_eq!(record.len(), kinds.len(), "a cell a column");
        rows.extend(record.iter().zip(&kinds).map(|(cell, kind)| match kind {
            ColumnKind::Text(texts) => texts.number(cell),
            _ => cell.parse().unwrap_or(f64::NAN),
        }));
    }
    rows
}

/// The median of several runs, each over all the rows again and again.
fn micros_a_row(rows: &[f64], width: usize, batch: usize, mut call: impl FnMut(&[f64])) -> f64 {
    let mut costs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let (begun, mut calls) = (Instant::now(), 0_u32);
            while begun.elapsed() < RUN {
                for rows in rows.chunks_exact(batch * width) {
                    call(rows);
                    calls += 1;
                }
            }
            begun.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    #[allow(clippy::cast_precision_loss)] // a batch is small
    let rows_a_call = batch as f64;
    costs[RUNS / 2] / rows_a_call
}

/// MiB of a line of /proc/self/status.
fn status(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).expect("the field");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("kB") / 1024.0
}
