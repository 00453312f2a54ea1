//! `model.toml`: a bundle's name, features, decisions, what the score is, and the hash of each file.
//!
//! Beside what every bundle says: `[network]` for safetensors; `output`, `class`, `score` and `[calibration]`
//! ([`super::Choice`], [`super::Calibration`]); `[reasons]` ([`super::ReasonRules`]); `iterations = "all"` for an
//! XGBoost model of which all trees count and not those up to its best iteration; `[[list]]` and `[[rule]]`
//! ([`crate::rules`]); `[files]` with a sha256 each for what
//! an ONNX file keeps beside itself.

use super::calibration::Calibration;
use super::decision::Decisions;
use super::explain::ReasonRules;
use super::format::Format;
use super::network::Network;
use super::scoring::{Choice, ScoreAs};
use super::{ModelError, hex};
use crate::features::{FeatureSet, Problems, Reader, found, read_features};
use crate::rules::RuleSet;
use std::path::Path;
use std::sync::Arc;
use toml::Value;

/// Name of the manifest in a bundle's directory.
pub const MANIFEST_FILE: &str = "model.toml";
/// Largest manifest read.
pub const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Longest name and version.
const NAME_BYTES_MAX: usize = 128;
/// Most files beside the model file.
const FILES_MAX: usize = 64;

