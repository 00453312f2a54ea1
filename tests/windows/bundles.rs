//! Two bundles with the same features: one whose rows are f64, to look at them, and one whose score moves with each of
//! them, to look at the daemon's.

use super::naive::{DAYS, NAMES};
use safetensors::tensor::{Dtype, TensorView};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// LightGBM compares in f64, so its row is what the features are, uncut.
pub fn write_exact(at: &Path) {
    let names = NAMES.join(" ");
    let infos = ["[0:9]"; NAMES.len()].join(" ");
    let model = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=14\n\
         objective=binary sigmoid:1\nfeature_names={names}\nfeature_infos={infos}\ntree_sizes=1\n\n\
         Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=100\ndecision_type=2\nleft_child=-1\n\
         right_child=-2\nleaf_value=-2 2\nleaf_count=5 6\ninternal_count=11\nis_linear=0\nshrinkage=1\n\n\n\
         end of trees\n\nparameters:\n[objective: binary]\nend of parameters\n\npandas_categorical:null\n"
    );
    write(at, "model.txt", model.as_bytes(), "format = \"lightgbm\"", "");
}

/// The sum of all features, each by a weight of its own: whatever is counted otherwise moves the score.
pub fn write_sum(at: &Path) {
    let weights: Vec<f32> = NAMES
        .iter()
        .zip([1.0, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875, 2.0, 2.125, 2.25, 2.375, 2.5, 2.625, 2.75])
        .map(|(name, weight)| match name {
            name if name.contains("_RISK_") => 100.0 * weight,
            name if name.contains("AMOUNT") => 0.01 * weight,
            _ => weight,
        })
        .collect();
    let bytes = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    let (weights, bias) = (bytes(&weights), bytes(&[0.0]));
    let view = |shape: Vec<usize>, data| TensorView::new(Dtype::F32, shape, data).expect("a tensor");
    let tensors = [("net.0.weight", view(vec![1, NAMES.len()], &weights)), ("net.0.bias", view(vec![1], &bias))];
    let model = safetensors::serialize(tensors, None).expect("tensors that can be written");
    let network = "[network]\noutput = \"raw\"\nlayers = [{ linear = \"net.0\" }]\n";
    write(at, "model.safetensors", &model, "format = \"safetensors\"", network);
}

fn write(at: &Path, file: &str, model: &[u8], format: &str, network: &str) {
    std::fs::create_dir_all(at).expect("the bundle's folder");
    std::fs::write(at.join(file), model).expect("the model");
    let sha256 = Sha256::digest(model).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let mut manifest = format!(
        "name = \"windows\"\nversion = \"1\"\n{format}\nfile = \"{file}\"\nsha256 = \"{sha256}\"\n\n\
         [decision]\nblock = 300\nreview = 150\notherwise = \"allow\"\nfallback = \"review\"\n\n{network}\n"
    );
    let mut feature = |name: &str, source: &str| {
        let _ = writeln!(manifest, "[[feature]]\nname = \"{name}\"\n{source}\n");
    };
    // In the order of the names, which the weights follow.
    feature(NAMES[0], "from = \"/TX_AMOUNT\"");
    feature(NAMES[1], "from = \"/TX_DATETIME\"\ntransform = [{ weekend = \"UTC\" }]");
    feature(NAMES[2], "from = \"/TX_DATETIME\"\ntransform = [{ night = \"UTC\" }]");
    let window = |what: &str, key: &str, days: i64, delay: &str| {
        format!("window = {{ {what}, key = \"/{key}\", over = \"{days} d\"{delay} }}")
    };
    for (n, days) in DAYS.into_iter().enumerate() {
        feature(NAMES[3 + 2 * n], &window("count = true", "CUSTOMER_ID", days, ""));
        feature(NAMES[4 + 2 * n], &window("mean = \"/TX_AMOUNT\"", "CUSTOMER_ID", days, ""));
    }
    for (n, days) in DAYS.into_iter().enumerate() {
        let delay = ", delay = \"7 d\"";
        feature(NAMES[9 + 2 * n], &window("count = true", "TERMINAL_ID", days, delay));
        feature(NAMES[10 + 2 * n], &window("label-mean = true", "TERMINAL_ID", days, delay));
    }
    std::fs::write(at.join("model.toml"), manifest).expect("the manifest");
}
