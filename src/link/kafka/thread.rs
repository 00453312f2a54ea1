//! A thread for a client: what it does blocks now and then, which no other source or sink shall feel.

use tokio::sync::oneshot;

/// Runs what `make` makes on a thread with a small runtime of its own.
///
/// # Errors
/// When there is no thread to be had, or it panicked: says so.
pub async fn on_own_thread<F, T>(name: String, make: impl FnOnce() -> F + Send + 'static) -> Result<T, String>
where
    F: Future<Output = T>,
    T: Send + 'static,
{
    let (done, ended) = oneshot::channel();
    let spawned = std::thread::Builder::new().name(name).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let result = runtime.map(|runtime| runtime.block_on(make())).map_err(|error| error.to_string());
        // Nobody waits any more where the daemon is gone.
        let _ = done.send(result);
    });
    spawned.map_err(|error| format!("no thread to be had: {error}"))?;
    ended.await.unwrap_or_else(|_| Err("internal error: a bug stopped the thread, it is started anew".to_owned()))
}
