//! The bundle that comes with verdictd, in the binary itself, so that `demo` and `bench` need no files.

use std::fs;
use std::io;
use std::path::Path;

const FILES: [(&str, &[u8]); 3] = [
    ("model.toml", include_bytes!("../../models/card-fraud/model.toml")),
    ("model.safetensors", include_bytes!("../../models/card-fraud/model.safetensors")),
    ("parity.ndjson", include_bytes!("../../models/card-fraud/parity.ndjson")),
];

/// Writes the bundle `card-fraud` into `dir`, which is made.
///
/// # Errors
/// When a file cannot be written.
pub fn unpack(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    FILES.iter().try_for_each(|(name, bytes)| fs::write(dir.join(name), bytes))
}
