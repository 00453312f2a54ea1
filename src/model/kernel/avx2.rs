//! AVX2 and FMA: 8 outputs a register; 6 or 4 rows by 2 panels at once, single rows by up to 8 panels.

use super::{Fused, LANE, Lane, Packed};
use std::arch::x86_64::{
    __m256, _CMP_LT_OQ, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_shuffle_ps, _mm256_blendv_ps,
    _mm256_castps256_ps128, _mm256_cmp_ps, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_max_ps,
    _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_store_ps,
};

/// Rows worked on together: each weight is loaded once for all of them. By two panels they are twelve sums, which with
/// two weights and a value fill the sixteen registers.
const ROWS: usize = 6;
/// The same of what is left, where there are as many.
const ROWS_LEFT: usize = 4;

/// The lengths of all slices have been checked by `Packed::check`; the pointers below stay within them.
#[target_feature(enable = "avx2,fma")]
pub fn run(layer: &Packed, x: &[Lane], rows: usize, y: &mut [Lane]) {
    if layer.dot {
        for row in 0..rows {
            dot(layer, x, y, row);
        }
        return;
    }
    let panels = layer.output_lanes();
    let whole = rows - rows % ROWS;
    if whole > 0 {
        strips::<ROWS>(layer, x, y, 0, whole);
    }
    let half = if rows - whole >= ROWS_LEFT { whole + ROWS_LEFT } else { whole };
    if half > whole {
        strips::<ROWS_LEFT>(layer, x, y, whole, half);
    }
    for row in half..rows {
        let mut panel = 0;
        while panel < panels {
            panel += match panels - panel {
                8.. => {
                    block::<1, 8>(layer, x, y, row, panel);
                    8
                }
                4..8 => {
                    block::<1, 4>(layer, x, y, row, panel);
                    4
                }
                2..4 => {
                    block::<1, 2>(layer, x, y, row, panel);
                    2
                }
                _ => {
                    block::<1, 1>(layer, x, y, row, panel);
                    1
                }
            };
        }
    }
}

/// Rows `from..to`, R at once. Panels outside, rows inside: two panels' weights stay in the first-level cache for all.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn strips<const R: usize>(layer: &Packed, x: &[Lane], y: &mut [Lane], from: usize, to: usize) {
    let panels = layer.output_lanes();
    for panel in (0..panels).step_by(2) {
        let two = panel + 2 <= panels;
        for row in (from..to).step_by(R) {
            if two { block::<R, 2>(layer, x, y, row, panel) } else { block::<R, 1>(layer, x, y, row, panel) }
        }
    }
}

/// R rows from `row` by P panels from `panel`, all sums in registers.
// Counted loops with constant bounds: unrolled, with every sum in a register.
#[allow(clippy::needless_range_loop)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn block<const R: usize, const P: usize>(layer: &Packed, x: &[Lane], y: &mut [Lane], row: usize, panel: usize) {
    let (inputs, in_lanes, out_lanes) = (layer.inputs, layer.input_lanes(), layer.output_lanes());
    debug_assert!(panel + P <= out_lanes && (row + R) * in_lanes <= x.len() && (row + R) * out_lanes <= y.len());
    // SAFETY: panel + P <= output lanes (the caller's loop), so bias, weight[(panel + p) * inputs + k] with
    // k < inputs, x of row + r < rows with k < inputs <= 8 * in_lanes, and y of that row are all inside the
    // slices that `Packed::check` measured. Lanes are 32 aligned, as the aligned loads and stores need.
    unsafe {
        let weight: *const f32 = layer.weight.as_ptr().add(panel * inputs).cast();
        let bias: *const f32 = layer.bias.as_ptr().add(panel).cast();
        let x: *const f32 = x.as_ptr().add(row * in_lanes).cast();
        let y: *mut f32 = y.as_mut_ptr().add(row * out_lanes + panel).cast();
        let mut sums = [[_mm256_setzero_ps(); P]; R];
        for r in 0..R {
            for p in 0..P {
                sums[r][p] = _mm256_load_ps(bias.add(p * LANE));
            }
        }
        for k in 0..inputs {
            let mut weights = [_mm256_setzero_ps(); P];
            for p in 0..P {
                weights[p] = _mm256_load_ps(weight.add((p * inputs + k) * LANE));
            }
            for r in 0..R {
                let value = _mm256_set1_ps(*x.add(r * in_lanes * LANE + k));
                for p in 0..P {
                    sums[r][p] = _mm256_fmadd_ps(value, weights[p], sums[r][p]);
                }
            }
        }
        for r in 0..R {
            for p in 0..P {
                _mm256_store_ps(y.add((r * out_lanes + p) * LANE), fuse(layer.fused, sums[r][p]));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn fuse(fused: Fused, value: __m256) -> __m256 {
    match fused {
        Fused::Nothing => value,
        // max returns its second operand where one is NaN: a NaN stays.
        Fused::Relu => _mm256_max_ps(_mm256_setzero_ps(), value),
        Fused::Leaky(slope) => {
            let negative = _mm256_cmp_ps::<_CMP_LT_OQ>(value, _mm256_setzero_ps());
            _mm256_blendv_ps(value, _mm256_mul_ps(value, _mm256_set1_ps(slope)), negative)
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn dot(layer: &Packed, x: &[Lane], y: &mut [Lane], row: usize) {
    let lanes = layer.input_lanes();
    let mut out = layer.bias.first().copied().unwrap_or_default();
    let x = &x[row * lanes..][..lanes];
    for (weights, value) in layer.weight.chunks_exact(lanes).zip(&mut out.0) {
        let mut sums = _mm256_setzero_ps();
        for (weight, x) in weights.iter().zip(x) {
            // SAFETY: both point to a Lane: 8 f32, 32 aligned.
            unsafe {
                sums = _mm256_fmadd_ps(_mm256_load_ps(weight.0.as_ptr()), _mm256_load_ps(x.0.as_ptr()), sums);
            }
        }
        let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        let one = _mm_add_ss(two, _mm_shuffle_ps::<1>(two, two));
        *value = layer.fused.apply(*value + _mm_cvtss_f32(one));
    }
    y[row * layer.output_lanes()] = out;
}
