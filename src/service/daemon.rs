//! `verdictd run`: starts everything in order, waits for a signal or a failure, and ends everything in order.
//!
//! | step | start | clean stop |
//! |---|---|---|
//! | 1 | bundle, memory plan | sources: take nothing more, answer what is in flight |
//! | 2 | store (and its lock) | engine: commit what waits |
//! | 3 | engine | sinks: drain, at most [`SINK_DRAIN_MAX`] |
//! | 4 | sinks, sources, admin socket | store: cursors, close |

use super::admin::{SourceView, View};
use super::build::{BuildError, Built, build};
use super::intake::SourceIntake;
use crate::config::{Config, EventMapping, KeyMapping, SinkKind, SourceKind, SourceMapping, WhenFull, files};
use crate::engine::{Courier, Delivery, Engine, Failure, Origin, Parts};
use crate::event::{Budget, Decoder, IdentityRules, KeyRule, SourceRule};
use crate::forward::{self, Filter, SinkStatus, file};
use crate::ingest::{AdminRoutes, EventRoutes, Limits, ListenError, ListenOptions, Listener, Places, TlsFiles, serve};
use crate::store::{self, Opened, SinkDecl, SinkStart, Store, StoreError};
use rustix::fs::Mode;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// How long a clean stop waits for the sinks.
pub const SINK_DRAIN_MAX: Duration = Duration::from_secs(20);

/// Connections of the admin listener, apart from those of the sources: it must answer when they are all taken.
pub const ADMIN_CONNECTIONS_MAX: usize = 16;

/// Why the daemon did not start, or stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("{}", join(.0))]
    Build(Vec<BuildError>),
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("{key}: cannot read {}: {error}", path.display())]
    Secret { key: String, path: PathBuf, error: io::Error },
    #[error("{0}: this type cannot be run yet")]
    NotYet(String),
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    #[error("a bug stopped the engine: {0}")]
    Bug(String),
}

fn join(errors: &[BuildError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl From<Failure> for DaemonError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Store(error) => Self::Store(error),
            Failure::Bug(text) => Self::Bug(text),
        }
    }
}

/// Runs the daemon until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot start, or the state directory fails.
pub fn run(config: Config) -> Result<(), DaemonError> {
    let started = Instant::now();
    // Where there are no bounds to set, the plan rests on the measured share of the process alone.
    let _ = super::allocator::bound();
    let built = build(&config).map_err(DaemonError::Build)?;
    // The store and its quarantine hold what senders wrote: nobody else is to read it, whatever the caller's
    // mask. Verdict files may be read by the group.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let opened = store::open(&store_options(&config, &built)).map_err(DaemonError::Store)?;
    rustix::process::umask(Mode::from_raw_mode(0o027));
    log_recovery(&opened);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(16)
        .thread_name("io")
        .enable_all()
        .build()
        .map_err(DaemonError::Threads)?;
    let outcome = runtime.block_on(serve_until_stopped(config, built, opened, started));
    // What hangs in a blocking call must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn serve_until_stopped(
    config: Config,
    built: Built,
    opened: Opened,
    started: Instant,
) -> Result<(), DaemonError> {
    let Opened { store, index, writer, .. } = opened;
    let parts = Parts {
        store: Arc::clone(&store),
        index,
        writer,
        bundle: Arc::clone(&built.bundle),
        courier: Some(courier()),
        keep_payload: config.quarantine.payload,
    };
    let engine = Arc::new(Engine::start(parts).map_err(DaemonError::Threads)?);
    let outcome = Tasks::default().run(config, built, &store, &engine, started).await;
    let closing = Arc::clone(&engine);
    let closed = tokio::task::spawn_blocking(move || closing.close()).await;
    outcome?;
    match closed {
        Ok(closed) => Ok(closed?),
        Err(panic) => Err(DaemonError::Bug(panic.to_string())),
    }
}

/// One task that wakes those who wait, from within the runtime. What is under way is bounded by the memory
/// that the submissions were paid for with.
fn courier() -> Courier {
    let (sender, mut receiver) = mpsc::unbounded_channel::<Vec<Delivery>>();
    tokio::spawn(async move {
        while let Some(deliveries) = receiver.recv().await {
            deliveries.into_iter().for_each(Delivery::deliver);
        }
    });
    // Without the task the runtime is gone, and those who asked with it.
    Box::new(move |deliveries| drop(sender.send(deliveries)))
}

/// The tasks around the engine.
#[derive(Default)]
struct Tasks {
    sources: JoinSet<()>,
    sinks: JoinSet<()>,
    admin: JoinSet<()>,
}

