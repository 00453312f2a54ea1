//! The tasks around the engine, from ready to the last cursor: sources, sinks, the admin listener, reloads, and a stop
//! in order.

use super::activation::{ADMIN, Activation};
use super::admin::{Ask, InForce, View};
use super::build::Built;
use super::cgroup;
use super::daemon::{DaemonError, limits};
use super::links::Links;
use super::models::Past;
use super::notify;
use super::reload::{Anew, Reload, Report};
use super::sinks::Sinks;
use super::sources::{Sources, Started, listen_options};
use crate::config::{Config, Problems};
use crate::engine::{Engine, Failure, Lineup};
use crate::event::Budget;
use crate::ingest::{AdminRoutes, Limits, serve};
use crate::listen::Listen;
use crate::notice;
use crate::store::Store;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// How long a clean stop waits for the sinks.
pub const SINK_DRAIN_MAX: Duration = Duration::from_secs(20);

/// Connections of the admin listener, apart from those of the sources: it must answer when they are all taken.
pub const ADMIN_CONNECTIONS_MAX: usize = 16;

/// What a daemon is started with.
pub struct Parts<'a> {
    pub file: &'a Path,
    pub config: Config,
    pub built: Built,
    pub lineup: Arc<Lineup>,
    pub store: &'a Arc<Store>,
    pub engine: &'a Arc<Engine>,
    pub activation: &'a Activation,
    pub started: Instant,
}

/// Signals that end it, or make it reload.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new(hangup: Signal) -> Result<Self, DaemonError> {
        let on = |kind| signal(kind).map_err(DaemonError::Threads);
        Ok(Self { terminate: on(SignalKind::terminate())?, interrupt: on(SignalKind::interrupt())?, hangup })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Runs them until a signal or a failure; `hangup` asks for reloads.
///
/// # Errors
/// When a listener or a secret fails at the start, or the engine fails later.
pub async fn run(parts: Parts<'_>, hangup: Signal) -> Result<(), DaemonError> {
    let mut signals = Signals::new(hangup)?;
    let (mut tasks, mut reloads) = Tasks::start(parts)?;
    tasks.ready();
    let failure = tasks.until_stopped(&mut signals, &mut reloads).await?;
    tasks.view.stopping.store(true, Relaxed);
    // Who asks for a reload now is told that it is stopping.
    drop(reloads);
    if let Some(failure) = failure {
        tracing::error!(kind = notice::ENGINE_FAILED.kind, error = %failure, "nothing more is acknowledged; the process ends");
        notify::stopping(&format!("failed: {failure}"));
        return Err(failure.into());
    }
    tracing::info!(kind = notice::STOPPING.kind, "stopping: finishing what is in flight");
    notify::stopping("finishing what is in flight");
    // A second signal ends it at once: what is acknowledged is durable anyway.
    tokio::select! {
        () = tasks.drain() => {}
        () = signals.stop() => tracing::warn!(kind = notice::STOPPED_AT_ONCE.kind, "a second signal: stopping at once"),
    }
    Ok(())
}

type Asked = mpsc::Receiver<Ask>;

struct Tasks<'a> {
    file: &'a Path,
    engine: &'a Arc<Engine>,
    view: Arc<View>,
    sources: JoinSet<()>,
    sinks: Sinks,
    admin: JoinSet<()>,
    intakes: Vec<Arc<super::SourceIntake>>,
    stop_sources: watch::Sender<bool>,
    stop_admin: watch::Sender<bool>,
}

impl<'a> Tasks<'a> {
    fn start(parts: Parts<'a>) -> Result<(Self, Asked), DaemonError> {
        let Parts { file, config, built, lineup, store, engine, activation, started } = parts;
        let (stop_sources, stop_admin) = (watch::Sender::new(false), watch::Sender::new(false));
        let limits = limits(&config);
        let budget = Budget::new(usize::try_from(built.memory.admitted).unwrap_or(usize::MAX));
        let admin_limits = Limits { connections_max: ADMIN_CONNECTIONS_MAX, ..limits.clone() };
        let listener = activation.listener(ADMIN, &listen_options(&config.admin, &admin_limits))?;
        let mut sources = JoinSet::new();
        let (fields, stop, budget_of) = (lineup.pointers(), &stop_sources, &budget);
        let starting =
            Sources { config: &config, fields, store, engine, activation, budget: budget_of, limits: &limits, stop };
        let Started { views, intakes } = starting.start(&mut sources)?;
        for (name, place) in activation.unwanted() {
            tracing::error!(
                kind = notice::SOCKET_UNWANTED.kind,
                name,
                place,
                "the supervisor listens on a socket that no source wants: its callers wait for ever"
            );
        }
        let mut sinks = Sinks::new(&config, store, engine);
        sinks.start(&config.sinks)?;
        let (asking, asked) = mpsc::channel(1);
        let shown = sinks.statuses(&config.sinks);
        let tight = cgroup::warning(built.memory.budget, cgroup::memory_max());
        if let Some(warning) = &tight {
            tracing::warn!(kind = notice::MEMORY_TIGHT.kind, "{warning}");
        }
        let past = Past::read(store).map_err(DaemonError::Store)?;
        let (memory, left_out) = (built.memory, built.left_out);
        let in_force = InForce { config, memory, lineup, left_out, past, sinks: shown, reload: None };
        let view = Arc::new(View {
            disk: built.disk,
            store: Arc::clone(store),
            engine: Arc::clone(engine),
            budget,
            sources: views,
            started,
            stopping: AtomicBool::new(false),
            reloading: AtomicBool::new(false),
            tight,
            in_force: RwLock::new(Arc::new(in_force)),
            reloads: asking,
            desks: sinks.desks(),
        });
        let may_reload = matches!(listener.address(), Listen::Unix(_));
        let routes = AdminRoutes { admin: Arc::clone(&view), may_reload };
        let mut admin = JoinSet::new();
        admin.spawn(serve(listener, routes, stop_admin.subscribe()));
        Ok((Self { file, engine, view, sources, sinks, admin, intakes, stop_sources, stop_admin }, asked))
    }

