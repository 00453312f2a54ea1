//! Kernels of a row with all support vectors.
//!
//! **Layout.** Support vectors stand in blocks of eight, column after column: the eight lanes of a block each sum one
//! vector's products in the order of the columns, in f32, as ONNX Runtime sums an RBF kernel's. The last block is
//! filled up with zeros.

use super::super::super::op::{Context, OpError};

const LANES: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    Linear,
    Poly { gamma: f32, offset: f32, degree: f32 },
    Rbf { gamma: f32 },
    Sigmoid { gamma: f32, offset: f32 },
}

#[derive(Debug)]
pub(super) struct Support {
    pub kernel: Kernel,
    pub count: usize,
    pub width: usize,
    blocks: Vec<[f32; LANES]>,
}

impl Support {
    /// `vectors`: `count` times `width` numbers.
    ///
    /// # Errors
    /// They are not as many, or take more bytes than are left.
    pub(super) fn new(
        kernel: Kernel,
        vectors: &[f32],
        count: usize,
        width: usize,
        context: &mut Context,
    ) -> Result<Self, OpError> {
        if count.checked_mul(width) != Some(vectors.len()) || count == 0 || width == 0 {
            return Err(OpError(format!(
                "attribute support_vectors: expected {count} times {width} numbers, found {}",
                vectors.len()
            )));
        }
        let blocks = count.div_ceil(LANES).saturating_mul(width);
        context.take(blocks.saturating_mul(size_of::<[f32; LANES]>()), "the support vectors")?;
        let mut blocks = vec![[0.0; LANES]; blocks];
        for (n, vector) in vectors.chunks_exact(width).enumerate() {
            let start = n / LANES * width;
            for (block, value) in blocks[start..start + width].iter_mut().zip(vector) {
                block[n % LANES] = *value;
            }
        }
        Ok(Self { kernel, count, width, blocks })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.blocks.as_slice())
    }

    /// The kernel of `x` with each vector.
    pub(super) fn row(&self, x: &[f32], out: &mut [f32]) {
        for (out, block) in out.chunks_mut(LANES).zip(self.blocks.chunks_exact(self.width)) {
            let sums = if matches!(self.kernel, Kernel::Rbf { .. }) { distances(x, block) } else { products(x, block) };
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = self.kernel.of_sum(sum));
        }
    }
}

fn products(x: &[f32], block: &[[f32; LANES]]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    for (x, column) in x.iter().zip(block) {
        for lane in 0..LANES {
            sums[lane] += x * column[lane];
        }
    }
    sums
}

fn distances(x: &[f32], block: &[[f32; LANES]]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    for (x, column) in x.iter().zip(block) {
        for lane in 0..LANES {
            let difference = x - column[lane];
            sums[lane] += difference * difference;
        }
    }
    sums
}

impl Kernel {
    #[allow(clippy::float_cmp)] // degrees are written down as whole numbers
    fn of_sum(self, sum: f32) -> f32 {
        match self {
            Self::Linear => sum,
            Self::Rbf { gamma } => (-gamma * sum).exp(),
            Self::Sigmoid { gamma, offset } => (gamma * sum + offset).tanh(),
            Self::Poly { gamma, offset, degree } => {
                let base = gamma * sum + offset;
                if degree == 2.0 {
                    base * base
                } else if degree == 3.0 {
                    base * base * base
                } else {
                    base.powf(degree)
                }
            }
        }
    }
}
