//! The byte stream under a connection.

use super::{ClientOptions, MqttError};
use crate::link::tls::{self, TlsError};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio_openssl::SslStream;

pub(super) enum Stream {
    Tcp(TcpStream),
    Tls(SslStream<TcpStream>),
}

impl Stream {
    /// Looks the name up and connects to the first of its addresses that answers.
    pub async fn connect(options: &ClientOptions) -> Result<Self, MqttError> {
        let broker = &options.broker;
        let resolve = |source| MqttError::Resolve { host: broker.host.clone(), source };
        let addresses = lookup_host((broker.host.as_str(), broker.port)).await.map_err(resolve)?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // What is written is put together here already: small packets are not to wait for an ack.
                    let _ = stream.set_nodelay(true);
                    if !broker.tls {
                        return Ok(Self::Tcp(stream));
                    }
                    let failed = |error| of_tls(error, broker.to_string());
                    return tls::connect(&options.tls, &broker.host, stream).await.map(Self::Tls).map_err(failed);
                }
                Err(source) => last = Some(MqttError::Connect { address: address.to_string(), source }),
            }
        }
        Err(last.unwrap_or_else(|| resolve(io::Error::new(io::ErrorKind::NotFound, "it has no address"))))
    }

    pub fn poll_write_bytes(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }
}

fn of_tls(error: TlsError, address: String) -> MqttError {
    match error {
        TlsError::File { what, path, reason } => MqttError::TlsFile { what, path, reason },
        TlsError::Refused(reason) => MqttError::Tls { address, reason },
        TlsError::Closed => MqttError::Closed,
        TlsError::Io(error) => MqttError::Io(error),
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}