    fn ready(&self) {
        let view = &self.view;
        let from = view.sources.iter().map(|source| source.place.as_str()).collect::<Vec<_>>().join(", ");
        let ready_ms = u64::try_from(view.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(kind = notice::READY.kind, ready_ms, model = view.now().lineup.bundle().label(), from, "ready");
        notify::ready(&format!("taking events from {from}"));
        notify::keep_telling(Arc::clone(view));
        // It ends with the runtime.
        tokio::spawn(super::lists::watch(Arc::clone(view)));
    }

    /// Resolves with None at a signal, or with why the engine stopped by itself.
    async fn until_stopped(
        &mut self,
        signals: &mut Signals,
        asked: &mut Asked,
    ) -> Result<Option<Failure>, DaemonError> {
        let mut links = Links::new(&self.view.now());
        loop {
            let mut anew = Anew::Config(self.file);
            let Ask { reply, back_to } = tokio::select! {
                _ = signals.terminate.recv() => return Ok(None),
                _ = signals.interrupt.recv() => return Ok(None),
                failure = self.engine.failed() => return Ok(Some(failure)),
                _ = signals.hangup.recv() => Ask::default(),
                Some(ask) = asked.recv() => ask,
                () = links.changed(|| self.view.now()) => {
                    anew = Anew::Models;
                    Ask::default()
                }
            };
            notify::reloading();
            self.view.reloading.store(true, Relaxed);
            let (view, intakes) = (Arc::clone(&self.view), &self.intakes);
            let reload = Reload { anew, view: &view, intakes, sinks: &mut self.sinks, back_to };
            let reloading = async {
                links.tried(&view.now()).await;
                reload.run().await
            };
            let report = tokio::select! {
                report = reloading => report?,
                // What it has done by then holds; a stop has no use for the rest.
                _ = signals.terminate.recv() => return Ok(None),
                _ = signals.interrupt.recv() => return Ok(None),
                failure = self.engine.failed() => return Ok(Some(failure)),
            };
            self.view.reloading.store(false, Relaxed);
            tell(&report);
            notify::ready(if report.taken() { "reloaded" } else { "the reload was refused; nothing has changed" });
            if let Some(reply) = reply {
                // The asker may have gone.
                drop(reply.send(report.reloaded()));
            }
        }
    }

    async fn drain(&mut self) {
        self.stop_sources.send_replace(true);
        while self.sources.join_next().await.is_some() {}
        if tokio::time::timeout(SINK_DRAIN_MAX, self.sinks.stop_guarded()).await.is_err() {
            tracing::warn!(kind = notice::DRAIN_CUT.kind, "a guarded sink did not end in time");
        }
        let draining = Arc::clone(self.engine);
        drop(tokio::task::spawn_blocking(move || draining.drain()).await);
        if tokio::time::timeout(SINK_DRAIN_MAX, self.sinks.drain()).await.is_err() {
            tracing::warn!(
                kind = notice::DRAIN_CUT.kind,
                "a sink did not drain in time; its verdicts wait in the store"
            );
        }
        self.stop_admin.send_replace(true);
        while self.admin.join_next().await.is_some() {}
    }
}

fn tell(report: &Report) {
    if !report.taken() {
        let problem = Problems(report.problems.clone());
        tracing::error!(kind = notice::RELOAD_REFUSED.kind, error = %problem, "the reload was refused; what was in force still is");
    }
    if report.taken() {
        let changes = if report.changes.is_empty() { "nothing".to_owned() } else { report.changes.join("; ") };
        tracing::info!(kind = notice::RELOADED.kind, changes, "reloaded");
    }
    for note in &report.notes {
        tracing::warn!(kind = notice::RELOAD_NOTE.kind, note, "reload");
    }
    if !report.restart.is_empty() {
        tracing::warn!(
            kind = notice::RESTART_WAITS.kind,
            keys = report.restart.join(", "),
            "these changes wait for a restart"
        );
    }
}
