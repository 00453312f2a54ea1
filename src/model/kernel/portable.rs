//! Plain Rust, for processors without AVX2 or NEON. The compiler makes SSE2 of it.

use super::{LANE, Lane, Packed};

pub fn run(layer: &Packed, x: &[Lane], rows: usize, y: &mut [Lane]) {
    let (inputs, outputs) = (layer.input_lanes(), layer.output_lanes());
    for (x, y) in x.chunks_exact(inputs).zip(y.chunks_exact_mut(outputs)).take(rows) {
        if layer.dot { dot(layer, x, y) } else { panels(layer, x, y) }
    }
}

fn panels(layer: &Packed, x: &[Lane], y: &mut [Lane]) {
    let panels = layer.weight.chunks_exact(layer.inputs);
    for ((panel, bias), out) in panels.zip(&layer.bias).zip(y) {
        let mut sums = bias.0;
        for (weights, value) in panel.iter().zip(Lane::flat(x)) {
            for (sum, weight) in sums.iter_mut().zip(weights.0) {
                *sum += weight * value;
            }
        }
        *out = Lane(sums.map(|sum| layer.fused.apply(sum)));
    }
}

fn dot(layer: &Packed, x: &[Lane], y: &mut [Lane]) {
    let mut out = layer.bias.first().copied().unwrap_or_default();
    for (weights, value) in layer.weight.chunks_exact(layer.input_lanes()).zip(&mut out.0) {
        let mut sums = [0.0; LANE];
        for (weight, x) in weights.iter().zip(x) {
            for ((sum, w), x) in sums.iter_mut().zip(weight.0).zip(x.0) {
                *sum += w * x;
            }
        }
        let four: [f32; 4] = std::array::from_fn(|n| sums[n] + sums[n + 4]);
        *value = layer.fused.apply(*value + ((four[0] + four[2]) + (four[1] + four[3])));
    }
    if let Some(y) = y.first_mut() {
        *y = out;
    }
}