/// A manifest, read and checked by itself; the weights are not looked at.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    pub format: Format,
    /// Grows from one version of a name to the next, so that an older one can be told.
    pub serial: Option<u64>,
    /// File name of the weights, in the bundle's directory.
    pub file: String,
    pub sha256: [u8; 32],
    /// What the model file keeps beside itself: names in the bundle's directory, with their hashes.
    pub files: Vec<(String, [u8; 32])>,
    pub decisions: Decisions,
    pub features: Arc<FeatureSet>,
    /// What decides before a threshold does.
    pub rules: RuleSet,
    /// Of safetensors, and only there.
    pub network: Option<Network>,
    pub choice: Choice,
    pub calibration: Calibration,
    pub reasons: ReasonRules,
    /// Whether all trees of an XGBoost model count, also those after its best iteration.
    pub all_iterations: bool,
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
        let manifest = Self::read(&table, path.parent().unwrap_or(Path::new("")), &mut problems);
        match manifest {
            Some(manifest) if problems.0.is_empty() => Ok(manifest),
            _ => Err(ModelError::Manifest { file: path.to_owned(), problems: problems.0 }),
        }
    }

    fn read(table: &toml::Table, folder: &Path, problems: &mut Problems) -> Option<Self> {
        let mut reader = Reader::new(table, "");
        let name = read_name(&mut reader, "name", problems);
        let version = read_name(&mut reader, "version", problems);
        let format = read_format(&mut reader, problems);
        let serial = reader.whole("serial", 0..=usize::MAX, problems).and_then(|serial| u64::try_from(serial).ok());
        let file = read_file(&mut reader, problems);
        let sha256 = reader.required_text("sha256", problems).and_then(|text| read_hash(text, "sha256", problems));
        let files = reader.table("files", problems).map(|table| read_files(&table, problems)).unwrap_or_default();
        let decisions = match reader.table("decision", problems) {
            Some(table) => Some(Decisions::read(table, problems)),
            None => absent(table, "decision", "expected a table [decision]", problems),
        };
        let mut features = match reader.array("feature", problems) {
            Some(list) => Some(read_features(list, problems)),
            None => absent(table, "feature", "expected at least one [[feature]]", problems),
        };
        let lists = reader.array("list", problems).unwrap_or_default();
        let rules = reader.array("rule", problems).unwrap_or_default();
        let rules = features.as_ref().map(|features| RuleSet::read(lists, rules, folder, features, problems));
        if let (Some(features), Some(rules)) = (&mut features, &rules) {
            features.use_lists(rules.lists(), problems);
        }
        let dense = format == Some(Format::Safetensors);
        let network = match reader.table("network", problems) {
            Some(table) if dense || format.is_none() => Some(Network::read(table, problems)),
            Some(_) => {
                problems.add("network", "the file says its network itself: expected this table for safetensors only");
                None
            }
            None if dense => absent(
                table,
                "network",
                "expected a table [network]: tensors have names and shapes, but the layers only the manifest can say",
                problems,
            ),
            None => None,
        };
        let choice = read_choice(&mut reader, problems);
        let calibration = reader.table("calibration", problems).map(|table| Calibration::read(table, problems));
        let reasons = reader.table("reasons", problems).map(|table| ReasonRules::read(table, problems));
        let all_iterations = match reader.text("iterations", problems) {
            None | Some("best") => false,
            Some("all") => true,
            Some(other) => {
                problems.add("iterations", format!("expected \"best\" or \"all\", found {other:?}"));
                false
            }
        };
        reader.finish(problems);
        if dense && network.is_none() {
            return None;
        }
        Some(Self {
            name: name?,
            version: version?,
            format: format?,
            serial,
            file: file?,
            sha256: sha256?,
            files,
            decisions: decisions?,
            features: Arc::new(features?),
            rules: rules.unwrap_or_default(),
            network,
            choice,
            calibration: calibration.unwrap_or_default(),
            reasons: reasons.unwrap_or_default(),
            all_iterations,
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

fn read_format(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Format> {
    let text = reader.required_text("format", problems)?;
    let format = Format::parse(text);
    if format.is_none() {
        let known = Format::ALL.map(|format| format!("{:?}", format.name())).join(", ");
        problems.add("format", format!("expected one of {known}, found {text:?}"));
    }
    format
}

fn read_choice(reader: &mut Reader<'_>, problems: &mut Problems) -> Choice {
    let output = reader.text("output", problems).map(str::to_owned);
    let class = match reader.value("class") {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Integer(number)) => Some(number.to_string()),
        Some(other) => {
            problems.add("class", format!("expected a label or a number from 0, found {}", found(other)));
            None
        }
    };
    let score = reader.text("score", problems).and_then(|text| {
        let score = ScoreAs::parse(text);
        if score.is_none() {
            let known = ScoreAs::ALL.map(|(name, _)| format!("{name:?}")).join(", ");
            problems.add("score", format!("expected one of {known}, found {text:?}"));
        }
        score
    });
    Choice { output, class, score }
}

fn read_hash(text: &str, key: &str, problems: &mut Problems) -> Option<[u8; 32]> {
    let hash = hex::decode(text);
    if hash.is_none() {
        problems.add(key, format!("expected 64 hexadecimal digits, found {} characters", text.len()));
    }
    hash
}

fn read_files(reader: &Reader<'_>, problems: &mut Problems) -> Vec<(String, [u8; 32])> {
    let mut files = Vec::new();
    for (name, value) in reader.rest() {
        let key = reader.key(name);
        if files.len() >= FILES_MAX {
            problems.add(key, format!("expected at most {FILES_MAX} files"));
            break;
        }
        let Some(text) = value.as_str() else {
            problems.add(key, format!("expected the file's sha256, found {}", found(value)));
            continue;
        };
        if !is_plain(name) {
            problems.add(key, "expected the name of a file in the bundle");
        } else if let Some(hash) = read_hash(text, &key, problems) {
            files.push((name.to_owned(), hash));
        }
    }
    files
}

/// Whether it names a file in the bundle's own directory.
pub(super) fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|plain| plain == name) && !name.contains('\\')
}

fn read_file(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<String> {
    let text = reader.required_text("file", problems)?;
    if !is_plain(text) {
        // A bundle is one directory: what it loads is signed and hashed with it.
        problems.add("file", format!("expected the name of a file in the bundle, found {}", found(&Value::from(text))));
        return None;
    }
    Some(text.to_owned())
}
