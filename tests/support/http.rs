//! A plain HTTP/1.1 client over a Unix socket: one connection, blocking, nothing hidden.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A server that never answers ends a read with an error after this; far above any answer's time.
const WATCHDOG: Duration = Duration::from_mins(1);

pub const JSON: &str = "application/json";
pub const NDJSON: &str = "application/x-ndjson";
pub const CLOUDEVENT: &str = "application/cloudevents+json";
pub const CLOUDEVENT_BATCH: &str = "application/cloudevents-batch+json";

pub struct Client {
    stream: BufReader<UnixStream>,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(WATCHDOG))?;
        stream.set_write_timeout(Some(WATCHDOG))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Posts events and waits for the answer.
    pub fn post(&mut self, content_type: &str, body: impl AsRef<[u8]>) -> io::Result<Reply> {
        self.send_post(content_type, &[], body.as_ref())?;
        self.receive()
    }

    pub fn post_with(&mut self, content_type: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Reply> {
        self.send_post(content_type, headers, body)?;
        self.receive()
    }

    pub fn get(&mut self, path: &str) -> io::Result<Reply> {
        write!(self.stream.get_mut(), "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
        self.receive()
    }

    /// Asks an admin listener for a reload.
    pub fn reload(&mut self) -> io::Result<Reply> {
        self.send(b"POST /v1/reload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n")?;
        self.receive()
    }

    /// Sends without waiting, to have several requests under way.
    pub fn send_post(&mut self, content_type: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<()> {
        let mut request = Vec::with_capacity(body.len() + 256);
        write!(request, "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: {content_type}\r\n")?;
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n")?;
        }
        write!(request, "content-length: {}\r\n\r\n", body.len())?;
        request.extend_from_slice(body);
        self.send(&request)
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        self.stream.fill_buf().map_or(true, <[u8]>::is_empty)
    }

    pub fn receive(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| bad(&format!("expected a status line, got {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        if reply.header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
            self.chunks(&mut reply.body)?;
        } else if let Some(length) = reply.header("content-length") {
            let length = length.parse().map_err(|_| bad("expected a number as content-length"))?;
            reply.body.resize(length, 0);
            self.stream.read_exact(&mut reply.body)?;
        }
        Ok(reply)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let line = self.line()?;
            let length = usize::from_str_radix(&line, 16).map_err(|_| bad("expected a chunk's length"))?;
            let start = body.len();
            body.resize(start + length, 0);
            self.stream.read_exact(&mut body[start..])?;
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Whether it says that it is a repeat's answer.
    pub fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("expected JSON ({e}), got {self:?}"))
    }

    /// The lines of an NDJSON answer.
    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
