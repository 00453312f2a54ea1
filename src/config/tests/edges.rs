//! Sources and sinks of every type: what is read, what is refused, and what is warned of.

use super::*;
use crate::event::{Column, CsvForm};

/// Tables by letter, to put other lines after.
const TABLES_OF: &[(&str, &str)] = &[
    ("mqtt", "[sources.m]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopics = [\"t\"]\nevent.id = \"/id\"\n"),
    ("kafka", "[sources.k]\ntype = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]\nevent.id = \"/id\"\n"),
    ("serial", "[sources.s]\ntype = \"serial\"\ndevice = \"/dev/ttyS0\"\n"),
    ("file", "[sources.f]\ntype = \"file\"\npath = \"/var/e.ndjson\"\n"),
    ("spool", "[sources.p]\ntype = \"spool\"\npath = \"/var/spool/e\"\n"),
    ("socket", "[sources.l]\ntype = \"socket\"\nlisten = \"unix:/run/l\"\n"),
    ("to-mqtt", "[sinks.m]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopic = \"v\"\n"),
    ("to-kafka", "[sinks.k]\ntype = \"kafka\"\nbrokers = [\"b:1\"]\ntopic = \"v\"\n"),
    ("to-postgres", "[sinks.p]\ntype = \"postgres\"\nurl = \"postgres://v@db.site/bank\"\n"),
];

/// The tables of these types, and a source where none is among them.
fn of(types: &[&str]) -> String {
    let tables = types.iter().map(|t| TABLES_OF.iter().find(|(name, _)| name == t).unwrap().1);
    format!("{SOURCE}{}", tables.collect::<String>())
}

fn config(text: &str) -> Config {
    parse_one(text).unwrap_or_else(|problems| panic!("{problems}\n{text}")).config
}

fn source(kind: &str, more: &str) -> SourceKind {
    let sources = config(&format!("{}{more}", of(&[kind]))).sources;
    sources.into_iter().find(|source| source.name != "pos").unwrap().kind
}

fn sink(kind: &str, more: &str) -> SinkKind {
    config(&format!("{}{more}", of(&[kind]))).sinks.remove(0).kind
}

#[test]
fn what_is_not_set_has_the_documented_default() {
    let SourceKind::Mqtt(mqtt) = source("mqtt", "") else { panic!() };
    assert_eq!(mqtt.client.broker.to_string(), "mqtt://b:1883");
    assert_eq!((mqtt.client.client_id.as_str(), mqtt.client.protocol), ("verdictd-box-m", MqttProtocol::V5));
    assert_eq!((mqtt.session_expiry, mqtt.client.tls), (Period::days(7), None));
    let SourceKind::Kafka(kafka) = source("kafka", "") else { panic!() };
    assert_eq!((kafka.group.as_str(), kafka.start, kafka.on_gap), ("verdictd", KafkaStart::Earliest, OnGap::Earliest));
    let SourceKind::Serial(serial) = source("serial", "") else { panic!() };
    assert_eq!((serial.baud, serial.data_bits, serial.stop_bits), (115_200, 8, 1));
    assert_eq!((serial.parity, serial.flow_control), (Parity::None, FlowControl::None));
    assert_eq!((serial.framing, serial.reply), (Framing::Lines, Reply::Ack));
    let SourceKind::File(file) = source("file", "") else { panic!() };
    assert_eq!((file.format, file.start), (Format::Ndjson, FileStart::Beginning));
    let SourceKind::Spool(spool) = source("spool", "") else { panic!() };
    assert_eq!((spool.format, spool.after), (Format::Ndjson, After::Move));
    let SourceKind::Socket(socket) = source("socket", "") else { panic!() };
    assert_eq!(socket.socket_mode, 0o660);
    let SinkKind::Mqtt(mqtt) = sink("to-mqtt", "") else { panic!() };
    assert_eq!((mqtt.in_flight, mqtt.retain, mqtt.client.client_id.as_str()), (100, false, "verdictd-box-m-out"));
    let SinkKind::Kafka(kafka) = sink("to-kafka", "") else { panic!() };
    assert_eq!((kafka.in_flight, kafka.compression, kafka.tls), (1000, Compression::Lz4, None));
    let SinkKind::Postgres(postgres) = sink("to-postgres", "") else { panic!() };
    assert_eq!(
        (postgres.address.to_string().as_str(), postgres.table.to_string().as_str()),
        ("db.site:5432/bank", "verdicts")
    );
    assert_eq!((postgres.on_conflict, postgres.batch, postgres.in_flight), (OnConflict::Nothing, 1000, 4));
    assert_eq!((postgres.columns.len(), &postgres.columns), (9, &default_columns()));
}

