//! Joins sinks to the engine: what one of them sets aside or has to be durable goes into the next commit.

use crate::engine::{Along, Engine};
use crate::forward::{Book, Entry, SetAside, SettingAside, Stopped};
use crate::store::QuarantineEntry;
use std::sync::Arc;

/// The sinks' way into a commit.
pub struct Aside {
    pub engine: Arc<Engine>,
    /// Whether the quarantine keeps records with their bytes.
    pub keep_payload: bool,
}

impl Aside {
    fn kept(&self, mut entry: QuarantineEntry) -> QuarantineEntry {
        if !self.keep_payload {
            entry.length = entry.length.max(entry.bytes.len() as u64);
            entry.bytes = Vec::new();
        }
        entry
    }

    fn carry(&self, along: Along) -> SettingAside {
        let engine = Arc::clone(&self.engine);
        Box::pin(async move { engine.carry(along).await.map_err(|_| Stopped) })
    }
}

impl SetAside for Aside {
    fn set_aside(&self, entry: QuarantineEntry, sink: &str, next: u64) -> SettingAside {
        let quarantine = vec![self.kept(entry)];
        self.carry(Along { quarantine, cursors: vec![(sink.into(), next)], ..Along::default() })
    }
}

impl Book for Aside {
    fn enter(&self, entry: Entry) -> SettingAside {
        let Entry { cases, cursor, calls, quarantine } = entry;
        self.carry(Along {
            cases,
            cursors: cursor.into_iter().map(|(sink, next)| (sink.into(), next)).collect(),
            calls: calls.into_iter().collect(),
            quarantine: quarantine.into_iter().map(|entry| self.kept(entry)).collect(),
            ..Along::default()
        })
    }
}
