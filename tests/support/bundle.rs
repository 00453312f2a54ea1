//! A small bundle: one feature, `amount`, and a network whose verdicts a reader can work out.
//!
//! `amount` / 100 goes through two rectified units; their sum, less 5, is the logit: 500 gives 0.5, 1,000 all but 1.

use safetensors::tensor::{Dtype, TensorView};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// Makes the bundle `name@version` in the folder `at`, made anew.
pub fn write(at: &Path, name: &str, version: &str) {
    let tensors: [(&str, Vec<usize>, &[f32]); 4] = [
        ("net.0.weight", vec![2, 1], &[0.005, 0.005]),
        ("net.0.bias", vec![2], &[0.0, 0.0]),
        ("net.2.weight", vec![1, 2], &[1.0, 1.0]),
        ("net.2.bias", vec![1], &[-5.0]),
    ];
    write_tensors(at, &tensors, &manifest(name, version, LAYERS));
}

/// Adds a window, for rules alone: the same verdicts, and a past to keep.
pub fn add_window(at: &Path) {
    let file = at.join("model.toml");
    let mut text = std::fs::read_to_string(&file).expect("a manifest");
    text.push_str(
        "\n[[feature]]\nname = \"seen\"\nwindow = { count = true, key = \"/key\", over = \"1 d\" }\nmissing = 0\ninput = false\n",
    );
    std::fs::write(&file, text).expect("a manifest");
}

/// The same with so many units, and a layer of as many by as many in between that changes nothing: a model of
/// 4 × `units`² bytes with the same verdicts.
pub fn write_wide(at: &Path, name: &str, version: &str, units: usize) {
    #[allow(clippy::cast_precision_loss)] // a few thousand
    let share = vec![0.01 / units as f32; units];
    let mut same = vec![0.0; units * units];
    same.iter_mut().step_by(units + 1).for_each(|weight| *weight = 1.0);
    let (none, ones) = (vec![0.0; units], vec![1.0; units]);
    let tensors: [(&str, Vec<usize>, &[f32]); 6] = [
        ("net.0.weight", vec![units, 1], &share),
        ("net.0.bias", vec![units], &none),
        ("net.1.weight", vec![units, units], &same),
        ("net.1.bias", vec![units], &none),
        ("net.2.weight", vec![1, units], &ones),
        ("net.2.bias", vec![1], &[-5.0]),
    ];
    let layers = r#"[{ linear = "net.0" }, { activation = "relu" }, { linear = "net.1" }, { linear = "net.2" }]"#;
    write_tensors(at, &tensors, &manifest(name, version, layers));
}

/// A model whose score is `amount`, as it is: whole numbers and quarters below 4 million come out exactly.
pub fn write_amount(at: &Path) {
    let tensors: [(&str, Vec<usize>, &[f32]); 2] =
        [("net.0.weight", vec![1, 1], &[1.0]), ("net.0.bias", vec![1], &[0.0])];
    let manifest = manifest("amount", "1", r#"[{ linear = "net.0" }]"#).replace("\"logit\"", "\"raw\"");
    write_tensors(
        at,
        &tensors,
        &manifest.replace("block = 0.9", "block = 900").replace("review = 0.5", "review = 500"),
    );
}

/// A bundle of window features: `count` of the day and `risk`, the share of it with a label, of each `card`.
pub fn write_counting(at: &Path) {
    let tensors: [(&str, Vec<usize>, &[f32]); 2] =
        [("net.0.weight", vec![1, 2], &[0.5, 4.0]), ("net.0.bias", vec![1], &[-5.0])];
    let layers = r#"[{ linear = "net.0" }]"#;
    let manifest = manifest("counting", "1", layers);
    let own = manifest.split("[[feature]]").next().unwrap_or_default();
    let windows = r#"
[[feature]]
name = "count"
window = { count = true, key = "/card", over = "1 d" }

[[feature]]
name = "risk"
window = { label-mean = true, key = "/card", over = "1 d" }
"#;
    write_tensors(at, &tensors, &format!("{own}{windows}"));
}

const LAYERS: &str = r#"[{ linear = "net.0" }, { activation = "relu" }, { linear = "net.2" }]"#;

/// `manifest` with the hash of the weights in the place of `SHA256`.
fn write_tensors(at: &Path, tensors: &[(&str, Vec<usize>, &[f32])], manifest: &str) {
    let raw: Vec<_> =
        tensors.iter().map(|(_, _, v)| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()).collect();
    let views = tensors.iter().zip(&raw).map(|((name, shape, _), bytes)| {
        (*name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("a tensor whose bytes fit its shape"))
    });
    let weights = safetensors::serialize(views, None).expect("tensors that can be written");
    std::fs::create_dir_all(at).expect("the bundle's folder");
    std::fs::write(at.join("model.safetensors"), &weights).expect("the weights");
    let sha256 = Sha256::digest(&weights).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    std::fs::write(at.join("model.toml"), manifest.replace("SHA256", &sha256)).expect("the manifest");
}

fn manifest(name: &str, version: &str, layers: &str) -> String {
    format!(
        r#"name = "{name}"
version = "{version}"
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
layers = {layers}

[[feature]]
name = "amount"
from = "/amount"
missing = "unscorable"
"#
    )
}
