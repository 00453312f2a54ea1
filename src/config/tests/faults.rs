//! Every kind of fault is found, at its place, and all at once.

use super::*;
use proptest::prelude::*;

/// Text after the least config (before it, where it ends with a line end), and what must be in its one fault.
const FAULTS: &[(&str, &[&str])] = &[
    ("[limits]\nmemmory = \"64 MiB\"", &["v.toml:5:1: limits.memmory: unknown key; did you mean \"memory\"?"]),
    ("[limit]\nmemory = \"64 MiB\"", &["v.toml:4:2: limit: unknown key; did you mean \"limits\"?"]),
    ("[limits]\nmemory = 64", &["v.toml:5:10: limits.memory: expected a size as in \"64 MiB\"", "found the number 64"]),
    ("[limits]\nmemory = \"64\"", &["v.toml:5:10: limits.memory: expected a size", "found the text \"64\""]),
    ("[limits]\nmemory = \"1 MiB\"", &["limits.memory: expected a size", "from \"16 MiB\" to"]),
    ("[limits]\nconnections = 0", &["limits.connections: expected a whole number from 1 to 65536, found the number 0"]),
    ("[limits]\nconnections = 99999999999999999999", &["limits.connections: expected a whole number"]),
    ("[limits]\nconnections = 1.5", &["limits.connections: expected a whole number", "found the number 1.5"]),
    ("[limits]\nevent = \"1 MiB\"\nrequest = \"512 KiB\"", &["limits.event", "\"1 MiB\" does not fit", "\"512 KiB\""]),
    ("[limits]\nmemory = \"17 MiB\"", &["limits.memory: \"17 MiB\" does not hold its parts, which need", "queues"]),
    (
        "[limits]\ndisk = \"64 MiB\"",
        &["limits.disk: \"64 MiB\" does not hold its parts, which need", "quarantine 64 MiB"],
    ),
    ("[dedup]\nwindow = \"7 days\"", &["dedup.window: expected a duration as in \"7 d\"", "found the text \"7 days\""]),
    ("[dedup]\nwhen-full = \"refuze\"", &["\"shorten\" or \"refuse\", did you mean \"refuse\"?", "\"refuze\""]),
    ("dedup = 5\n", &["v.toml:1:9: dedup: expected a table, found the number 5"]),
    ("[log]\nlevel = true", &["log.level: expected \"error\" or \"warn\"", "found true"]),
    ("[quarantine]\npayload = \"yes\"", &["quarantine.payload: expected true or false, found the text \"yes\""]),
    ("[admin]\nlisten = \"localhost:1\"", &["admin.listen: expected \"unix:/absolute/path\" or an address"]),
    ("[admin]\nlisten = \"unix:run/x\"", &["admin.listen: expected an absolute path after \"unix:\""]),
    ("[admin]\nlisten = \"0.0.0.0:9464\"", &["admin.listen", "from outside this machine, which needs TLS"]),
    ("[admin]\nlisten = \"unix:/run/v/events.sock\"", &["sources.pos.listen", "is taken: admin.listen"]),
    ("[admin]\nsocket-mode = \"rw\"", &["admin.socket-mode: expected a file mode in octal"]),
    ("[admin]\nsocket-mode = \"7777\"", &["admin.socket-mode: expected a file mode in octal"]),
    ("[admin]\nlisten = \"127.0.0.1:1\"\nsocket-group = \"x\"", &["admin.socket-group: is for a Unix socket"]),
    ("[admin]\ntoken = \"abc\"", &["admin.token: unknown key; a secret is taken only from a file: token-file"]),
    ("[sources.B]\ntype = \"http\"\nlisten = \"unix:/b\"", &["sources: expected a name of 1 to 64", "found \"B\""]),
    ("[sources.b]\nlisten = \"unix:/b\"", &["v.toml:4:10: sources.b.type: missing; expected one of \"http\""]),
    ("[sources.b]\ntype = \"htp\"", &["sources.b.type: unknown type \"htp\"", "did you mean \"http\"?"]),
    ("[sources.b]\ntype = \"http\"", &["v.toml:4:10: sources.b.listen: missing; expected", "events.sock"]),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"10.0.0.1:80\"",
        &["needs TLS", "tls = { cert-file, key-file } and a token"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"10.0.0.1:80\"\ntls = { cert-file = \"c\", key-file = \"k\" }",
        &["v.toml:6:10: sources.b.listen", "a token-file or tls.client-ca-file is missing"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"10.0.0.1:80\"\ntoken-file = \"t\"",
        &["sources.b.listen", "tls = { cert-file, key-file } is missing"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"127.0.0.1:80\"\ntls = { cert-file = \"c\" }",
        &["sources.b.tls.key-file: missing"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"127.0.0.1:80\"\n[sources.c]\ntype = \"http\"\nlisten = \"127.0.0.1:80\"",
        &["v.toml:9:10: sources.c.listen: 127.0.0.1:80 is taken: sources.b.listen"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { id = \"id\" }",
        &["v.toml:7:16: sources.b.event.id: expected a JSON pointer", "found the text \"id\""],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { idd = \"/id\" }",
        &["sources.b.event.idd: unknown key; did you mean \"id\"?"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { key = [] }",
        &["sources.b.event.key: expected a list of 1 to 8 JSON pointers"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { key = { pointer = \"/a\", file = \"x\" } }",
        &["sources.b.event.key: expected only pointer and hmac-key-file in it, found file"],
    ),
    ("sinks = 1\n", &["v.toml:1:9: sinks: expected tables such as [sinks.NAME], found the number 1"]),
    ("[sinks.a]\ntype = \"file\"\npath = \"v.ndjson\"", &["sinks.a.path: expected an absolute path, found the text"]),
    ("[sinks.a]\ntype = \"file\"\npath = \"/v/\"", &["sinks.a.path: expected the path of a file"]),
    ("[sinks.a]\ntype = \"postgre\"", &["sinks.a.type: unknown type \"postgre\", there is \"file\""]),
    (
        "[sinks.a]\ntype = \"file\"\npath = \"/v\"\n[sinks.b]\ntype = \"file\"\npath = \"/v\"",
        &["v.toml:9:8: sinks.b.path: /v is written by sinks.a.path already"],
    ),
    ("[sinks.a]\ntype = \"file\"\npath = \"/v\"\ndecisions = []", &["sinks.a.decisions: expected a list of texts"]),
    ("[sinks.a]\ntype = \"file\"\npath = \"/v\"\nkeep = -1", &["sinks.a.keep: expected a whole number from 0"]),
    ("[model]\nbundle = 3", &["model.bundle: expected the path of a file, found the number 3"]),
    (
        "[model]\nbundle = \"${NO_SUCH}\"",
        &["v.toml:5:11: model.bundle: the environment variable NO_SUCH is not set", "${NO_SUCH:-default}"],
    ),
    (
        "[model]\nbundle = \"/a/${SITE}/${NO:-x/${\"",
        &["v.toml:5:22: model.bundle: expected ${NAME} or ${NAME:-default}", "found \"${NO:-x/${\""],
    ),
    ("[model]\nbundle = '''\n/a/${NO_SUCH}'''", &["v.toml:5:10: model.bundle: the environment variable"]),
    ("[model]\nbundle = \"\\u0041${NO_SUCH}\"", &["v.toml:5:10: model.bundle: the environment variable"]),
    (
        "[dedup]\nwindow = \"${NO_SUCH:-7 days}\"",
        &["v.toml:5:10: dedup.window: expected a duration", "found the text \"7 days\""],
    ),
    ("[dedup]\nxyzzy = 1", &["v.toml:5:1: dedup.xyzzy: unknown key; there is window, when-full"]),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { time = { pointer = \"at\" } }",
        &["v.toml:7:30: sources.b.event.time.pointer: expected a JSON pointer", "found the text \"at\""],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { time = { pointer = \"/at\", format = \"%Q\" } }",
        &["v.toml:7:46: sources.b.event.time.format: expected a pattern", "found the text \"%Q\""],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { time = { pointer = \"/at\", formt = \"\" } }",
        &["v.toml:7:37: sources.b.event.time: expected only pointer, format and zone in it, did you mean \"format\"?"],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { key = [\"/a\", \"b\"] }",
        &["v.toml:7:24: sources.b.event.key[1]: expected a JSON pointer", "found the text \"b\""],
    ),
    (
        "[sources.b]\ntype = \"http\"\nlisten = \"unix:/b\"\nevent = { key = { pointer = \"a\" } }",
        &["v.toml:7:29: sources.b.event.key.pointer: expected a JSON pointer", "found the text \"a\""],
    ),
    (
        "[sources.b]\ntype = \"kafka\"\nbrokers = [\"a:1\",\n  \"b\"]\ntopics = [\"t\"]",
        &["v.toml:7:3: sources.b.brokers[1]: expected", "found the text \"b\""],
    ),
    (
        "[sinks.a]\ntype = \"file\"\npath = \"/v\"\ndecisions = [\"block\", 5]",
        &["v.toml:7:23: sinks.a.decisions[1]: expected a text that is not empty, found the number 5"],
    ),
    ("[limits]\nmemory = 64 MiB", &["v.toml:5:", "not TOML"]),
    ("[limits]\nmemory = \"64 MiB\"\nmemory = \"65 MiB\"", &["v.toml:6:1: not TOML: duplicate key"]),
];

#[test]
fn every_fault_is_found_at_its_place() {
    for (text, parts) in FAULTS {
        // A key of the top stands before the tables.
        let whole = if text.ends_with('\n') { format!("{text}{SOURCE}") } else { format!("{SOURCE}{text}") };
        let found = faults(&whole);
        assert_eq!(found.len(), 1, "one fault of\n{text}\nfound {found:#?}");
        for part in *parts {
            assert!(found[0].contains(part), "{part:?} in the fault of\n{text}\nfound {:?}", found[0]);
        }
    }
}

#[test]
fn all_faults_are_reported_at_once_in_the_order_of_lines() {
    let text = format!("{SOURCE}[limits]\nmemory = 1\ndiks = 2\n[sinks.a]\ntype = \"file\"\npath = \"x\"\n[modle]\n");
    let lines: Vec<_> = parse_one(&text).unwrap_err().0.iter().map(|p| p.line).collect();
    assert_eq!(lines, [Some(5), Some(6), Some(9), Some(10)]);
}

#[test]
fn several_faults_of_syntax_are_all_reported() {
    let found = faults("a = \nb = 64 MiB\n[sources.x]\ntype = \"http\"\nlisten = \"unix:/x\"\n");
    assert!(found.iter().any(|f| f.starts_with("/etc/v/v.toml:1:")), "{found:?}");
    assert!(found.iter().any(|f| f.starts_with("/etc/v/v.toml:2:")), "{found:?}");
}

#[test]
fn a_config_without_a_source_is_refused() {
    for text in ["", "[sources]", "[sinks.a]\ntype = \"file\"\npath = \"/v\""] {
        let found = faults(text);
        assert!(found.len() == 1 && found[0].contains("at least one [sources.NAME]"), "{found:?}");
    }
}

#[test]
fn a_fault_says_for_scripts_what_was_expected_and_found() {
    let text = format!("{SOURCE}[dedup]\nwindow = 7");
    let problem = serde_json::to_value(&parse_one(&text).unwrap_err().0[0]).unwrap();
    assert_eq!(problem["file"], "/etc/v/v.toml");
    assert_eq!((&problem["line"], &problem["column"]), (&5.into(), &10.into()));
    assert_eq!(problem["key"], "dedup.window");
    assert_eq!(problem["found"], "the number 7");
    assert!(problem["expected"].as_str().unwrap().starts_with("a duration"));
}

#[test]
fn keys_nested_without_end_do_not_overflow_the_stack() {
    for text in [
        "a.".repeat(200_000) + "a = 1",
        "a = ".to_owned() + &"[".repeat(200_000),
        "[a".to_owned() + &".a".repeat(200_000) + "]",
    ] {
        assert!(!faults(&text).is_empty());
    }
}

#[test]
fn tcp_outside_loopback_is_taken_with_tls_and_who_may_connect() {
    for who in [
        "token-file = \"t\"\ntls = { cert-file = \"c\", key-file = \"k\" }",
        "tls = { cert-file = \"c\", key-file = \"k\", client-ca-file = \"a\" }",
    ] {
        assert_eq!(faults(&format!("[sources.b]\ntype = \"http\"\nlisten = \"0.0.0.0:80\"\n{who}")), [""; 0]);
    }
}

/// Words of the format, so that arbitrary texts get past the first line.
fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("[sources.pos]\n"),
        Just("[sinks.a]\n"),
        Just("[limits]\n"),
        Just("[dedup]\n"),
        Just("[model]\n"),
        Just("type = "),
        Just("listen = "),
        Just("event = "),
        Just("key = "),
        Just("memory = "),
        Just("window = "),
        Just("tls = "),
        Just("path = "),
        Just("\"http\"\n"),
        Just("\"file\"\n"),
        Just("\"unix:/x\"\n"),
        Just("\"64 MiB\"\n"),
        Just("{ id = \"/id\" }\n"),
        Just("[\"/a\", \"/b\"]\n"),
        Just("{ pointer = \"/a\" }\n"),
        Just("0\n"),
        Just("\n"),
        Just("\"${X}\"\n"),
        Just("true\n"),
        Just("= "),
        Just("."),
        Just("\""),
        Just("1979-05-27T07:32:00Z\n"),
        Just("é"),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = parse_one(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_words_never_panic(text in words()) {
        let _ = parse_one(&text);
    }
}
