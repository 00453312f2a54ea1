//! The inner loops of a dense layer, one file an instruction set, chosen at run time.
//!
//! **Layout.** All numbers lie in lanes of 8 f32 ([`Lane`], 32 bytes, aligned). A row of n numbers takes
//! ceil(n / 8) lanes, the rest zeros. A layer is packed in one of two forms:
//!
//! - *panels*, of 8 outputs: lane k of a panel holds input k's weight for each of its outputs;
//! - *dot*, for one or two outputs: an output's weights as a row of lanes.
//!
//! **Order of sums.** Bias first, then inputs in ascending order (dot: by lane, then the lanes pairwise),
//! whatever the number of rows: so a row's score is the same, bit for bit, in every batch on one kernel.
//! Kernels differ from each other and from Candle by rounding only.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod lane;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

pub use lane::{LANE, Lane};

use super::network::{Activation, Dense};

/// Most outputs that the dot form takes.
const DOT_OUTPUTS_MAX: usize = 2;

/// Which code runs the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// The kernels this processor can run, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut kernels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            kernels.push(Self::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            kernels.push(Self::Neon);
        }
        kernels
    }

    /// The fastest kernel this processor can run.
    #[must_use]
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
        }
    }

    /// y = activation(W·x + b) for `rows` rows: x holds `rows * layer.input_lanes()` lanes, y gets
    /// `rows * layer.output_lanes()`.
    ///
    /// Only a kernel out of [`Self::available`] may be used: the plan makes sure of it.
    pub(super) fn run(self, layer: &Packed, x: &[Lane], rows: usize, y: &mut [Lane]) {
        layer.check(x, rows, y);
        match self {
            Self::Portable => portable::run(layer, x, rows, y),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the plan takes this kernel only where AVX2 and FMA were detected.
            Self::Avx2 => unsafe { avx2::run(layer, x, rows, y) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the plan takes this kernel only where NEON was detected.
            Self::Neon => unsafe { neon::run(layer, x, rows, y) },
        }
    }
}

/// What a kernel does to its sums before it stores them. Other activations are a pass of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fused {
    Nothing,
    Relu,
    Leaky(f32),
}

/// A linear layer packed for the kernels.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub inputs: usize,
    pub outputs: usize,
    pub dot: bool,
    /// Panels: `[panel][input]`; dot: `[output][input lane]`.
    pub weight: Vec<Lane>,
    pub bias: Vec<Lane>,
    pub fused: Fused,
}

impl Packed {
    pub fn new(dense: &Dense) -> Self {
        let (inputs, outputs) = (dense.inputs, dense.outputs);
        let dot = outputs <= DOT_OUTPUTS_MAX;
        let at = |output: usize, input: usize| {
            if output < outputs && input < inputs { dense.weight[output * inputs + input] } else { 0.0 }
        };
        let weight = if dot {
            let lane = |output, lane| Lane::from_fn(|n| at(output, lane * LANE + n));
            (0..outputs).flat_map(|o| (0..lanes(inputs)).map(move |l| (o, l))).map(|(o, l)| lane(o, l)).collect()
        } else {
            let lane = |panel, input| Lane::from_fn(|n| at(panel * LANE + n, input));
            (0..lanes(outputs)).flat_map(|p| (0..inputs).map(move |i| (p, i))).map(|(p, i)| lane(p, i)).collect()
        };
        let bias = (0..lanes(outputs))
            .map(|panel| Lane::from_fn(|n| dense.bias.get(panel * LANE + n).copied().unwrap_or(0.0)))
            .collect();
        let fused = match dense.activation {
            Some(Activation::Relu) => Fused::Relu,
            Some(Activation::LeakyRelu { slope }) => Fused::Leaky(slope),
            _ => Fused::Nothing,
        };
        Self { inputs, outputs, dot, weight, bias, fused }
    }

    pub fn input_lanes(&self) -> usize {
        lanes(self.inputs)
    }

    pub fn output_lanes(&self) -> usize {
        lanes(self.outputs)
    }

    pub fn bytes(&self) -> usize {
        (self.weight.len() + self.bias.len()) * size_of::<Lane>()
    }

    /// Bytes that a layer of this shape takes when packed. None where they cannot be counted.
    pub fn bytes_of(inputs: usize, outputs: usize) -> Option<usize> {
        let weight = if outputs <= DOT_OUTPUTS_MAX {
            lanes(inputs).checked_mul(outputs)?
        } else {
            lanes(outputs).checked_mul(inputs)?
        };
        weight.checked_add(lanes(outputs))?.checked_mul(size_of::<Lane>())
    }

    /// The kernels read and write by pointer: all bounds they rely on are checked here, once a call.
    fn check(&self, x: &[Lane], rows: usize, y: &[Lane]) {
        let weight = if self.dot { self.outputs * self.input_lanes() } else { self.output_lanes() * self.inputs };
        assert_eq!(self.weight.len(), weight, "packed weights have their layer's shape");
        assert_eq!(self.bias.len(), self.output_lanes(), "packed biases have their layer's shape");
        assert!(!self.dot || self.outputs <= DOT_OUTPUTS_MAX, "the dot form has few outputs");
        assert!(x.len() >= rows * self.input_lanes(), "the rows are all there");
        assert!(y.len() >= rows * self.output_lanes(), "there is room for the outputs");
    }
}

/// Lanes that a row of `width` numbers takes.
pub(super) fn lanes(width: usize) -> usize {
    width.div_ceil(LANE)
}

impl Fused {
    /// NaN stays NaN: a broken row must not turn into a score.
    fn apply(self, value: f32) -> f32 {
        match self {
            Self::Relu if value < 0.0 => 0.0,
            Self::Leaky(slope) if value < 0.0 => value * slope,
            _ => value,
        }
    }
}
