//! Clients of brokers: names that two would share, passwords in the clear, verdicts that come back as events.

use crate::config::{
    CLIENT_ID_BYTES_311, Config, HostPort, MqttClient, MqttProtocol, SinkKind, SourceKind, section::Reader,
};
use crate::link::kafka::{Mechanism, Sasl};

/// The tables of all sources and sinks that are clients of an MQTT broker, with their paths.
fn mqtt(config: &Config) -> Vec<(String, &MqttClient)> {
    let sources = config.sources.iter().filter_map(|source| match &source.kind {
        SourceKind::Mqtt(mqtt) => Some((format!("sources.{}", source.name), &mqtt.client)),
        _ => None,
    });
    let sinks = config.sinks.iter().filter_map(|sink| match &sink.kind {
        SinkKind::Mqtt(mqtt) => Some((format!("sinks.{}", sink.name), &mqtt.client)),
        _ => None,
    });
    sources.chain(sinks).collect()
}

/// The same of Kafka: path, brokers, whether over TLS, and who it says it is.
fn kafka(config: &Config) -> Vec<(String, &[HostPort], bool, Option<&Sasl>)> {
    let sources = config.sources.iter().filter_map(|source| match &source.kind {
        SourceKind::Kafka(k) => {
            Some((format!("sources.{}", source.name), k.brokers.as_slice(), k.tls.is_some(), k.sasl.as_ref()))
        }
        _ => None,
    });
    let sinks = config.sinks.iter().filter_map(|sink| match &sink.kind {
        SinkKind::Kafka(k) => {
            Some((format!("sinks.{}", sink.name), k.brokers.as_slice(), k.tls.is_some(), k.sasl.as_ref()))
        }
        _ => None,
    });
    sources.chain(sinks).collect()
}

pub(super) fn check(config: &Config, reader: &mut Reader) {
    let clients = mqtt(config);
    for (n, (table, client)) in clients.iter().enumerate() {
        let key = format!("{table}.client-id");
        let same =
            |other: &MqttClient| other.client_id == client.client_id && other.broker.address == client.broker.address;
        if let Some((other, _)) = clients.iter().take(n).find(|(_, other)| same(other)) {
            let message = format!(
                "{other} has the same at this broker ({:?}), so each would throw the other out; set one of them",
                client.client_id
            );
            reader.clash(&key, &message, "one that no other client of the broker has", &client.client_id);
        }
        if client.protocol == MqttProtocol::V311 && client.client_id.len() > CLIENT_ID_BYTES_311 {
            let message = format!(
                "{:?} has {} bytes; a broker of MQTT 3.1.1 may refuse one of over {CLIENT_ID_BYTES_311}",
                client.client_id,
                client.client_id.len()
            );
            reader.caution(&key, &key, &message);
        }
        if client.password_file.is_some() && !client.broker.tls && !client.broker.address.is_loopback() {
            let message = format!("the password goes to {} in the clear; use mqtts://", client.broker);
            reader.caution(&format!("{table}.password-file"), &format!("{table}.password-file"), &message);
        }
    }
    for (table, brokers, tls, sasl) in kafka(config) {
        let (Some(sasl), Some(broker)) = (sasl, brokers.iter().find(|broker| !broker.is_loopback())) else { continue };
        if !tls {
            let what = match sasl.mechanism {
                Mechanism::Plain => "the password goes",
                Mechanism::ScramSha256 | Mechanism::ScramSha512 => "records go",
            };
            let message = format!("{what} to {broker} in the clear; set tls");
            reader.caution(&format!("{table}.sasl"), &format!("{table}.sasl.mechanism"), &message);
        }
    }
    for sink in &config.sinks {
        match &sink.kind {
            SinkKind::Http(http) if http.token_file.is_some() && !http.url.tls && !http.url.address.is_loopback() => {
                let key = format!("sinks.{}.token-file", sink.name);
                let message = format!("the token goes to {} in the clear; use https://", http.url);
                reader.caution(&key, &key, &message);
            }
            SinkKind::Postgres(postgres) if postgres.tls.is_none() && !postgres.address.place.is_local() => {
                let key = format!("sinks.{}.url", sink.name);
                let place = &postgres.address.place;
                reader.caution(
                    &key,
                    &key,
                    &format!("rows, and the password if the server asks so, go to {place} in the clear; set tls"),
                );
            }
            _ => {}
        }
    }
    loops(config, reader);
}

/// A sink that may publish what a source takes.
fn loops(config: &Config, reader: &mut Reader) {
    for sink in &config.sinks {
        let key = format!("sinks.{}.topic", sink.name);
        let source = config.sources.iter().find(|source| match (&sink.kind, &source.kind) {
            (SinkKind::Mqtt(out), SourceKind::Mqtt(from)) => {
                out.client.broker.address == from.client.broker.address
                    && from.topics.iter().any(|filter| filter.may_take(&out.topic))
            }
            (SinkKind::Kafka(out), SourceKind::Kafka(from)) => {
                out.brokers.iter().any(|broker| from.brokers.contains(broker)) && from.topics.contains(&out.topic)
            }
            _ => false,
        });
        if let Some(source) = source {
            let message = format!("sources.{} reads it: verdicts would come in again as events", source.name);
            reader.caution(&key, &key, &message);
        }
    }
}
