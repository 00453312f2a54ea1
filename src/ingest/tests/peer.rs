//! The client's side of a connection, byte by byte.

use super::{super::server::serve_connection, fake::Server};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};

pub struct Peer<S> {
    pub stream: S,
    input: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answered {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn lines(&self) -> Vec<serde_json::Value> {
        self.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Server {
    /// A connection in memory: no real time, no real sockets.
    pub fn connect(&self) -> Peer<DuplexStream> {
        let (client, server) = duplex(64 << 10);
        tokio::spawn(serve_connection(server, self.shared.clone(), self.stop.subscribe()));
        Peer::new(client)
    }
}

pub fn post(content_type: &str, body: &str) -> String {
    format!(
        "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub fn event(id: &str) -> String {
    post("application/json", &format!("{{\"id\":\"{id}\"}}"))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, input: Vec::new() }
    }

    pub async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub async fn ask(&mut self, text: &str) -> Answered {
        self.send(text).await;
        self.answer().await
    }

    async fn more(&mut self) -> bool {
        self.stream.read_buf(&mut self.input).await.is_ok_and(|count| count > 0)
    }

    /// Waits for the first bytes of an answer.
    pub async fn begin(&mut self) {
        assert!(self.more().await);
    }

    /// Whether the server has closed the connection and left nothing unread.
    pub async fn ended(&mut self) -> bool {
        self.input.is_empty() && !self.more().await
    }

    async fn until(&mut self, end: &str) -> String {
        loop {
            if let Some(at) = self.input.windows(end.len()).position(|window| window == end.as_bytes()) {
                let found = String::from_utf8(self.input.drain(..at).collect()).unwrap();
                self.input.drain(..end.len());
                return found;
            }
            assert!(self.more().await, "ended within {:?}", String::from_utf8_lossy(&self.input));
        }
    }

    async fn exactly(&mut self, count: usize) -> String {
        while self.input.len() < count {
            assert!(self.more().await, "ended within a body");
        }
        String::from_utf8(self.input.drain(..count).collect()).unwrap()
    }

    pub async fn answer(&mut self) -> Answered {
        let head = self.until("\r\n\r\n").await;
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> =
            lines.map(|line| line.split_once(": ").unwrap()).map(|(n, v)| (n.to_lowercase(), v.to_owned())).collect();
        let mut answered = Answered { status, headers, body: String::new() };
        if let Some(length) = answered.header("content-length") {
            answered.body = self.exactly(length.parse().unwrap()).await;
        } else if answered.header("transfer-encoding").is_some() {
            loop {
                let size = usize::from_str_radix(&self.until("\r\n").await, 16).unwrap();
                let chunk = self.exactly(size).await;
                self.until("\r\n").await;
                if size == 0 {
                    break;
                }
                answered.body += &chunk;
            }
        }
        answered
    }
}
