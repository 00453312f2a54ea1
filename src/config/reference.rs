//! A page of all keys in Markdown, made from the key definitions.

use super::{Key, Kind, Preset, TABLES};
use std::fmt::Write;

/// One section a table, one row a key.
#[must_use]
pub fn reference() -> String {
    let mut out = String::from("# The config's keys\n");
    for table in TABLES {
        let of_type = if table.kind.is_empty() { String::new() } else { format!(", type = \"{}\"", table.kind) };
        let title =
            if table.path.is_empty() { "Before the first table".to_owned() } else { format!("[{}]", table.path) };
        let _ = write!(out, "\n## {title}{of_type}\n\n");
        if !table.doc.is_empty() {
            let _ = write!(out, "{}\n\n", table.doc);
        }
        out.push_str("| key | takes | default | what it does |\n|---|---|---|---|\n");
        for key in table.keys {
            row(&mut out, key, "");
            if let Kind::Table(members) = key.kind {
                for member in members {
                    row(&mut out, member, key.name);
                }
            }
        }
    }
    out
}

fn row(out: &mut String, key: &Key, within: &str) {
    let dot = if within.is_empty() { "" } else { "." };
    let default = match key.preset {
        Preset::Default(default) => format!("`{default}`"),
        Preset::Required(_) => "required".to_owned(),
        Preset::Optional(_, without) => without.to_owned(),
    };
    let cell = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(
        out,
        "| `{within}{dot}{}` | {} | {} | {} |",
        key.name,
        cell(&key.kind.expected()),
        cell(&default),
        cell(key.doc)
    );
}
