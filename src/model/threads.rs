//! Keeping Candle from asking the system for the number of processors at each multiplication.

/// Tells Candle to use one thread. Unset, each of its matrix products reads /proc anew (tens of
/// microseconds) and large ones start a thread pool that an appliance has no memory for.
///
/// Candle offers no call for it, only the variable `RAYON_NUM_THREADS`. A value that is set already is
/// left alone.
///
/// # Safety
/// No other thread may run: to be called first in `main`. Changing the environment while another thread
/// reads it (`getenv` in libc, say) is a data race; before the first thread starts there is no one to race.
pub unsafe fn keep_candle_single_threaded() {
    const NAME: &str = "RAYON_NUM_THREADS";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: the caller promises that this is the only thread.
        unsafe { std::env::set_var(NAME, "1") };
    }
}
