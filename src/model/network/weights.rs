//! A safetensors file into Candle tensors of f32, every size checked before anything is allocated for it.
//!
//! Layout: u64 LE length of a JSON header, the header (name -> dtype, shape, offsets), the data. The file
//! is in memory by then, bounded by its length on disk; nothing here allocates more than the file holds
//! (f16 and bf16 double). Dtypes: F32, F64 (cut), F16, BF16.

use super::{Layer, Network};
use crate::features::Problems;
use candle_core::{DType, Device, Tensor};
use safetensors::tensor::{Dtype, Metadata, SafeTensorError, SafeTensors};
use std::collections::HashMap;
use std::io::Read;

/// Largest header read: some 5,000 tensors.
pub const HEADER_BYTES_MAX: u64 = 1 << 20;
/// Widest layer.
pub const WIDTH_MAX: usize = 65_536;

/// The tensors a network asks for, by name.
#[derive(Clone, Debug, Default)]
pub struct Tensors(HashMap<String, Tensor>);

/// A tensor's shape and its values, row after row.
pub type Values = (Vec<usize>, Vec<f32>);

impl Tensors {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.get(name)
    }

    /// Shape and values, row after row.
    #[must_use]
    pub fn values(&self, name: &str) -> Option<Values> {
        let tensor = self.0.get(name)?;
        let values = tensor.flatten_all().and_then(|flat| flat.to_vec1::<f32>()).ok()?;
        Some((tensor.dims().to_vec(), values))
    }

    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.0.insert(name.into(), tensor);
    }
}

/// A file's header, read before the file is.
pub struct Header(Metadata);

impl Header {
    /// Reads the header from the file's start and checks it against the file's length.
    pub fn read(file: &mut impl Read, length: u64) -> Result<Self, String> {
        let mut prefix = [0; 8];
        let short =
            || format!("expected a safetensors header, found a file of {length} bytes that ends before it does");
        file.read_exact(&mut prefix).map_err(|_| short())?;
        let header = u64::from_le_bytes(prefix);
        if header > HEADER_BYTES_MAX {
            return Err(format!("expected a header of at most {HEADER_BYTES_MAX} bytes, found a length of {header}"));
        }
        if header.saturating_add(8) > length {
            return Err(short());
        }
        let mut bytes = vec![0; usize::try_from(header).map_err(|_| short())?];
        file.read_exact(&mut bytes).map_err(|_| short())?;
        let metadata: Metadata =
            serde_json::from_slice(&bytes).map_err(|error| format!("expected a safetensors header: {error}"))?;
        let whole = (metadata.data_len() as u64).saturating_add(header + 8);
        if whole != length {
            return Err(format!(
                "expected {whole} bytes as its header says, found a file of {length}: cut off or too long"
            ));
        }
        Ok(Self(metadata))
    }

    /// The columns of a row, then the outputs of each linear layer, as far as the shapes can be found.
    pub fn widths(&self, network: &Network, width: usize) -> Vec<usize> {
        let outputs = network.layers.iter().filter_map(|layer| match layer {
            Layer::Linear { name, .. } => self.0.info(&format!("{name}.weight"))?.shape.first().copied(),
            _ => None,
        });
        std::iter::once(width).chain(outputs).collect()
    }
}

/// Reads the tensors that `network` asks for from the file's bytes. `width`: columns of a row.
/// Returns them with the width of the last layer.
pub fn read(bytes: &[u8], network: &Network, width: usize, problems: &mut Problems) -> (Tensors, usize) {
    let mut tensors = Tensors::default();
    let header = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
    if let Some(header) = header.filter(|length| *length > HEADER_BYTES_MAX) {
        problems.add("header", format!("expected at most {HEADER_BYTES_MAX} bytes, found a length of {header}"));
        return (tensors, 0);
    }
    let file = match SafeTensors::deserialize(bytes) {
        Ok(file) => file,
        Err(error) => {
            problems.add("header", explain(&error, bytes.len()));
            return (tensors, 0);
        }
    };
    let mut reading = Reading { file: &file, asked: Vec::new(), tensors: &mut tensors, problems };
    let mut at = width;
    for layer in &network.layers {
        match layer {
            Layer::Linear { name, bias } => at = reading.linear(name, *bias, at),
            Layer::BatchNorm { name, .. } => reading.batch_norm(name, at),
            Layer::Activation(_) => {}
        }
    }
    let asked = std::mem::take(&mut reading.asked);
    for name in file.names() {
        if !asked.iter().any(|asked| asked == name) {
            problems.add(name, "no layer of [network] names this tensor");
        }
    }
    (tensors, at)
}

