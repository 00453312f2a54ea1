//! NEON: a lane is two registers; 4 rows by 2 panels at once (16 sums of 32 registers), single rows by 4.

use super::{Fused, LANE, Lane, Packed};
use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vbslq_f32, vcltq_f32, vdupq_n_f32, vfmaq_f32, vgetq_lane_f32, vld1q_f32, vmulq_f32,
    vst1q_f32,
};

const ROWS: usize = 4;

/// The lengths of all slices have been checked by `Packed::check`; the pointers below stay within them.
#[target_feature(enable = "neon")]
pub fn run(layer: &Packed, x: &[Lane], rows: usize, y: &mut [Lane]) {
    if layer.dot {
        for row in 0..rows {
            dot(layer, x, y, row);
        }
        return;
    }
    let panels = layer.output_lanes();
    let whole = rows - rows % ROWS;
    let mut panel = 0;
    while whole > 0 && panel < panels {
        let two = panel + 2 <= panels;
        for row in (0..whole).step_by(ROWS) {
            if two { block::<ROWS, 2>(layer, x, y, row, panel) } else { block::<ROWS, 1>(layer, x, y, row, panel) }
        }
        panel += if two { 2 } else { 1 };
    }
    for row in whole..rows {
        let mut panel = 0;
        while panel < panels {
            if panels - panel >= 4 {
                block::<1, 4>(layer, x, y, row, panel);
                panel += 4;
            } else {
                block::<1, 1>(layer, x, y, row, panel);
                panel += 1;
            }
        }
    }
}

/// R rows from `row` by P panels from `panel`, all sums in registers.
// Counted loops with constant bounds: unrolled, with every sum in a register.
#[allow(clippy::needless_range_loop)]
#[inline]
#[target_feature(enable = "neon")]
fn block<const R: usize, const P: usize>(layer: &Packed, x: &[Lane], y: &mut [Lane], row: usize, panel: usize) {
    let (inputs, in_lanes, out_lanes) = (layer.inputs, layer.input_lanes(), layer.output_lanes());
    debug_assert!(panel + P <= out_lanes && (row + R) * in_lanes <= x.len() && (row + R) * out_lanes <= y.len());
    // SAFETY: panel + P <= output lanes (the caller's loop), so bias, weight[(panel + p) * inputs + k] with
    // k < inputs, x of row + r < rows with k < inputs <= 8 * in_lanes, and y of that row are all inside the
    // slices that `Packed::check` measured.
    unsafe {
        let weight: *const f32 = layer.weight.as_ptr().add(panel * inputs).cast();
        let bias: *const f32 = layer.bias.as_ptr().add(panel).cast();
        let x: *const f32 = x.as_ptr().add(row * in_lanes).cast();
        let y: *mut f32 = y.as_mut_ptr().add(row * out_lanes + panel).cast();
        let mut sums = [[[vdupq_n_f32(0.0); 2]; P]; R];
        for r in 0..R {
            for p in 0..P {
                sums[r][p] = [vld1q_f32(bias.add(p * LANE)), vld1q_f32(bias.add(p * LANE + 4))];
            }
        }
        for k in 0..inputs {
            let mut weights = [[vdupq_n_f32(0.0); 2]; P];
            for p in 0..P {
                let at = weight.add((p * inputs + k) * LANE);
                weights[p] = [vld1q_f32(at), vld1q_f32(at.add(4))];
            }
            for r in 0..R {
                let value = vdupq_n_f32(*x.add(r * in_lanes * LANE + k));
                for p in 0..P {
                    sums[r][p][0] = vfmaq_f32(sums[r][p][0], value, weights[p][0]);
                    sums[r][p][1] = vfmaq_f32(sums[r][p][1], value, weights[p][1]);
                }
            }
        }
        for r in 0..R {
            for p in 0..P {
                let at = y.add((r * out_lanes + p) * LANE);
                vst1q_f32(at, fuse(layer.fused, sums[r][p][0]));
                vst1q_f32(at.add(4), fuse(layer.fused, sums[r][p][1]));
            }
        }
    }
}

/// By comparison and selection, not by max: a NaN stays.
#[inline]
#[target_feature(enable = "neon")]
fn fuse(fused: Fused, value: float32x4_t) -> float32x4_t {
    let zero = vdupq_n_f32(0.0);
    match fused {
        Fused::Nothing => value,
        Fused::Relu => vbslq_f32(vcltq_f32(value, zero), zero, value),
        Fused::Leaky(slope) => vbslq_f32(vcltq_f32(value, zero), vmulq_f32(value, vdupq_n_f32(slope)), value),
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn dot(layer: &Packed, x: &[Lane], y: &mut [Lane], row: usize) {
    let lanes = layer.input_lanes();
    let mut out = layer.bias.first().copied().unwrap_or_default();
    let x = &x[row * lanes..][..lanes];
    for (weights, value) in layer.weight.chunks_exact(lanes).zip(&mut out.0) {
        let (mut low, mut high) = (vdupq_n_f32(0.0), vdupq_n_f32(0.0));
        for (weight, x) in weights.iter().zip(x) {
            // SAFETY: both point to a Lane of 8 f32; each load takes 4 of them.
            unsafe {
                let (w, x) = (weight.0.as_ptr(), x.0.as_ptr());
                low = vfmaq_f32(low, vld1q_f32(w), vld1q_f32(x));
                high = vfmaq_f32(high, vld1q_f32(w.add(4)), vld1q_f32(x.add(4)));
            }
        }
        let four = vaddq_f32(low, high);
        let (a, b) = (vgetq_lane_f32::<0>(four), vgetq_lane_f32::<1>(four));
        let (c, d) = (vgetq_lane_f32::<2>(four), vgetq_lane_f32::<3>(four));
        *value = layer.fused.apply(*value + ((a + c) + (b + d)));
    }
    y[row * layer.output_lanes()] = out;
}
