//! Starts the sources: from the config's table to the source's options, a task each.

use super::activation::Activation;
use super::clients::list;
use super::daemon::DaemonError;
use super::intake::SourceIntake;
use super::rules::rules;
use super::source_options as options;
use crate::config::{Config, Content, Endpoint, Source, SourceKind};
use crate::engine::{Engine, Origin};
use crate::event::{Budget, Decoder, Pointer};
use crate::ingest::{
    Connections, EventRoutes, Limits, ListenOptions, Places, SourceStatus, TlsFiles, file, kafka, lines, mqtt, serial,
    serve, spool,
};
use crate::store::Store;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// One source, as status and metrics see it.
pub struct SourceView {
    pub origin: Arc<Origin>,
    /// Its type in the config.
    pub kind: &'static str,
    /// Where events come from, for people: the address it listens on, the brokers and topics, the path.
    pub place: String,
    /// The same for scripts, by the names of the config's keys.
    pub facts: Value,
    pub way: Way,
}

/// How events come in.
pub enum Way {
    /// Clients connect.
    Listener(Arc<Connections>),
    /// It reads a device, a file or a broker.
    Reader(Arc<SourceStatus>),
}

/// What every source is given.
pub struct Sources<'a> {
    pub config: &'a Config,
    /// The fields that the models want.
    pub fields: &'a Arc<[Pointer]>,
    /// Sockets that the supervisor has opened for it.
    pub activation: &'a Activation,
    pub store: &'a Arc<Store>,
    pub engine: &'a Arc<Engine>,
    pub budget: &'a Budget,
    pub limits: &'a Limits,
    pub stop: &'a watch::Sender<bool>,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What has been started.
#[derive(Default)]
pub struct Started {
    pub views: Vec<SourceView>,
    /// Their ways into the engine, which change with the model.
    pub intakes: Vec<Arc<SourceIntake>>,
}

/// A source that can be started.
struct Prepared {
    view: SourceView,
    intake: Arc<SourceIntake>,
    task: Task,
}