struct Reading<'a> {
    file: &'a SafeTensors<'a>,
    asked: Vec<String>,
    tensors: &'a mut Tensors,
    problems: &'a mut Problems,
}

impl Reading<'_> {
    /// Returns the layer's outputs: by its weight, or as many as went in where that is not to be had.
    fn linear(&mut self, name: &str, bias: bool, inputs: usize) -> usize {
        let weight = format!("{name}.weight");
        let outputs = match self.shape(&weight) {
            Some(shape) => match shape.as_slice() {
                [outputs, found] if *found == inputs && (1..=WIDTH_MAX).contains(outputs) => {
                    self.take(&weight);
                    *outputs
                }
                _ => {
                    let what =
                        format!("expected shape [out, {inputs}] with out from 1 to {WIDTH_MAX}, found {shape:?}");
                    self.problems.add(weight, what);
                    // The next layers are checked against what this one says it gives.
                    shape.first().copied().filter(|_| shape.len() == 2).unwrap_or(inputs)
                }
            },
            None => inputs,
        };
        if bias {
            self.vector(&format!("{name}.bias"), outputs);
        }
        outputs
    }

    fn batch_norm(&mut self, name: &str, width: usize) {
        for part in ["weight", "bias", "running_mean", "running_var"] {
            self.vector(&format!("{name}.{part}"), width);
        }
        if let Some(var) = self.tensors.values(&format!("{name}.running_var"))
            && var.1.iter().any(|v| *v < 0.0)
        {
            self.problems.add(format!("{name}.running_var"), "expected variances from 0, found a negative one");
        }
        // What PyTorch counts in training; no number of it goes into a score.
        self.asked.push(format!("{name}.num_batches_tracked"));
    }

    fn vector(&mut self, name: &str, width: usize) {
        if let Some(shape) = self.shape(name) {
            if shape == [width] {
                self.take(name);
            } else {
                self.problems.add(name, format!("expected shape [{width}], found {shape:?}"));
            }
        }
    }

    fn shape(&mut self, name: &str) -> Option<Vec<usize>> {
        self.asked.push(name.to_owned());
        let Ok(view) = self.file.tensor(name) else {
            self.problems.add(name, "expected this tensor, found none of that name");
            return None;
        };
        Some(view.shape().to_vec())
    }

    /// Converts a tensor whose shape is right.
    fn take(&mut self, name: &str) {
        let Ok(view) = self.file.tensor(name) else { return };
        let dtype = match view.dtype() {
            Dtype::F32 => DType::F32,
            Dtype::F64 => DType::F64,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            other => {
                self.problems.add(name, format!("expected dtype F32, F64, F16 or BF16, found {other:?}"));
                return;
            }
        };
        let tensor = Tensor::from_raw_buffer(view.data(), dtype, view.shape(), &Device::Cpu)
            .and_then(|tensor| tensor.to_dtype(DType::F32));
        match tensor {
            Ok(tensor) => {
                self.tensors.insert(name, tensor);
                let values = self.tensors.values(name).map(|(_, values)| values).unwrap_or_default();
                if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                    self.problems.add(name, format!("expected finite f32 numbers, found {} at {at}", values[at]));
                }
            }
            Err(error) => self.problems.add(name, format!("could not be read: {error}")),
        }
    }
}

fn explain(error: &SafeTensorError, length: usize) -> String {
    match error {
        SafeTensorError::HeaderTooSmall | SafeTensorError::InvalidHeaderLength => {
            format!("expected a safetensors header, found a file of {length} bytes that ends before it does")
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            format!("expected the data that the header names, found a file of {length} bytes: cut off or too long")
        }
        SafeTensorError::TensorInvalidInfo | SafeTensorError::ValidationOverflow => {
            "expected each tensor's shape and dtype to give its number of bytes, found one that does not".to_owned()
        }
        other => format!("expected a safetensors file: {other}"),
    }
}
