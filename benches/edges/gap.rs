//! How long a verdict takes to a reader of the broker, and how long readers see none when the daemon is killed.

use super::brokers::{self, broker, kafka_sink, kafka_source, mosquitto, mqtt_sink, mqtt_source};
use super::events::{Events, MAPPING};
use super::meter::{Daemon, Place, median};
use super::support::http::{Client as Http, JSON};
use super::support::kafka::Broker;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord};
use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const RATE: u32 = 1000;
const LATENCY_RUN: Duration = Duration::from_secs(16);
/// What is sent before counts for nothing: the sink connects, the reader joins its group.
const WARM_UP: Duration = Duration::from_secs(6);

/// When each verdict came to a reader, by the event's id.
type Arrivals = Receiver<(String, Instant)>;

fn id(verdict: &[u8]) -> String {
    let verdict: serde_json::Value = serde_json::from_slice(verdict).expect("a verdict");
    verdict["id"].as_str().expect("an id").to_owned()
}

fn read_mqtt(port: u16) -> Arrivals {
    let (sender, arrivals) = channel();
    let (ready, is_ready) = channel();
    std::thread::spawn(move || {
        let (client, mut connection) = Client::new(MqttOptions::new("reader", "127.0.0.1", port), 10);
        client.subscribe("verdicts", QoS::AtLeastOnce).expect("a client");
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::SubAck(_))) => drop(ready.send(())),
                Ok(Event::Incoming(Packet::Publish(publish))) => {
                    if sender.send((id(&publish.payload), Instant::now())).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    });
    is_ready.recv().expect("a subscription");
    arrivals
}

fn read_kafka(broker: &Broker) -> Arrivals {
    let (sender, arrivals) = channel();
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .set("group.id", "reader")
        .set("auto.offset.reset", "earliest")
        .create()
        .expect("a consumer");
    consumer.subscribe(&["verdicts"]).expect("a topic");
    std::thread::spawn(move || {
        loop {
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
                let arrival = (id(message.payload().expect("a verdict")), Instant::now());
                if sender.send(arrival).is_err() {
                    return;
                }
            }
        }
    });
    arrivals
}

/// Calls `each` so many times a second, without catching up by a burst what it was late.
fn at_rate(rate: u32, run: impl Fn() -> bool, mut each: impl FnMut()) {
    let mut next = Instant::now();
    while run() {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        next = if now > next + Duration::from_millis(5) { now } else { next } + Duration::from_secs(1) / rate;
        each();
    }
}

fn percentiles(name: &str, mut millis: Vec<f64>) {
    millis.sort_by(f64::total_cmp);
    let at = |percent: usize| millis.get(millis.len() * percent / 100).copied().unwrap_or(f64::NAN);
    println!("{name:<34} p50 {:>7.2}  p99 {:>7.2}  ({} events)", at(50), at(99), millis.len());
}

fn post_and_time(place: &Place, arrivals: &Arrivals) -> Vec<f64> {
    const CONNECTIONS: u32 = 4;
    let daemon = place.start();
    daemon.await_ready();
    let sent = Arc::new(Mutex::new(HashMap::new()));
    let begun = Instant::now();
    let end = begun + LATENCY_RUN;
    let events = Arc::new(Mutex::new(Events::new()));
    let posts: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (sent, events) = (Arc::clone(&sent), Arc::clone(&events));
            let mut client = Http::connect(&place.path().join("events.sock")).expect("a connection");
            std::thread::spawn(move || {
                at_rate(
                    RATE / CONNECTIONS,
                    || Instant::now() < end,
                    || {
                        let event = events.lock().unwrap().one();
                        let id = String::from_utf8_lossy(&event[19..33]).into_owned();
                        sent.lock().unwrap().insert(id, Instant::now());
                        assert_eq!(client.post(JSON, &event).expect("an answer").status, 200);
                    },
                );
            })
        })
        .collect();
    for post in posts {
        post.join().expect("a sender");
    }
    let sent = sent.lock().unwrap();
    let mut came = HashMap::new();
    while came.len() < sent.len() {
        let (id, at) = arrivals.recv_timeout(Duration::from_secs(30)).expect("every verdict");
        came.entry(id).or_insert(at);
    }
    let counted = sent.iter().filter(|(_, sent)| **sent > begun + WARM_UP);
    counted.map(|(id, sent)| came[id].duration_since(*sent).as_secs_f64() * 1e3).collect()
}

