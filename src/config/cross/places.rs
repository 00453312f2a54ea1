//! Files, folders and devices that two parts of the config would both use.

use crate::config::{Config, Origin, Problem, SinkKind, SourceKind, section::Reader};
use std::path::Path;

pub(super) fn check(config: &Config, reader: &mut Reader) {
    if config.sinks.is_empty() {
        let message = "sinks: there is no sink, so verdicts are answered and kept but not forwarded";
        reader.warnings.push(Problem::at(&Origin::Default, "sinks", message));
    }
    let written = sinks(config, reader);
    sources(config, reader, &written);
}

/// The files that sinks write, each with its key.
fn sinks<'a>(config: &'a Config, reader: &mut Reader) -> Vec<(String, &'a Path)> {
    let mut seen: Vec<(String, &Path)> = Vec::new();
    for sink in &config.sinks {
        let SinkKind::File(file) = &sink.kind else { continue };
        let key = format!("sinks.{}.path", sink.name);
        let shown = file.path.display().to_string();
        if let Some((other, _)) = seen.iter().find(|(_, path)| *path == file.path) {
            let message = format!("{shown} is written by {other} already");
            reader.clash(&key, &message, "a file that no other sink has", &shown);
        }
        if file.keep == 0 && file.path.starts_with(&config.state_dir) {
            reader.caution(
                &format!("sinks.{}.keep", sink.name),
                &key,
                "all rotated files are kept, and they lie in state-dir: they grow until limits.disk is reached and \
                 nothing new is taken; set keep, or move or clear them",
            );
        }
        seen.push((key, &file.path));
    }
    seen
}

fn sources(config: &Config, reader: &mut Reader, written: &[(String, &Path)]) {
    let mut seen: Vec<(String, &Path)> = Vec::new();
    for source in &config.sources {
        let (name, path) = match &source.kind {
            SourceKind::File(file) => ("path", &file.path),
            SourceKind::Spool(spool) => ("path", &spool.path),
            SourceKind::Serial(serial) => ("device", &serial.device),
            _ => continue,
        };
        let key = format!("sources.{}.{name}", source.name);
        let shown = path.display().to_string();
        if let Some((other, _)) = seen.iter().find(|(_, other)| *other == path) {
            reader.clash(&key, &format!("{shown} is read by {other} already"), "one that no other source has", &shown);
        }
        let is_spool = matches!(source.kind, SourceKind::Spool(_));
        // A rotated file of a sink lies in the same folder.
        let feeds = |file: &Path| if is_spool { file.parent() == Some(path) } else { file == path };
        if let Some((other, _)) = written.iter().find(|(_, file)| feeds(file)) {
            let message = format!("{other} writes there: verdicts would come in again as events");
            reader.clash(&key, &message, "a place that no sink writes to", &shown);
        }
        if is_spool && config.state_dir.starts_with(path) {
            let message = format!("state-dir lies in it ({})", config.state_dir.display());
            reader.clash(&key, &message, "a folder of its own", &shown);
        } else if is_spool && path.starts_with(&config.state_dir) {
            reader.caution(
                &key,
                &key,
                "it lies in state-dir, so its files count in limits.disk, and nothing new is taken once they reach it",
            );
        }
        seen.push((key, path));
    }
}
