//! From the config's words on brokers to what their clients take.

use crate::config::{HostPort, HttpSink, MqttClient, MqttProtocol, WebUrl};
use crate::link::kafka::{Connection, Sasl};
use crate::link::mqtt::{Address, ClientOptions, Protocol};
use crate::link::{ClientTls, http};

/// How a Kafka client of this daemon connects; its name is that of its table.
pub fn kafka(
    instance: &str,
    name: &str,
    brokers: &[HostPort],
    tls: Option<&ClientTls>,
    sasl: Option<&Sasl>,
) -> Connection {
    Connection {
        brokers: brokers.iter().map(ToString::to_string).collect(),
        client_id: format!("verdictd-{instance}-{name}"),
        tls: tls.cloned(),
        sasl: sasl.cloned(),
        ..Connection::default()
    }
}

/// How an MQTT client of this daemon connects.
pub fn mqtt(client: &MqttClient) -> ClientOptions {
    let (at, tls) = (&client.broker.address, client.broker.tls);
    let broker = Address { host: at.host.clone(), port: at.port, tls };
    ClientOptions {
        protocol: match client.protocol {
            MqttProtocol::V311 => Protocol::V311,
            MqttProtocol::V5 => Protocol::V5,
        },
        username: client.username.clone(),
        password_file: client.password_file.clone(),
        tls: client.tls.clone().unwrap_or_default(),
        keep_alive: client.keep_alive.duration(),
        ..ClientOptions::new(broker, &client.client_id)
    }
}

/// How an HTTP sink of this daemon connects to where a URL leads.
pub fn http(sink: &HttpSink, url: &WebUrl) -> http::Options {
    let (host, port) = (url.address.host.clone(), url.address.port);
    http::Options {
        server: http::Server { host, port, tls: url.tls },
        token_file: sink.token_file.clone(),
        tls: sink.tls.clone().unwrap_or_default(),
        connect_timeout: http::CONNECT_TIMEOUT.min(sink.timeout.duration()),
        timeout: sink.timeout.duration(),
    }
}

/// A list, for people.
pub fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
