//! What a bundle promises. `Made` writes bundles to break.

mod equal;
mod refused;
mod ruled;
mod scoring;
mod shipped;
mod signed;

use super::*;
use candle_core::{Device, Tensor};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A bundle in a temporary directory: two columns A and B, one linear layer of 1·A + 2·B - 1.
struct Made {
    dir: tempfile::TempDir,
    tensors: HashMap<String, Tensor>,
    manifest: String,
}

const MANIFEST: &str = r#"
name = "test"
version = "1"
format = "safetensors"
file = "model.safetensors"
sha256 = "SHA256"

[decision]
block = 0.9
review = 0.5
otherwise = "allow"
fallback = "review"

[network]
output = "logit"
layers = [{ linear = "net.0" }]

[[feature]]
name = "A"
from = "/a"

[[feature]]
name = "B"
from = "/b"
missing = "nan"
"#;

fn tensor(values: &[f32], shape: &[usize]) -> Tensor {
    Tensor::from_slice(values, shape, &Device::Cpu).unwrap()
}

impl Made {
    fn new() -> Self {
        let tensors = HashMap::from([
            ("net.0.weight".to_owned(), tensor(&[1.0, 2.0], &[1, 2])),
            ("net.0.bias".to_owned(), tensor(&[-1.0], &[1])),
        ]);
        Self { dir: tempfile::tempdir().unwrap(), tensors, manifest: MANIFEST.to_owned() }
    }

    fn with(mut self, name: &str, tensor: Tensor) -> Self {
        self.tensors.insert(name.to_owned(), tensor);
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.tensors.remove(name);
        self
    }

    fn edit(mut self, from: &str, to: &str) -> Self {
        assert!(self.manifest.contains(from), "{from:?} stands in the manifest");
        self.manifest = self.manifest.replace(from, to);
        self
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    /// Writes the weights and a manifest with their hash.
    fn write(&self) -> &Path {
        let file = self.path("model.safetensors");
        candle_core::safetensors::save(&self.tensors, &file).unwrap();
        self.seal();
        self.dir.path()
    }

    /// Writes a manifest with the hash of the weights file that is there.
    fn seal(&self) {
        use sha2::Digest;
        let hash: [u8; 32] = sha2::Sha256::digest(std::fs::read(self.path("model.safetensors")).unwrap()).into();
        std::fs::write(self.path("model.toml"), self.manifest.replace("SHA256", &hex::encode(&hash))).unwrap();
    }

    fn load(&self) -> Result<Bundle, ModelError> {
        load(self.write(), &LoadOptions::default())
    }

    fn refused(&self) -> String {
        load(self.dir.path(), &LoadOptions::default()).map(|bundle| bundle.label).unwrap_err().to_string()
    }

    fn written_and_refused(&self) -> String {
        self.write();
        self.refused()
    }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}
