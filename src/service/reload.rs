//! A reload: everything is read and checked first, then what may be swapped is swapped; where something is wrong, all
//! stays as it was.
//!
//! Swapped: sinks, the model with its thresholds, the least level of the log. The rest of the config waits for a
//! restart, and is named. A sink that a reload ends drains first, within its own limit; its cursor stays in the store.
//!
//! Where a link to a model changed, the models alone are read anew, by the config that is in force.

use super::admin::{InForce, View};
use super::build::{Built, cost, lineup, shares, window_limits};
use super::change::Changes;
use super::daemon::{DaemonError, declarations};
use super::examine::{anew, examine};
use super::intake::SourceIntake;
use super::models::Past;
use super::sinks::Sinks;
use crate::config::{Config, Loaded, MemoryPlan, Problem, Problems};
use crate::engine::Lineup;
use crate::ingest::Reloaded;
use crate::model::{Bundle, hex_text};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// What became of a reload.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Seconds since 1970.
    at: i64,
    /// Why nothing was swapped; empty where it was.
    pub problems: Vec<Problem>,
    /// What was swapped, a line each.
    pub changes: Vec<String>,
    /// Keys and tables that take effect at the next start.
    pub restart: Vec<String>,
    pub notes: Vec<String>,
}

impl Report {
    #[must_use]
    pub fn taken(&self) -> bool {
        self.problems.is_empty()
    }

    /// For scripts.
    #[must_use]
    pub fn json(&self) -> Value {
        let at = jiff::Timestamp::from_second(self.at).map(|at| at.to_string()).unwrap_or_default();
        json!({
            "at": at,
            "ok": self.taken(),
            "problems": self.problems,
            "changes": self.changes,
            "needs-restart": self.restart,
            "notes": self.notes,
        })
    }

    /// What of it a person should still know, a line each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let refused = self.problems.first().map(|first| {
            let more = self.problems.len() - 1;
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            format!("the last reload was refused, what was in force still is: {first}{more}")
        });
        let waits = !self.restart.is_empty();
        let waits = waits.then(|| format!("these wait for a restart: {}", self.restart.join(", ")));
        refused.into_iter().chain(waits).collect()
    }

    pub fn reloaded(&self) -> Reloaded {
        Reloaded { taken: self.taken(), body: self.json().to_string().into_bytes() }
    }
}

/// What is read anew.
#[derive(Clone, Copy)]
pub enum Anew<'a> {
    /// The config, and the models that it names.
    Config(&'a Path),
    /// The models that the config in force names.
    Models,
}

/// What a reload works on.
pub struct Reload<'a> {
    pub anew: Anew<'a>,
    pub view: &'a View,
    pub intakes: &'a [Arc<SourceIntake>],
    pub sinks: &'a mut Sinks,
    /// The SHA-256 of the manifest that it is to go back to, also where that is older.
    pub back_to: Option<String>,
}

/// What is checked and can be swapped in.
struct Ready {
    config: Config,
    lineup: Arc<Lineup>,
    memory: MemoryPlan,
    changes: Changes,
    notes: Vec<String>,
}

