//! `verdictd run`: starts everything in order, waits for a signal or a failure, and ends everything in order.
//!
//! | step | start | clean stop |
//! |---|---|---|
//! | 1 | bundle, memory plan | sources: take nothing more, answer what is in flight |
//! | 2 | store (and its lock) | guarded sinks: the call under way, no further one |
//! | 3 | engine | engine: commit what waits |
//! | 4 | sinks, sources, admin socket | sinks: drain, at most [`tasks::SINK_DRAIN_MAX`] |
//! | 5 | | store: cursors, close |

use super::activation::Activation;
use super::build::{BuildError, Built, build_to_start, lineup, window_limits};
use super::models;
use super::notify::Opening;
use super::tasks;
use crate::config::{Config, Period, WhenFull};
use crate::engine::{Courier, Delivery, Engine, Failure, Parts, Refolded, refold};
use crate::features::{self, Plan};
use crate::ingest::{Limits, ListenError};
use crate::notice;
use crate::store::{self, Opened, SinkDecl, SinkStart, Store, StoreError};
use rustix::fs::Mode;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// How long a store that another process holds is waited for, and how often it is looked at.
const HELD_WAIT_MAX: Duration = Duration::from_secs(3);
const HELD_LOOK_EVERY: Duration = Duration::from_millis(50);

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
    #[error("the sockets of the supervisor: {0}")]
    Activation(io::Error),
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

/// Runs the daemon until SIGTERM or SIGINT. `file` is where `config` came from: a reload reads it anew.
///
/// # Errors
/// When it cannot start, or the state directory fails.
pub fn run(config: Config, file: &Path) -> Result<(), DaemonError> {
    let started = Instant::now();
    let activation = Activation::of_process().map_err(DaemonError::Activation)?;
    let opening = Opening::begin();
    // Where there are no bounds to set, the plan rests on the measured share of the process alone.
    let _ = super::allocator::bound();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(16)
        .thread_name("io")
        .enable_all()
        .build()
        .map_err(DaemonError::Threads)?;
    // Whoever asks for a reload before the store is open must not end the daemon: it is done after that.
    let hangup = {
        let _within = runtime.enter();
        signal(SignalKind::hangup()).map_err(DaemonError::Threads)?
    };
    let built = build_to_start(&config).map_err(DaemonError::Build)?;
    if let Some(error) = &built.left_out {
        tracing::error!(kind = notice::SHADOW_LEFT_OUT.kind, error, "the daemon starts without its shadow model");
    }
    // The store and its quarantine hold what senders wrote: nobody else is to read it, whatever the caller's
    // mask. Verdict files may be read by the group.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let opened = open(&store_options(&config, &built)).map_err(DaemonError::Store)?;
    rustix::process::umask(Mode::from_raw_mode(0o027));
    log_recovery(&opened);
    models::judge(&opened.store, &built.bundle, false)
        .map_err(|why| DaemonError::Build(vec![BuildError::Older(why)]))?;
    let start = Start { file, config, built, activation, opening, hangup, started };
    let outcome = runtime.block_on(serve_until_stopped(start, opened));
    // What hangs in a blocking call must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// Opens the store. One that is held is waited for: by a daemon that is going, a little; by a command that looks after
/// it, until that is done. Neither must end this one for good.
fn open(options: &store::Options) -> Result<Opened, StoreError> {
    let begun = Instant::now();
    loop {
        match store::open(options) {
            Err(StoreError::Held { holder, .. })
                if begun.elapsed() < HELD_WAIT_MAX
                    || (holder.contains(store::FORGET_SINK) || holder.contains(store::SETTLE_CASE)) =>
            {
                std::thread::sleep(HELD_LOOK_EVERY);
            }
            outcome => return outcome,
        }
    }
}

struct Start<'a> {
    file: &'a Path,
    config: Config,
    built: Built,
    activation: Activation,
    opening: Opening,
    hangup: Signal,
    started: Instant,
}

async fn serve_until_stopped(start: Start<'_>, opened: Opened) -> Result<(), DaemonError> {
    let Start { file, config, built, activation, opening, hangup, started } = start;
    let Opened { store, index, writer, .. } = opened;
    let lineup = lineup(&config, Arc::clone(&built.bundle), built.shadow.clone());
    let refolded = match lineup.plan() {
        Some(plan) => Some(fold_windows(&store, plan, window_limits(&config, &built.memory))?),
        None => None,
    };
    // As at a reload: the first events must not wait for what a first run costs.
    let warming = Arc::clone(&lineup);
    let _ = tokio::task::spawn_blocking(move || warming.warm()).await;
    // What was read of the log lay in many pieces.
    super::allocator::give_back();
    let parts = Parts {
        store: Arc::clone(&store),
        index,
        writer,
        lineup: Arc::clone(&lineup),
        courier: Some(courier()),
        keep_payload: config.quarantine.payload,
        keep_events: config.replay.keep.is_some(),
        refolded,
    };
    let engine = Arc::new(Engine::start(parts).map_err(DaemonError::Threads)?);
    if let Some(used) = models::at_start(&store, &built.bundle).map_err(DaemonError::Store)? {
        models::note(&engine, used).await;
    }
    drop(opening);
    // It ends with the runtime.
    tokio::spawn(super::clock::watch());
    let parts =
        tasks::Parts { file, config, built, lineup, store: &store, engine: &engine, activation: &activation, started };
    let outcome = tasks::run(parts, hangup).await;
    let closing = Arc::clone(&engine);
    let closed = tokio::task::spawn_blocking(move || closing.close()).await;
    outcome?;
    match closed {
        Ok(closed) => Ok(closed?),
        Err(panic) => Err(DaemonError::Bug(panic.to_string())),
    }
}

/// What the log keeps of the past that window features need.
fn fold_windows(store: &Store, plan: &Arc<Plan>, limits: features::Limits) -> Result<Refolded, DaemonError> {
    let begun = Instant::now();
    let refolded = refold(store, plan, limits).map_err(DaemonError::Store)?;
    let kind = notice::WINDOWS_FOLDED.kind;
    let (events, labels, milliseconds) = (refolded.events, refolded.labels, begun.elapsed().as_millis());
    tracing::info!(kind, events, labels, milliseconds, "folded the window features out of the log");
    Ok(refolded)
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

fn store_options(config: &Config, built: &Built) -> store::Options {
    store::Options {
        instance: config.instance.clone(),
        cache_bytes: built.memory.cache,
        tail_bytes: usize::try_from(built.memory.tail).unwrap_or(usize::MAX),
        window: config.dedup.window.duration(),
        index_bytes: built.memory.index,
        disk_bytes: config.limits.disk.bytes(),
        keeping: store::Keeping { time: config.replay.keep.map(Period::duration), bytes: config.replay.disk.bytes() },
        when_full: match config.dedup.when_full {
            WhenFull::Shorten => store::WhenFull::Shorten,
            WhenFull::Refuse => store::WhenFull::Refuse,
        },
        sinks: declarations(config),
        quarantine_bytes: config.quarantine.limit.bytes(),
        ..store::Options::new(&config.state_dir)
    }
}

/// The sinks, as the store wants to know them.
pub fn declarations(config: &Config) -> Vec<SinkDecl> {
    let declare = |sink: &crate::config::Sink| SinkDecl {
        name: sink.name.clone(),
        start: match sink.start {
            crate::config::Start::Oldest => SinkStart::Oldest,
            crate::config::Start::Newest => SinkStart::Newest,
        },
    };
    config.sinks.iter().map(declare).collect()
}

/// What listeners allow.
pub fn limits(config: &Config) -> Limits {
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