impl Tasks {
    async fn run(
        mut self,
        config: Config,
        built: Built,
        store: &Arc<Store>,
        engine: &Arc<Engine>,
        started: Instant,
    ) -> Result<(), DaemonError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(DaemonError::Threads)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(DaemonError::Threads)?;
        let stop_sources = watch::Sender::new(false);
        let stop_sinks = watch::Sender::new(false);
        let stop_admin = watch::Sender::new(false);

        let limits = limits(&config);
        let bodies = usize::try_from(built.memory.admitted).unwrap_or(usize::MAX);
        let budget = Budget::new(bodies.max(limits.budget_bytes_min()));
        let places = Places::new(limits.connections_max);
        let mut sources = Vec::new();
        for source in &config.sources {
            let SourceKind::Http(endpoint) = &source.kind else {
                return Err(DaemonError::NotYet(format!("sources.{}", source.name)));
            };
            let listener = Listener::bind(&listen_options(endpoint, &limits))?.sharing(&places);
            let origin = Arc::new(Origin::new(&source.name));
            sources.push(SourceView {
                origin: Arc::clone(&origin),
                kind: "http",
                address: listener.address().to_string(),
                connections: listener.connections(),
            });
            let rules = rules(&source.name, &source.event)?;
            let pointers = built.bundle.features().pointers();
            let intake = SourceIntake {
                engine: Arc::clone(engine),
                store: Arc::clone(store),
                decoder: Decoder::new(rules.clone(), pointers, config.limits.event.as_usize(), store.seed()),
                label_decoder: Decoder::new(rules, &[], config.limits.event.as_usize(), store.seed()).of_labels(),
                origin,
            };
            let routes = EventRoutes::new(Arc::new(intake), budget.clone(), limits.clone());
            self.sources.spawn(serve(listener, routes, stop_sources.subscribe()));
        }
        let admin_limits = Limits { connections_max: ADMIN_CONNECTIONS_MAX, ..limits };
        let admin = Listener::bind(&listen_options(&config.admin, &admin_limits))?;
        let mut sinks = Vec::new();
        for sink in &config.sinks {
            let status = Arc::new(SinkStatus::new(&sink.name, "file", sink_target(sink)));
            sinks.push(Arc::clone(&status));
            let Some(options) = sink_options(sink) else {
                return Err(DaemonError::NotYet(format!("sinks.{}", sink.name)));
            };
            self.sinks.spawn(file::run(options, Arc::clone(store), status, stop_sinks.subscribe()));
        }
        let view = Arc::new(View {
            memory: built.memory,
            disk: built.disk,
            bundle: built.bundle,
            store: Arc::clone(store),
            engine: Arc::clone(engine),
            budget,
            sources,
            sinks,
            started,
            stopping: AtomicBool::new(false),
            config,
        });
        let listening = view.sources.iter().map(|source| source.address.as_str()).collect::<Vec<_>>().join(", ");
        let ready_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(ready_ms, model = view.bundle.label(), listening, "ready");
        self.admin.spawn(serve(admin, AdminRoutes(Arc::clone(&view)), stop_admin.subscribe()));

        let failure = tokio::select! {
            _ = terminate.recv() => None,
            _ = interrupt.recv() => None,
            failure = engine.failed() => Some(failure),
        };
        view.stopping.store(true, Relaxed);
        if let Some(failure) = failure {
            tracing::error!(%failure, "nothing more is acknowledged; the process ends");
            return Err(failure.into());
        }
        tracing::info!("stopping: finishing what is in flight");
        let drain = async {
            stop_sources.send_replace(true);
            while self.sources.join_next().await.is_some() {}
            let draining = Arc::clone(engine);
            drop(tokio::task::spawn_blocking(move || draining.drain()).await);
            stop_sinks.send_replace(true);
            let drained = async { while self.sinks.join_next().await.is_some() {} };
            if tokio::time::timeout(SINK_DRAIN_MAX, drained).await.is_err() {
                tracing::warn!("a sink did not drain in time; its verdicts wait in the store");
            }
            stop_admin.send_replace(true);
            while self.admin.join_next().await.is_some() {}
        };
        // A second signal ends it at once: what is acknowledged is durable anyway.
        tokio::select! {
            () = drain => {}
            _ = terminate.recv() => tracing::warn!("a second signal: stopping at once"),
            _ = interrupt.recv() => tracing::warn!("a second signal: stopping at once"),
        }
        Ok(())
    }
}