impl Reload<'_> {
    /// Does it, and tells what became of it.
    ///
    /// # Errors
    /// When a sink could not be started after all had been checked, which is a bug.
    pub async fn run(self) -> Result<Report, DaemonError> {
        let now = self.view.now();
        let at = jiff::Timestamp::now().as_second();
        // What waits for a restart still does where the config is not read.
        let mut waits = Vec::new();
        let read = match self.anew {
            Anew::Config(file) => {
                let (read, own) = (file.to_owned(), file.to_owned());
                let read = tokio::task::spawn_blocking(move || examine(&read)).await;
                read.unwrap_or_else(|panic| Err(Problems(vec![Problem::of_file(&own, panic.to_string())])))
            }
            Anew::Models => {
                waits = now.reload.as_ref().map(|last| last.restart.clone()).unwrap_or_default();
                let config = now.config.clone();
                let bundle = config.model.bundle.clone();
                let read = tokio::task::spawn_blocking(move || anew(config)).await;
                read.unwrap_or_else(|panic| Err(Problems(vec![Problem::of_file(&bundle, panic.to_string())])))
            }
        };
        let checked = read.and_then(|read| self.check(&now, read));
        let report = match checked {
            Ok(mut ready) => {
                ready.changes.restart.extend(waits);
                // Before the swap: the first events of a new model must not wait for what a first run costs.
                if !Arc::ptr_eq(&ready.lineup, &now.lineup) {
                    self.make_ready(&now, &ready).await?;
                }
                self.swap(&now, ready, at).await?
            }
            Err(problems) => {
                let report = Report { at, problems: problems.0, restart: waits, ..Report::default() };
                self.view.put(InForce { reload: Some(report.clone()), ..again(&now) });
                report
            }
        };
        // What was read, refused or replaced lay in many pieces.
        drop(tokio::task::spawn_blocking(super::allocator::give_back).await);
        Ok(report)
    }

    /// Warms a line-up, and folds out of the log what its windows want and is not held yet.
    async fn make_ready(&self, now: &InForce, ready: &Ready) -> Result<(), DaemonError> {
        let (lineup, store) = (Arc::clone(&ready.lineup), Arc::clone(&self.view.store));
        let held = now.lineup.plan().cloned();
        let limits = window_limits(&ready.config, &ready.memory);
        let made = tokio::task::spawn_blocking(move || {
            lineup.warm();
            lineup.refold(&store, held.as_ref(), limits)
        });
        match made.await {
            Ok(made) => made.map_err(DaemonError::Store),
            Err(panic) => Err(DaemonError::Bug(panic.to_string())),
        }
    }

    /// Whether what was read can be swapped in beside what stays.
    fn check(&self, now: &InForce, (loaded, built): (Loaded, Built)) -> Result<Ready, Problems> {
        let changes = Changes::between(&now.config, &loaded.config);
        let config = Changes::merged(&now.config, &loaded.config);
        let (key, origin) = ("limits.memory", loaded.origin("limits.memory"));
        let refused = |message: String| Problems(vec![Problem::at(&origin, key, message)]);
        // The budget is that of the running daemon, also where the file has another one.
        let cost = cost(&built.bundle, built.shadow.as_deref());
        let mut memory = MemoryPlan::divide(&config, cost)
            .map_err(|error| refused(format!("limits.memory, as it is in force: {error}; then restart")))?;
        // The index is bounded by events: what the window holds now must still fit, if need be in the room that is kept
        // for the model's successor.
        let stats = self.view.store.stats();
        let known = stats.committed.saturating_sub(stats.window_floor);
        if !memory.hold_events(known, cost) {
            return Err(refused(format!(
                "limits.memory, as it is in force: this leaves room for {} events to the dedup index, which holds \
                 {known}: a restart would cut the window, a reload does not",
                memory.index_events()
            )));
        }
        let notes = loaded.warnings.iter().map(ToString::to_string).collect();
        let refused = |why| Problems(vec![Problem::at(&loaded.origin("model.bundle"), "model.bundle", why)]);
        let found = hex_text(built.bundle.manifest_sha256());
        if let Some(wanted) = self.back_to.as_ref().filter(|wanted| **wanted != found) {
            let place = config.model.bundle.display();
            return Err(refused(format!(
                "model.bundle: expected the manifest with sha256 {wanted} behind {place}, found {found}"
            )));
        }
        super::models::judge(&self.view.store, &built.bundle, self.back_to.is_some())
            .map_err(|why| refused(format!("model.bundle: {why}")))?;
        let lineup = Self::lineup(now, &config, built.bundle, built.shadow);
        Ok(Ready { config, lineup, memory, changes, notes })
    }

    /// What is the same keeps its handle: nothing is loaded twice, and a shadow goes on being compared. One that was
    /// dropped begins anew.
    fn lineup(now: &InForce, config: &Config, bundle: Arc<Bundle>, shadow: Option<Arc<Bundle>>) -> Arc<Lineup> {
        let is_same = |a: &Bundle, b: &Bundle| a.manifest_sha256() == b.manifest_sha256() && a.folder() == b.folder();
        let old = &now.lineup;
        let bundle = if is_same(&bundle, old.bundle()) { Arc::clone(old.bundle()) } else { bundle };
        let goes_on = match (old.shadow(), &shadow) {
            (Some(before), Some(after)) => {
                let limit = config.model.shadow_limit.duration();
                is_same(before.bundle(), after) && before.limit() == limit && before.dropped().is_none()
            }
            (before, after) => before.is_none() && after.is_none(),
        };
        if goes_on && Arc::ptr_eq(&bundle, old.bundle()) {
            return Arc::clone(old);
        }
        lineup(config, bundle, shadow)
    }

    async fn swap(self, now: &InForce, ready: Ready, at: i64) -> Result<Report, DaemonError> {
        let Ready { config, lineup, memory, changes, mut notes } = ready;
        let view = self.view;
        let mut lines = Vec::new();
        // The engine first: it must know the model before anything is decoded for it.
        view.engine.swap(Arc::clone(&lineup), shares(&memory));
        let (bundle, before) = (lineup.bundle(), now.lineup.bundle());
        let mut past = now.past.clone();
        if !Arc::ptr_eq(bundle, before) {
            let used = super::models::at_reload(before, bundle, self.back_to.is_some());
            super::models::note(&view.engine, used).await;
            past = Past::read(&view.store).map_err(DaemonError::Store)?;
        }
        if !Arc::ptr_eq(&lineup, &now.lineup) {
            for intake in self.intakes {
                intake.want(lineup.pointers());
            }
            lines.extend(shadow_line(&now.lineup, &lineup));
        }
        if !Arc::ptr_eq(bundle, before) {
            let (new, old) = (bundle.label(), before.label());
            lines.push(if new == old {
                format!("model: {new}, with other thresholds, features or weights under the same version")
            } else {
                format!("model: {new} instead of {old}")
            });
        }
        let ending: Vec<String> = changes.removed.iter().chain(&changes.changed).cloned().collect();
        self.sinks.stop(&ending).await;
        for name in &changes.removed {
            let cursor = view.store.cursor(name).unwrap_or_default();
            let left = view.store.committed().saturating_sub(cursor);
            if left > 0 {
                notes.push(format!(
                    "sink {name} had {left} verdicts to go; its cursor stays, the log is not kept for it"
                ));
            }
        }
        for (name, missing) in view.store.declare_sinks(&declarations(&config)) {
            notes.push(format!("sink {name} comes back, and {missing} verdicts that it had to go are no longer kept"));
        }
        self.sinks.start(&config.sinks)?;
        for (names, what) in [(&changes.added, "added"), (&changes.removed, "removed"), (&changes.changed, "changed")] {
            lines.extend(names.iter().map(|name| format!("sinks.{name}: {what}")));
        }
        if changes.log_level {
            super::log::set_level(config.log.level);
            lines.push(format!("log.level: {}", config.log.level.name()));
        }
        let report = Report { at, changes: lines, restart: changes.restart, notes, ..Report::default() };
        let sinks = self.sinks.statuses(&config.sinks);
        let reload = Some(report.clone());
        view.put(InForce { config, memory, lineup, left_out: None, past, sinks, reload });
        Ok(report)
    }
}

/// What became of the shadow.
fn shadow_line(old: &Lineup, new: &Lineup) -> Option<String> {
    let label = |lineup: &Lineup| lineup.shadow().map(|shadow| shadow.bundle().label().to_owned());
    match (label(old), label(new)) {
        (None, None) => None,
        (Some(old), None) => Some(format!("shadow: none instead of {old}")),
        (None, Some(new)) => Some(format!("shadow: {new}")),
        (Some(old), Some(new)) if old == new => Some(format!("shadow: {new}, compared anew")),
        (Some(old), Some(new)) => Some(format!("shadow: {new} instead of {old}")),
    }
}

/// What is in force, once more.
fn again(now: &InForce) -> InForce {
    InForce {
        config: now.config.clone(),
        memory: now.memory,
        lineup: Arc::clone(&now.lineup),
        left_out: now.left_out.clone(),
        past: now.past.clone(),
        sinks: now.sinks.clone(),
        reload: None,
    }
}