impl Sources<'_> {
    /// Starts one task a source, once all of them can be: addresses are bound and secrets read.
    ///
    /// # Errors
    /// When an address cannot be bound or a secret not be read; then none has been started.
    pub fn start(&self, tasks: &mut JoinSet<()>) -> Result<Started, DaemonError> {
        let places = Places::new(self.limits.connections_max);
        let prepared = self.config.sources.iter().map(|source| self.prepare(source, &places));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let mut started = Started::default();
        for Prepared { view, intake, task } in prepared {
            started.views.push(view);
            started.intakes.push(intake);
            tasks.spawn(task);
        }
        Ok(started)
    }

    fn prepare(&self, source: &Source, places: &Places) -> Result<Prepared, DaemonError> {
        let origin = Arc::new(Origin::new(&source.name));
        let intake = Arc::new(self.intake(source, &origin)?);
        let handle = Arc::clone(&intake);
        let bind = |endpoint: &Endpoint| {
            let listener = self.activation.listener(&source.name, &listen_options(endpoint, self.limits))?;
            Ok::<_, DaemonError>(listener.sharing(places))
        };
        let (stop, budget) = (self.stop.subscribe(), self.budget.clone());
        let kind = source.kind.name();
        let event_bytes_max = self.config.limits.event.as_usize();
        let status = |from: String| Arc::new(SourceStatus::new(&source.name, kind, from));
        let (task, way, place): (Task, Way, String) = match &source.kind {
            SourceKind::Http(endpoint) => {
                let listener = bind(endpoint)?;
                let (place, connections) = (listener.address().to_string(), listener.connections());
                let routes = EventRoutes::new(intake, budget, self.limits.clone());
                (Box::pin(serve(listener, routes, stop)), Way::Listener(connections), place)
            }
            SourceKind::Kafka(from) => {
                let options = options::kafka(&self.config.instance, source, from);
                let status = status(format!("{} {}", list(&from.brokers), list(&from.topics)));
                let task = kafka::run(options, intake, budget, Arc::clone(&status), stop);
                reader(status, Box::pin(task))
            }
            SourceKind::Mqtt(from) => {
                let options = options::mqtt(source, from, event_bytes_max);
                let status = status(format!("{} {}", from.client.broker, list(&from.topics)));
                let task = mqtt::run(options, intake, budget, Arc::clone(&status), stop);
                reader(status, Box::pin(task))
            }
            SourceKind::Socket(endpoint) => {
                let listener = bind(endpoint)?;
                let (place, connections) = (listener.address().to_string(), listener.connections());
                let task = lines::serve(listener, intake, budget, event_bytes_max, stop);
                (Box::pin(task), Way::Listener(connections), place)
            }
            SourceKind::File(from) => {
                let options = options::file(source, from, event_bytes_max);
                let status = status(from.path.display().to_string());
                let task = file::run(options, intake, budget, Arc::clone(&status), stop);
                reader(status, Box::pin(task))
            }
            SourceKind::Spool(from) => {
                let options = options::spool(source, from, event_bytes_max);
                let status = status(from.path.display().to_string());
                let task = spool::run(options, intake, budget, Arc::clone(&status), stop);
                reader(status, Box::pin(task))
            }
            SourceKind::Serial(from) => {
                let options = options::serial(source, from, event_bytes_max);
                let status = status(from.device.display().to_string());
                let task = serial::run(options, intake, budget, Arc::clone(&status), stop);
                reader(status, Box::pin(task))
            }
        };
        let view = SourceView { origin, kind, facts: facts(&source.kind, &place), place, way };
        Ok(Prepared { view, intake: handle, task })
    }

    fn intake(&self, source: &Source, origin: &Arc<Origin>) -> Result<SourceIntake, DaemonError> {
        let rules = rules(&source.name, &source.event)?;
        let (event_bytes_max, seed) = (self.config.limits.event.as_usize(), self.store.seed());
        let decoder = Decoder::new(rules, Arc::clone(self.fields), event_bytes_max, seed);
        let decoder = match source.content {
            Content::Events => decoder,
            Content::Labels => decoder.for_labels(),
        };
        Ok(SourceIntake::new(Arc::clone(self.engine), Arc::clone(self.store), decoder, Arc::clone(origin)))
    }
}

/// A source that reads by itself, and where from.
fn reader(status: Arc<SourceStatus>, task: Task) -> (Task, Way, String) {
    let place = status.origin.clone();
    (task, Way::Reader(status), place)
}

/// How a listener is bound, of a source or of the admin.
pub fn listen_options(endpoint: &Endpoint, limits: &Limits) -> ListenOptions {
    ListenOptions {
        listen: endpoint.listen.clone(),
        socket_mode: endpoint.socket_mode,
        socket_group: endpoint.socket_group.clone(),
        tls: endpoint.tls.as_ref().map(|tls| TlsFiles {
            cert: tls.cert_file.clone(),
            key: tls.key_file.clone(),
            client_ca: tls.client_ca_file.clone(),
        }),
        token_file: endpoint.token_file.clone(),
        limits: limits.clone(),
    }
}

/// Where events come from, by the names of the config's keys; `listening` is the address that a listener has.
fn facts(kind: &SourceKind, listening: &str) -> Value {
    match kind {
        SourceKind::Http(_) | SourceKind::Socket(_) => json!({ "listen": listening }),
        SourceKind::Mqtt(from) => {
            let topics = from.topics.iter().map(ToString::to_string).collect::<Vec<_>>();
            json!({ "broker": from.client.broker.to_string(), "topics": topics, "client-id": from.client.client_id })
        }
        SourceKind::Kafka(from) => {
            let brokers = from.brokers.iter().map(ToString::to_string).collect::<Vec<_>>();
            json!({ "brokers": brokers, "topics": from.topics, "group": from.group })
        }
        SourceKind::Serial(from) => json!({ "device": from.device }),
        SourceKind::File(from) => json!({ "path": from.path }),
        SourceKind::Spool(from) => json!({ "path": from.path }),
    }
}
