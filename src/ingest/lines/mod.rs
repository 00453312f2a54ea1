//! The `socket` source: NDJSON over a Unix socket, TCP or TLS.
//!
//! A line in (a plain event or a structured CloudEvent), a line out: the verdict or a problem, in the order of the
//! lines, after the commit. Clients need not wait for an answer before the next line. Empty lines are passed over and
//! have no answer.
//!
//! | | |
//! |---|---|
//! | a line longer than the limit of an event | answered by a 413 problem, set aside; the rest flows on |
//! | the client has sent all (half-closed) | a last line without its end is taken; every answer is given, then the connection is closed |
//! | the client does not read | nothing more is read of it; after `write-timeout` without one byte taken it is cut off |
//! | a line begun and not ended within `body-timeout` | a 408 problem, and the end |
//! | no memory within `budget-wait` | a 503 problem a line: to be sent again |
//! | the daemon stops | what was read is answered, then the connection is closed |
//!
//! With a token the first line is `AUTH TOKEN`, within `head-timeout`. It has no answer if it is right, so that the
//! n-th answer is always that of the n-th event; else a 401 problem and the end.
//!
//! A connection on which nothing is said stays open; TCP finds out by keep-alive when the other side is gone.
//! Limits: [`Limits`]; buffers beyond [`buffer::FREE_BYTES`] are paid for; answers under way are at
//! most [`UNDER_WAY_MAX`] slices.

mod answers;
mod buffer;
mod connection;

#[cfg(test)]
mod tests;

use super::{
    Budget, Connections, Intake, Limits, Listener, Problem,
    accept::{Serve, TOO_MANY, accept_all},
    socket::Socket,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// Slices of one connection that wait for their answers or to be written.
pub const UNDER_WAY_MAX: usize = 4;
/// When TCP begins to ask whether the other side is there.
const KEEPALIVE: Duration = Duration::from_mins(1);

/// What the connections of a listener share.
struct Shared<I> {
    intake: Arc<I>,
    budget: Budget,
    limits: Limits,
    token: Option<Box<[u8]>>,
    connections: Arc<Connections>,
    /// Bytes of one event.
    line_bytes_max: usize,
}

/// Serves until `stop` holds true or its sender is gone; then answers what is in flight, at most `drain-timeout` long.
/// `line_bytes_max`: the limit of one event.
pub async fn serve<I: Intake>(
    listener: Listener,
    intake: Arc<I>,
    budget: Budget,
    line_bytes_max: usize,
    stop: watch::Receiver<bool>,
) {
    let shared = Arc::new(Shared {
        intake,
        budget,
        limits: listener.limits.clone(),
        token: listener.token.clone(),
        connections: listener.connections(),
        line_bytes_max,
    });
    accept_all(listener, shared, stop).await;
}

impl<I: Intake> Serve for Shared<I> {
    async fn connection(self: Arc<Self>, socket: Socket, stop: watch::Receiver<bool>) {
        keep_alive(&socket);
        connection::serve(socket, &self, stop).await;
    }

    fn refusal(&self) -> Vec<u8> {
        let mut line = Vec::new();
        Problem::busy(TOO_MANY).write_json(&mut line);
        line.push(b'\n');
        line
    }
}

fn keep_alive(socket: &Socket) {
    let stream = match socket {
        Socket::Unix(_) => return,
        Socket::Tcp(stream) => stream,
        Socket::Tls(stream) => stream.get_ref(),
    };
    let asks = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4);
    // Without it a dead client keeps its place for longer, no more.
    let _ = socket2::SockRef::from(stream).set_tcp_keepalive(&asks);
}