#[test]
fn columns_of_a_table_hold_each_member_once_and_the_key_always() {
    use crate::verdict::Member::{Id, Sequence, Source};
    let columns = |toml: &str| {
        let SinkKind::Postgres(sink) = sink("to-postgres", &format!("columns = {toml}\n")) else { panic!() };
        sink.columns.iter().map(|column| (column.name.clone(), column.member)).collect::<Vec<_>>()
    };
    let of = |name: &str, member| (name.to_owned(), member);
    let expected = [of("S", Some(Source)), of("a b", Some(Id)), of("n", Some(Sequence)), of("all", None)];
    assert_eq!(columns("{ n = \"sequence\", all = \"*\", \"a b\" = \"id\", S = \"source\" }"), expected);
    let refused = |more: &str, said: &str| {
        let text = format!("{}{more}\n", super::edges::of(&["to-postgres"]));
        let problems = parse_one(&text).unwrap_err().to_string();
        assert!(problems.contains(said), "{more}: {problems}");
    };
    refused("columns = { s = \"source\" }", "a column for \"id\"");
    refused("columns = { s = \"source\", i = \"id\", j = \"id\" }", "each member in one column");
    refused("columns = { s = \"source\", i = \"id\", j = \"payload\" }", "\"decision\" or");
    refused("columns = { s = \"source\", i = \"id\" }\non-conflict = \"update\"", "a column for sequence");
    refused("table = \"a.b.c\"", "schema.verdicts");
    refused("password = \"x\"", "password-file");
}

