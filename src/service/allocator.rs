//! Keeps the C library's allocator within the memory plan.
//!
//! By default glibc gives each of a dozen threads an arena of its own and raises its thresholds as large
//! blocks come and go; what was freed then stays with the process, 12 MiB of it in a run over 1 M events.

/// Arenas that the threads share.
const ARENAS_MAX: i32 = 2;
/// Free bytes at the end of an arena above which they go back to the system.
const TRIM_BYTES: i32 = 512 << 10;
/// Blocks from this size on are mapped for themselves and go back when they are freed.
const MAPPED_BYTES_MIN: i32 = 128 << 10;

/// Sets the bounds for the process; call it before threads start. False where the library has no such bounds.
#[must_use]
pub fn bound() -> bool {
    #[cfg(target_env = "gnu")]
    {
        [
            (libc::M_ARENA_MAX, ARENAS_MAX),
            (libc::M_TRIM_THRESHOLD, TRIM_BYTES),
            (libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN),
        ]
        .into_iter()
        // SAFETY: mallopt takes two numbers, keeps no pointer, and locks what it changes.
        .all(|(what, value)| unsafe { libc::mallopt(what, value) } == 1)
    }
    #[cfg(not(target_env = "gnu"))]
    {
        let _ = (ARENAS_MAX, TRIM_BYTES, MAPPED_BYTES_MIN);
        false
    }
}

/// Gives free memory back to the system: for after something great, such as a model, was let go of in pieces.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes a number, keeps no pointer, and locks what it changes.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_env = "gnu")]
    fn the_allocator_takes_the_bounds() {
        assert!(super::bound());
    }
}
