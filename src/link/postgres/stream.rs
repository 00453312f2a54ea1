//! The byte stream under a connection: TCP, TLS over it, or a Unix socket.

use super::{Fault, Options, Place};
use crate::link::tls;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_openssl::SslStream;

/// The question whether the server speaks TLS: a length, and a number that is no version of the protocol.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// A connection on which nothing is said for so long is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

pub(super) enum Stream {
    Tcp(TcpStream),
    Tls(SslStream<TcpStream>),
    Unix(UnixStream),
}

impl Stream {
    /// Looks the name up and connects to the first of its addresses that answers.
    pub(super) async fn open(options: &Options) -> Result<Self, Fault> {
        let (host, port) = match &options.address.place {
            Place::Tcp { host, port } => (host, *port),
            Place::Unix { folder, port } => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                let failed = |error: io::Error| Fault::link(format!("{}: {error}", path.display()));
                return UnixStream::connect(&path).await.map(Self::Unix).map_err(failed);
            }
        };
        let failed = |error: io::Error| Fault::link(format!("{host}: {error}"));
        let addresses = lookup_host((host.as_str(), port)).await.map_err(failed)?;
        let mut last = Fault::link(format!("{host}: it has no address"));
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // A batch is written as a whole.
                    let _ = stream.set_nodelay(true);
                    let keep_alive = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 3);
                    let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keep_alive);
                    return match &options.tls {
                        None => Ok(Self::Tcp(stream)),
                        Some(files) => secured(files, host, stream).await,
                    };
                }
                Err(error) => last = Fault::link(format!("{address}: {error}")),
            }
        }
        Err(last)
    }
}

/// Asks for TLS, and shakes hands.
async fn secured(files: &tls::ClientTls, host: &str, mut stream: TcpStream) -> Result<Stream, Fault> {
    let failed = |error: io::Error| Fault::link(format!("{host}: {error}"));
    stream.write_all(&TLS_REQUEST).await.map_err(failed)?;
    // One byte and no more: what follows it in the clear is not taken for the server's word.
    let answer = stream.read_u8().await.map_err(failed)?;
    if answer != b'S' {
        return Err(Fault::configuration(format!("{host} does not speak TLS, which `tls` asks for")));
    }
    tls::connect(files, host, stream).await.map(Stream::Tls).map_err(|error| match error {
        tls::TlsError::Io(error) => failed(error),
        other => Fault::configuration(format!("{host}: {other}")),
    })
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
