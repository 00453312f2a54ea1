//! `model.toml`: a bundle's name, features, decisions, network and the hash of its weights.

use super::decision::Decisions;
use super::network::Network;
use super::{ModelError, hex};
use crate::features::{FeatureSet, Problems, Reader, found, read_features};
use std::path::Path;
use std::sync::Arc;
use toml::Value;

/// Name of the manifest in a bundle's directory.
pub const MANIFEST_FILE: &str = "model.toml";
/// Largest manifest read.
pub const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Longest name and version.
const NAME_BYTES_MAX: usize = 128;
/// Formats that the interface names and this version does not read.
const FORMATS_LATER: [&str; 3] = ["onnx", "lightgbm", "xgboost"];

/// A manifest, read and checked by itself; the weights are not looked at.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    /// Grows from one version of a name to the next, so that an older one can be told.
    pub serial: Option<u64>,
    /// File name of the weights, in the bundle's directory.
    pub file: String,
    pub sha256: [u8; 32],
    pub decisions: Decisions,
    pub features: Arc<FeatureSet>,
    pub network: Network,
}

impl Manifest {
    /// Reads a manifest's text. `path` is for the error.
    ///
    /// # Errors
    /// With every problem at once, each with its key and what was expected.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ModelError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ModelError::Refused {
            file: path.to_owned(),
            what: format!("expected TOML: {}", error.to_string().trim_end()),
        })?;
        let mut problems = Problems::default();
        let manifest = Self::read(&table, &mut problems);
        match manifest {
            Some(manifest) if problems.0.is_empty() => Ok(manifest),
            _ => Err(ModelError::Manifest { file: path.to_owned(), problems: problems.0 }),
        }
    }

    fn read(table: &toml::Table, problems: &mut Problems) -> Option<Self> {
        let mut reader = Reader::new(table, "");
        let name = read_name(&mut reader, "name", problems);
        let version = read_name(&mut reader, "version", problems);
        let serial = reader.whole("serial", 0..=usize::MAX, problems).and_then(|serial| u64::try_from(serial).ok());
        let dense = read_format(&mut reader, problems);
        let file = read_file(&mut reader, problems);
        let sha256 = reader.required_text("sha256", problems).and_then(|text| {
            let hash = hex::decode(text);
            if hash.is_none() {
                problems.add("sha256", format!("expected 64 hexadecimal digits, found {} characters", text.len()));
            }
            hash
        });
        let decisions = match reader.table("decision", problems) {
            Some(table) => Some(Decisions::read(table, problems)),
            None => absent(table, "decision", "expected a table [decision]", problems),
        };
        let features = match reader.array("feature", problems) {
            Some(list) => Some(read_features(list, problems)),
            None => absent(table, "feature", "expected at least one [[feature]]", problems),
        };
        let network = match reader.table("network", problems) {
            Some(table) => Some(Network::read(table, problems)),
            None if dense => absent(
                table,
                "network",
                "expected a table [network]: tensors have names and shapes, but the layers only the manifest can say",
                problems,
            ),
            None => None,
        };
        reader.finish(problems);
        Some(Self {
            name: name?,
            version: version?,
            serial,
            file: file?,
            sha256: sha256?,
            decisions: decisions?,
            features: Arc::new(features?),
            network: network?,
        })
    }

    /// `name@version`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Reports a table that is not there; one of the wrong type has been reported already.
fn absent<T>(table: &toml::Table, key: &str, expected: &str, problems: &mut Problems) -> Option<T> {
    if !table.contains_key(key) {
        problems.add(key, expected);
    }
    None
}

fn read_name(reader: &mut Reader<'_>, key: &'static str, problems: &mut Problems) -> Option<String> {
    let text = reader.required_text(key, problems)?;
    if text.is_empty() || text.len() > NAME_BYTES_MAX || text.chars().any(|c| c.is_control() || c == '@') {
        problems.add(
            key,
            format!("expected 1 to {NAME_BYTES_MAX} bytes without \"@\" and control characters, found {:?}", {
                text.chars().take(64).collect::<String>()
            }),
        );
    }
    Some(text.to_owned())
}

/// True for the one format there is, so that its table is asked for.
fn read_format(reader: &mut Reader<'_>, problems: &mut Problems) -> bool {
    match reader.required_text("format", problems) {
        Some("safetensors") => true,
        Some(later) if FORMATS_LATER.contains(&later) => {
            problems.add("format", format!("{later} is not in this version; expected \"safetensors\""));
            false
        }
        Some(other) => {
            problems.add("format", format!("expected \"safetensors\", found {other:?}"));
            false
        }
        None => false,
    }
}

fn read_file(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<String> {
    let text = reader.required_text("file", problems)?;
    let plain = Path::new(text).file_name().is_some_and(|name| name == text) && !text.contains('\\');
    if !plain {
        // A bundle is one directory: what it loads is signed and hashed with it.
        problems.add("file", format!("expected the name of a file in the bundle, found {}", found(&Value::from(text))));
        return None;
    }
    Some(text.to_owned())
}
