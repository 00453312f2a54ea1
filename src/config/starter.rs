//! The starter config that `init` prints, made from the key definitions.
//!
//! Every key is there: with its default or a starting value, or commented out where it is optional, so that
//! the text is a config that works and a reference at once.

use super::{
    Key, Kind, Preset, Size, TABLES, TableDoc, Text, limits, parse,
    sink::{self, SINK_TYPES},
    source::{self, SOURCE_TYPES},
};
use std::{fmt::Write, path::PathBuf};

const HEAD: &str = "\
# verdictd: events in, durable verdicts out.
#
# Every key of this version is here. A key that is commented out is optional; where a value is not the default,
# the default is named. Texts may hold ${NAME} or ${NAME:-default} from the environment. conf.d/*.toml beside
# this file is laid over it in name order. `verdictd check` shows every fault at once and what is in effect.
";

/// A complete commented config for a source of each of `sources` and a sink of each of `sinks`, in that order.
///
/// # Errors
/// With the first type that is not in this version, and what there is.
pub fn starter(sources: &[&str], sinks: &[&str]) -> Result<String, String> {
    let known = |what: &str, given: &[&str], types: &[&str]| match given.iter().find(|t| !types.contains(t)) {
        Some(other) => Err(format!("the {what} type {other:?} is not in this version; there is {}", types.join(", "))),
        None => Ok(()),
    };
    known("source", sources, SOURCE_TYPES)?;
    known("sink", sinks, SINK_TYPES)?;

    let mut out = String::from(HEAD);
    for table in TABLES {
        match table.path {
            "sources.NAME" => named(&mut out, table, sources, "sources", source::starter_name),
            "sinks.NAME" => named(&mut out, table, sinks, "sinks", sink::starter_name),
            _ => table_text(&mut out, table, table.path, 0),
        }
    }
    Ok(with_memory(out))
}

/// Doubles `limits.memory` until the parts fit: many clients need more than the default.
fn with_memory(text: String) -> String {
    let Preset::Default(default) = limits::MEMORY.preset else { return text };
    let line = format!("\n{} = {default}\n", limits::MEMORY.name);
    let is_short = |text: &str| {
        let text = Text { file: PathBuf::new(), text: text.to_owned() };
        let faults = parse(&[text], "host", &|_| None).err().unwrap_or_default();
        faults.0.iter().any(|fault| fault.key == "limits.memory")
    };
    let mut fitting = text.clone();
    let mut size = Size::mib(128);
    while size <= Size::gib(1) && is_short(&fitting) {
        fitting = text.replace(&line, &format!("\n{} = \"{size}\"  # default: {default}\n", limits::MEMORY.name));
        size = Size(size.bytes() * 2);
    }
    fitting
}

/// One table for each of the given types that is this table's; a second one of a type gets a name and an
/// address of its own.
fn named(out: &mut String, table: &TableDoc, given: &[&str], family: &str, name: fn(&str) -> &'static str) {
    for n in 0..given.iter().filter(|kind| **kind == table.kind).count() {
        let name = name(table.kind);
        let path = if n == 0 { format!("{family}.{name}") } else { format!("{family}.{name}-{}", n + 1) };
        table_text(out, table, &path, n);
    }
}

fn table_text(out: &mut String, table: &TableDoc, path: &str, n: usize) {
    out.push('\n');
    if !path.is_empty() {
        let _ = writeln!(out, "# {}\n[{path}]", table.doc);
    }
    for key in table.keys {
        key_text(out, key, n);
    }
}

fn key_text(out: &mut String, key: &Key, n: usize) {
    let _ = writeln!(out, "# {}", key.doc);
    if let Kind::Table(keys) = key.kind {
        for member in keys {
            let (_, value, note) = value_of(member);
            let note = if note.is_empty() { String::new() } else { format!("; {note}") };
            let _ = writeln!(out, "#   {} = {value}: {}{note}", member.name, member.doc.trim_end_matches('.'));
        }
    }
    let (set, value, note) = value_of(key);
    let mark = if set { "" } else { "#" };
    let value = distinct(key, value, n);
    let note = if note.is_empty() { String::new() } else { format!("  # {note}") };
    let _ = writeln!(out, "{mark}{} = {value}{note}", key.name);
}

/// Whether it stands without a comment mark, its value, and what to say of the default.
fn value_of(key: &Key) -> (bool, &'static str, String) {
    match (key.preset, key.starter) {
        (Preset::Default(default), Some(start)) => (true, start, format!("default: {default}")),
        (Preset::Default(default), None) => (true, default, String::new()),
        (Preset::Required(example), _) => (true, example, "required".to_owned()),
        (Preset::Optional(_, without), Some(start)) => (true, start, format!("without it: {without}")),
        (Preset::Optional(example, without), None) => (false, example, format!("without it: {without}")),
    }
}

/// A second source or sink of a type cannot have the first one's address or file.
fn distinct(key: &Key, value: &str, n: usize) -> String {
    // The name's end, before its extension.
    let end = match (key.name, n) {
        ("listen" | "path" | "device", 1..) => value.rfind('.').or_else(|| value.rfind('"')),
        _ => None,
    };
    end.map_or_else(
        || value.to_owned(),
        |end| {
            let (name, rest) = value.split_at(end);
            format!("{name}-{}{rest}", n + 1)
        },
    )
}
