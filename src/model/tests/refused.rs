//! Each way a bundle can be wrong, with what the operator is told.

use super::*;

fn file_of(error: &str) -> bool {
    error.contains("model.safetensors")
}

#[test]
fn all_errors_of_a_manifest_come_at_once() {
    let made = Made::new();
    made.write();
    std::fs::write(
        made.path("model.toml"),
        "name = \"\"\nformat = \"pickle\"\nfile = \"../x\"\nsha256 = \"abc\"\nextra = 1\n\
         [decision]\nblock = \"high\"\nreview = 0.5\nwatch = 0.5\nfallback = 3\nreasons = 99\n\
         [network]\noutput = \"odds\"\nlayers = [{ linear = \"a\", activation = \"relu\" }, { activation = \"swish\" }, 7]\n",
    )
    .unwrap();
    let error = load(made.dir.path(), &LoadOptions::default()).unwrap_err();
    assert!(error.file().ends_with("model.toml"));
    let found: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    for expected in [
        "name: expected 1 to 128 bytes",
        "version: expected a text, found nothing",
        "format: expected one of \"safetensors\", \"onnx\", \"lightgbm\", \"xgboost\", found \"pickle\"",
        "file: expected the name of a file in the bundle, found the text \"../x\"",
        "sha256: expected 64 hexadecimal digits, found 3 characters",
        "extra: unknown key; expected one of: name, version, format",
        "decision.block: expected a threshold: a finite number",
        "decision.otherwise: expected a text, found nothing",
        "decision.fallback: expected a text, found 3",
        "decision.reasons: expected a whole number from 0 to 8, found 99",
        "decision.watch: the same threshold as \"review\"",
        "network.output: expected \"logit\", \"probability\" or \"raw\", found \"odds\"",
        "network.layers[0].: expected exactly one of linear, batch-norm, activation",
        "network.layers[1].activation: expected relu, leaky-relu",
        "network.layers[2]: expected a table, found 7",
        "feature: expected at least one [[feature]]",
    ] {
        assert!(found.iter().any(|error| error.starts_with(expected)), "{expected}\nin {found:#?}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let made = Made::new();
    assert!(made.refused().contains("model.toml: cannot read the bundle's manifest"));
    made.write();
    std::fs::remove_file(made.path("model.safetensors")).unwrap();
    assert!(made.refused().contains("model.safetensors: cannot read the model"));
    let error = load(Path::new("/nonexistent/bundle"), &LoadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/bundle: expected the directory of a bundle"), "{error}");
    std::fs::write(made.path("model.toml"), "name = ").unwrap();
    assert!(made.refused().contains("expected TOML"));
    std::fs::write(made.path("model.toml"), b"name = \"\xff\"").unwrap();
    assert!(made.refused().contains("expected UTF-8"));
}

#[test]
fn a_bare_weights_file_says_what_it_lacks() {
    let made = Made::new();
    made.write();
    let bare = |file: &str| load(&made.path(file), &LoadOptions::default()).unwrap_err().to_string();
    assert!(bare("model.safetensors").contains("names and shapes but no network"));
    std::fs::write(made.path("model.pkl"), "x").unwrap();
    assert!(bare("model.pkl").contains("expected a bundle, or a file"));
}

#[test]
fn a_changed_file_is_refused_by_its_hash() {
    let made = Made::new();
    made.write();
    let mut bytes = std::fs::read(made.path("model.safetensors")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(made.path("model.safetensors"), &bytes).unwrap();
    let error = made.refused();
    assert!(error.contains("expected sha256") && file_of(&error), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_refused_also_with_the_right_hash() {
    let made = Made::new();
    made.write();
    let bytes = std::fs::read(made.path("model.safetensors")).unwrap();
    for length in 0..bytes.len() {
        std::fs::write(made.path("model.safetensors"), &bytes[..length]).unwrap();
        made.seal();
        let error = made.refused();
        assert!(file_of(&error) && error.contains("expected"), "{length}: {error}");
    }
    std::fs::write(made.path("model.safetensors"), [&bytes[..], b"x"].concat()).unwrap();
    made.seal();
    assert!(made.refused().contains("cut off or too long"));
}

#[test]
fn sizes_that_lie_cost_nothing() {
    let made = Made::new();
    made.write();
    let header = |json: &str| {
        let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        bytes
    };
    let huge = "{\"net.0.weight\":{\"dtype\":\"F32\",\"shape\":[1000000000000,2],\"data_offsets\":[0,8000000000000]}}";
    let overflow = "{\"net.0.weight\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}";
    let empty = "{\"net.0.weight\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,0],\"data_offsets\":[0,0]}}";
    let nested = "[".repeat(100_000);
    let lies = [header(huge), header(overflow), header(empty), header(&nested), u64::MAX.to_le_bytes().to_vec()];
    for bytes in lies {
        std::fs::write(made.path("model.safetensors"), bytes).unwrap();
        made.seal();
        let error = made.refused();
        assert!(file_of(&error), "{error}");
    }
}

#[test]
fn tensors_that_do_not_fit_are_named_with_both_shapes() {
    let linear = "{ linear = \"net.0\" }";
    let cases = [
        (
            Made::new().with("net.0.weight", tensor(&[0.0; 3], &[1, 3])),
            "net.0.weight: expected shape [out, 2] with out from 1 to 65536, found [1, 3]",
        ),
        (Made::new().with("net.0.bias", tensor(&[0.0; 2], &[2])), "net.0.bias: expected shape [1], found [2]"),
        (Made::new().without("net.0.bias"), "net.0.bias: expected this tensor, found none of that name"),
        (Made::new().with("net.9.bias", tensor(&[0.0], &[1])), "net.9.bias: no layer of [network] names this tensor"),
        (
            Made::new().with("net.0.weight", tensor(&[1.0, f32::NAN], &[1, 2])),
            "net.0.weight: expected finite f32 numbers, found NaN at 1",
        ),
        (
            Made::new().with("net.0.bias", tensor(&[f32::INFINITY], &[1])),
            "net.0.bias: expected finite f32 numbers, found inf at 0",
        ),
        (
            Made::new().with("net.0.bias", Tensor::new(&[1e300f64], &Device::Cpu).unwrap()),
            "net.0.bias: expected finite f32 numbers, found inf at 0",
        ),
        (
            Made::new().with("net.0.bias", Tensor::new(&[1u8], &Device::Cpu).unwrap()),
            "net.0.bias: expected dtype F32, F64, F16 or BF16, found U8",
        ),
        (
            Made::new().edit(linear, "{ linear = \"net.0\" }, { batch-norm = \"net.1\" }"),
            "net.1.running_var: expected this tensor",
        ),
        (
            Made::new()
                .edit(linear, "{ linear = \"net.0\" }, { activation = \"relu\" }, { batch-norm = \"net.1\" }")
                .with("net.1.weight", tensor(&[1.0], &[1]))
                .with("net.1.bias", tensor(&[1.0], &[1]))
                .with("net.1.running_mean", tensor(&[1.0], &[1]))
                .with("net.1.running_var", tensor(&[1.0], &[1])),
            "net.1: a batch-norm needs a linear layer right before or after it",
        ),
        (
            Made::new()
                .edit("output = \"logit\"", "output = \"raw\"")
                .with("net.0.weight", tensor(&[0.0; 6], &[3, 2]))
                .with("net.0.bias", tensor(&[0.0; 3], &[3])),
            "class: output \"output\" has 3 numbers: expected a number from 0 to 2, found none",
        ),
    ];
    for (made, expected) in cases {
        let error = made.written_and_refused();
        assert!(error.contains(expected) && file_of(&error), "{expected}\nin {error}");
    }
}

mod arbitrary {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn bytes_changed_in_a_weights_file_never_panic(changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8)) {
            let made = Made::new();
            made.write();
            let mut bytes = std::fs::read(made.path("model.safetensors")).unwrap();
            for (at, value) in changes {
                let length = bytes.len();
                bytes[at.index(length)] = value;
            }
            std::fs::write(made.path("model.safetensors"), &bytes).unwrap();
            made.seal();
            if let Ok(bundle) = load(made.dir.path(), &LoadOptions::default()) {
                bundle.scorer(1).score(&[1.0, 1.0], &mut [0.0]);
            }
        }

        #[test]
        fn text_changed_in_a_manifest_never_panics(at in any::<proptest::sample::Index>(), length in 0usize..20, text in "[ -~\n]{0,12}") {
            let mut manifest = MANIFEST.to_owned();
            let start = at.index(manifest.len());
            let end = (start + length).min(manifest.len());
            manifest.replace_range(start..end, &text);
            let _ = Manifest::parse(&manifest, Path::new("model.toml"));
        }
    }
}

/// A pipe in a bundle's place was opened and waited for, and with it every later reload.
#[test]
fn a_pipe_in_a_bundle_is_refused_and_not_waited_for() {
    for file in ["model.toml", "model.safetensors", "parity.ndjson"] {
        let made = Made::new();
        made.write();
        let _ = std::fs::remove_file(made.path(file));
        assert!(std::process::Command::new("mkfifo").arg(made.path(file)).status().unwrap().success());
        assert!(made.refused().contains("expected a regular file"), "{file}");
    }
}
