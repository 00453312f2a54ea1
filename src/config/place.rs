//! Where a key stands in a TOML file that is not the config, such as a bundle's model.toml.

use super::{
    Origin, Problem,
    node::{self, Entry, FILE_BYTES_MAX, Node, Table, Value},
};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// The places of all keys of one file. Without any where the file cannot be read.
#[derive(Clone, Debug)]
pub struct KeyPlaces {
    file: PathBuf,
    table: Table,
    /// What is wrong with its syntax, each with its place.
    pub syntax: Vec<Problem>,
}

impl KeyPlaces {
    /// Reads at most [`FILE_BYTES_MAX`] of a file.
    #[must_use]
    pub fn of_file(file: &Path) -> Self {
        let mut text = String::new();
        let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX);
        // What cannot be read has been reported by who needed it.
        let _ = fs::File::open(file).and_then(|opened| opened.take(limit).read_to_string(&mut text));
        Self::of_text(file, &text)
    }

    fn of_text(file: &Path, text: &str) -> Self {
        let mut syntax = Vec::new();
        // No variables in it: whatever stands between braces is left as it is.
        let table = node::parse(file, text, &|_| Some(String::new()), &mut syntax);
        syntax.retain(|problem| problem.key.is_empty());
        Self { file: file.to_owned(), table, syntax }
    }

    /// Where the value of `key` stands, as in `feature[2].clip.min`, or the key itself where it is `unknown`; else what is
    /// nearest above it; the file's beginning where nothing of it is there.
    #[must_use]
    pub fn at(&self, key: &str, unknown: bool) -> Origin {
        let mut place = Origin::File { file: self.file.as_path().into(), line: 1, column: 1 };
        let mut parts = key.split(['.', '[', ']']).filter(|part| !part.is_empty());
        let Some(Entry { key, node }) = parts.next().and_then(|name| self.table.get(name)) else { return place };
        let mut node: &Node = node;
        place.clone_from(if unknown { key } else { &node.origin });
        for part in parts {
            match &node.value {
                Value::Table(table) => {
                    let Some(entry) = table.get(part) else { break };
                    node = &entry.node;
                    place.clone_from(if unknown { &entry.key } else { &node.origin });
                }
                Value::Array(items) => {
                    let Some(item) = part.parse().ok().and_then(|n: usize| items.get(n)) else { break };
                    node = item;
                    place.clone_from(&node.origin);
                }
                _ => break,
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_where_it_stands_or_what_is_nearest_to_it() {
        let text = "name = \"x\"\n[decision]\nblock = 0.9\n[[feature]]\nfrom = \"/a\"\n\
                    [[feature]]\nfrom = \"/b\"\ntransform = [{ log1p = true },\n  { clip = { min = 1 } }]\n";
        let places = KeyPlaces::of_text(Path::new("m.toml"), text);
        let at = |key: &str, unknown| match places.at(key, unknown) {
            Origin::File { line, column, .. } => (line, column),
            Origin::Default => (0, 0),
        };
        assert_eq!(at("name", false), (1, 8));
        assert_eq!(at("name", true), (1, 1));
        assert_eq!(at("decision.block", false), (3, 9));
        assert_eq!(at("feature[1].from", false), (7, 8));
        assert_eq!(at("feature[1].transform[1].clip.min", false), (9, 20));
        assert_eq!(at("feature[1].missing", false), at("feature[1]", false), "what is missing: its table");
        assert_eq!(at("network", false), (1, 1));
    }
}
