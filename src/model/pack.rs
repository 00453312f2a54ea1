//! From a bare model file to a bundle: its manifest as text, ready to be edited and signed.
//!
//! A template, where one is given, says everything but what the file decides: its `name`, `version`, `format`, `file`,
//! `sha256` and `[files]`. Where it has no `[[feature]]`, one is made for each input under the input's own name, and where
//! it has no `[decision]`, the usual thresholds are set if the score is a probability. Parity vectors are hashed too; files
//! of lists beside the template are copied, and not hashed, as they change.

use super::decision::Decisions;
use super::format::Format;
use super::load::{LoadOptions, read_limited};
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_FILE, is_plain};
use super::parity::PARITY_FILE;
use super::{Bundle, Calibration, Choice, ModelError, Scoring, bare, hex, is_generic};
use crate::features::{ColumnKind, LIST_BYTES_MAX, Problems};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What to make.
#[derive(Clone, Debug)]
pub struct Packing {
    pub file: PathBuf,
    pub name: String,
    pub version: String,
    /// Grows from one version of a name to the next.
    pub serial: Option<u64>,
    /// The rest of the manifest.
    pub template: Option<PathBuf>,
    /// Rows with their scores, which must hold.
    pub parity: Option<PathBuf>,
    /// Which number is the score; what is set here stands in no template.
    pub choice: Choice,
    /// The bundle: made, or empty.
    pub out: PathBuf,
}

/// A bundle that was made.
#[derive(Debug)]
pub struct Packed {
    pub bundle: Bundle,
    /// What its maker should know, a line each.
    pub warnings: Vec<String>,
}

/// Keys that the file decides.
const OURS: [&str; 7] = ["name", "version", "serial", "format", "file", "sha256", "files"];

/// Makes the bundle and loads it.
///
/// # Errors
/// When the file is refused, the folder holds something, or the bundle does not load: then nothing is left of it.
pub fn pack(packing: &Packing, options: &LoadOptions) -> Result<Packed, ModelError> {
    let format = bare::format_of(&packing.file)?;
    let template = packing.template.as_deref().map(read_template).transpose()?;
    let bare = match (format, &template) {
        (Format::Safetensors, Some(_)) => None,
        _ => Some(super::load(&packing.file, options)?),
    };
    let has = |key: &str| template.as_ref().is_some_and(|(table, _)| table.contains_key(key));
    if let Some(name) = bare.iter().flat_map(|bare| bare.program.files()).find(|name| name.contains('/')) {
        let what =
            format!("keeps tensors in {name:?}: expected them in a file right beside the model, as a bundle has it");
        return Err(ModelError::Refused { file: packing.file.clone(), what });
    }
    let out = Out::new(&packing.out)?;
    let bytes = read_limited(&packing.file, options.file_bytes_max(), "cannot read the model")?;
    let file = packing.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = String::from(
        "# A verdictd bundle: see the guide \"models\". What stands here is hashed, and signed where a key is configured.\n",
    );
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let _ = writeln!(text, "name = {}\nversion = {}", quoted(&packing.name), quoted(&packing.version));
    if let Some(serial) = packing.serial {
        let _ = writeln!(text, "serial = {serial}");
    }
    let sha256 = hex::encode(&Sha256::digest(&bytes).into());
    let _ = writeln!(text, "format = \"{}\"\nfile = {}\nsha256 = \"{sha256}\"", format.name(), quoted(&file));
    let choice = &packing.choice;
    let given =
        [("output", choice.output.is_some()), ("class", choice.class.is_some()), ("score", choice.score.is_some())];
    if let (Some((key, _)), Some(file)) = (given.iter().find(|(key, given)| *given && has(key)), &packing.template) {
        let what = format!("{key}: expected it either in the template or as an option, found both");
        return Err(ModelError::Refused { file: file.clone(), what });
    }
    for (key, value) in [("output", choice.output.as_deref()), ("class", choice.class.as_deref())] {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {}", quoted(value));
        }
    }
    if let Some(score) = choice.score {
        let _ = writeln!(text, "score = \"{}\"", score.name());
    }
    if let Some((_, template)) = &template {
        text.push_str(template);
    }
    if let Some(bare) = &bare {
        if !has("decision") {
            text.push_str(&usual_decisions(bare, choice));
        }
        if !has("feature") {
            text.push_str(&usual_features(bare));
        }
    }
    let mut beside: Vec<(String, Vec<u8>)> = Vec::new();
    for name in bare.iter().flat_map(|bare| bare.program.files()) {
        let from = packing.file.with_file_name(name);
        beside.push((name.clone(), read_limited(&from, options.file_bytes_max(), "cannot read a file of the model")?));
    }
    if let Some(parity) = &packing.parity {
        let bytes = read_limited(parity, options.file_bytes_max(), "cannot read the parity vectors")?;
        beside.push((PARITY_FILE.to_owned(), bytes));
    }
    if !beside.is_empty() {
        text.push_str("\n[files]\n");
    }
    for (name, bytes) in &beside {
        let _ = writeln!(text, "{} = \"{}\"", quoted(name), hex::encode(&Sha256::digest(bytes).into()));
        out.write(name, bytes)?;
    }
    // Before the model and the manifest, so that no list takes their place.
    for (from, name) in packing
        .template
        .iter()
        .zip(&template)
        .flat_map(|(from, (table, _))| list_files(table).map(move |name| (from.with_file_name(name), name)))
    {
        out.write(name, &read_limited(&from, LIST_BYTES_MAX, "cannot read the file of a list")?)?;
    }
    out.write(&file, &bytes)?;
    out.write(MANIFEST_FILE, text.as_bytes())?;
    let bundle = super::load(&packing.out, options).map_err(|error| named(error, packing))?;
    out.keep();
    let warnings = warnings(&bundle, packing);
    Ok(Packed { bundle, warnings })
}

