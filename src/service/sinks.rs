//! Starts the sinks: from the config's table to the sink's options, a task each.

use super::aside::Aside;
use super::clients;
use super::daemon::DaemonError;
use crate::config::{self, Compression, Config, FileSink, KafkaSink, MqttSink, Sink, SinkKind};
use crate::engine::Engine;
use crate::forward::{Encoding, Filter, SetAside, SinkStatus, file, kafka, mqtt};
use crate::store::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What every sink is given.
pub struct Sinks<'a> {
    pub config: &'a Config,
    pub store: &'a Arc<Store>,
    pub engine: &'a Arc<Engine>,
    pub stop: &'a watch::Sender<bool>,
}

impl Sinks<'_> {
    /// Starts one task a sink; gives what they show of themselves.
    ///
    /// # Errors
    /// When a sink's options are not what the config has checked, which is a bug.
    pub fn start(&self, tasks: &mut JoinSet<()>) -> Result<Vec<Arc<SinkStatus>>, DaemonError> {
        let aside: Arc<dyn SetAside> =
            Arc::new(Aside { engine: Arc::clone(self.engine), keep_payload: self.config.quarantine.payload });
        let start = |sink: &Sink| {
            let status = Arc::new(SinkStatus::new(&sink.name, sink.kind.name(), target(&sink.kind)));
            let (store, stop) = (Arc::clone(self.store), self.stop.subscribe());
            let (aside, shown) = (Arc::clone(&aside), Arc::clone(&status));
            match &sink.kind {
                SinkKind::File(to) => drop(tasks.spawn(file::run(file_options(sink, to), store, shown, stop))),
                SinkKind::Kafka(to) => {
                    let options = kafka_options(&self.config.instance, sink, to);
                    tasks.spawn(kafka::run(options, store, aside, shown, stop));
                }
                SinkKind::Mqtt(to) => {
                    let options = mqtt_options(sink, to)?;
                    tasks.spawn(mqtt::run(options, store, aside, shown, stop));
                }
            }
            Ok(status)
        };
        self.config.sinks.iter().map(start).collect()
    }
}

/// Where it delivers to, for people.
fn target(kind: &SinkKind) -> String {
    match kind {
        SinkKind::File(to) => to.path.display().to_string(),
        SinkKind::Mqtt(to) => format!("{} {}", to.client.broker, to.topic),
        SinkKind::Kafka(to) => format!("{} {}", clients::list(&to.brokers), to.topic),
    }
}

fn encoding(sink: &Sink) -> Encoding {
    match sink.encoding {
        config::Encoding::Json => Encoding::Json,
        config::Encoding::CloudEvents => Encoding::CloudEvents,
    }
}

fn file_options(sink: &Sink, to: &FileSink) -> file::Options {
    let some = |n: u64| (n > 0).then_some(n);
    file::Options {
        name: sink.name.clone(),
        path: to.path.clone(),
        rotation: file::Rotation {
            size: some(to.rotate_size.bytes()),
            age: some(to.rotate_age.as_milliseconds()).map(Duration::from_millis),
            keep: (to.keep > 0).then_some(to.keep),
        },
        sync_interval: to.sync_interval.duration(),
        encoding: encoding(sink),
        filter: Filter(sink.decisions.clone()),
    }
}

pub(super) fn mqtt_options(sink: &Sink, to: &MqttSink) -> Result<mqtt::Options, DaemonError> {
    let topic = mqtt::Template::parse(to.topic.as_str())
        .map_err(|error| DaemonError::Bug(format!("sinks.{}.topic: {error}", sink.name)))?;
    Ok(mqtt::Options {
        encoding: encoding(sink),
        filter: Filter(sink.decisions.clone()),
        in_flight_records: to.in_flight,
        in_flight_bytes: to.in_flight_size.as_usize(),
        retain: to.retain,
        ..mqtt::Options::new(&sink.name, clients::mqtt(&to.client), topic)
    })
}

pub(super) fn kafka_options(instance: &str, sink: &Sink, to: &KafkaSink) -> kafka::Options {
    let connection = clients::kafka(instance, &sink.name, &to.brokers, to.tls.as_ref(), to.sasl.as_ref());
    kafka::Options {
        encoding: encoding(sink),
        filter: Filter(sink.decisions.clone()),
        compression: match to.compression {
            Compression::None => kafka::Compression::None,
            Compression::Gzip => kafka::Compression::Gzip,
            Compression::Snappy => kafka::Compression::Snappy,
            Compression::Lz4 => kafka::Compression::Lz4,
            Compression::Zstd => kafka::Compression::Zstd,
        },
        in_flight_records: to.in_flight,
        in_flight_bytes: to.in_flight_size.as_usize(),
        linger: to.linger.duration(),
        ..kafka::Options::new(&sink.name, connection, &to.topic)
    }
}
