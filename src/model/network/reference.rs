//! The Candle forward pass: the reference that every compiled plan must equal.
//!
//! It applies the layers as the manifest lists them, batch norms unfolded. About a hundred allocations a
//! call, so it serves tests, `model verify` and the benchmark, never the daemon's hot path.

use super::weights::Tensors;
use super::{Activation, Layer, Network};
use candle_core::{D, DType, Device, Result, Tensor};

/// A network in Candle tensors.
#[derive(Clone, Debug)]
pub struct Reference {
    network: Network,
    tensors: Tensors,
}

impl Reference {
    #[must_use]
    pub fn new(network: Network, tensors: Tensors) -> Self {
        Self { network, tensors }
    }

    /// What the last layer gives for `rows` (n × `width`, row after row), row after row.
    ///
    /// # Errors
    /// What Candle says, for rows of another width or a tensor that is not there.
    pub fn run(&self, rows: &[f64], width: usize) -> Result<Vec<f64>> {
        let count = rows.len() / width.max(1);
        // The network works on f32.
        #[allow(clippy::cast_possible_truncation)]
        let rows: Vec<f32> = rows.iter().map(|value| *value as f32).collect();
        let mut x = Tensor::from_vec(rows, (count, width), &Device::Cpu)?;
        for layer in &self.network.layers {
            x = self.layer(layer, &x)?;
        }
        let last: Vec<f32> = x.flatten_all()?.to_vec1()?;
        Ok(last.into_iter().map(f64::from).collect())
    }

    fn layer(&self, layer: &Layer, x: &Tensor) -> Result<Tensor> {
        match layer {
            Layer::Linear { name, bias } => {
                let y = product(x, self.tensor(name, "weight")?)?;
                if *bias { y.broadcast_add(self.tensor(name, "bias")?) } else { Ok(y) }
            }
            Layer::BatchNorm { name, eps } => {
                let deviation = (self.tensor(name, "running_var")?.to_dtype(DType::F64)? + *eps)?.sqrt()?;
                x.broadcast_sub(self.tensor(name, "running_mean")?)?
                    .broadcast_div(&deviation.to_dtype(DType::F32)?)?
                    .broadcast_mul(self.tensor(name, "weight")?)?
                    .broadcast_add(self.tensor(name, "bias")?)
            }
            Layer::Activation(activation) => activate(*activation, x),
        }
    }

    fn tensor(&self, name: &str, part: &str) -> Result<&Tensor> {
        self.tensors
            .get(&format!("{name}.{part}"))
            .ok_or_else(|| candle_core::Error::Msg(format!("no tensor {name}.{part}")))
    }
}

/// x · Wᵀ, row by row, without Candle's matrix product: that one links kernels for every kind of number, two megabytes
/// that nothing else here needs.
fn product(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let rows = (0..x.dim(0)?).map(|n| weight.broadcast_mul(&x.get(n)?)?.sum(D::Minus1)).collect::<Result<Vec<_>>>()?;
    Tensor::stack(&rows, 0)
}

fn activate(activation: Activation, x: &Tensor) -> Result<Tensor> {
    match activation {
        Activation::Relu => x.relu(),
        Activation::LeakyRelu { slope } => x.relu()? - (x.neg()?.relu()? * f64::from(slope))?,
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => (x.neg()?.exp()? + 1.0)?.recip(),
        Activation::Gelu => x.gelu_erf(),
        Activation::GeluTanh => x.gelu(),
        Activation::Silu => x.silu(),
        Activation::Softmax => {
            let exp = x.broadcast_sub(&x.max_keepdim(D::Minus1)?)?.exp()?;
            exp.broadcast_div(&exp.sum_keepdim(D::Minus1)?)
        }
    }
}