#[test]
fn rows_in_the_clear_are_warned_of_and_tls_needs_a_host() {
    let warnings = |text: &str| {
        let loaded = parse_one(text).unwrap();
        loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let text = of(&["to-postgres"]);
    assert!(warnings(&text).contains("go to db.site:5432 in the clear"));
    assert!(!warnings(&format!("{text}tls = {{}}\n")).contains("in the clear"));
    let local = text.replace("db.site", "");
    let local = local.replace("/bank", "/bank?host=/run/postgresql");
    assert!(!warnings(&local).contains("in the clear"));
    assert!(parse_one(&format!("{local}tls = {{}}\n")).unwrap_err().to_string().contains("TLS is for a host"));
}

#[test]
fn who_the_client_is_and_its_files_are_read() {
    let SourceKind::Mqtt(mqtt) = source(
        "mqtt",
        "client-id = \"{name}@{instance}\"\nprotocol = \"3.1.1\"\nusername = \"u\"\npassword-file = \"p\"\n",
    ) else {
        panic!()
    };
    assert_eq!((mqtt.client.client_id.as_str(), mqtt.client.protocol), ("m@box", MqttProtocol::V311));
    assert_eq!(mqtt.client.password_file.as_deref(), Some(Path::new("/etc/v/p")));
    let SinkKind::Kafka(kafka) = sink(
        "to-kafka",
        "tls = {}\nsasl = { mechanism = \"SCRAM-SHA-256\", username = \"u\", password-file = \"/p\" }\n",
    ) else {
        panic!()
    };
    assert_eq!(kafka.tls, Some(crate::link::ClientTls::default()));
    assert_eq!(kafka.sasl.unwrap().mechanism.name(), "SCRAM-SHA-256");
}

#[test]
fn csv_has_its_separator_and_typed_columns() {
    let SourceKind::File(file) = source(
        "file",
        "format = \"csv\"\ncsv = { separator = \"\\t\", columns = { amount = \"number\", paid = \"boolean\" } }\n",
    ) else {
        panic!()
    };
    let columns = vec![("amount".to_owned(), Column::Number), ("paid".to_owned(), Column::Boolean)];
    assert_eq!(file.format, Format::Csv(CsvForm { separator: b'\t', quote: b'"', columns }));
}

#[test]
fn a_time_has_a_form_and_a_zone() {
    let time = |toml: &str| config(&format!("{SOURCE}event = {{ time = {toml} }}")).sources[0].event.time.clone();
    assert_eq!(time("\"/t\"").form, crate::event::TimeForm::Any);
    let time = time("{ pointer = \"/t\", format = \"%d.%m.%Y %H:%M:%S\", zone = \"Europe/Berlin\" }");
    assert_eq!(time.pointer.to_string(), "/t");
    // Noon of a winter's day in Berlin is 11:00 in UTC.
    assert_eq!(time.form.read_text("01.01.2026 12:00:00").unwrap().0, 1_767_265_200_000_000);
}

/// Types, lines after the last of them, and what must be in the one fault.
const FAULTS: &[(&[&str], &str, &[&str])] = &[
    (
        &[],
        "event = { time = { pointer = \"/t\", format = \"epoch\" } }",
        &["event.time.format: expected", "\"epoch-s\""],
    ),
    (
        &[],
        "event = { time = { pointer = \"/t\", format = \"%d.%m\" } }",
        &["sources.pos.event.time.format: expected a pattern"],
    ),
    (
        &[],
        "event = { time = { pointer = \"/t\", format = \"%F %T\", zone = \"Europe/Berlyn\" } }",
        &["event.time.zone: expected a zone as in \"Europe/Berlin\"", "Berlyn"],
    ),
    (&[], "event = { time = { pointer = \"/t\", zone = \"UTC\" } }", &["zone only beside a pattern"]),
    (&[], "event = { time = { pointr = \"/t\" } }", &["did you mean \"pointer\"?", "found pointr"]),
    (&[], "kind = \"label\"", &["sources.pos.kind: expected \"events\" or \"labels\", did you mean \"labels\"?"]),
    (
        &["mqtt"],
        "client-id = \"{host}\"",
        &["sources.m.client-id: expected", "{instance} and {name} as its only braces"],
    ),
    (&["mqtt"], "tls = { ca-file = \"/ca\" }", &["v.toml:9:7: sources.m.tls: TLS is for an mqtts:// broker"]),
    (&["mqtt"], "password-file = \"/p\"", &["sources.m.username: missing; expected the user of password-file"]),
    (&["mqtt"], "password = \"x\"", &["a secret is taken only from a file: password-file"]),
    (&["mqtt"], "protocol = \"3.1\"", &["expected \"5\" or \"3.1.1\""]),
    (&["mqtt"], "keep-alive = \"0 s\"", &["sources.m.keep-alive: expected a duration"]),
    (&["kafka"], "start = \"beginning\"", &["sources.k.start: expected \"earliest\" or \"latest\""]),
    (&["kafka"], "sasl = { mechanism = \"PLAIN\", username = \"u\" }", &["sources.k.sasl.password-file: missing"]),
    (&["kafka"], "tls = { cert-file = \"/c\" }", &["sources.k.tls.key-file: missing; expected the private key"]),
    (&["serial"], "data-bits = 9", &["sources.s.data-bits: expected a whole number from 5 to 8"]),
    (
        &["serial"],
        "framing = \"frames\"\ndata-bits = 7",
        &["sources.s.data-bits: expected 8: a frame is made of whole"],
    ),
    (
        &["serial"],
        "framing = \"frames\"\nflow-control = \"software\"",
        &["sources.s.flow-control: expected \"none\" or"],
    ),
    (&["file"], "csv = { separator = \";\" }", &["sources.f.csv: is for format = \"csv\""]),
    (&["file"], "format = \"csv\"\ncsv = { separator = \";;\" }", &["sources.f.csv.separator: expected one ASCII"]),
    (&["file"], "format = \"csv\"\ncsv = { separator = \"'\", quote = \"'\" }", &["csv.quote: expected another"]),
    (
        &["file"],
        "format = \"csv\"\ncsv = { columns = { amount = \"float\" } }",
        &["sources.f.csv.columns: expected \"text\", \"number\" or \"boolean\" for the column \"amount\""],
    ),
    (&["to-mqtt"], "in-flight = 0", &["sinks.m.in-flight: expected a whole number from 1 to 65535"]),
    (&["to-mqtt"], "in-flight-size = \"1 KiB\"", &["sinks.m.in-flight-size: expected a size"]),
    (&["to-kafka"], "compression = \"bzip2\"", &["sinks.k.compression: expected \"none\" or \"gzip\""]),
    (&["to-kafka"], "in-flight-size = \"100 MiB\"", &["limits.memory: \"64 MiB\" does not hold", "clients 20"]),
    (
        &["mqtt", "to-mqtt"],
        "client-id = \"verdictd-{instance}-m\"",
        &["v.toml:13:13: sinks.m.client-id: sources.m has the same at this broker (\"verdictd-box-m\")"],
    ),
    (
        &["file"],
        "[sources.g]\ntype = \"file\"\npath = \"/var/e.ndjson\"",
        &["v.toml:9:8: sources.g.path: /var/e.ndjson is read by sources.f.path already"],
    ),
    (
        &["serial"],
        "[sources.t]\ntype = \"serial\"\ndevice = \"/dev/ttyS0\"",
        &["sources.t.device: /dev/ttyS0 is read by sources.s.device already"],
    ),
    (
        &["file"],
        "[sinks.a]\ntype = \"file\"\npath = \"/var/e.ndjson\"",
        &["sources.f.path: sinks.a.path writes there: verdicts would come in again"],
    ),
    (
        &["spool"],
        "[sinks.a]\ntype = \"file\"\npath = \"/var/spool/e/v.ndjson\"",
        &["sources.p.path: sinks.a.path writes there"],
    ),
    (
        &[],
        "[sources.p]\ntype = \"spool\"\npath = \"/var/lib/verdictd\"",
        &["sources.p.path: state-dir lies in it (/var/lib/verdictd)"],
    ),
    (
        &["socket"],
        "[sources.h]\ntype = \"http\"\nlisten = \"unix:/run/l\"",
        &["sources.l.listen: unix:/run/l is taken: sources.h.listen"],
    ),
    (&[], "[sources.n]\ntype = \"mqtt\"\nbroker = \"mqtt://u:p@b\"\ntopics = [\"t\"]", &["user and password are keys"]),
    (
        &[],
        "[sources.n]\ntype = \"mqtt\"\nbroker = \"b:1883\"\ntopics = [\"t\"]",
        &["sources.n.broker: expected \"mqtt://"],
    ),
    (
        &[],
        "[sources.n]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopics = [\"a/b+\"]",
        &["sources.n.topics[0]: expected + as a whole level", "\"a/b+\""],
    ),
    (
        &[],
        "[sources.n]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopics = [\"a\", \"a\"]",
        &["sources.n.topics[1]: expected each only once, found the text \"a\""],
    ),
    (
        &[],
        "[sources.n]\ntype = \"kafka\"\nbrokers = [\"b\"]\ntopics = [\"t\"]",
        &["sources.n.brokers[0]: expected a port from 1 to 65535 after the host, as in \"b:9092\""],
    ),
    (
        &[],
        "[sources.n]\ntype = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"a b\"]",
        &["sources.n.topics[0]: expected a topic of 1 to 249 letters"],
    ),
    (
        &[],
        "[sinks.n]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopic = \"v/{kee}\"",
        &["sinks.n.topic: expected {decision}, {key} or {source} between braces, found \"{kee}\""],
    ),
    (&[], "[sinks.n]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopic = \"v/#\"", &["without + and #"]),
    (&[], "[sources.n]\ntype = \"serial\"\ndevice = \"ttyS0\"", &["sources.n.device: expected an absolute path"]),
];

#[test]
fn every_fault_of_an_edge_is_found() {
    for (types, lines, parts) in FAULTS {
        let text = format!("{}{lines}", of(types));
        let found = faults(&text);
        assert_eq!(found.len(), 1, "one fault of\n{text}\nfound {found:#?}");
        for part in *parts {
            assert!(found[0].contains(part), "{part:?} in the fault of\n{text}\nfound {:?}", found[0]);
        }
    }
}

/// Types, lines after the last of them, key and what must be in the one warning.
const WARNINGS: &[(&[&str], &str, &str, &str)] = &[
    (&[], "[sources.n]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopics = [\"t\"]", "sources.n.event.id", "of its own"),
    (&[], "[sources.n]\ntype = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]", "sources.n.event.id", "offset"),
    (&["serial"], "reply = \"none\"", "sources.s.reply", "is lost"),
    (&["mqtt"], "protocol = \"3.1.1\"\nclient-id = \"a-name-of-24-characters-\"", "sources.m.client-id", "24 bytes"),
    (
        &["mqtt"],
        "username = \"u\"\npassword-file = \"/p\"",
        "sources.m.password-file",
        "goes to mqtt://b:1883 in the clear",
    ),
    (
        &["to-kafka"],
        "sasl = { mechanism = \"PLAIN\", username = \"u\", password-file = \"/p\" }",
        "sinks.k.sasl",
        "the password goes to b:1 in the clear",
    ),
    (&[], "[sources.p]\ntype = \"spool\"\npath = \"/var/lib/verdictd/spool\"", "sources.p.path", "in state-dir"),
    (
        &["mqtt", "to-mqtt"],
        "[sinks.n]\ntype = \"mqtt\"\nbroker = \"mqtt://b\"\ntopic = \"{key}\"",
        "sinks.n.topic",
        "m reads it",
    ),
    (
        &["kafka"],
        "[sinks.n]\ntype = \"kafka\"\nbrokers = [\"b:1\"]\ntopic = \"t\"",
        "sinks.n.topic",
        "sources.k reads it",
    ),
];

#[test]
fn what_shortens_a_promise_is_warned_of_and_is_no_fault() {
    for (types, lines, key, part) in WARNINGS {
        let text = format!("{}{lines}", of(types));
        let loaded = parse_one(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let warnings: Vec<_> = loaded.warnings.iter().filter(|w| w.key != "sinks").collect();
        assert_eq!(warnings.len(), 1, "one warning of\n{text}\nfound {warnings:#?}");
        assert!(warnings[0].key == *key && warnings[0].message.contains(part), "{:?}", warnings[0]);
        assert!(warnings[0].line.is_some(), "{:?} has a place", warnings[0]);
    }
}

#[test]
fn what_is_safe_is_not_warned_of() {
    for (types, lines) in [
        (&["mqtt"][..], "username = \"u\"\npassword-file = \"/p\"\nbroker = \"mqtts://b\"\n"),
        (&["mqtt"], "username = \"u\"\npassword-file = \"/p\"\nbroker = \"mqtt://[::1]\"\n"),
        (&["to-kafka"], "tls = {}\nsasl = { mechanism = \"PLAIN\", username = \"u\", password-file = \"/p\" }\n"),
        (&["mqtt", "kafka", "serial", "file", "spool", "socket", "to-mqtt"], ""),
    ] {
        let text = of(types);
        let text = if lines.contains("broker =") { text.replace("broker = \"mqtt://b\"\n", "") } else { text };
        let loaded = parse_one(&format!("{text}{lines}")).unwrap();
        let warnings: Vec<_> = loaded.warnings.iter().filter(|w| w.key != "sinks").collect();
        assert!(warnings.is_empty(), "{warnings:#?}");
    }
}

#[test]
fn secrets_of_brokers_are_looked_at_and_may_be_systemd_credentials() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("verdictd.toml");
    // ${NAME} is how a unit's LoadCredential= is named: systemd sets CREDENTIALS_DIRECTORY.
    let lines = "username = \"u\"\npassword-file = \"${CREDENTIALS_DIRECTORY:-.}/mqtt\"\n";
    std::fs::write(&file, format!("{}{lines}", of(&["mqtt"]))).unwrap();
    let problems = load(&file).unwrap_err().to_string();
    assert!(problems.contains("sources.m.password-file: there is no file"), "{problems}");
    std::fs::write(dir.path().join("mqtt"), "two\nlines\n").unwrap();
    let problems = load(&file).unwrap_err().to_string();
    assert!(problems.contains("expected one line with a password") && !problems.contains("two"), "{problems}");
    std::fs::write(dir.path().join("mqtt"), "secret\n").unwrap();
    let loaded = load(&file).unwrap();
    assert!(loaded.warnings.iter().any(|w| w.message.contains("everyone can read")), "{:?}", loaded.warnings);
    let shown = format!("{:?}", loaded.settings);
    assert!(!shown.contains("secret"), "{shown}");

    let credentials = |name: &str| (name == "CREDENTIALS_DIRECTORY").then(|| "/run/credentials/v".to_owned());
    let text = format!("{}{}", of(&["mqtt"]), lines.replace(":-.", ""));
    let text = Text { file: file.clone(), text };
    let SourceKind::Mqtt(mqtt) = parse(&[text], "box", &credentials).unwrap().config.sources.remove(0).kind else {
        panic!()
    };
    assert_eq!(mqtt.client.password_file.as_deref(), Some(Path::new("/run/credentials/v/mqtt")));
}
