//! When something last moved, told by whoever moves it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The last move, since this was made.
#[derive(Debug)]
pub struct Progress {
    made: Instant,
    micros: AtomicU64,
}

impl Default for Progress {
    fn default() -> Self {
        Self { made: Instant::now(), micros: AtomicU64::new(0) }
    }
}

impl Progress {
    pub fn note(&self) {
        self.micros.store(u64::try_from(self.made.elapsed().as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// How long ago that was.
    pub fn elapsed(&self) -> Duration {
        self.made.elapsed().saturating_sub(Duration::from_micros(self.micros.load(Relaxed)))
    }
}
