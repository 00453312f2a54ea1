//! Whether a link works, what went wrong last, and how often.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// What kind of error it is, and so what is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The weather of links and brokers: tried again for ever, with back-off and jitter.
    Transient,
    /// Only a person can mend it (rights, names, certificates): an alarm, and slow tries.
    Configuration,
    /// One record is refused for what it is: it is set aside, the rest flow on.
    Poison,
}

impl Trouble {
    pub const ALL: [Self; 3] = [Self::Transient, Self::Configuration, Self::Poison];

    /// Its name in metrics and in the status.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Configuration => "configuration",
            Self::Poison => "poison",
        }
    }
}

/// An error, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    pub text: String,
    pub trouble: Trouble,
    pub at: SystemTime,
}

/// One link's state: written by its task, read by `status` and the metrics.
#[derive(Debug, Default)]
pub struct LinkState {
    down: AtomicBool,
    /// Whether it has worked at all since the start.
    reached: AtomicBool,
    errors: [AtomicU64; 3],
    last: Mutex<Option<LastError>>,
}

impl LinkState {
    #[must_use]
    pub fn is_up(&self) -> bool {
        !self.down.load(Relaxed)
    }

    /// `starting` until it has worked or failed for the first time, then `up` or `down`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match (self.is_up(), self.reached.load(Relaxed)) {
            (false, _) => "down",
            (true, false) => "starting",
            (true, true) => "up",
        }
    }

    /// Errors of a kind since the start.
    #[must_use]
    pub fn errors(&self, trouble: Trouble) -> u64 {
        self.errors[trouble as usize].load(Relaxed)
    }

    /// The last error, also after a recovery.
    #[must_use]
    pub fn last_error(&self) -> Option<LastError> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a failed try: the link is down. True where that is news: it was up, or the trouble is another kind.
    pub fn failed(&self, trouble: Trouble, text: &str) -> bool {
        let before = self.note(trouble, text);
        !self.down.swap(true, Relaxed) || before.is_none_or(|before| before.trouble != trouble)
    }

    /// Notes an error that leaves the link up. Returns the one before.
    pub fn note(&self, trouble: Trouble, text: &str) -> Option<LastError> {
        self.errors[trouble as usize].fetch_add(1, Relaxed);
        let error = LastError { text: text.to_owned(), trouble, at: SystemTime::now() };
        self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(error)
    }

    /// Notes success; true where the link was down.
    pub fn recovered(&self) -> bool {
        self.reached.store(true, Relaxed);
        self.down.swap(false, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_told_once_and_the_last_error_stays() {
        let state = LinkState::default();
        assert!(state.is_up() && state.name() == "starting" && !state.recovered());
        assert_eq!(state.name(), "up");
        assert!(state.failed(Trouble::Transient, "refused"));
        assert!(!state.failed(Trouble::Transient, "refused"));
        assert!(state.failed(Trouble::Configuration, "wrong password"));
        assert!(!state.is_up());
        assert!(state.recovered() && state.is_up());
        assert_eq!(state.errors(Trouble::Transient), 2);
        assert_eq!(state.last_error().map(|error| error.text).as_deref(), Some("wrong password"));
        state.note(Trouble::Poison, "too large");
        assert!(state.is_up());
    }
}
