//! A bundle of a manifest and weights as a state dict: the first line says where the manifest ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::LazyLock;
use verdictd::model::{LoadOptions, hex_text, load};

/// A directory of its own for each process that fuzzes, in memory where there is room for it.
static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let dir = root.join(format!("verdictd-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory for the bundle");
    dir
});

fuzz_target!(|data: &[u8]| {
    let Some((manifest, weights)) = split(data) else { return };
    std::fs::write(DIR.join("model.toml"), manifest).expect("the manifest");
    std::fs::write(DIR.join("model.safetensors"), weights).expect("the weights");
    if let Err(error) = load(&DIR, &LoadOptions::default()) {
        assert!(!error.to_string().is_empty());
    }
});

/// The manifest up to a line `---`, the weights behind it. The hash in it is made the weights' own.
fn split(data: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    const MARK: &[u8] = b"\n---\n";
    let at = data.windows(MARK.len()).position(|part| part == MARK)?;
    let (manifest, weights) = (&data[..at], &data[at + MARK.len()..]);
    let hash = hex_text(&Sha256::digest(weights).into());
    let manifest = String::from_utf8_lossy(manifest).replace("HASH", &hash);
    Some((manifest.into_bytes(), weights))
}
