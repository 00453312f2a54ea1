//! From files to a [`Config`]: read, merged, typed, checked.

use super::{
    Config, Loaded, Origin, Problem, Problems, admin,
    client::Names,
    cross, dedup, files, limits, log, model,
    node::{self, Entry, Env, FILE_BYTES_MAX, Node, Table, Value},
    quarantine, replay, root,
    schema::{keys_of, keys_of_type, named, top_level_keys},
    section::{Reader, Section},
    sink, source, windows,
};
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Most files in conf.d.
pub const CONF_D_FILES_MAX: usize = 256;

/// One file's name and text.
#[derive(Clone, Debug)]
pub struct Text {
    pub file: PathBuf,
    pub text: String,
}

/// Reads the config file and what lies in `conf.d` beside it, and looks at the files it names.
///
/// # Errors
/// Every fault that could be found, at once.
pub fn load(file: &Path) -> Result<Loaded, Problems> {
    load_with(file, &mut |_, _| Vec::new())
}

/// A look at the things behind a config that is typed, with where each key's value comes from.
pub type Look<'a> = dyn FnMut(&Config, &dyn Fn(&str) -> Origin) -> Vec<Problem> + 'a;

/// The same, with a further look (at the model, say) whose faults are reported together with the others. It
/// is left out where `[model]` itself is at fault, or a file is no TOML.
///
/// # Errors
/// Every fault that could be found, at once.
pub fn load_with(file: &Path, look: &mut Look<'_>) -> Result<Loaded, Problems> {
    let main = read(file).map_err(|problem| Problems(vec![*problem]))?;
    let mut problems = Vec::new();
    let mut texts = vec![main];
    for path in conf_d(file, &mut problems) {
        match read(&path) {
            Ok(text) => texts.push(text),
            Err(problem) => problems.push(*problem),
        }
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let env = |name: &str| std::env::var(name).ok();
    let (config, mut reader) = assemble(&texts, &host, &env);
    files::check(&mut reader);
    if let Some(config) = &config
        && !reader.broken
        // Without the budget a model could only be said not to fit.
        && !reader.problems.iter().any(|problem| problem.key.starts_with("model") || problem.key == "limits.memory")
    {
        let more = look(config, &|key| reader.origin(key));
        reader.problems.extend(more);
    }
    reader.problems.extend(problems);
    finish(config, reader, &texts)
}

/// The same of texts alone: files that they name are not looked at.
///
/// # Errors
/// Every fault that could be found, at once.
pub fn parse(texts: &[Text], host: &str, env: &Env<'_>) -> Result<Loaded, Problems> {
    let (config, reader) = assemble(texts, host, env);
    finish(config, reader, texts)
}

fn finish(config: Option<Config>, reader: Reader, texts: &[Text]) -> Result<Loaded, Problems> {
    let files = texts.iter().map(|text| text.file.clone()).collect();
    match config {
        Some(config) if reader.problems.is_empty() => {
            Ok(Loaded { config, settings: reader.settings, warnings: Problems(reader.warnings).sorted().0, files })
        }
        _ => Err(Problems(reader.problems).sorted()),
    }
}

fn assemble(texts: &[Text], host: &str, env: &Env<'_>) -> (Option<Config>, Reader) {
    let mut syntax = Vec::new();
    let mut merged = Table::new();
    for text in texts {
        node::merge(&mut merged, node::parse(&text.file, &text.text, env, &mut syntax));
    }
    let mut reader = Reader::default();
    let first = texts.first().map_or(Path::new(""), |text| text.file.as_path());
    let top = Entry {
        key: Origin::File { file: first.into(), line: 1, column: 1 },
        node: Node { value: Value::Table(merged), origin: Origin::Default },
    };
    let config = read_tables(&mut reader, &top, host);
    if let Some(config) = &config {
        cross::check(config, &mut reader);
    }
    if !syntax.is_empty() {
        // What could be read of a broken text is a guess: what seems missing may stand in the broken part,
        // and what seems wrong on a broken line is the same fault again.
        let broken = |p: &Problem| syntax.iter().any(|s: &Problem| s.file == p.file && s.line == p.line);
        reader.problems.retain(|p| p.found != "nothing" && !broken(p));
        reader.named.retain(|named| !broken(&Problem::at(&named.origin, "", "")));
        reader.problems.append(&mut syntax);
        reader.broken = true;
    }
    (config, reader)
}

fn read_tables(reader: &mut Reader, top: &Entry, host: &str) -> Option<Config> {
    let mut whole = Section::open(reader, "", Some(top), &top_level_keys());
    let (instance, state_dir) = root::read(&mut whole, host);
    let Value::Table(tables) = &top.node.value else { return None };
    macro_rules! table {
        ($module:ident) => {{
            let path = stringify!($module);
            $module::read(&mut Section::open(reader, path, tables.get(path), keys_of(path)))
        }};
    }
    let (limits, dedup, model, admin) = (table!(limits), table!(dedup), table!(model), table!(admin));
    let (log, quarantine, windows) = (table!(log), table!(quarantine), table!(windows));
    let replay = table!(replay);

    let mut sources = Vec::new();
    let entry = tables.get("sources");
    for (name, kind, entry) in named(reader, "sources", entry, source::SOURCE_TYPES, source::SOURCE_TYPES_LATER) {
        let (path, keys) = (format!("sources.{name}"), keys_of_type("sources", kind));
        let mut section = Section::open(reader, &path, Some(entry), keys);
        sources.push(source::read(&mut section, kind, Names { instance: &instance, name }));
    }
    if !entry.is_some_and(|e| !matches!(&e.node.value, Value::Table(t) if t.is_empty())) {
        let message = "sources: there is no source, so no event could come in; expected at least one [sources.NAME]";
        reader.problems.push(Problem::at(&top.key, "sources", message).with("at least one [sources.NAME]", "nothing"));
    }
    let mut sinks = Vec::new();
    let entry = tables.get("sinks");
    for (name, kind, entry) in named(reader, "sinks", entry, sink::SINK_TYPES, sink::SINK_TYPES_LATER) {
        let (path, keys) = (format!("sinks.{name}"), keys_of_type("sinks", kind));
        let mut section = Section::open(reader, &path, Some(entry), keys);
        sinks.push(sink::read(&mut section, kind, Names { instance: &instance, name }));
    }
    Some(Config {
        instance,
        state_dir,
        limits,
        dedup,
        model,
        windows,
        admin: admin?,
        // A faulty one has noted its fault and is left out, so that the others are still checked together.
        sources: sources.into_iter().flatten().collect(),
        sinks: sinks.into_iter().flatten().collect(),
        log,
        quarantine,
        replay,
    })
}

/// `conf.d/*.toml` beside the file, in name order.
fn conf_d(file: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new("")).join("conf.d");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problems.push(unreadable(&folder, &error));
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    paths.sort();
    if paths.len() > CONF_D_FILES_MAX {
        problems.push(Problem::of_file(
            &folder,
            format!("expected at most {CONF_D_FILES_MAX} files, found {}", paths.len()),
        ));
        paths.truncate(CONF_D_FILES_MAX);
    }
    paths
}

fn read(path: &Path) -> Result<Text, Box<Problem>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX) + 1;
    fs::File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| Box::new(unreadable(path, &error)))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Text { file: path.to_owned(), text }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let whole = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default()).into_owned();
            let origin = node::Places::new(path, &whole).at(whole.len());
            Err(Box::new(Problem::at(&origin, "", "expected UTF-8 text, found another byte")))
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let mut problem = Problem::of_file(path, format!("cannot be read: {error}"));
    problem.permission = error.kind() == io::ErrorKind::PermissionDenied;
    problem
}