/// The error with the file that its maker has: what was made is gone by then.
fn named(error: ModelError, packing: &Packing) -> ModelError {
    match error {
        ModelError::Manifest { problems, .. } => {
            ModelError::Weights { file: packing.template.clone().unwrap_or_else(|| packing.file.clone()), problems }
        }
        ModelError::Weights { problems, .. } => ModelError::Weights { file: packing.file.clone(), problems },
        other => other,
    }
}

/// The template's keys and its text.
fn read_template(file: &Path) -> Result<(toml::Table, String), ModelError> {
    let refused = |what: String| ModelError::Refused { file: file.to_owned(), what };
    let bytes = read_limited(file, MANIFEST_BYTES_MAX, "cannot read the template")?;
    let text = String::from_utf8(bytes).map_err(|_| refused("expected UTF-8".to_owned()))?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| refused(format!("expected TOML: {}", error.to_string().trim_end())))?;
    match OURS.iter().find(|key| table.contains_key(**key)) {
        Some(key) => {
            Err(refused(format!("{key}: expected no such key in a template; the file and the options say it")))
        }
        None => Ok((table, format!("\n{}\n", text.trim_end()))),
    }
}

/// The files of lists that stand beside the template.
fn list_files(template: &toml::Table) -> impl Iterator<Item = &str> {
    let lists = template.get("list").and_then(toml::Value::as_array).into_iter().flatten();
    lists.filter_map(|list| list.get("file")?.as_str()).filter(|name| is_plain(name))
}

/// The usual thresholds, where the score that was chosen is a probability.
fn usual_decisions(bare: &Bundle, choice: &Choice) -> String {
    let narrow = bare.program.is_f32();
    let scoring = Scoring::choose(bare.outputs(), choice, Calibration::None, narrow, &mut Problems::default());
    let what = scoring.as_ref().map_or_else(String::new, Scoring::explain);
    let decisions = Decisions::usual(scoring.is_some_and(|scoring| scoring.is_probability()));
    let mut text = format!("\n# The score: {what}.\n[decision]\n");
    for (name, threshold) in decisions.thresholds() {
        let _ = writeln!(text, "{name} = {threshold}");
    }
    if decisions.thresholds().next().is_none() {
        text.push_str(
            "# The score is no probability: say from which score on a decision is taken, as in\n# block = 100.0\n",
        );
    }
    let _ = writeln!(text, "otherwise = \"{}\"\nfallback = \"{}\"", decisions.otherwise(), decisions.fallback());
    text
}

/// A feature for each input.
fn usual_features(bare: &Bundle) -> String {
    let mut text = String::new();
    for (table, column) in bare::feature_tables(bare.columns()).iter().zip(bare.columns()) {
        let _ = writeln!(text, "\n[[feature]]{}", comment(&column.kind));
        for key in ["name", "from", "missing"] {
            if let Some(value) = table.get(key) {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
    }
    text
}

/// What the model takes there, where it is not the usual number.
fn comment(kind: &ColumnKind) -> &'static str {
    match kind {
        ColumnKind::F32 | ColumnKind::F64 => "",
        ColumnKind::I64 => "                      # a whole number",
        ColumnKind::Text(_) => "                      # a text",
    }
}

fn warnings(bundle: &Bundle, packing: &Packing) -> Vec<String> {
    let mut warnings = Vec::new();
    if bundle.columns().iter().all(|column| is_generic(&column.name)) && packing.template.is_none() {
        warnings.push(
            "the file has no names for its inputs: give each [[feature]] the field that it comes from, in this order"
                .to_owned(),
        );
    }
    if bundle.manifest.format == Format::Onnx && packing.parity.is_none() {
        warnings.push(
            "an exported graph is not always the model it was made from (missing values, categories, random forests of \
             LightGBM): give --parity rows with the scores of the library itself"
                .to_owned(),
        );
    }
    if bundle.manifest.decisions.thresholds().next().is_none() {
        warnings.push("no threshold is set under [decision]: every score is answered with `otherwise`".to_owned());
    }
    warnings
}

/// The folder being filled; removed again unless it is kept.
struct Out {
    dir: PathBuf,
    made: bool,
    kept: std::cell::Cell<bool>,
}

impl Out {
    fn new(dir: &Path) -> Result<Self, ModelError> {
        let io = |source| ModelError::Io { file: dir.to_owned(), what: "cannot make the bundle", source };
        let made = !dir.exists();
        if !made && fs::read_dir(dir).map_err(io)?.next().is_some() {
            let what = "expected a new folder or an empty one: a bundle in use is not written over".to_owned();
            return Err(ModelError::Refused { file: dir.to_owned(), what });
        }
        fs::create_dir_all(dir).map_err(io)?;
        Ok(Self { dir: dir.to_owned(), made, kept: std::cell::Cell::new(false) })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ModelError> {
        let file = self.dir.join(name);
        let io = |source| ModelError::Io { file: file.clone(), what: "cannot write the bundle", source };
        fs::write(&file, bytes).map_err(io)?;
        fs::File::open(&file).and_then(|file| file.sync_all()).map_err(io)
    }

    fn keep(&self) {
        self.kept.set(true);
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if self.kept.get() {
            return;
        }
        // What is left of a bundle that does not load must not be taken for one.
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.for_each(|entry| drop(fs::remove_file(entry.path())));
        if self.made {
            drop(fs::remove_dir(&self.dir));
        }
    }
}
