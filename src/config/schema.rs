//! The tables of the config, in the order in which `init` and the reference show them.

use super::{
    Key, Kind, Preset, Problem, TableDoc, admin, dedup, limits, log, model,
    node::{Entry, Table, Value},
    quarantine, replay, root,
    section::Reader,
    sink, source,
    suggest::suggest,
    windows,
};

/// Longest name of a source or sink.
pub const NAME_BYTES_MAX: usize = 64;

/// Every table with its keys: all that the parser knows.
pub const TABLES: &[TableDoc] = &[
    TableDoc { path: "", kind: "", doc: "", keys: root::KEYS },
    TableDoc { path: "limits", kind: "", doc: "Budgets, and bounds on what comes from outside.", keys: limits::KEYS },
    TableDoc { path: "dedup", kind: "", doc: "How long an event is remembered.", keys: dedup::KEYS },
    TableDoc { path: "model", kind: "", doc: "What scores.", keys: model::KEYS },
    TableDoc {
        path: "windows",
        kind: "",
        doc: "What is held of the past, for a model with window features.",
        keys: windows::KEYS,
    },
    TableDoc {
        path: "admin",
        kind: "",
        doc: "Status and metrics: /v1/status /metrics /healthz /readyz.",
        keys: admin::KEYS,
    },
    TableDoc { path: "log", kind: "", doc: "What is written to stderr.", keys: log::KEYS },
    TableDoc {
        path: "quarantine",
        kind: "",
        doc: "Records that were refused for what they are.",
        keys: quarantine::KEYS,
    },
    TableDoc {
        path: "replay",
        kind: "",
        doc: "Events kept, so that another model can be tried over them.",
        keys: replay::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "http",
        doc: "Events posted over HTTP, on a Unix socket or TCP.",
        keys: source::http::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "socket",
        doc: "Events as lines (NDJSON) on a Unix socket or TCP, each answered by a line.",
        keys: source::socket::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "mqtt",
        doc: "Events from an MQTT broker, at QoS 1.",
        keys: source::mqtt::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "kafka",
        doc: "Events from Kafka topics, as a member of a consumer group.",
        keys: source::kafka::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "serial",
        doc: "Events from a device on a serial line, each acknowledged.",
        keys: source::serial::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "file",
        doc: "Events from a file that grows, NDJSON or CSV.",
        keys: source::file::KEYS,
    },
    TableDoc {
        path: "sources.NAME",
        kind: "spool",
        doc: "Events from whole files that are put into a folder.",
        keys: source::spool::KEYS,
    },
    TableDoc {
        path: "sinks.NAME",
        kind: "file",
        doc: "Verdicts appended to a file, one a line.",
        keys: sink::file::KEYS,
    },
    TableDoc {
        path: "sinks.NAME",
        kind: "mqtt",
        doc: "Verdicts published to an MQTT broker, at QoS 1.",
        keys: sink::mqtt::KEYS,
    },
    TableDoc { path: "sinks.NAME", kind: "kafka", doc: "Verdicts produced to a Kafka topic.", keys: sink::kafka::KEYS },
    TableDoc {
        path: "sinks.NAME",
        kind: "http",
        doc: "Verdicts posted to a receiver (a webhook); or, guarded, calls that are never made twice.",
        keys: sink::http::KEYS,
    },
    TableDoc {
        path: "sinks.NAME",
        kind: "postgres",
        doc: "Verdicts written to a table of PostgreSQL (12 or later), each once.",
        keys: sink::postgres::KEYS,
    },
];

/// The keys of a table by its path.
pub(super) fn keys_of(path: &str) -> &'static [Key] {
    TABLES.iter().find(|t| t.path == path).map_or(&[], |t| t.keys)
}

/// The keys of a table of `sources` or `sinks` by its type.
pub(super) fn keys_of_type(family: &str, kind: &str) -> &'static [Key] {
    let is_family = |path: &str| path.strip_suffix(".NAME") == Some(family);
    TABLES.iter().find(|t| is_family(t.path) && t.kind == kind).map_or(&[], |t| t.keys)
}

/// Keys of the whole file: those before the first table, and the tables.
pub(super) fn top_level_keys() -> Vec<Key> {
    let mut keys = root::KEYS.to_vec();
    let mut tables: Vec<&'static str> = TABLES.iter().filter_map(|t| t.path.split('.').next()).collect();
    tables.retain(|t| !t.is_empty());
    tables.dedup();
    keys.extend(tables.into_iter().map(|t| Key::new(t, Kind::Table(&[]), Preset::Optional("", ""), "")));
    keys
}

/// The named tables below `sources` or `sinks` that are well formed and of a type of this version: name, type
/// and place.
pub(super) fn named<'a>(
    reader: &mut Reader,
    family: &str,
    entry: Option<&'a Entry>,
    types: &[&str],
    later: &[&str],
) -> Vec<(&'a String, &'a str, &'a Entry)> {
    let mut out = Vec::new();
    let Some(node) = entry.map(|e| &e.node) else { return out };
    let Value::Table(table) = &node.value else {
        let expected = format!("tables such as [{family}.NAME]");
        reader.problems.push(Problem::value(&node.origin, family, &expected, &node.found()));
        return out;
    };
    for (name, entry) in table {
        let path = format!("{family}.{name}");
        let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !letters || !(1..=NAME_BYTES_MAX).contains(&name.len()) {
            let expected = format!("a name of 1 to {NAME_BYTES_MAX} letters a to z, digits and -");
            let shown = format!("{:?}", name.chars().take(NAME_BYTES_MAX).collect::<String>());
            reader.problems.push(Problem::value(&entry.key, family, &expected, &shown));
        }
        let Value::Table(members) = &entry.node.value else {
            reader.problems.push(Problem::value(&entry.node.origin, &path, "a table", &entry.node.found()));
            continue;
        };
        if let Some(kind) = known_type(reader, &path, entry, members, types, later) {
            out.push((name, kind, entry));
        }
    }
    out
}

fn known_type<'a>(
    reader: &mut Reader,
    path: &str,
    entry: &Entry,
    members: &'a Table,
    types: &[&str],
    later: &[&str],
) -> Option<&'a str> {
    let key = format!("{path}.type");
    let names = types.iter().map(|t| format!("\"{t}\"")).collect::<Vec<_>>().join(", ");
    let Some(given) = members.get("type") else {
        // Its other keys cannot be judged without it.
        let message = format!("{key}: missing; expected one of {names}");
        reader.problems.push(Problem::at(&entry.key, &key, message).with(format!("one of {names}"), "nothing"));
        return None;
    };
    let Value::Text(kind) = &given.node.value else {
        let expected = format!("one of {names}");
        reader.problems.push(Problem::value(&given.node.origin, &key, &expected, &given.node.found()));
        return None;
    };
    if types.contains(&kind.as_str()) {
        return Some(kind);
    }
    let message = if later.contains(&kind.as_str()) {
        format!("{key}: \"{kind}\" is not in this version; there is {names}")
    } else {
        format!("{key}: unknown type {kind:?}, there is {names}{}", suggest(kind, types))
    };
    let found = given.node.found();
    reader.problems.push(Problem::at(&given.node.origin, &key, message).with(format!("one of {names}"), found));
    None
}
