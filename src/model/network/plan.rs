//! The compiled plan: packed layers run one after the other over a block of rows, in scratch made once.

use super::super::kernel::{Fused, Kernel, LANE, Lane, Packed, lanes};
use super::Activation;
use super::dense::Op;

/// Rows that go through all layers together. More gain nothing and would cost scratch.
pub const BLOCK_ROWS: usize = 32;

/// A network ready to run. Shared by all scorers.
#[derive(Clone, Debug)]
pub struct Plan {
    kernel: Kernel,
    width: usize,
    /// Numbers that the last layer gives.
    last: usize,
    /// Lanes of the widest row between two layers.
    lanes: usize,
    stages: Vec<Stage>,
}

#[derive(Clone, Debug)]
enum Stage {
    Dense(Packed),
    /// An activation over rows of this width, in place.
    Activation(Activation, usize),
}

/// The buffers of one scorer.
#[derive(Clone, Debug)]
pub struct Scratch {
    front: Vec<Lane>,
    back: Vec<Lane>,
    rows: usize,
}

impl Plan {
    /// Compiles `ops` for rows of `width` columns. `kernel` must be one that this processor has; another
    /// is replaced by the portable one.
    #[must_use]
    pub fn compile(ops: &[Op], width: usize, kernel: Kernel) -> Self {
        let kernel = if Kernel::available().contains(&kernel) { kernel } else { Kernel::Portable };
        let mut at = width;
        let mut most = lanes(width);
        let mut stages = Vec::new();
        for op in ops {
            match op {
                Op::Dense(dense) => {
                    let packed = Packed::new(dense);
                    let done = packed.fused != Fused::Nothing;
                    at = dense.outputs;
                    most = most.max(lanes(at));
                    stages.push(Stage::Dense(packed));
                    stages.extend(dense.activation.filter(|_| !done).map(|a| Stage::Activation(a, at)));
                }
                Op::Activation(activation) => stages.push(Stage::Activation(*activation, at)),
            }
        }
        Self { kernel, width, last: at, lanes: most, stages }
    }

    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// What runs, a line a step.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let line = |stage: &Stage| match stage {
            Stage::Dense(packed) => {
                let fused = match packed.fused {
                    Fused::Nothing => String::new(),
                    Fused::Relu => ", relu".to_owned(),
                    Fused::Leaky(slope) => format!(", leaky-relu {slope}"),
                };
                let form = if packed.dot { "dot" } else { "panels" };
                format!("dense {} -> {}{fused} ({form}, {} bytes)", packed.inputs, packed.outputs, packed.bytes())
            }
            Stage::Activation(activation, width) => format!("{} over {width}", activation.name()),
        };
        self.stages.iter().map(line).collect()
    }

    /// Bytes of the packed weights.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.stages.iter().map(|stage| if let Stage::Dense(packed) = stage { packed.bytes() } else { 0 }).sum()
    }

    /// Bytes of [`Self::scratch`] for batches of up to `max_batch` rows.
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        scratch_bytes(self.lanes, max_batch)
    }

    #[must_use]
    pub fn scratch(&self, max_batch: usize) -> Scratch {
        let rows = block_rows(max_batch);
        let lanes = vec![Lane::default(); rows * self.lanes];
        Scratch { back: lanes.clone(), front: lanes, rows }
    }

    /// Runs `rows` (row after row) and writes what the last layer gives for each, row after row. As many rows as both
    /// slices have. Allocates nothing.
    pub fn run(&self, rows: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let block = scratch.rows.max(1);
        for (rows, out) in rows.chunks(block * self.width).zip(out.chunks_mut(block * self.last.max(1))) {
            self.run_block(rows, out, scratch);
        }
    }

    fn run_block(&self, rows: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let (mut x, mut y) = (scratch.front.as_mut_slice(), scratch.back.as_mut_slice());
        let in_lanes = lanes(self.width);
        let mut count = 0;
        for (row, place) in rows.chunks_exact(self.width).zip(x.chunks_exact_mut(in_lanes)) {
            let (numbers, rest) = Lane::flat_mut(place).split_at_mut(self.width);
            for (number, value) in numbers.iter_mut().zip(row) {
                // The network works on f32.
                #[allow(clippy::cast_possible_truncation)]
                let cut = *value as f32;
                *number = cut;
            }
            rest.fill(0.0);
            count += 1;
        }
        let mut at = in_lanes;
        for stage in &self.stages {
            match stage {
                Stage::Dense(packed) => {
                    self.kernel.run(packed, x, count, y);
                    at = packed.output_lanes();
                    std::mem::swap(&mut x, &mut y);
                }
                Stage::Activation(activation, width) => {
                    for row in Lane::flat_mut(x).chunks_exact_mut(at * LANE).take(count) {
                        activate(*activation, &mut row[..*width]);
                    }
                }
            }
        }
        let mut places = out.chunks_exact_mut(self.last.max(1));
        for (row, numbers) in Lane::flat(x).chunks_exact(at * LANE).take(count).zip(&mut places) {
            for (number, value) in numbers.iter_mut().zip(row) {
                *number = f64::from(*value);
            }
        }
        // Rows that were not given have no numbers.
        places.for_each(|numbers| numbers.fill(f64::NAN));
    }
}

fn block_rows(max_batch: usize) -> usize {
    max_batch.clamp(1, BLOCK_ROWS)
}

fn scratch_bytes(lanes: usize, max_batch: usize) -> usize {
    lanes.saturating_mul(2 * block_rows(max_batch) * size_of::<Lane>())
}

/// What a network takes in memory, from its shapes alone: weights packed, and scratch. `widths`: the
/// columns of a row, then the outputs of each linear layer. None where it cannot even be counted.
#[must_use]
pub fn bytes_of(widths: &[usize], max_batch: usize) -> Option<(usize, usize)> {
    let mut weights = 0usize;
    for pair in widths.windows(2) {
        if let [inputs, outputs] = pair {
            weights = weights.checked_add(Packed::bytes_of(*inputs, *outputs)?)?;
        }
    }
    let widest = widths.iter().copied().max().unwrap_or(0);
    Some((weights, scratch_bytes(lanes(widest), max_batch)))
}

/// The same formulas as Candle's, number by number.
fn activate(activation: Activation, row: &mut [f32]) {
    let each = |row: &mut [f32], f: fn(f32) -> f32| row.iter_mut().for_each(|x| *x = f(*x));
    match activation {
        Activation::Relu => each(row, |x| if x < 0.0 { 0.0 } else { x }),
        Activation::LeakyRelu { slope } => row.iter_mut().for_each(|x| *x = if *x < 0.0 { *x * slope } else { *x }),
        Activation::Tanh => each(row, f32::tanh),
        Activation::Sigmoid => each(row, |x| 1.0 / (1.0 + (-x).exp())),
        Activation::Gelu => {
            each(row, |x| (candle_core::cpu::erf::erf_f32(x * std::f32::consts::FRAC_1_SQRT_2) + 1.0) * 0.5 * x);
        }
        Activation::GeluTanh => each(row, |x| {
            let inner = (2.0 / std::f32::consts::PI).sqrt() * x * (1.0 + 0.044_715 * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
        Activation::Silu => each(row, |x| x / (1.0 + (-x).exp())),
        Activation::Softmax => softmax(row),
    }
}

fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for x in row.iter_mut() {
        *x = (*x - most).exp();
        sum += *x;
    }
    for x in row {
        *x /= sum;
    }
}
