//! Accepting connections and serving HTTP/1.1 on them, with hyper; time-outs, drain.
//!
//! One task a connection and none a request. A connection has one timer, which looks at its [`Pulse`] a few
//! times a time-out; whoever overstays is cut off, whatever he does or does not send.

use super::{
    Limits, Listener, Problem, ProblemKind,
    limits::READ_BUFFER_BYTES_MAX,
    listen::Bound,
    reply::{self, Reply},
    socket::{Guarded, Phase, Pulse, Socket},
    tls,
};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{AUTHORIZATION, CONNECTION, HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

/// What an accept that failed for want of descriptors or memory waits before the next try.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers requests.
pub trait Routes: Send + Sync + 'static {
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Response<Reply>> + Send;
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

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What every connection of a listener shares.
pub(super) struct Shared<R> {
    pub routes: R,
    pub limits: Limits,
    pub token: Option<Box<[u8]>>,
    pub connections: Arc<Connections>,
}

/// Serves until `shutdown` holds true or its sender is gone; then stops accepting, ends idle connections,
/// finishes what is in flight and cuts off what is left after `drain_timeout`.
pub async fn serve<R: Routes>(listener: Listener, routes: R, mut shutdown: watch::Receiver<bool>) {
    let shared = Arc::new(Shared {
        routes,
        limits: listener.limits.clone(),
        token: listener.token.clone(),
        connections: listener.connections(),
    });
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
                accept_failed(&shared.connections, &error).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            count(&shared.connections.refused);
            refuse(&socket, listener.tls.is_some());
            continue;
        };
        count(&shared.connections.accepted);
        shared.connections.open.fetch_add(1, Ordering::Relaxed);
        let (shared, tls, shutdown) = (Arc::clone(&shared), listener.tls.clone(), shutdown.clone());
        tasks.spawn(async move {
            let _open = Open(Arc::clone(&shared.connections));
            let _place = place;
            let socket = match (socket, tls) {
                (Socket::Tcp(stream), Some(acceptor)) => {
                    match timeout(shared.limits.head_timeout, tls::accept(&acceptor, stream)).await {
                        Ok(Ok(stream)) => Socket::Tls(Box::new(stream)),
                        Ok(Err(error)) => {
                            tracing::debug!(%error, "TLS handshake failed");
                            return count(&shared.connections.failed);
                        }
                        Err(_) => return count(&shared.connections.timed_out),
                    }
                }
                (socket, _) => socket,
            };
            serve_connection(socket, shared, shutdown).await;
        });
    }
    // New connections are refused from here on, and the socket file goes.
    let limit = listener.limits.drain_timeout;
    drop(listener);
    if timeout(limit, async { while tasks.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(connections = tasks.len(), "drain: cut off the connections that were still busy");
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
        tracing::warn!(%error, "cannot accept a connection, trying on");
    }
    sleep(ACCEPT_PAUSE).await;
}

/// Tells a connection over the limit so, without waiting for anything.
fn refuse(socket: &Socket, tls: bool) {
    const BODY: &str = "{\"type\":\"urn:verdictd:problem:busy\",\"title\":\"Not taken, try again\",\"status\":503,\
        \"detail\":\"too many connections\"}";
    if tls {
        return;
    }
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let _ = match socket {
        Socket::Unix(stream) => stream.try_write(text.as_bytes()),
        Socket::Tcp(stream) => stream.try_write(text.as_bytes()),
        Socket::Tls(_) => Ok(0),
    };
}

/// Serves one connection to its end.
pub(super) async fn serve_connection<S, R>(stream: S, shared: Arc<Shared<R>>, mut shutdown: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    R: Routes,
{
    let limits = &shared.limits;
    let pulse = Arc::new(Pulse::new());
    let io = TokioIo::new(Guarded::new(stream, Arc::clone(&pulse)));
    let service = service_fn(|request| {
        pulse.enter(Phase::Serving);
        let (shared, pulse) = (&shared, &pulse);
        async move {
            let response = if authorised(shared.token.as_deref(), &request) {
                shared.routes.handle(request).await
            } else {
                unauthorised()
            };
            if response.headers().get(CONNECTION).is_some_and(|value| value == "close") {
                pulse.linger();
            }
            pulse.enter(Phase::Writing);
            Ok::<_, Infallible>(response)
        }
    });
    // No `pipeline_flush`: with it hyper keeps an answer back while half of the next request's head is there.
    let mut connection = pin!(
        http1::Builder::new()
            .header_read_timeout(None)
            .half_close(true)
            .max_buf_size(READ_BUFFER_BYTES_MAX)
            .max_header_size(limits.head_bytes_max)
            .serve_connection(io, service)
    );
    let tick = limits.head_timeout.min(limits.idle_timeout).min(limits.write_timeout) / 4;
    let mut timer = pin!(sleep(tick));
    let mut draining = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended early");
                }
                return;
            }
            () = timer.as_mut() => {
                let now = Instant::now();
                let deadline = pulse.deadline(limits);
                if deadline.is_some_and(|deadline| deadline <= now) {
                    count(&shared.connections.timed_out);
                    tracing::debug!(phase = ?pulse.phase(), "connection cut off: the client was too slow");
                    return;
                }
                timer.set(sleep_until(deadline.map_or(now + tick, |deadline| deadline.min(now + tick))));
            }
            _ = shutdown.wait_for(|stop| *stop), if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Whether the request carries the token, compared in constant time.
fn authorised<B>(token: Option<&[u8]>, request: &Request<B>) -> bool {
    let Some(token) = token else { return true };
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let (scheme, given) = given.split_at_checked(7).unwrap_or_default();
    let given = given.trim_ascii();
    scheme.eq_ignore_ascii_case(b"bearer ") && given.len() == token.len() && openssl::memcmp::eq(given, token)
}

fn unauthorised() -> Response<Reply> {
    let problem = Problem::new(ProblemKind::Unauthorized, "expected the header Authorization: Bearer TOKEN");
    reply::problem_with(&problem, |headers| {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    })
}
