//! A stream to a server: names, TCP, TLS.

use super::Trouble;
use super::tls::{self, ClientTls, TlsError};
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};

/// A stream of bytes, whatever lies below.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the name {host} cannot be resolved: {source}")]
    Resolve { host: String, source: io::Error },
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    #[error("{host}: {source}")]
    Tls { host: String, source: TlsError },
}

impl ConnectError {
    /// What is to be done about it.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Tls { source: TlsError::File { .. } | TlsError::Refused(_), .. } => Trouble::Configuration,
            _ => Trouble::Transient,
        }
    }
}

/// Looks the name up and connects to the first of its addresses that answers.
///
/// # Errors
/// When none does, or the TLS handshake fails.
pub async fn open(host: &str, port: u16, tls: Option<&ClientTls>) -> Result<Box<dyn Stream>, ConnectError> {
    let resolve = |source| ConnectError::Resolve { host: host.to_owned(), source };
    let mut last = None;
    for address in lookup_host((host, port)).await.map_err(resolve)? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // A request is put together before it is written: it is not to wait for an ack.
                let _ = stream.set_nodelay(true);
                let Some(files) = tls else { return Ok(Box::new(stream)) };
                let shaken = tls::connect(files, host, stream).await;
                let shaken = shaken.map_err(|source| ConnectError::Tls { host: host.to_owned(), source })?;
                return Ok(Box::new(shaken));
            }
            Err(source) => last = Some(ConnectError::Connect { address: address.to_string(), source }),
        }
    }
    Err(last.unwrap_or_else(|| resolve(io::Error::new(io::ErrorKind::NotFound, "it has no address"))))
}
