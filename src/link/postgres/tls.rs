//! TLS as the client library asks for it, which has agreed on it with the server before.

use super::bounded::Bounded;
use crate::link::ClientTls;
use crate::link::tls::{self, TlsError};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::ssl::SslRef;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The handshake with the server of that name.
pub(super) struct Handshake {
    pub files: ClientTls,
    pub host: String,
}

impl TlsConnect<Bounded<TcpStream>> for Handshake {
    type Stream = Secured;
    type Error = TlsError;
    type Future = Pin<Box<dyn Future<Output = Result<Secured, TlsError>> + Send>>;

    fn connect(self, stream: Bounded<TcpStream>) -> Self::Future {
        Box::pin(async move {
            let stream = tls::connect(&self.files, &self.host, stream.stream).await?;
            Ok(Secured(Bounded::new(stream)))
        })
    }
}

/// A stream after the handshake.
pub(super) struct Secured(Bounded<SslStream<TcpStream>>);

impl TlsStream for Secured {
    /// What a log-in by SCRAM is bound to, so that nobody between can pass it on.
    fn channel_binding(&self) -> ChannelBinding {
        end_point(self.0.stream.ssl()).map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// The hash of the server's certificate by the hash of its own signature, by SHA-256 where that is a weaker one (RFC
/// 5929, section 4.1).
fn end_point(ssl: &SslRef) -> Option<Vec<u8>> {
    let certificate = ssl.peer_certificate()?;
    let digest = certificate.signature_algorithm().object().nid().signature_algorithms()?.digest;
    let digest = match digest {
        Nid::MD5 | Nid::SHA1 => MessageDigest::sha256(),
        other => MessageDigest::from_nid(other)?,
    };
    certificate.digest(digest).ok().map(|hash| hash.to_vec())
}

impl AsyncRead for Secured {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}
