//! Accepting the connections of a listener: one task each, within the places there are; drain.

use super::{Listener, listen::Bound, socket::Socket, tls};
use crate::notice;
use std::{
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

/// What an accept that failed for want of descriptors or memory waits before the next try.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a connection over the limit is told.
pub(super) const TOO_MANY: &str = "too many connections";

/// What is spoken on the connections of a listener.
pub(super) trait Serve: Send + Sync + 'static {
    /// Serves one connection to its end.
    fn connection(self: Arc<Self>, socket: Socket, shutdown: watch::Receiver<bool>) -> impl Future<Output = ()> + Send;

    /// What one that finds no place is told before it is closed.
    fn refusal(&self) -> Vec<u8>;
}

/// Places for connections, shared by all listeners that have a handle to the same ones.
#[derive(Clone, Debug)]
pub struct Places(Arc<Semaphore>);

impl Places {
    /// Places for `count` connections open at once.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))))
    }
}

/// Counters of a listener, for the metrics.
#[derive(Debug, Default)]
pub struct Connections {
    pub open: AtomicU64,
    pub accepted: AtomicU64,
    /// Told 503 because too many were open.
    pub refused: AtomicU64,
    /// Cut off because the client was slow or silent.
    pub timed_out: AtomicU64,
    /// Failed accepts (no descriptors left, as a rule) and failed TLS handshakes.
    pub failed: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Serves until `shutdown` holds true or its sender is gone; then stops accepting, lets the connections finish what
/// is in flight, and cuts off what is left after `drain_timeout`.
pub(super) async fn accept_all<S: Serve>(listener: Listener, server: Arc<S>, mut shutdown: watch::Receiver<bool>) {
    let connections = listener.connections();
    let limit = listener.limits.head_timeout;
    let places = listener.places.0.clone();
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = shutdown.wait_for(|stop| *stop) => break,
            accepted = accept(&listener.bound) => accepted,
        };
        while tasks.try_join_next().is_some() {}
        let socket = match accepted {
            Ok(socket) => socket,
            Err(error) => {
                accept_failed(&connections, &error).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            count(&connections.refused);
            if listener.tls.is_none() {
                refuse(&socket, &server.refusal());
            }
            continue;
        };
        count(&connections.accepted);
        connections.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&connections));
        let (server, tls, shutdown) = (Arc::clone(&server), listener.tls.clone(), shutdown.clone());
        tasks.spawn(async move {
            let _place = place;
            let socket = match (socket, tls) {
                (Socket::Tcp(stream), Some(acceptor)) => match timeout(limit, tls::accept(&acceptor, stream)).await {
                    Ok(Ok(stream)) => Socket::Tls(Box::new(stream)),
                    Ok(Err(error)) => {
                        tracing::debug!(%error, "TLS handshake failed");
                        return count(&open.0.failed);
                    }
                    Err(_) => return count(&open.0.timed_out),
                },
                (socket, _) => socket,
            };
            server.connection(socket, shutdown).await;
            drop(open);
        });
    }
    // New connections are refused from here on, and the socket file goes.
    let limit = listener.limits.drain_timeout;
    drop(listener);
    if timeout(limit, async { while tasks.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(
            kind = notice::CONNECTIONS_CUT.kind,
            connections = tasks.len(),
            "drain: cut off the connections that were still busy"
        );
        tasks.shutdown().await;
    }
}

struct Open(Arc<Connections>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn accept(bound: &Bound) -> io::Result<Socket> {
    match bound {
        Bound::Unix(listener) => listener.accept().await.map(|(stream, _)| Socket::Unix(stream)),
        Bound::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
            // Answers are written whole: waiting for more would only delay them.
            let _ = stream.set_nodelay(true);
            Socket::Tcp(stream)
        }),
    }
}

async fn accept_failed(connections: &Connections, error: &io::Error) {
    // These concern the one connection, which its client gave up.
    if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        return;
    }
    // The rest (EMFILE, ENFILE, ENOBUFS, ENOMEM) goes by when connections end; they must be let.
    if connections.failed.fetch_add(1, Ordering::Relaxed).is_multiple_of(1024) {
        tracing::warn!(kind = notice::ACCEPT_FAILED.kind, %error, "cannot accept a connection, trying on");
    }
    sleep(ACCEPT_PAUSE).await;
}

/// Tells a connection that finds no place so, without waiting for anything.
fn refuse(socket: &Socket, text: &[u8]) {
    let _ = match socket {
        Socket::Unix(stream) => stream.try_write(text),
        Socket::Tcp(stream) => stream.try_write(text),
        Socket::Tls(_) => Ok(0),
    };
}