fn http(place: &Place) -> String {
    let at = place.path().display();
    format!("[sources.pos]\ntype = \"http\"\nlisten = \"unix:{at}/events.sock\"\nevent = {MAPPING}\n")
}

pub fn latency() {
    let broker = mosquitto();
    let place = Place::new("");
    place.configure(&(http(&place) + &mqtt_sink(broker.port())));
    percentiles("HTTP to MQTT", post_and_time(&place, &read_mqtt(broker.port())));
    let broker = brokers::broker();
    let place = Place::new("");
    place.configure(&(http(&place) + &kafka_sink(&broker)));
    percentiles("HTTP to Kafka", post_and_time(&place, &read_kafka(&broker)));
}

/// The longest time without a verdict, from the kill on, while events keep coming.
fn longest_gap(place: &Place, arrivals: &Arrivals, ready: impl Fn(&Daemon)) -> f64 {
    let daemon = place.start();
    ready(&daemon);
    let wait = Duration::from_secs(30);
    // It flows.
    for _ in 0..RATE * 2 {
        arrivals.recv_timeout(wait).expect("verdicts before the kill");
    }
    daemon.kill();
    let killed = Instant::now();
    let daemon = place.start();
    let (mut last, mut longest) = (killed, Duration::ZERO);
    while last.duration_since(killed) < Duration::from_secs(5) {
        let (_, at) = arrivals.recv_timeout(Duration::from_mins(2)).expect("verdicts after the kill");
        longest = longest.max(at.saturating_duration_since(last));
        last = last.max(at);
    }
    daemon.stop();
    longest.as_secs_f64()
}

pub fn restart(runs: u64) {
    let mqtt = (0..runs).map(|_| {
        let broker = mosquitto();
        let place = Place::new(&(mqtt_source(broker.port()) + &mqtt_sink(broker.port())));
        let arrivals = read_mqtt(broker.port());
        let running = Arc::new(AtomicBool::new(true));
        let load = {
            let (running, port) = (Arc::clone(&running), broker.port());
            std::thread::spawn(move || {
                let (client, mut connection) = Client::new(MqttOptions::new("load", "127.0.0.1", port), 1000);
                std::thread::spawn(move || connection.iter().take_while(Result::is_ok).for_each(drop));
                let mut events = Events::new();
                at_rate(
                    RATE,
                    || running.load(Relaxed),
                    || {
                        let _ = client.publish("events/a", QoS::AtLeastOnce, false, events.one());
                    },
                );
            })
        };
        let gap = longest_gap(&place, &arrivals, Daemon::await_ready);
        running.store(false, Relaxed);
        drop(load.join());
        gap
    });
    println!("{:<34} {:>7.2}", "MQTT to MQTT", median(mqtt.collect()));
    let kafka = (0..runs).map(|_| {
        let broker = broker();
        let place = Place::new(&(kafka_source(&broker) + &kafka_sink(&broker)));
        let arrivals = read_kafka(&broker);
        let producer: BaseProducer =
            ClientConfig::new().set("bootstrap.servers", broker.bootstrap()).create().expect("a producer");
        let running = Arc::new(AtomicBool::new(true));
        let load = {
            let running = Arc::clone(&running);
            std::thread::spawn(move || {
                let mut events = Events::new();
                at_rate(
                    RATE,
                    || running.load(Relaxed),
                    || {
                        let value = events.one();
                        drop(producer.send(BaseRecord::to("events").key(&value[19..33]).payload(&value)));
                        producer.poll(Duration::ZERO);
                    },
                );
            })
        };
        let gap = longest_gap(&place, &arrivals, Daemon::await_ready);
        running.store(false, Relaxed);
        drop(load.join());
        gap
    });
    println!("{:<34} {:>7.2}", "Kafka to Kafka", median(kafka.collect()));
}
