//! From and to brokers. What comes in waits at the broker already when the daemon starts, so that no load takes
//! processor time from it; the broker itself does.

use super::events::{Events, MAPPING};
use super::file;
use super::meter::{Figures, Place};
use super::support::kafka::{self, Broker};
use super::support::mosquitto::{Mosquitto, Setup};
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use std::time::Duration;

/// A Mosquitto that queues whatever comes.
pub fn mosquitto() -> Mosquitto {
    let lines = ["max_queued_messages 0", "max_queued_bytes 0", "max_inflight_messages 1000"];
    Mosquitto::start(&Setup { lines: lines.map(str::to_owned).to_vec(), ..Setup::default() })
}

pub fn mqtt_source(port: u16) -> String {
    format!(
        "[sources.feed]\ntype = \"mqtt\"\nbroker = \"mqtt://127.0.0.1:{port}\"\ntopics = [\"events/#\"]\nevent = {MAPPING}\n"
    )
}

pub fn mqtt_sink(port: u16) -> String {
    format!("[sinks.out]\ntype = \"mqtt\"\nbroker = \"mqtt://127.0.0.1:{port}\"\ntopic = \"verdicts\"\n")
}

pub fn kafka_source(broker: &Broker) -> String {
    let brokers = broker.bootstrap();
    format!("[sources.feed]\ntype = \"kafka\"\nbrokers = [\"{brokers}\"]\ntopics = [\"events\"]\nevent = {MAPPING}\n")
}

pub fn kafka_sink(broker: &Broker) -> String {
    let brokers = broker.bootstrap();
    format!("[sinks.out]\ntype = \"kafka\"\nbrokers = [\"{brokers}\"]\ntopic = \"verdicts\"\n")
}

/// A broker with the topics of a run; the heap is for a box of its own size.
pub fn broker() -> Broker {
    let broker = Broker::start(kafka::Setup::default()).expect("Java, for a Kafka broker");
    broker.create_topic("events", 4, &[]);
    broker.create_topic("verdicts", 4, &[]);
    broker
}

/// Publishes events with QoS 1 and waits until the broker has them all.
fn publish(port: u16, count: usize) {
    let mut options = MqttOptions::new("load", "127.0.0.1", port);
    options.set_inflight(1000).set_keep_alive(Duration::from_mins(1));
    let (client, mut connection) = Client::new(options, 1000);
    let load = std::thread::spawn(move || {
        let mut events = Events::new();
        for _ in 0..count {
            client.publish("events/a", QoS::AtLeastOnce, false, events.one()).expect("a client");
        }
        client
    });
    let mut confirmed = 0;
    for event in connection.iter() {
        if let Event::Incoming(Packet::PubAck(_)) = event.expect("a connection") {
            confirmed += 1;
            if confirmed == count {
                break;
            }
        }
    }
    drop(load.join());
}

/// Writes events to the topic and waits until the broker has them all.
fn produce(broker: &Broker, count: usize) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .set("linger.ms", "20")
        .set("batch.num.messages", "10000")
        .create()
        .expect("a producer");
    let mut events = Events::new();
    for n in 0..count {
        let (value, key) = (events.one(), n.to_string());
        loop {
            match producer.send(BaseRecord::to("events").key(&key).payload(&value)) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    producer.poll(Duration::from_millis(10));
                }
                Err((error, _)) => panic!("{error}"),
            }
        }
        if n % 1000 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    producer.flush(Duration::from_mins(1)).expect("a flush");
}

pub fn mqtt_to_mqtt(count: usize) -> Figures {
    let broker = mosquitto();
    let place = Place::new(&(mqtt_source(broker.port()) + &mqtt_sink(broker.port())));
    // Its session, for the broker to queue for.
    let daemon = place.start();
    daemon.until("subscribed", |status| status["ready"] == true && status["sources"][0]["state"] == "up");
    daemon.stop();
    publish(broker.port(), count);
    place.start().carry(count, None)
}

pub fn kafka_to_kafka(count: usize) -> Figures {
    let broker = broker();
    let place = Place::new(&(kafka_source(&broker) + &kafka_sink(&broker)));
    produce(&broker, count);
    place.start().carry(count, None)
}

/// Gathers a backlog while the broker is away, and lets it come.
fn drain(sink: &str, count: usize, come: impl FnOnce()) -> Figures {
    let place = Place::new("");
    let path = place.path().join("events.ndjson");
    file::write_events(&path, count);
    place.configure(&(file::source(&path) + sink));
    let daemon = place.start();
    daemon.until("all taken", |status| status["sources"][0]["accepted"].as_u64().is_some_and(|n| n >= count as u64));
    let cpu = daemon.cpu_s();
    come();
    daemon.until("up", |status| status["sinks"][0]["delivered"].as_u64().is_some_and(|n| n > 0));
    daemon.carry(count, Some((std::time::Instant::now(), cpu)))
}

pub fn drain_to_mqtt(count: usize) -> Figures {
    let mut broker = mosquitto();
    let port = broker.port();
    broker.stop();
    drain(&mqtt_sink(port), count, || broker.restart())
}

pub fn drain_to_kafka(count: usize) -> Figures {
    let mut broker = broker();
    let sink = kafka_sink(&broker);
    broker.stop();
    drain(&sink, count, || broker.up())
}
