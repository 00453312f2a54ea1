//! Starts the sinks: from the config's table to the sink's options, a task each.

use super::aside::Aside;
use super::clients;
use super::daemon::DaemonError;
use super::desks::Desks;
use crate::config::{
    self, Compression, Config, FileSink, GuardedSink, HttpSink, KafkaSink, MqttSink, PostgresSink, Sink, SinkKind,
};
use crate::engine::Engine;
use crate::forward::{Encoding, Filter, SetAside, SinkStatus, file, http, kafka, mqtt, postgres};
use crate::store::Store;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The sinks that run.
pub struct Sinks {
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    desks: Arc<Desks>,
    instance: String,
    running: Vec<Running>,
}

struct Running {
    name: String,
    status: Arc<SinkStatus>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// It commits what it does, so it must end before the engine.
    is_guarded: bool,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
type Prepared = (String, Arc<SinkStatus>, watch::Sender<bool>, Task);

impl Sinks {
    #[must_use]
    pub fn new(config: &Config, store: &Arc<Store>, engine: &Arc<Engine>) -> Self {
        let aside = Arc::new(Aside { engine: Arc::clone(engine), keep_payload: config.quarantine.payload });
        let (store, instance) = (Arc::clone(store), config.instance.clone());
        let desks = Arc::new(Desks::new(&store, aside.clone()));
        Self { store, aside, desks, instance, running: Vec::new() }
    }

    /// The cases of sinks.
    #[must_use]
    pub fn desks(&self) -> Arc<Desks> {
        Arc::clone(&self.desks)
    }

    /// Starts those of `sinks` that do not run, a task each. The store must know them.
    ///
    /// # Errors
    /// When a sink's options are not what the config has checked, which is a bug; then none has been started.
    pub fn start(&mut self, sinks: &[Sink]) -> Result<(), DaemonError> {
        let new = sinks.iter().filter(|sink| self.running.iter().all(|running| running.name != sink.name));
        let prepared = new.map(|sink| self.prepare(sink)).collect::<Result<Vec<_>, _>>()?;
        for (name, status, stop, task) in prepared {
            let is_guarded = status.desk.is_some();
            self.running.push(Running { name, status, stop, task: tokio::spawn(task), is_guarded });
        }
        Ok(())
    }

    fn prepare(&self, sink: &Sink) -> Result<Prepared, DaemonError> {
        let mut status = SinkStatus::new(&sink.name, sink.kind.name(), target(&sink.kind));
        if matches!(&sink.kind, SinkKind::Http(HttpSink { guarded: Some(_), .. })) {
            status.desk = Some(self.desks.of(&sink.name).map_err(DaemonError::Store)?);
        }
        let status = Arc::new(status);
        let stop = watch::Sender::new(false);
        let (store, stopped) = (Arc::clone(&self.store), stop.subscribe());
        let (aside, shown) = (Arc::clone(&self.aside), Arc::clone(&status));
        let task: Task = match &sink.kind {
            SinkKind::File(to) => Box::pin(file::run(file_options(sink, to), store, shown, stopped)),
            SinkKind::Kafka(to) => {
                Box::pin(kafka::run(kafka_options(&self.instance, sink, to), store, aside, shown, stopped))
            }
            SinkKind::Http(to) => match (&to.guarded, &status.desk) {
                (Some(guarded), Some(desk)) => {
                    let (options, guarded) = guarded_options(sink, to, guarded);
                    Box::pin(http::run_guarded(options, guarded, store, Arc::clone(desk), shown, stopped))
                }
                _ => Box::pin(http::run(http_options(sink, to), store, aside, shown, stopped)),
            },
            SinkKind::Mqtt(to) => Box::pin(mqtt::run(mqtt_options(sink, to)?, store, aside, shown, stopped)),
            SinkKind::Postgres(to) => {
                let options = postgres_options(&self.instance, sink, to)?;
                Box::pin(postgres::run(options, store, aside, shown, stopped))
            }
        };
        Ok((sink.name.clone(), status, stop, task))
    }

    /// What those show of themselves, in the order of `sinks`.
    #[must_use]
    pub fn statuses(&self, sinks: &[Sink]) -> Vec<Arc<SinkStatus>> {
        let find = |sink: &Sink| self.running.iter().find(|running| running.name == sink.name);
        sinks.iter().filter_map(find).map(|running| Arc::clone(&running.status)).collect()
    }