fn store_options(config: &Config, built: &Built) -> store::Options {
    let sinks = config.sinks.iter().map(|sink| SinkDecl {
        name: sink.name.clone(),
        start: match sink.start {
            crate::config::Start::Oldest => SinkStart::Oldest,
            crate::config::Start::Newest => SinkStart::Newest,
        },
    });
    store::Options {
        instance: config.instance.clone(),
        cache_bytes: built.memory.cache,
        tail_bytes: usize::try_from(built.memory.tail).unwrap_or(usize::MAX),
        window: config.dedup.window.duration(),
        index_bytes: built.memory.index,
        disk_bytes: config.limits.disk.bytes(),
        when_full: match config.dedup.when_full {
            WhenFull::Shorten => store::WhenFull::Shorten,
            WhenFull::Refuse => store::WhenFull::Refuse,
        },
        sinks: sinks.collect(),
        quarantine_bytes: config.quarantine.limit.bytes(),
        ..store::Options::new(&config.state_dir)
    }
}

fn limits(config: &Config) -> Limits {
    let body = config.limits.request.as_usize();
    Limits {
        connections_max: config.limits.connections,
        body_bytes_max: body,
        body_timeout: config.limits.timeout.duration(),
        ..Limits::default()
    }
}

fn listen_options(endpoint: &crate::config::Endpoint, limits: &Limits) -> ListenOptions {
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

fn rules(source: &str, mapping: &EventMapping) -> Result<IdentityRules, DaemonError> {
    let key = match &mapping.key {
        KeyMapping::Fixed(text) => KeyRule { fixed: Some(text.clone()), ..KeyRule::default() },
        KeyMapping::Pointers { pointers, hmac_key_file } => {
            let read = |path: &PathBuf| {
                files::read_hmac_key(path).map_err(|error| DaemonError::Secret {
                    key: format!("sources.{source}.event.key.hmac-key-file"),
                    path: path.clone(),
                    error,
                })
            };
            let hmac_key = hmac_key_file.as_ref().map(read).transpose()?;
            KeyRule { pointers: pointers.clone(), fixed: None, hmac_key }
        }
    };
    Ok(IdentityRules {
        id: mapping.id.clone(),
        time: mapping.time.pointer.clone(),
        time_form: mapping.time.form.clone(),
        source: match &mapping.source {
            SourceMapping::Name => SourceRule::Fixed(source.to_owned()),
            SourceMapping::Fixed(text) => SourceRule::Fixed(text.clone()),
            SourceMapping::Pointer(pointer) => {
                SourceRule::Pointer { pointer: pointer.clone(), otherwise: source.to_owned() }
            }
        },
        key,
    })
}

fn sink_target(sink: &crate::config::Sink) -> String {
    match &sink.kind {
        SinkKind::File(file) => file.path.display().to_string(),
        SinkKind::Mqtt(mqtt) => format!("{} {}", mqtt.client.broker, mqtt.topic),
        SinkKind::Kafka(kafka) => kafka.topic.clone(),
    }
}

fn sink_options(sink: &crate::config::Sink) -> Option<file::Options> {
    let SinkKind::File(options) = &sink.kind else { return None };
    let some = |n: u64| (n > 0).then_some(n);
    Some(file::Options {
        name: sink.name.clone(),
        path: options.path.clone(),
        rotation: file::Rotation {
            size: some(options.rotate_size.bytes()),
            age: some(options.rotate_age.as_milliseconds()).map(Duration::from_millis),
            keep: (options.keep > 0).then_some(options.keep),
        },
        sync_interval: options.sync_interval.duration(),
        encoding: match sink.encoding {
            crate::config::Encoding::Json => forward::Encoding::Json,
            crate::config::Encoding::CloudEvents => forward::Encoding::CloudEvents,
        },
        filter: Filter(sink.decisions.clone()),
    })
}

fn log_recovery(opened: &Opened) {
    let recovery = &opened.recovery;
    if recovery.created {
        tracing::info!("made a new store");
        return;
    }
    // A clock that was set ahead while the daemon was down cannot be told from time that passed.
    let since_s = recovery.clock_ahead_ms / 1000;
    tracing::info!(records = recovery.records, since_s, "opened the store; the time since its last record counts");
    if recovery.set_aside_now > 0 || recovery.lost_now > 0 {
        let (set_aside, lost) = (recovery.set_aside_now, recovery.lost_now);
        tracing::error!(set_aside, lost, "the store was damaged; what is whole is in use");
    }
    if let Some(folder) = &recovery.salvaged_to {
        tracing::error!(folder = %folder.display(), "the store was rebuilt; the damaged files are kept");
    }
    if recovery.ballast_given_up {
        tracing::warn!("the disk is full: gave up the ballast file to be able to start");
    }
}
