//! `verdictd run`: starts everything in order, waits for a signal or a failure, and ends everything in order.
//!
//! | step | start | clean stop |
//! |---|---|---|
//! | 1 | bundle, memory plan | sources: take nothing more, answer what is in flight |
//! | 2 | store (and its lock) | engine: commit what waits |
//! | 3 | engine | sinks: drain, at most [`SINK_DRAIN_MAX`] |
//! | 4 | sinks, sources, admin socket | store: cursors, close |

use super::admin::View;
use super::build::{BuildError, Built, build};
use super::sinks::Sinks;
use super::sources::{Sources, listen_options};
use crate::config::{Config, WhenFull};
use crate::engine::{Courier, Delivery, Engine, Failure, Parts};
use crate::event::Budget;
use crate::ingest::{AdminRoutes, Limits, ListenError, Listener, serve};
use crate::notice;
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
    // It ends with the runtime.
    tokio::spawn(super::clock::watch());
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
        let budget = Budget::new(usize::try_from(built.memory.admitted).unwrap_or(usize::MAX));
        let admin_limits = Limits { connections_max: ADMIN_CONNECTIONS_MAX, ..limits.clone() };
        let admin = Listener::bind(&listen_options(&config.admin, &admin_limits))?;
        let (bundle, stop) = (&built.bundle, &stop_sources);
        let starting = Sources { config: &config, bundle, store, engine, budget: &budget, limits: &limits, stop };
        let sources = starting.start(&mut self.sources)?;
        let sinks = Sinks { config: &config, store, engine, stop: &stop_sinks }.start(&mut self.sinks)?;
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
        let from = view.sources.iter().map(|source| source.place.as_str()).collect::<Vec<_>>().join(", ");
        let ready_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(kind = notice::READY.kind, ready_ms, model = view.bundle.label(), from, "ready");
        self.admin.spawn(serve(admin, AdminRoutes(Arc::clone(&view)), stop_admin.subscribe()));

        let failure = tokio::select! {
            _ = terminate.recv() => None,
            _ = interrupt.recv() => None,
            failure = engine.failed() => Some(failure),
        };
        view.stopping.store(true, Relaxed);
        if let Some(failure) = failure {
            tracing::error!(kind = notice::ENGINE_FAILED.kind, error = %failure, "nothing more is acknowledged; the process ends");
            return Err(failure.into());
        }
        tracing::info!(kind = notice::STOPPING.kind, "stopping: finishing what is in flight");
        let drain = async {
            stop_sources.send_replace(true);
            while self.sources.join_next().await.is_some() {}
            let draining = Arc::clone(engine);
            drop(tokio::task::spawn_blocking(move || draining.drain()).await);
            stop_sinks.send_replace(true);
            let drained = async { while self.sinks.join_next().await.is_some() {} };
            if tokio::time::timeout(SINK_DRAIN_MAX, drained).await.is_err() {
                tracing::warn!(
                    kind = notice::DRAIN_CUT.kind,
                    "a sink did not drain in time; its verdicts wait in the store"
                );
            }
            stop_admin.send_replace(true);
            while self.admin.join_next().await.is_some() {}
        };
        // A second signal ends it at once: what is acknowledged is durable anyway.
        tokio::select! {
            () = drain => {}
            _ = terminate.recv() => tracing::warn!(kind = notice::STOPPED_AT_ONCE.kind, "a second signal: stopping at once"),
            _ = interrupt.recv() => tracing::warn!(kind = notice::STOPPED_AT_ONCE.kind, "a second signal: stopping at once"),
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

fn log_recovery(opened: &Opened) {
    for (sink, next) in opened.store.stats().orphan_cursors {
        let kind = notice::ORPHAN_CURSOR.kind;
        tracing::warn!(
            kind,
            sink,
            next,
            "the sink is no longer configured; `verdictd store forget-sink` drops its cursor"
        );
    }
    let recovery = &opened.recovery;
    if recovery.created {
        tracing::info!(kind = notice::STORE_MADE.kind, "made a new store");
        return;
    }
    // A clock that was set ahead while the daemon was down cannot be told from time that passed.
    let since_s = recovery.clock_ahead_ms / 1000;
    let (kind, records) = (notice::STORE_OPENED.kind, recovery.records);
    tracing::info!(kind, records, since_s, "opened the store; the time since its last record counts");
    if recovery.set_aside_now > 0 || recovery.lost_now > 0 {
        let (set_aside, lost) = (recovery.set_aside_now, recovery.lost_now);
        tracing::error!(
            kind = notice::STORE_DAMAGED.kind,
            set_aside,
            lost,
            "the store was damaged; what is whole is in use"
        );
    }
    if let Some(folder) = &recovery.salvaged_to {
        tracing::error!(kind = notice::STORE_REBUILT.kind, folder = %folder.display(), "the store was rebuilt; the damaged files are kept");
    }
    if recovery.ballast_given_up {
        tracing::error!(
            kind = notice::BALLAST_GIVEN_UP.kind,
            "the disk is full: gave up the ballast file to be able to start"
        );
    }
}
