//! The sinks' places in the log: which sinks there are, and how far each has come.
//!
//! A sink that is no longer declared is *retired*: its cursor stays, so that it can go on from there, and holds
//! nothing of the log back. Sinks come and go while the store is open; none is ever removed from the table, which is
//! bounded by the names a config has held since the start.

use super::options::{SinkDecl, SinkStart};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A sink's place in the log.
#[derive(Debug)]
pub(crate) struct Sink {
    pub name: String,
    /// The next sequence it wants.
    pub next: AtomicU64,
    /// What of that is stored.
    pub stored: AtomicU64,
    retired: AtomicBool,
}

impl Sink {
    /// Whether the log is kept for it.
    pub fn is_declared(&self) -> bool {
        !self.retired.load(Ordering::Acquire)
    }
}

/// All sinks whose cursors are known.
#[derive(Debug, Default)]
pub(crate) struct Sinks(RwLock<Vec<Arc<Sink>>>);

impl Sinks {
    /// Those whose cursors are stored, all retired: [`Sinks::declare`] says which are in force.
    pub fn stored(cursors: Vec<(String, u64)>) -> Self {
        let sinks = cursors.into_iter().map(|(name, next)| {
            let (next, stored) = (AtomicU64::new(next), AtomicU64::new(next));
            Arc::new(Sink { name, next, stored, retired: AtomicBool::new(true) })
        });
        Self(RwLock::new(sinks.collect()))
    }

    /// Puts these sinks in force and retires all others. A new one begins where it says, between `oldest`, the
    /// log's first sequence, and `newest`, the one after its last. Gives the names of those that come back to a log that
    /// was trimmed meanwhile, and how many records each misses.
    pub fn declare(&self, declared: &[SinkDecl], oldest: u64, newest: u64) -> Vec<(String, u64)> {
        let mut gaps = Vec::new();
        let mut sinks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for sink in sinks.iter() {
            let wanted = declared.iter().any(|decl| decl.name == sink.name);
            let was_retired = sink.retired.swap(!wanted, Ordering::AcqRel);
            let missing = oldest.saturating_sub(sink.next.load(Ordering::Acquire));
            if wanted && was_retired && missing > 0 {
                gaps.push((sink.name.clone(), missing));
            }
        }
        for decl in declared {
            if sinks.iter().all(|sink| sink.name != decl.name) {
                let next = match decl.start {
                    SinkStart::Oldest => oldest,
                    SinkStart::Newest => newest,
                };
                sinks.push(Arc::new(Sink {
                    name: decl.name.clone(),
                    next: AtomicU64::new(next),
                    stored: AtomicU64::new(0),
                    retired: AtomicBool::new(false),
                }));
            }
        }
        gaps
    }

    /// A sink in force.
    pub fn find(&self, name: &str) -> Option<Arc<Sink>> {
        let sinks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        sinks.iter().find(|sink| sink.name == name && sink.is_declared()).cloned()
    }

    /// Every sink, the retired among them.
    pub fn all(&self) -> Vec<Arc<Sink>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Names of the retired and where they stand.
    pub fn retired(&self) -> Vec<(String, u64)> {
        let retired = self.all().into_iter().filter(|sink| !sink.is_declared());
        retired.map(|sink| (sink.name.clone(), sink.next.load(Ordering::Acquire))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_that_comes_back_to_a_trimmed_log_is_told_what_it_misses_once() {
        let declared = |names: &[&str]| {
            let declare = |name: &&str| SinkDecl { name: (*name).to_owned(), start: SinkStart::Oldest };
            names.iter().map(declare).collect::<Vec<_>>()
        };
        let sinks = Sinks::stored(vec![("back".to_owned(), 5), ("stays".to_owned(), 12)]);
        assert_eq!(sinks.declare(&declared(&["back", "stays", "new"]), 10, 20), [("back".to_owned(), 5)]);
        assert_eq!(sinks.declare(&declared(&["back", "stays"]), 10, 20), []);
        assert_eq!(sinks.find("new").map(|sink| sink.name.clone()), None);
        assert_eq!(sinks.retired(), [("new".to_owned(), 10)]);
    }
}
