//! What is shipped and printed is a config without a fault, and complete.

use super::*;
use std::fs;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_starter_is_a_config_without_fault_or_warning() {
    let twice = |types: &[&'static str]| types.iter().chain(types).copied().collect::<Vec<_>>();
    let pairs = [
        (vec!["http"], vec!["file"]),
        (vec!["kafka"], vec!["kafka"]),
        (SOURCE_TYPES.to_vec(), SINK_TYPES.to_vec()),
        (twice(SOURCE_TYPES), twice(SINK_TYPES)),
    ];
    for (sources, sinks) in pairs {
        let loaded = parse_one(&starter(&sources, &sinks).unwrap()).unwrap();
        assert_eq!(loaded.config.sources.len(), sources.len());
        assert_eq!(loaded.config.sinks.len(), sinks.len());
        assert_eq!(loaded.warnings, []);
    }
}

#[test]
fn the_starter_holds_every_key_and_every_default() {
    let text = starter(SOURCE_TYPES, SINK_TYPES).unwrap();
    assert!(text.contains("\nmemory = \"128 MiB\"  # default: \"64 MiB\"\n"), "so many parts need more memory");
    let text = text + &starter(&["http"], &["file"]).unwrap();
    for table in TABLES {
        for key in table.keys {
            let shown = match key.preset {
                Preset::Default(default) if key.starter.is_none() => format!("\n{} = {default}\n", key.name),
                Preset::Default(default) => format!("  # default: {default}\n"),
                Preset::Required(example) => format!("\n{} = {example}  # required\n", key.name),
                Preset::Optional(..) if key.starter.is_some() => "  # without it".to_owned(),
                Preset::Optional(example, _) => format!("\n#{} = {example}  # without it", key.name),
            };
            assert!(text.contains(&shown), "{shown:?} of [{}]", table.path);
        }
    }
}

#[test]
fn what_the_starter_comments_out_is_taken_as_well() {
    for (sources, sinks) in
        SOURCE_TYPES.iter().map(|t| ([*t], vec![])).chain(SINK_TYPES.iter().map(|t| (["http"], vec![*t])))
    {
        let text = starter(&sources, &sinks).unwrap();
        let optional = |line: &str| line.starts_with('#') && !line.starts_with("# ");
        // TLS is for TCP, or a broker at mqtts://, CSV for format = "csv", and what is guarded for idempotent = false.
        let text = text.replace("listen = \"unix:/run/verdictd/lines.sock\"", "listen = \"127.0.0.1:1\"");
        let text = text.replace("listen = \"unix:/run/verdictd/events.sock\"", "listen = \"127.0.0.1:2\"");
        let text = text.replace("mqtt://", "mqtts://").replace("\"ndjson\"", "\"csv\"");
        let text = text
            .replace("@/site?host=/run/postgresql", "@database/site")
            .replace("idempotent = true", "idempotent = false");
        let mut admin = false;
        let lines = text.lines().filter(|line| !line.starts_with("# ")).filter(|line| {
            admin = line.starts_with("[admin]") || (admin && !line.starts_with('['));
            // The keys of a Unix socket.
            !(line.contains("socket-") || admin && line.starts_with("#tls"))
        });
        let all: Vec<&str> = lines.map(|line| if optional(line) { &line[1..] } else { line }).collect();
        assert_eq!(faults(&all.join("\n")), [""; 0], "{sources:?} {sinks:?}");
    }
}

#[test]
fn the_starter_knows_only_types_of_this_version() {
    assert!(starter(&["postgres"], &[]).unwrap_err().contains("there is http"));
    assert!(starter(&[], &["redis"]).unwrap_err().contains("there is file"));
}

#[test]
fn the_reference_holds_every_key() {
    let page = reference();
    for key in TABLES.iter().flat_map(|t| t.keys) {
        assert!(page.contains(&format!("| `{}` |", key.name)), "{}", key.name);
    }
}

#[test]
fn every_shipped_config_is_without_fault() {
    let packaging = root().join("packaging");
    let mut seen = 0;
    for entry in fs::read_dir(packaging).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            assert_eq!(faults(&fs::read_to_string(&path).unwrap()), [""; 0], "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
    let shipped = fs::read_to_string(root().join("packaging/verdictd.toml")).unwrap();
    assert_eq!(
        shipped,
        starter(&["http"], &["file"]).unwrap(),
        "write it anew: verdictd init > packaging/verdictd.toml"
    );
}

#[test]
fn every_config_in_the_readme_is_without_fault() {
    let Ok(readme) = fs::read_to_string(root().join("README.md")) else { return };
    for block in readme.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        // A manifest of a bundle is TOML as well.
        if text.contains("[[feature]]") || text.contains("[decision]") {
            continue;
        }
        // An excerpt may leave the source out.
        let source = if text.contains("[sources.") { "" } else { SOURCE };
        assert_eq!(faults(&format!("{text}\n{source}")), [""; 0], "{text}");
    }
}
