//! ONNX models: what loads also runs, and a row gives the same alone and beside others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::model::onnx::{External, Options, load, survey};

/// Bytes that a model may take here: enough for any of the seeds.
const BYTES: usize = 32 << 20;
const ROWS: usize = 9;

fuzz_target!(|data: &[u8]| {
    // What the survey passes is read; what it does not pass is no model.
    let surveyed = survey(std::io::Cursor::new(data), data.len() as u64);
    let options = Options { bytes: BYTES, width: Some(3), outputs: Vec::new() };
    let Ok(plan) = load(bytes::Bytes::copy_from_slice(data), External::Nowhere, &options) else { return };
    assert!(surveyed.is_ok());
    let (width, numbers) = (plan.columns().len(), plan.out_width());
    if width > 64 || numbers > 4096 {
        return;
    }
    let cells = [0.0, -1.5, 3.0, f64::NAN, 1e30, f64::INFINITY];
    let rows: Vec<f64> = (0..ROWS * width).map(|n| cells[n * 7 % cells.len()]).collect();
    let mut scratch = plan.scratch(ROWS);
    let mut together = vec![0.0; ROWS * numbers];
    plan.run(&rows, &mut together, &mut scratch);
    let mut alone = vec![0.0; numbers];
    for (row, together) in rows.chunks(width.max(1)).zip(together.chunks(numbers.max(1))) {
        plan.run(row, &mut alone, &mut scratch);
        let bits = |numbers: &[f64]| numbers.iter().map(|n| if n.is_nan() { 0 } else { n.to_bits() }).collect::<Vec<_>>();
        assert_eq!(bits(&alone), bits(together));
    }
});
