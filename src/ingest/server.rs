//! Serving HTTP/1.1 on the connections of a listener, with hyper; time-outs, drain.
//!
//! One task a connection and none a request. A connection has one timer, which looks at its [`Pulse`] a few
//! times a time-out; whoever overstays is cut off, whatever he does or does not send.

use super::{
    Limits, Listener, Problem, ProblemKind,
    accept::{Connections, Serve, TOO_MANY, accept_all, count},
    limits::READ_BUFFER_BYTES_MAX,
    reply::{self, Reply},
    socket::{Guarded, Phase, Pulse, Socket},
};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{AUTHORIZATION, CONNECTION, HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::{convert::Infallible, future::Future, pin::pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

/// Answers requests.
pub trait Routes: Send + Sync + 'static {
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Response<Reply>> + Send;
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
pub async fn serve<R: Routes>(listener: Listener, routes: R, shutdown: watch::Receiver<bool>) {
    let shared = Arc::new(Shared {
        routes,
        limits: listener.limits.clone(),
        token: listener.token.clone(),
        connections: listener.connections(),
    });
    accept_all(listener, shared, shutdown).await;
}

impl<R: Routes> Serve for Shared<R> {
    async fn connection(self: Arc<Self>, socket: Socket, shutdown: watch::Receiver<bool>) {
        serve_connection(socket, self, shutdown).await;
    }

    fn refusal(&self) -> Vec<u8> {
        let mut body = Vec::new();
        Problem::busy(TOO_MANY).write_json(&mut body);
        let mut text = format!(
            "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        text.extend_from_slice(&body);
        text
    }
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
