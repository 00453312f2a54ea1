//! Counts what the state does, in tests: costs are promised in rows and summaries touched, not in time.

/// So many rows or summaries were read or moved. Outside of tests nothing counts them.
#[inline]
#[cfg(not(test))]
pub fn done(_: usize) {}

#[cfg(test)]
pub use counted::{done, take};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    std::thread_local! {
        static DONE: Cell<u64> = const { Cell::new(0) };
    }

    /// So many rows or summaries were read or moved.
    pub fn done(steps: usize) {
        DONE.with(|done| done.set(done.get() + steps as u64));
    }

    /// What this thread did since it was asked last.
    pub fn take() -> u64 {
        DONE.with(|done| done.replace(0))
    }
}
