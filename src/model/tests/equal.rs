//! The compiled plan against the Candle forward pass: random networks, every kernel.

use super::*;
use crate::model::compile::of_network;
use crate::model::load::assemble;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use std::fmt::Write;

/// How far a score may lie from Candle's, relative where it is above 1.
const TOLERANCE: f64 = 1e-6;

const ACTIVATIONS: [&str; 9] = [
    "\"relu\"",
    "\"leaky-relu\"",
    "\"leaky-relu\", slope = 0.2",
    "\"tanh\"",
    "\"sigmoid\"",
    "\"gelu\"",
    "\"gelu-tanh\"",
    "\"silu\"",
    "\"softmax\"",
];

/// What stands around each linear layer.
#[derive(Clone, Debug)]
struct Block {
    width: usize,
    norm_before: bool,
    norm_after: bool,
    bias: bool,
    activation: Option<usize>,
}

fn block() -> impl Strategy<Value = Block> {
    (
        1usize..90,
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.9),
        prop::option::weighted(0.9, 0..ACTIVATIONS.len()),
    )
        .prop_map(|(width, norm_before, norm_after, bias, activation)| Block {
            width,
            norm_before,
            norm_after,
            bias,
            activation,
        })
}

struct Random {
    manifest: String,
    tensors: HashMap<String, Tensor>,
    rng: rand_pcg::Pcg64Mcg,
}

impl Random {
    fn values(&mut self, shape: &[usize], low: f32, high: f32) -> Tensor {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| self.rng.random_range(low..high)).collect();
        tensor(&values, shape)
    }

    fn norm(&mut self, name: &str, width: usize) {
        let _ = write!(self.manifest, "{{ batch-norm = \"{name}\", eps = 1e-3 }},");
        for (part, low, high) in
            [("weight", 0.5, 1.5), ("bias", -0.5, 0.5), ("running_mean", -0.5, 0.5), ("running_var", 0.3, 2.0)]
        {
            let values = self.values(&[width], low, high);
            self.tensors.insert(format!("{name}.{part}"), values);
        }
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize, bias: bool) {
        let _ = write!(self.manifest, "{{ linear = \"{name}\", bias = {bias} }},");
        let bound = (1.0 / f32::from(u16::try_from(inputs).unwrap())).sqrt();
        let weight = self.values(&[outputs, inputs], -bound, bound);
        self.tensors.insert(format!("{name}.weight"), weight);
        if bias {
            let values = self.values(&[outputs], -bound, bound);
            self.tensors.insert(format!("{name}.bias"), values);
        }
    }
}

/// Loads a random network on every kernel and compares all batch sizes with Candle.
fn compare(inputs: usize, blocks: &[Block], output: &str, last: usize, seed: u64) -> Result<(), TestCaseError> {
    let rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let mut made = Random { manifest: format!("output = \"{output}\"\nlayers = ["), tensors: HashMap::new(), rng };
    let mut width = inputs;
    for (n, block) in blocks.iter().enumerate() {
        if block.norm_before {
            made.norm(&format!("before.{n}"), width);
        }
        made.linear(&format!("net.{n}"), width, block.width, block.bias);
        width = block.width;
        if block.norm_after {
            made.norm(&format!("after.{n}"), width);
        }
        if let Some(activation) = block.activation {
            let _ = write!(made.manifest, "{{ activation = {} }},", ACTIVATIONS[activation]);
        }
    }
    made.linear("last", width, last, true);
    made.manifest.push(']');
    let features =
        (0..inputs).fold(String::new(), |text, n| text + &format!("[[feature]]\nname = \"F{n}\"\nfrom = \"/{n}\"\n"));
    let text = MANIFEST.replace("SHA256", &"0".repeat(64));
    let text = format!("{}[network]\n{}\n{features}", text.split("[network]").next().unwrap(), made.manifest);
    let manifest = Manifest::parse(&text, Path::new("model.toml")).unwrap();
    let bytes = safetensors::serialize(&made.tensors, None).unwrap();
    let count = 37;
    let rows: Vec<f64> = (0..count * inputs).map(|_| made.rng.random_range(-2.0f64..2.0)).collect();
    for kernel in Kernel::available() {
        let file = Path::new("w");
        let network = manifest.network.as_ref().unwrap();
        let (program, reference) = of_network(network, &bytes, inputs, file, kernel).unwrap();
        let bundle = assemble(manifest.clone(), [0; 32], program, file, &LoadOptions::default(), false).unwrap();
        let numbers = reference.run(&rows, inputs).unwrap();
        let expected: Vec<f64> = numbers.chunks(last).map(|numbers| bundle.scoring.score(numbers)).collect();
        let mut scores = vec![0.0f64; count];
        bundle.scorer(count).score(&rows, &mut scores);
        for (n, (found, expected)) in scores.iter().zip(&expected).enumerate() {
            let difference = (found - expected).abs() / expected.abs().max(1.0);
            prop_assert!(difference <= TOLERANCE, "{kernel:?}, row {n}: {found}, Candle {expected}\n{}", made.manifest);
        }
        // A row's score is the same, bit for bit, whatever stands beside it.
        let mut alone = [0.0f64];
        let mut single = bundle.scorer(1);
        for (row, score) in rows.chunks(inputs).zip(&scores) {
            single.score(row, &mut alone);
            prop_assert_eq!(alone[0].to_bits(), score.to_bits());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn the_plan_equals_candle(
        inputs in 1usize..70,
        blocks in prop::collection::vec(block(), 0..5),
        output in prop::sample::select(vec![("logit", 1), ("logit", 2), ("raw", 1)]),
        seed in any::<u64>(),
    ) {
        compare(inputs, &blocks, output.0, output.1, seed)?;
    }
}

#[test]
fn every_activation_equals_candle_on_every_kernel() {
    for activation in 0..ACTIVATIONS.len() {
        for width in [1, 2, 3, 8, 16, 24, 31, 40, 65] {
            let block = Block { width, norm_before: true, norm_after: true, bias: true, activation: Some(activation) };
            compare(30, &[block.clone(), block], "logit", 1, width as u64).unwrap();
        }
    }
}
