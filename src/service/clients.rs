//! From the config's words on brokers to what their clients take.

use crate::config::HostPort;
use crate::link::ClientTls;
use crate::link::kafka::{Connection, Sasl};

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

/// A list, for people.
pub fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
