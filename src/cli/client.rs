//! An HTTP/1.1 client for one daemon: over its Unix socket, TCP, or TCP with TLS.
//!
//! It keeps one connection and makes a new one when that has ended. Limits: an answer of at most
//! [`ANSWER_BYTES_MAX`], the time-outs of [`ClientOptions`]. It does not retry: who calls knows what may be
//! sent twice.

use crate::ingest::Socket;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Method, Request,
    client::conn::http1::{self, SendRequest},
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER},
};
use hyper_util::rt::TokioIo;
use openssl::ssl::{SslConnector, SslFiletype, SslMethod};
use std::{fmt, io, path::PathBuf, pin::Pin, str::FromStr, time::Duration};
use tokio::{
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_openssl::SslStream;

/// The largest answer read: that to a body of 8 MiB of short lines.
pub const ANSWER_BYTES_MAX: usize = 1 << 30;

/// Where a daemon answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    /// Host (a name, or an address without brackets) and port.
    Tcp {
        host: String,
        port: u16,
        tls: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected unix:/path, host:port, http://host:port or https://host:port, not {0:?}")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(error()) } else { Ok(Self::Unix(path.into())) };
        }
        let (rest, tls) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (rest, true),
            (_, rest) => (rest.unwrap_or(text), false),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = rest.rsplit_once(':').ok_or_else(error)?;
        let port = port.parse().map_err(|_| error())?;
        let host = match host.strip_prefix('[') {
            Some(host) => host.strip_suffix(']').ok_or_else(error)?,
            None if host.contains([':', '/', '@']) => return Err(error()),
            None => host,
        };
        if host.is_empty() {
            return Err(error());
        }
        Ok(Self::Tcp { host: host.to_owned(), port, tls })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { host, port, tls } => {
                let scheme = if *tls { "https://" } else { "" };
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "{scheme}{open}{host}{close}:{port}")
            }
        }
    }
}

/// How to reach a daemon.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub address: Address,
    /// Bearer token.
    pub token: Option<String>,
    /// PEM file of the authorities to trust, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// PEM files of a client certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    pub connect_timeout: Duration,
    pub answer_timeout: Duration,
}

impl ClientOptions {
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self {
            address,
            token: None,
            ca_file: None,
            certificate: None,
            connect_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_mins(1),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot connect to {address}: {error}")]
    Connect { address: Address, error: io::Error },
    #[error("{address} gave no answer: {error}")]
    Exchange { address: Address, error: String },
    /// Trying again does not help.
    #[error("{0}")]
    Setup(String),
}

impl ClientError {
    /// Whether the same request may get through later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::Setup(_))
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answered {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answered {
    /// The `Retry-After` header, where it is a number of seconds.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}

/// A client with at most one open connection. Within a tokio runtime.
pub struct Client {
    options: ClientOptions,
    host: HeaderValue,
    token: Option<HeaderValue>,
    tls: Option<SslConnector>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// # Errors
    /// [`ClientError::Setup`] when a file of the options cannot be used.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let host = match &options.address {
            Address::Unix(_) => "localhost".to_owned(),
            Address::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Address::Tcp { host, port, .. } => format!("{host}:{port}"),
        };
        let host = HeaderValue::from_str(&host)
            .map_err(|_| ClientError::Setup(format!("{}: expected a host name in ASCII", options.address)))?;
        let token = options.token.as_deref().map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
                .map_err(|_| ClientError::Setup("the token holds characters that no header can".to_owned()))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let token = token.transpose()?;
        let tls = matches!(options.address, Address::Tcp { tls: true, .. }).then(|| connector(&options)).transpose()?;
        Ok(Self { options, host, token, tls, connection: None })
    }

    /// # Errors
    /// When there is no connection or no whole answer in time.
    pub async fn get(&mut self, path: &str) -> Result<Answered, ClientError> {
        self.request(Method::GET, path, &[], Bytes::new()).await
    }

    /// # Errors
    /// As [`Client::get`].
    pub async fn post(&mut self, path: &str, content_type: &str, body: Bytes) -> Result<Answered, ClientError> {
        self.request(Method::POST, path, &[(CONTENT_TYPE.as_str(), content_type)], body).await
    }

    /// # Errors
    /// As [`Client::get`]; [`ClientError::Setup`] when path or headers are none.
    pub async fn request(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Answered, ClientError> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, self.host.clone());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).map_err(|error| ClientError::Setup(error.to_string()))?;
        // Taken out, so that a call that is given up does not leave a connection with half an answer.
        let mut kept = self.connection.take();
        if let Some(connection) = &mut kept
            && connection.ready().await.is_err()
        {
            kept = None;
        }
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let address = &self.options.address;
        let failed = |error: String| ClientError::Exchange { address: address.clone(), error };
        let exchange = async {
            let response = connection.send_request(request).await.map_err(|e| failed(with_source(&e)))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|e| failed(e.to_string()))?;
            Ok(Answered { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
        };
        let answered = match timeout(self.options.answer_timeout, exchange).await {
            Ok(answered) => answered?,
            Err(_) => return Err(failed(format!("none within {} s", self.options.answer_timeout.as_secs_f32()))),
        };
        self.connection = Some(connection);
        Ok(answered)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let address = &self.options.address;
        let failed = |error| ClientError::Connect { address: address.clone(), error };
        let socket = match timeout(self.options.connect_timeout, self.open()).await {
            Ok(socket) => socket.map_err(failed)?,
            Err(_) => return Err(failed(io::ErrorKind::TimedOut.into())),
        };
        let handshake = http1::handshake(TokioIo::new(socket)).await;
        let (sender, connection) = handshake.map_err(|error| failed(io::Error::other(error)))?;
        // It ends with the sender; its errors come out of the sender too.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn open(&self) -> io::Result<Socket> {
        match (&self.options.address, &self.tls) {
            (Address::Unix(path), _) => UnixStream::connect(path).await.map(Socket::Unix),
            (Address::Tcp { host, port, .. }, tls) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                let Some(connector) = tls else { return Ok(Socket::Tcp(stream)) };
                let ssl = connector.configure()?.into_ssl(host)?;
                let mut stream = SslStream::new(ssl, stream)?;
                std::future::poll_fn(|cx| Pin::new(&mut stream).poll_connect(cx)).await.map_err(io::Error::other)?;
                Ok(Socket::Tls(Box::new(stream)))
            }
        }
    }
}

/// hyper's own message says little; its cause says why.
fn with_source(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn connector(options: &ClientOptions) -> Result<SslConnector, ClientError> {
    let failed = |what: &str, error: &dyn fmt::Display| ClientError::Setup(format!("{what}: {error}"));
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(|e| failed("TLS", &e))?;
    if let Some(path) = &options.ca_file {
        builder.set_ca_file(path).map_err(|e| failed(&path.display().to_string(), &e))?;
    }
    if let Some((certificate, key)) = &options.certificate {
        builder.set_certificate_chain_file(certificate).map_err(|e| failed(&certificate.display().to_string(), &e))?;
        builder.set_private_key_file(key, SslFiletype::PEM).map_err(|e| failed(&key.display().to_string(), &e))?;
    }
    Ok(builder.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for text in ["unix:/run/x.sock", "127.0.0.1:80", "[::1]:9464", "https://box.site:8443"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("http://a:1/".parse::<Address>().unwrap().to_string(), "a:1");
        for text in ["", "unix:", "box", "box:", "box:70000", ":80", "::1:80", "[::1:80", "ftp://box:1", "u@box:1"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
