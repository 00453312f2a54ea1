//! A private folder with all that a daemon needs: config, bundle, sockets, state, sink.

use super::bundle;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The daemon's surroundings; removed when dropped.
pub struct Site {
    folder: TempDir,
    state: PathBuf,
    sink: PathBuf,
    /// Values of the config's tables, by `table.key`, as TOML text.
    settings: Vec<(String, String)>,
    /// Of what runs here, besides the test's own.
    environment: Vec<(String, String)>,
}

impl Site {
    /// With everything in one temporary folder and the defaults of the config.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("verdictd-").tempdir().expect("a temporary folder");
        let state = folder.path().join("state");
        let sink = folder.path().join("verdicts").join("verdicts.ndjson");
        let site = Self { folder, state, sink, settings: Vec::new(), environment: Vec::new() };
        bundle::write(&site.bundle(), "test", "1");
        std::fs::create_dir_all(site.sink.parent().unwrap_or(site.path())).expect("the sink's folder");
        site.write_config();
        site
    }

    /// The same, but the state lies elsewhere.
    pub fn with_state(state: &Path) -> Self {
        let mut site = Self::new();
        state.clone_into(&mut site.state);
        site.write_config();
        site
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn bundle(&self) -> PathBuf {
        self.path().join("bundle")
    }

    pub fn config(&self) -> PathBuf {
        self.path().join("verdictd.toml")
    }

    pub fn events_socket(&self) -> PathBuf {
        self.path().join("events.sock")
    }

    pub fn admin_socket(&self) -> PathBuf {
        self.path().join("admin.sock")
    }

    /// Sets `table.key` of the config to a TOML value and writes it.
    pub fn set(&mut self, key: &str, value: &str) -> &mut Self {
        self.settings.retain(|(k, _)| k != key);
        self.settings.push((key.to_owned(), value.to_owned()));
        self.write_config();
        self
    }

    /// Sets a variable of the environment of what runs here.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes the config: every test's defaults, then what it has set.
    fn write_config(&self) {
        let quoted = |path: PathBuf| format!("{:?}", path.display().to_string());
        let socket = |path: PathBuf| format!("\"unix:{}\"", path.display());
        let mut all = vec![
            ("instance".to_owned(), "\"test\"".to_owned()),
            ("state-dir".to_owned(), quoted(self.state.clone())),
            ("model.bundle".to_owned(), quoted(self.bundle())),
            ("admin.listen".to_owned(), socket(self.admin_socket())),
            ("sources.pos.type".to_owned(), "\"http\"".to_owned()),
            ("sources.pos.listen".to_owned(), socket(self.events_socket())),
            ("sinks.audit.type".to_owned(), "\"file\"".to_owned()),
            ("sinks.audit.path".to_owned(), quoted(self.sink.clone())),
        ];
        for (key, value) in &self.settings {
            all.retain(|(k, _)| k != key);
            all.push((key.clone(), value.clone()));
        }
        // Dotted keys at the root need no order of tables.
        let lines: Vec<String> = all.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        std::fs::write(self.config(), lines.join("\n") + "\n").expect("the config");
    }

    /// `verdictd` with these arguments, `--config` not among them.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_verdictd"));
        command.args(arguments).env_remove("RUST_LOG").current_dir(self.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `verdictd ARGUMENTS --config ITS-CONFIG`.
    pub fn configured(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.arg("--config").arg(self.config());
        command
    }

    /// Every line of the file sink, rotated files first, in order of their first sequence. Not while the sink
    /// may be writing: every line must be whole.
    pub fn sink_lines(&self) -> Vec<String> {
        self.whole_sink_lines().expect("a sink at rest, whose last line is whole")
    }

    /// The same while the sink is at work; none where a line is on its way or a file is being renamed.
    pub fn whole_sink_lines(&self) -> Option<Vec<String>> {
        let folder = self.sink.parent().unwrap_or(self.path());
        let mut files: Vec<Vec<String>> = Vec::new();
        for entry in std::fs::read_dir(folder).expect("the sink's folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "ndjson") {
                let text = String::from_utf8(std::fs::read(&path).ok()?).expect("a sink file that is UTF-8");
                if !text.is_empty() && !text.ends_with('\n') {
                    return None;
                }
                files.push(text.lines().map(str::to_owned).collect());
            }
        }
        files.sort_by_key(|lines| lines.first().map(|line| sequence(line)));
        // Read under its old and its new name.
        let is_twice = files.windows(2).any(|pair| !pair[0].is_empty() && pair[0].first() == pair[1].first());
        (!is_twice).then(|| files.concat())
    }

    pub fn sink(&self) -> &Path {
        &self.sink
    }
}

/// The sequence in a verdict's line.
pub fn sequence(line: &str) -> u64 {
    member(line, "sequence").as_u64().unwrap_or_else(|| panic!("expected a verdict with a sequence, got {line:?}"))
}

/// A member of a JSON line.
pub fn member(line: &str, name: &str) -> Value {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("expected JSON ({e}), got {line:?}"));
    value[name].clone()
}
