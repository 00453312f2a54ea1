//! What the admin socket shows: the daemon's parts, looked at from outside.

use super::metrics;
use super::sources::SourceView;
use super::status;
use crate::config::{Config, DiskPlan, MemoryPlan};
use crate::engine::Engine;
use crate::event::Budget;
use crate::forward::SinkStatus;
use crate::ingest::{Admin, Health};
use crate::model::Bundle;
use crate::store::{Room, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Handles to everything that status and metrics tell of.
pub struct View {
    pub config: Config,
    pub memory: MemoryPlan,
    pub disk: DiskPlan,
    pub bundle: Arc<Bundle>,
    pub store: Arc<Store>,
    pub engine: Arc<Engine>,
    pub budget: Budget,
    pub sources: Vec<SourceView>,
    pub sinks: Vec<Arc<SinkStatus>>,
    pub started: Instant,
    pub stopping: AtomicBool,
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

    fn version(&self) -> Vec<u8> {
        serde_json::json!({ "name": "verdictd", "version": env!("CARGO_PKG_VERSION") }).to_string().into_bytes()
    }
}
