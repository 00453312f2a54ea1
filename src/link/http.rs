//! A client of one HTTP server: HTTP/1.1 over TCP or TLS, at most one connection.
//!
//! - What went wrong says whether the request may have reached the server ([`CallError::begun`]): the one who calls knows
//!   what may be sent twice. Nothing is sent again here, and no redirect is followed.
//! - Limits: the time-outs of [`Options`]; an answer's head of [`HEAD_BYTES_MAX`], of its body [`BODY_BYTES_KEPT`] are kept.
//!   A connection whose answer is longer than [`BODY_BYTES_MAX`] is not used again.
//! - The token and the TLS files are read anew for each connection.

use super::tls::ClientTls;
use super::{Trouble, connect, read_secret};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// The head of an answer.
pub const HEAD_BYTES_MAX: usize = 32 << 10;
/// What is kept of an answer's body.
pub const BODY_BYTES_KEPT: usize = 1 << 10;
/// What is read of it.
pub const BODY_BYTES_MAX: usize = 256 << 10;
/// How long a connection may take to be there.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

impl Server {
    fn authority(&self) -> String {
        let usual = if self.tls { 443 } else { 80 };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

/// How to reach it.
#[derive(Clone, Debug)]
pub struct Options {
    pub server: Server,
    /// A file with the token that each request brings (`Authorization: Bearer …`).
    pub token_file: Option<PathBuf>,
    pub tls: ClientTls,
    pub connect_timeout: Duration,
    /// From the request to its answer's end.
    pub timeout: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct CallError {
    pub trouble: Trouble,
    pub text: String,
    /// Whether the server may have got the request.
    pub begun: bool,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// How its body begins; less where it broke off.
    pub text: Vec<u8>,
}

/// A request without what every one has.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    /// Path and query.
    pub target: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: HeaderValue,
    token: Option<HeaderValue>,
}

/// A client with at most one connection. Within a tokio runtime.
pub struct Client {
    options: Options,
    connection: Option<Connection>,
}

impl Client {
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, connection: None }
    }

    /// Gives the connection up: the next one reads secrets and certificates anew.
    pub fn disconnect(&mut self) {
        self.connection = None;
    }

    /// Whether there is a connection, as far as is known.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.sender.is_ready())
    }

    /// Has a connection that is ready, a new one where there is none.
    ///
    /// # Errors
    /// When there is none to be had; nothing was begun.
    pub async fn connect(&mut self) -> Result<(), CallError> {
        if let Some(kept) = &mut self.connection
            && kept.sender.ready().await.is_ok()
        {
            return Ok(());
        }
        self.connection = None;
        let limit = self.options.connect_timeout;
        let late = |_| {
            let text = format!("{}: no connection within {} s", self.options.server.authority(), limit.as_secs());
            CallError { trouble: Trouble::Transient, text, begun: false }
        };
        self.connection = Some(timeout(limit, self.open()).await.map_err(late)??);
        Ok(())
    }

    async fn open(&self) -> Result<Connection, CallError> {
        let Options { server, token_file, tls, .. } = &self.options;
        let setup = |text: String| CallError { trouble: Trouble::Configuration, text, begun: false };
        let host =
            HeaderValue::from_str(&server.authority()).map_err(|_| setup("a host that no header holds".into()))?;
        let token = token_file.as_ref().map(|file| read_secret(file).map(|token| (token, file))).transpose();
        let token = token.map_err(|error| setup(error.to_string()))?.map(|(token, file)| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| setup(format!("{}: it holds characters that no header can", file.display())))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let token = token.transpose()?;
        let tls = server.tls.then_some(tls);
        let stream = connect::open(&server.host, server.port, tls).await.map_err(|error| CallError {
            trouble: error.trouble(),
            text: error.to_string(),
            begun: false,
        })?;
        let shaken = Builder::new().max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| transient(&error, false))?;
        // It ends with the sender; its errors come out of the sender too.
        tokio::spawn(connection);
        Ok(Connection { sender, host, token })
    }

    /// Makes one call, over the connection that is there if it is still good.
    ///
    /// # Errors
    /// When there is no answer in time. The connection is given up then.
    pub async fn call(&mut self, call: Call) -> Result<Answer, CallError> {
        self.connect().await?;
        // Taken out, so that a call that is given up does not leave a connection with half an answer.
        let Some(mut connection) = self.connection.take() else { return Err(closed()) };
        let mut request = Request::new(Full::new(call.body));
        *request.method_mut() = call.method;
        *request.uri_mut() = call.target.parse().map_err(|_| CallError {
            trouble: Trouble::Configuration,
            text: "a target that is no path of a URL".to_owned(),
            begun: false,
        })?;
        let headers = request.headers_mut();
        headers.insert(HOST, connection.host.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("verdictd/", env!("CARGO_PKG_VERSION"))));
        headers.extend(connection.token.clone().map(|token| (AUTHORIZATION, token)));
        headers.extend(call.headers);
        let end = Instant::now() + self.options.timeout;
        let response = match timeout_at(end, connection.sender.try_send_request(request)).await {
            Ok(Ok(response)) => response,
            // What comes back was never written.
            Ok(Err(mut error)) => {
                let begun = error.take_message().is_none();
                return Err(transient(error.error(), begun));
            }
            Err(_) => {
                let text = format!("no answer within {} s", self.options.timeout.as_secs_f32());
                return Err(CallError { trouble: Trouble::Transient, text, begun: true });
            }
        };
        let (head, mut body) = response.into_parts();
        let mut text = Vec::new();
        if let Ok(true) = timeout_at(end, read(&mut body, &mut text)).await {
            self.connection = Some(connection);
        }
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, text })
    }
}

/// Reads a body, keeps how it begins. Whether it came to its end, and within the limit.
async fn read(body: &mut Incoming, kept: &mut Vec<u8>) -> bool {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        let Some(data) = frame.data_ref() else { continue };
        bytes += data.len();
        let room = BODY_BYTES_KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(data.get(..room).unwrap_or(data));
        if bytes > BODY_BYTES_MAX {
            return false;
        }
    }
    true
}

fn closed() -> CallError {
    CallError { trouble: Trouble::Transient, text: "the connection is closed".to_owned(), begun: false }
}

/// hyper's own message says little; its cause says why.
fn transient(error: &hyper::Error, begun: bool) -> CallError {
    let cause = std::error::Error::source(error);
    // That our certificate is none it knows comes after the handshake with TLS 1.3.
    let is_tls = cause.and_then(|cause| cause.downcast_ref()).and_then(super::tls::refused_later).is_some();
    let trouble = if is_tls { Trouble::Configuration } else { Trouble::Transient };
    let text = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
    CallError { trouble, text, begun }
}
