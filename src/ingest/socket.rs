//! A connection's stream, and its pulse: what the connection waits for, and since when.
//!
//! The pulse is two relaxed stores a request; the connection's one timer looks at it now and then. A timer
//! a request would cost more than the rest of the HTTP layer's book-keeping.

use super::Limits;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
    time::Instant,
};
use tokio_openssl::SslStream;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The client may ask or not.
    Idle = 0,
    /// A head has begun to arrive.
    Head = 1,
    /// A request is being served: its body has its own limit, the engine needs none.
    Serving = 2,
    /// The answer is being written.
    Writing = 3,
}

/// Phase in the two lowest bits, milliseconds since `start` above them.
pub(crate) struct Pulse {
    start: Instant,
    word: AtomicU64,
    linger: AtomicBool,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), word: AtomicU64::new(Phase::Idle as u64), linger: AtomicBool::new(false) }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX) << 2;
        self.word.store(since | phase as u64, Ordering::Relaxed);
    }

    /// The answer ends the connection, though its client may still be sending: what he sends is read and
    /// thrown away for a while. A socket closed with bytes unread can take the answer with it.
    pub(crate) fn linger(&self) {
        self.linger.store(true, Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.word.load(Ordering::Relaxed) & 3 {
            0 => Phase::Idle,
            1 => Phase::Head,
            2 => Phase::Serving,
            _ => Phase::Writing,
        }
    }

    /// When the present phase has lasted too long; None where it may last.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let limit = match self.phase() {
            Phase::Idle => limits.idle_timeout,
            Phase::Head => limits.head_timeout,
            Phase::Serving => return None,
            Phase::Writing => limits.write_timeout,
        };
        let since = Duration::from_millis(self.word.load(Ordering::Relaxed) >> 2);
        Some(self.start + since + limit)
    }
}

/// Bytes thrown away at most behind an answer that ends the connection.
const LINGER_BYTES_MAX: usize = 8 << 20;

/// A stream that keeps a [`Pulse`].
pub(crate) struct Guarded<S> {
    pub stream: S,
    pub pulse: Arc<Pulse>,
    /// Bytes thrown away; none while the stream is not shut down.
    lingered: Option<usize>,
}

impl<S> Guarded<S> {
    pub(crate) fn new(stream: S, pulse: Arc<Pulse>) -> Self {
        Self { stream, pulse, lingered: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before && self.pulse.phase() == Phase::Idle {
            self.pulse.enter(Phase::Head);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S> Guarded<S> {
    fn wrote(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        // Idle too: an answer in several pieces is flushed between them.
        let writes = matches!(self.pulse.phase(), Phase::Idle | Phase::Writing);
        if matches!(result, Poll::Ready(Ok(n)) if n > 0) && writes {
            self.pulse.enter(Phase::Writing);
        }
        result
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes the stream when its own buffer is empty: the answer is out.
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        if self.pulse.phase() == Phase::Writing {
            self.pulse.enter(Phase::Idle);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingered.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            if !self.pulse.linger.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            // No longer than a head may take.
            self.pulse.enter(Phase::Head);
        }
        let mut lingered = self.lingered.unwrap_or_default();
        let mut bytes = [0; 4096];
        while lingered < LINGER_BYTES_MAX {
            let mut buf = ReadBuf::new(&mut bytes);
            self.lingered = Some(lingered);
            if ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf)).is_err() || buf.filled().is_empty() {
                break;
            }
            lingered += buf.filled().len();
        }
        Poll::Ready(Ok(()))
    }
}

/// The stream of an accepted connection.
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<SslStream<TcpStream>>),
}

macro_rules! each {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self {
            Socket::Unix($stream) => $call,
            Socket::Tcp($stream) => $call,
            Socket::Tls($stream) => $call,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        each!(self, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }
}
