//! A bundle that is not right is refused at start and at `check`, with the file and the reason.

use crate::support::daemon::configured;
use crate::support::site::Site;
use std::path::Path;

/// The fault's name, what does it to a bundle, and what the message must hold.
type Case = (&'static str, fn(&Path), &'static [&'static str]);

fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from} is not in {}", file.display());
    std::fs::write(file, text.replace(from, to)).unwrap();
}

/// Replaces the weights and writes their hash into the manifest, so that only the fault itself is one.
fn with_weights(bundle: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;
    let file = bundle.join("model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let hex = |bytes: &[u8]| {
        Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    let old = hex(&bytes);
    change(&mut bytes);
    std::fs::write(&file, &bytes).unwrap();
    edit(&bundle.join("model.toml"), &old, &hex(&bytes));
}

const CASES: &[Case] = &[
    ("no manifest", |b| std::fs::remove_file(b.join("model.toml")).unwrap(), &["model.toml"]),
    ("no weights", |b| std::fs::remove_file(b.join("model.safetensors")).unwrap(), &["model.safetensors"]),
    (
        "another hash",
        |b| {
            let file = b.join("model.safetensors");
            let mut bytes = std::fs::read(&file).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(file, bytes).unwrap();
        },
        &["model.safetensors", "sha256"],
    ),
    ("cut off weights", |b| with_weights(b, |bytes| bytes.truncate(bytes.len() - 4)), &["model.safetensors"]),
    ("no safetensors at all", |b| with_weights(b, |bytes| *bytes = b"PK\x03\x04".to_vec()), &["model.safetensors"]),
    (
        "a weight that is no number",
        |b| {
            with_weights(b, |bytes| {
                let end = bytes.len();
                bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
            });
        },
        &["NaN"],
    ),
    ("a layer that is not there", |b| edit(&b.join("model.toml"), "\"net.2\"", "\"net.9\""), &["net.9"]),
    ("shapes that do not fit", |b| edit(&b.join("model.toml"), "{ linear = \"net.0\" }, ", ""), &["net.2"]),
    ("an unknown activation", |b| edit(&b.join("model.toml"), "\"relu\"", "\"relo\""), &["relo"]),
    ("an unknown key", |b| edit(&b.join("model.toml"), "fallback =", "fallbock ="), &["fallbock"]),
    ("a threshold that is none", |b| edit(&b.join("model.toml"), "0.9", "\"high\""), &["block"]),
    ("a pointer that is none", |b| edit(&b.join("model.toml"), "\"/amount\"", "\"amount\""), &["amount", "/"]),
    ("a file outside the bundle", |b| edit(&b.join("model.toml"), "model.safetensors", "../../x"), &["../../x"]),
];

#[test]
fn a_bundle_with_a_fault_is_refused_with_its_file_and_reason() {
    for (what, damage, words) in CASES {
        let site = Site::new();
        damage(&site.bundle());
        for command in [["check"], ["run"]] {
            let done = configured(&site, &command);
            assert_eq!(done.status.code(), Some(78), "{what}, {command:?}: {done:?}");
            for word in *words {
                assert!(done.stderr.contains(word), "{what}, {command:?}: expected {word} in\n{}", done.stderr);
            }
        }
    }
}

#[test]
fn without_the_faults_the_same_bundle_is_taken() {
    let site = Site::new();
    with_weights(&site.bundle(), |bytes| {
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&(-5.0_f32).to_le_bytes());
    });
    let done = configured(&site, &["check"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}