    /// Ends the sinks of these names: each drains, within its own limit, and leaves the rest in the log. Never cut off:
    /// what two of one name hand over at once would come twice or out of order.
    pub async fn stop(&mut self, names: &[String]) {
        for running in self.running.iter().filter(|running| names.contains(&running.name)) {
            running.stop.send_replace(true);
        }
        // Each stays known until it has ended: a stop of the daemon in between waits for it, too.
        while let Some(at) = self.running.iter().position(|running| names.contains(&running.name)) {
            if let Some(running) = self.running.get_mut(at) {
                drop((&mut running.task).await);
            }
            self.running.remove(at);
        }
    }

    /// Ends those that commit what they do, for a stop of the daemon: no further call is made, and the outcome of the one
    /// under way is made durable. While the engine still takes commits.
    pub async fn stop_guarded(&mut self) {
        let guarded = self.running.iter().filter(|running| running.is_guarded);
        let names: Vec<String> = guarded.map(|running| running.name.clone()).collect();
        self.stop(&names).await;
    }

    /// Ends all, for a stop of the daemon: each drains what is committed, as far as it gets.
    pub async fn drain(&mut self) {
        let names: Vec<String> = self.running.iter().map(|running| running.name.clone()).collect();
        self.stop(&names).await;
    }
}

/// Where it delivers to, for people.
fn target(kind: &SinkKind) -> String {
    match kind {
        SinkKind::File(to) => to.path.display().to_string(),
        SinkKind::Mqtt(to) => format!("{} {}", to.client.broker, to.topic),
        SinkKind::Kafka(to) => format!("{} {}", clients::list(&to.brokers), to.topic),
        SinkKind::Http(to) => to.url.to_string(),
        SinkKind::Postgres(to) => format!("{} {}", to.address, to.table),
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

pub(super) fn http_options(sink: &Sink, to: &HttpSink) -> http::Options {
    http::Options {
        encoding: encoding(sink),
        filter: Filter(sink.decisions.clone()),
        batch: to.batch,
        in_flight: to.in_flight,
        in_flight_bytes: to.in_flight_size.as_usize(),
        ..http::Options::new(&sink.name, clients::http(to, &to.url), &to.url.target)
    }
}

fn guarded_options(sink: &Sink, to: &HttpSink, guarded: &GuardedSink) -> (http::Options, http::Guarded) {
    let drain = http::GUARDED_DRAIN.min(to.timeout.duration());
    let spacing = guarded.rate.map_or(0, config::Rate::spacing_ms);
    let rules = http::Rules {
        wait: guarded.wait,
        open_max: guarded.uncertain_limit,
        calls_per_day: guarded.calls_per_day,
        spacing_ms: i64::try_from(spacing).unwrap_or(i64::MAX),
    };
    let probe = guarded.probe_url.as_ref().map(|url| http::Probe {
        client: clients::http(to, url),
        target: url.target.clone(),
        after: guarded.probe_after.duration(),
    });
    (http::Options { batch: 1, drain, ..http_options(sink, to) }, http::Guarded { rules, probe })
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

pub(super) fn postgres_options(
    instance: &str,
    sink: &Sink,
    to: &PostgresSink,
) -> Result<postgres::Options, DaemonError> {
    let server = crate::link::postgres::Options {
        address: to.address.clone(),
        password_file: to.password_file.clone(),
        tls: to.tls.clone(),
        application: format!("verdictd-{instance}-{}", sink.name),
        patience: to.timeout.duration(),
    };
    Ok(postgres::Options {
        encoding: encoding(sink),
        filter: Filter(sink.decisions.clone()),
        batch_rows: to.batch,
        batch_bytes: to.batch_size.as_usize(),
        in_flight: to.in_flight,
        ..postgres::Options::new(&sink.name, server, postgres_layout(sink, to)?)
    })
}

/// The table that a sink writes to.
///
/// # Errors
/// When a column lacks that the config has checked to be there, which is a bug.
pub fn postgres_layout(sink: &Sink, to: &PostgresSink) -> Result<postgres::Layout, DaemonError> {
    let bug = |error| DaemonError::Bug(format!("sinks.{}.columns: {error}", sink.name));
    postgres::Layout::new(to.table.clone(), to.columns.clone(), to.on_conflict).map_err(bug)
}
