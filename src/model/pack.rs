//! From a bare model file to a bundle: its manifest as text, ready to be edited and signed.
//!
//! A template, where one is given, says everything but what the file decides: its `name`, `version`, `format`, `file`,
//! `sha256` and `[files]`. Without one a feature is made for each input under the input's own name, and the usual
//! thresholds are set where the score is a probability.

use super::format::Format;
use super::load::{LoadOptions, read_limited};
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_FILE};
use super::parity::PARITY_FILE;
use super::{Bundle, ModelError, bare, hex, is_generic};
use crate::features::ColumnKind;
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
    match (&template, &bare) {
        (Some(template), _) => text.push_str(template),
        (None, Some(bare)) => text.push_str(&usual(bare)),
        (None, None) => {}
    }
    if let Some(bare) = &bare {
        let beside = bare.program.files();
        if !beside.is_empty() {
            text.push_str("\n[files]\n");
        }
        for name in beside {
            let from = packing.file.with_file_name(name);
            let bytes = read_limited(&from, options.file_bytes_max(), "cannot read a file of the model")?;
            let _ = writeln!(text, "{} = \"{}\"", quoted(name), hex::encode(&Sha256::digest(&bytes).into()));
            out.write(name, &bytes)?;
        }
    }
    out.write(&file, &bytes)?;
    out.write(MANIFEST_FILE, text.as_bytes())?;
    if let Some(parity) = &packing.parity {
        let bytes = read_limited(parity, options.file_bytes_max(), "cannot read the parity vectors")?;
        out.write(PARITY_FILE, &bytes)?;
    }
    let bundle = super::load(&packing.out, options)?;
    out.keep();
    let warnings = warnings(&bundle, packing);
    Ok(Packed { bundle, warnings })
}

fn read_template(file: &Path) -> Result<String, ModelError> {
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
        None => Ok(format!("\n{}\n", text.trim_end())),
    }
}

/// The rest of a manifest where there is no template.
fn usual(bare: &Bundle) -> String {
    let mut text = format!("\n# The score: {}.\n[decision]\n", bare.scoring.explain());
    let decisions = &bare.manifest.decisions;
    for (name, threshold) in decisions.thresholds() {
        // The thresholds of a bare file have few digits.
        #[allow(clippy::cast_possible_truncation)]
        let threshold = threshold as f32;
        let _ = writeln!(text, "{name} = {threshold}");
    }
    if decisions.thresholds().next().is_none() {
        text.push_str(
            "# The score is no probability: say from which score on a decision is taken, as in\n# block = 100.0\n",
        );
    }
    let _ = writeln!(text, "otherwise = \"{}\"\nfallback = \"{}\"", decisions.otherwise(), decisions.fallback());
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
