//! What scoring a row costs: `cargo bench --bench score`.
//!
//! Microseconds a row, the median of 5 runs, at 1, 8 and 256 rows a call: the compiled plan on each kernel
//! that this processor has, and Candle's forward pass. Then what features, reasons and the simulator cost.

#![allow(clippy::expect_used)] // a bench may stop

use candle_core::{Device, Tensor};
use rand::{Rng, SeedableRng};
use sha2::Digest;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;
use verdictd::event::{Field, Span};
use verdictd::model::{Kernel, LoadOptions, load, load_with_reference};
use verdictd::simulate::{Options, Simulator};

const RUNS: usize = 5;
const BATCHES: [usize; 3] = [1, 8, 256];

fn main() {
    // SAFETY: nothing has started a thread yet.
    unsafe { verdictd::model::keep_candle_single_threaded() };
    println!("microseconds a row, median of {RUNS} runs");
    println!("{:<24} {:<12} {:>9} {:>9} {:>9}", "network", "by", "1 row", "8 rows", "256 rows");
    for widths in [&[30, 64, 32, 1][..], &[128, 256, 128, 64, 1]] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        write_bundle(dir.path(), widths);
        network(dir.path(), widths);
    }
    shipped();
    simulator();
}

fn network(dir: &Path, widths: &[usize]) {
    let name = widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-");
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    let rows: Vec<f64> = (0..256 * widths[0]).map(|_| rng.random_range(-2.0f64..2.0)).collect();
    let mut out = vec![0.0; 256];
    for kernel in Kernel::available() {
        let options = LoadOptions { kernel: Some(kernel), ..LoadOptions::default() };
        let bundle = load(dir, &options).expect("the bundle just written");
        let mut scorer = bundle.scorer(256);
        let costs =
            BATCHES.map(|batch| micros_a_row(batch, || scorer.score(&rows[..batch * widths[0]], &mut out[..batch])));
        print_row(&name, kernel.name(), costs);
    }
    let (_, reference) = load_with_reference(dir, &LoadOptions::default()).expect("the bundle just written");
    let reference = reference.expect("a network of tensors");
    let costs = BATCHES.map(|batch| {
        micros_a_row(batch, || {
            std::hint::black_box(reference.run(&rows[..batch * widths[0]], widths[0]).expect("Candle runs it"));
        })
    });
    print_row(&name, "candle", costs);
}

fn print_row(network: &str, by: &str, costs: [f64; 3]) {
    println!("{network:<24} {by:<12} {:>9.3} {:>9.3} {:>9.3}", costs[0], costs[1], costs[2]);
}

/// Features and reasons of the shipped bundle.
fn shipped() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud");
    let bundle = load(&dir, &LoadOptions::default()).expect("the shipped bundle");
    let text = "2026-03-01T02:03:04Zecommercenonedigital";
    let spans = [
        ("/TX_DATETIME", 0, 20),
        ("/ENTRY_MODE", 20, 29),
        ("/CARDHOLDER_VERIFICATION", 29, 33),
        ("/MERCHANT_CATEGORY", 33, 40),
    ];
    let fields: Vec<Field> = (bundle.features().pointers().iter())
        .map(|pointer| {
            let pointer = pointer.to_string();
            let span = spans.iter().find(|(name, ..)| *name == pointer);
            span.map_or(Field::Number(1.0), |(_, start, end)| Field::Text(Span { start: *start, end: *end }))
        })
        .collect();
    let mut row = vec![0.0; bundle.features().width()];
    let fill = micros_a_row(1, || bundle.features().fill(&fields, text, None, &mut row).expect("a whole event"));
    let mut scorer = bundle.scorer(256);
    let reasons = micros_a_row(1, || {
        std::hint::black_box(scorer.reasons(&row));
    });
    println!("card-fraud: {fill:.3} to make a row of {} columns, {reasons:.3} to find reasons", row.len());
}

fn simulator() {
    let mut simulator = Simulator::new(1, &Options::default());
    let mut out = Vec::new();
    let mut bytes = 0;
    let cost = micros_a_row(10_000, || {
        out.clear();
        for transaction in simulator.by_ref().take(10_000) {
            transaction.write_json(&mut out);
        }
        bytes = out.len();
    });
    println!("simulator: {cost:.3} an event of {} bytes", bytes / 10_000);
}

/// Runs `work` long enough to tell, five times; the median.
fn micros_a_row(rows: usize, mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    once();
    let single = once().max(1e-7);
    // About 60 ms a run.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let times = (0.06 / single).ceil().clamp(1.0, 1e6) as u32;
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..times {
                work();
            }
            #[allow(clippy::cast_precision_loss)]
            let rows = rows as f64 * f64::from(times);
            start.elapsed().as_secs_f64() * 1e6 / rows
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}

/// A bundle of `relu` layers with random weights.
fn write_bundle(dir: &Path, widths: &[usize]) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(7);
    let mut tensors = HashMap::new();
    let mut layers = Vec::new();
    for (n, pair) in widths.windows(2).enumerate() {
        let weight: Vec<f32> = (0..pair[0] * pair[1]).map(|_| rng.random_range(-0.15f32..0.15)).collect();
        let bias: Vec<f32> = (0..pair[1]).map(|_| rng.random_range(-0.1f32..0.1)).collect();
        let tensor = |values: Vec<f32>, shape: &[usize]| {
            Tensor::from_vec(values, shape, &Device::Cpu).expect("as many values as the shape has")
        };
        tensors.insert(format!("net.{n}.weight"), tensor(weight, &[pair[1], pair[0]]));
        tensors.insert(format!("net.{n}.bias"), tensor(bias, &[pair[1]]));
        layers.push(format!("{{ linear = \"net.{n}\" }}"));
    }
    let file = dir.join("model.safetensors");
    candle_core::safetensors::save(&tensors, &file).expect("room in the temporary directory");
    let hash = sha2::Sha256::digest(std::fs::read(&file).expect("the file just written"));
    let mut text = format!(
        "name = \"bench\"\nversion = \"1\"\nformat = \"safetensors\"\nfile = \"model.safetensors\"\nsha256 = \"{}\"\n\
         [decision]\notherwise = \"allow\"\nfallback = \"review\"\n\
         [network]\noutput = \"logit\"\nlayers = [{}]\n",
        hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")),
        layers.join(", { activation = \"relu\" }, ")
    );
    for n in 0..widths[0] {
        let _ = write!(text, "[[feature]]\nname = \"F{n}\"\nfrom = \"/F{n}\"\n");
    }
    std::fs::write(dir.join("model.toml"), text).expect("room in the temporary directory");
}
