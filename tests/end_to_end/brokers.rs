//! The daemon between real brokers: events from their topics, verdicts to their topics, over a kill.

use crate::events::event;
use crate::support::child::{self, WATCHDOG};
use crate::support::daemon::{Daemon, configured};
use crate::support::kafka::{self, unique};
use crate::support::mosquitto::{Mosquitto, Setup};
use crate::support::site::Site;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn up(daemon: &Daemon) {
    let shown = child::poll(WATCHDOG, || {
        let status = daemon.status();
        let mut all =
            ["sources", "sinks"].iter().flat_map(|table| status[*table].as_array().cloned().unwrap_or_default());
        let is_well = |one: Value| one["state"] == "up" && one["last-error"].is_null();
        all.all(is_well).then_some(())
    });
    assert!(shown.is_some(), "{}", daemon.status());
}

/// Publishes events at QoS 1 with Mosquitto's own client.
fn publish(broker: &Mosquitto, topic: &str, ids: std::ops::Range<u32>) {
    let port = broker.port().to_string();
    let mut child = Command::new("mosquitto_pub")
        .args(["-h", "127.0.0.1", "-p", &port, "-q", "1", "-t", topic, "-u", "app", "-P", "app-secret", "-l"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("mosquitto_pub");
    let lines: String = ids.map(|n| event(&n.to_string(), 100.0) + "\n").collect();
    child.stdin.take().expect("its input").write_all(lines.as_bytes()).expect("written");
    assert!(child.wait().expect("its end").success());
}

#[test]
fn from_mqtt_to_mqtt_by_password_over_a_kill() {
    let users = vec![("app".to_owned(), "app-secret".to_owned())];
    let broker = Mosquitto::start(&Setup { users, ..Setup::default() });
    let mut site = Site::new();
    std::fs::write(site.path().join("mqtt.password"), "app-secret\n").unwrap();
    let url = format!("\"mqtt://127.0.0.1:{}\"", broker.port());
    for table in ["sources.plant", "sinks.plant"] {
        site.set(&format!("{table}.type"), "\"mqtt\"")
            .set(&format!("{table}.broker"), &url)
            .set(&format!("{table}.username"), "\"app\"")
            .set(&format!("{table}.password-file"), "\"mqtt.password\"");
    }
    site.set("sources.plant.topics", "[\"events/+\"]")
        .set("sources.plant.event", "{ id = \"/id\" }")
        .set("sinks.plant.topic", "\"verdicts/{decision}/{key}\"");
    let port = broker.port().to_string();
    let out = std::fs::File::create(site.path().join("received")).unwrap();
    let mut reader = Command::new("mosquitto_sub");
    reader.args(["-h", "127.0.0.1", "-p", &port, "-q", "1", "-t", "verdicts/#", "-u", "app", "-P", "app-secret"]);
    reader.args(["-i", "reader", "-c", "-F", "%t %p"]).stdout(out);
    let _reader = child::Guarded::spawn(&mut reader);

    let daemon = Daemon::start(&site);
    up(&daemon);
    assert_eq!(daemon.metric("verdictd_source_up{source=\"plant\"}"), Some(1.0));
    publish(&broker, "events/1", 0..500);
    daemon.kill();
    // The broker keeps what comes meanwhile for the session of this client.
    publish(&broker, "events/2", 500..1000);
    let daemon = Daemon::start(&site);
    let all = child::poll(WATCHDOG, || {
        let text = std::fs::read_to_string(site.path().join("received")).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.ends_with('}')).collect();
        let ids: BTreeSet<String> = lines.iter().map(|line| line_member(line, "id")).collect();
        (ids.len() == 1000).then(|| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    });
    let lines = all.unwrap_or_else(|| panic!("{}\n{}", daemon.status(), daemon.log()));
    assert!(lines.iter().all(|line| line.starts_with("verdicts/allow/card-1 ")), "the topic is made of the verdict");
    let sequences: BTreeSet<String> = lines.iter().map(|line| line_member(line, "sequence")).collect();
    assert_eq!(sequences.len(), 1000, "one verdict an event, also of those that came twice");
    let source = &daemon.status()["sources"][0];
    assert_eq!((&source["type"], &source["topics"]), (&"mqtt".into(), &serde_json::json!(["events/+"])), "{source}");
    assert!(daemon.stop().success());
}

/// A member of the JSON after the topic.
fn line_member(line: &str, name: &str) -> String {
    let json = line.split_once(' ').map_or(line, |(_, json)| json);
    let value: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {line}"));
    value[name].to_string()
}

#[test]
fn from_kafka_to_kafka_by_scram_over_a_kill() {
    let setup = kafka::Setup { secured: true, ..kafka::Setup::default() };
    let Some(broker) = kafka::Broker::start(setup) else { return };
    let (events, verdicts) = (unique("events"), unique("verdicts"));
    broker.create_topic(&events, 3, &[]);
    broker.create_topic(&verdicts, 3, &[]);
    let mut site = Site::new();
    // TLS and SASL, both ways, beside HTTP.
    site.set("limits.memory", "\"96 MiB\"");
    std::fs::write(site.path().join("kafka.password"), kafka::USER.1).unwrap();
    for table in ["sources.site", "sinks.site"] {
        let sasl = format!(
            "{{ mechanism = \"SCRAM-SHA-256\", username = \"{}\", password-file = \"kafka.password\" }}",
            kafka::USER.0
        );
        site.set(&format!("{table}.type"), "\"kafka\"")
            .set(&format!("{table}.brokers"), &format!("[\"{}\"]", broker.sasl_tls_bootstrap()))
            .set(&format!("{table}.sasl"), &sasl)
            .set(&format!("{table}.tls"), &format!("{{ ca-file = {:?} }}", broker.ca_file().display().to_string()));
    }
    site.set("sources.site.topics", &format!("[\"{events}\"]"))
        .set("sources.site.group", &format!("\"{}\"", unique("group")))
        .set("sinks.site.topic", &format!("\"{verdicts}\""));
    let checked = configured(&site, &["check"]);
    assert!(checked.status.success(), "{checked:?}");
    assert!(checked.stderr.contains("sources.site.event.id: not set"), "{}", checked.stderr);

    let daemon = Daemon::start(&site);
    produce(&broker.bootstrap(), &events, 0..500);
    let taken = child::poll(WATCHDOG, || (daemon.status()["sources"][1]["accepted"].as_u64()? > 0).then_some(()));
    assert!(taken.is_some(), "{}\n{}", daemon.status(), daemon.log());
    daemon.kill();
    produce(&broker.bootstrap(), &events, 500..1000);
    let daemon = Daemon::start(&site);
    let (ids, sequences) = consume(&broker.bootstrap(), &verdicts, 1000, &daemon);
    assert_eq!((ids.len(), sequences.len()), (1000, 1000), "one verdict an event");
    up(&daemon);
    let source = &daemon.status()["sources"][1];
    assert_eq!((&source["type"], &source["topics"]), (&"kafka".into(), &serde_json::json!([events])), "{source}");
    assert!(daemon.stop().success());
}

fn produce(bootstrap: &str, topic: &str, ids: std::ops::Range<u32>) {
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", bootstrap).set("acks", "all").create().expect("a producer");
    for n in ids {
        let payload = event(&n.to_string(), 100.0);
        let record = BaseRecord::<str, str>::to(topic).payload(&payload);
        producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
    }
    producer.flush(Duration::from_mins(1)).expect("delivered");
}

/// The ids and sequences of the verdicts in a topic, once there are so many ids.
fn consume(bootstrap: &str, topic: &str, count: usize, daemon: &Daemon) -> (BTreeSet<String>, BTreeSet<String>) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", unique("reader"))
        .set("auto.offset.reset", "earliest")
        .create()
        .expect("a consumer");
    consumer.subscribe(&[topic]).expect("subscribed");
    let (mut ids, mut sequences) = (BTreeSet::new(), BTreeSet::new());
    let all = child::poll(WATCHDOG, || {
        while let Some(Ok(record)) = consumer.poll(Duration::from_millis(100)) {
            let payload = record.payload().map(String::from_utf8_lossy).unwrap_or_default();
            ids.insert(line_member(&payload, "id"));
            sequences.insert(line_member(&payload, "sequence"));
        }
        (ids.len() >= count).then_some(())
    });
    assert!(all.is_some(), "{} verdicts of {count}: {}\n{}", ids.len(), daemon.status(), daemon.log());
    (ids, sequences)
}

#[test]
fn a_serial_line_is_a_source_and_one_that_is_not_there_is_told() {
    let mut site = Site::new();
    let device = site.path().join("no-adapter");
    site.set("sources.terminal.type", "\"serial\"")
        .set("sources.terminal.device", &format!("{:?}", Path::new(&device).display().to_string()))
        .set("sources.terminal.reply", "\"none\"");
    let daemon = Daemon::start(&site);
    let warned = child::poll(WATCHDOG, || {
        let warnings = daemon.status()["warnings"].to_string();
        warnings.contains("source terminal is down").then_some(warnings)
    });
    let warnings = warned.unwrap_or_else(|| panic!("{}", daemon.status()));
    assert!(warnings.contains("no-adapter") || warnings.contains("No such file"), "{warnings}");
    assert_eq!(daemon.metric("verdictd_source_up{source=\"terminal\"}"), Some(0.0));
    // A source that is away does not keep it from being ready.
    assert_eq!(daemon.admin("/readyz").status, 200);
    assert!(daemon.stop().success());
}
