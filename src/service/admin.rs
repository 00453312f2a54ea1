//! What the admin socket shows: the daemon's parts, looked at from outside.

use super::desks::Desks;
use super::metrics;
use super::models::Past;
use super::reload::Report;
use super::sources::SourceView;
use super::status;
use crate::config::{Config, DiskPlan, MemoryPlan};
use crate::engine::{Engine, Lineup};
use crate::event::Budget;
use crate::forward::SinkStatus;
use crate::ingest::{Admin, Health, Reloaded, Resolve, Resolved};
use crate::store::{Room, Store};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Handles to everything that status and metrics tell of.
pub struct View {
    pub disk: DiskPlan,
    pub store: Arc<Store>,
    pub engine: Arc<Engine>,
    pub budget: Budget,
    pub sources: Vec<SourceView>,
    pub started: Instant,
    pub stopping: AtomicBool,
    /// Whether a reload is being done.
    pub reloading: AtomicBool,
    /// Where the service manager allows less memory than the budget: a line that says so.
    pub tight: Option<String>,
    /// What a reload changes.
    pub in_force: RwLock<Arc<InForce>>,
    /// Where a reload is asked for.
    pub reloads: mpsc::Sender<Ask>,
    /// Calls that are not settled.
    pub desks: Arc<Desks>,
}

/// A reload that is asked for.
#[derive(Default)]
pub struct Ask {
    /// Who wants to know what came of it.
    pub reply: Option<oneshot::Sender<Reloaded>>,
    /// The SHA-256 of the manifest that it is to go back to, also where that is older.
    pub back_to: Option<String>,
}

/// What is in force until the next reload.
pub struct InForce {
    pub config: Config,
    pub memory: MemoryPlan,
    pub lineup: Arc<Lineup>,
    /// Why the daemon started without the shadow that its config names.
    pub left_out: Option<String>,
    /// Which models were in use.
    pub past: Past,
    pub sinks: Vec<Arc<SinkStatus>>,
    /// What became of the last reload.
    pub reload: Option<Report>,
}

impl View {
    /// What is in force now.
    pub fn now(&self) -> Arc<InForce> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn put(&self, in_force: InForce) {
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(in_force);
    }
}

impl Admin for View {
    fn metrics(&self) -> Vec<u8> {
        metrics::render(self)
    }

    fn health(&self) -> Health {
        match self.store.stats().failed {
            None => Health { well: true, line: "well".to_owned() },
            Some(why) => Health { well: false, line: why },
        }
    }

    fn ready(&self) -> Health {
        if self.stopping.load(Relaxed) {
            return Health { well: false, line: "stopping".to_owned() };
        }
        match self.store.room() {
            Room::Yes => Health { well: true, line: "ready".to_owned() },
            full => Health { well: false, line: full.to_string() },
        }
    }

    fn status(&self) -> Vec<u8> {
        status::status(self).to_string().into_bytes()
    }

    async fn reload(&self, back_to: Option<String>) -> Option<Reloaded> {
        let (reply, answer) = oneshot::channel();
        self.reloads.send(Ask { reply: Some(reply), back_to }).await.ok()?;
        answer.await.ok()
    }

    fn uncertain(&self) -> Vec<u8> {
        let now = self.now();
        let sinks: Vec<&str> = now.sinks.iter().filter(|sink| sink.desk.is_some()).map(|sink| &*sink.name).collect();
        self.desks.list(&sinks).to_string().into_bytes()
    }

    async fn resolve(&self, resolve: Resolve) -> Resolved {
        let (desks, now) = (Arc::clone(&self.desks), self.now());
        let sinks = now.sinks.iter().filter(|sink| sink.desk.is_some()).map(|sink| sink.name.clone()).collect();
        // On a task of its own: it is not to be given up in between when the asker goes.
        let resolving = tokio::spawn(async move { desks.resolve(resolve, sinks).await });
        resolving.await.unwrap_or_else(|error| Resolved::Failed(error.to_string()))
    }

    fn version(&self) -> Vec<u8> {
        serde_json::json!({ "name": "verdictd", "version": env!("CARGO_PKG_VERSION") }).to_string().into_bytes()
    }
}
