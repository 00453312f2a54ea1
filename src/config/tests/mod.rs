//! Promises of the config as a whole.

mod edges;
mod faults;
mod merging;
mod plans;
mod shipped;

use super::*;
use std::path::Path;

/// The least config: one source, and a bundle elsewhere.
const SOURCE: &str = "[sources.pos]\ntype = \"http\"\nlisten = \"unix:/run/v/events.sock\"\n";

fn env(name: &str) -> Option<String> {
    (name == "SITE").then(|| "north".to_owned())
}

fn parse_all(texts: &[(&str, &str)]) -> Result<Loaded, Problems> {
    let texts: Vec<Text> =
        texts.iter().map(|(file, text)| Text { file: Path::new(file).to_owned(), text: (*text).to_owned() }).collect();
    parse(&texts, "box", &env)
}

fn parse_one(text: &str) -> Result<Loaded, Problems> {
    parse_all(&[("/etc/v/v.toml", text)])
}

/// Its faults as lines.
fn faults(text: &str) -> Vec<String> {
    parse_one(text).map_or_else(|p| p.0.iter().map(ToString::to_string).collect(), |_| Vec::new())
}
