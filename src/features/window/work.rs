//! Counts what the state does, in tests: costs are promised in rows and summaries touched, not in time.

#[cfg(test)]
std::thread_local! {
    static DONE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many rows or summaries were read or moved.
#[inline]
pub fn done(_steps: usize) {
    #[cfg(test)]
    DONE.with(|done| done.set(done.get() + _steps as u64));
}

/// What this thread did since it was asked last.
#[cfg(test)]
pub fn take() -> u64 {
    DONE.with(|done| done.replace(0))
}
