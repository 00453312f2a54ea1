//! Joins sinks to the engine: what one of them sets aside goes into the next commit.

use crate::engine::{Along, Engine};
use crate::forward::{SetAside, SettingAside, Stopped};
use crate::store::QuarantineEntry;
use std::sync::Arc;

/// The sinks' way into the quarantine.
pub struct Aside {
    pub engine: Arc<Engine>,
    /// Whether the quarantine keeps records with their bytes.
    pub keep_payload: bool,
}

impl SetAside for Aside {
    fn set_aside(&self, mut entry: QuarantineEntry, sink: &str, next: u64) -> SettingAside {
        if !self.keep_payload {
            entry.length = entry.length.max(entry.bytes.len() as u64);
            entry.bytes = Vec::new();
        }
        let along = Along { quarantine: vec![entry], cursors: vec![(sink.into(), next)], ..Along::default() };
        let engine = Arc::clone(&self.engine);
        Box::pin(async move { engine.carry(along).await.map_err(|_| Stopped) })
    }
}
