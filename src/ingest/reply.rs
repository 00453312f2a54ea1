//! Responses: a body that is there as a whole, or lines that are still being made. What pays for the bytes
//! falls with them, when the client has taken them.

use super::{Answer, Permit, Problem, limits::PIECE_BYTES_MAX};
use bytes::Bytes;
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
};
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A guess at a verdict line, to size buffers.
pub(crate) const VERDICT_BYTES: usize = 448;

/// The body of a response.
#[derive(Default)]
pub struct Reply {
    /// Sent, piece by piece, before `next` is asked.
    ready: Bytes,
    next: Option<Next>,
}

/// Resolves to the next chunk and the future of the one after it.
pub(crate) type Next = Pin<Box<dyn Future<Output = Option<Chunk>> + Send>>;

pub(crate) struct Chunk {
    pub bytes: Bytes,
    pub next: Next,
}

/// Bytes that hold the memory they were paid with.
struct Paid {
    bytes: Vec<u8>,
    _permit: Permit,
}

impl AsRef<[u8]> for Paid {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// `bytes` that give `permit` back when they fall.
pub(crate) fn paid(bytes: Vec<u8>, permit: Option<Permit>) -> Bytes {
    match permit {
        Some(permit) => Bytes::from_owner(Paid { bytes, _permit: permit }),
        None => bytes.into(),
    }
}

/// One line an event, in order, which hold what the answer was paid with.
pub(crate) fn lines_of(answer: impl Answer) -> Bytes {
    let mut out = Vec::with_capacity(answer.len() * VERDICT_BYTES);
    answer.write_lines(&mut out);
    paid(out, answer.into_held())
}

impl Reply {
    /// Chunks that are made one after the other, each when the one before it was taken.
    pub(crate) fn lines(first: Bytes, next: Next) -> Self {
        Self { ready: first, next: Some(next) }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let reply = self.get_mut();
        while reply.ready.is_empty() {
            let Some(next) = &mut reply.next else { return Poll::Ready(None) };
            match ready!(next.as_mut().poll(cx)) {
                Some(chunk) => *reply = Self::lines(chunk.bytes, chunk.next),
                None => reply.next = None,
            }
        }
        let piece = reply.ready.split_to(reply.ready.len().min(PIECE_BYTES_MAX));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && self.next.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.next.is_some() { SizeHint::default() } else { SizeHint::with_exact(self.ready.len() as u64) }
    }
}

/// A response with `body` as it stands.
pub(crate) fn whole(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Response<Reply> {
    let mut response = Response::new(Reply { ready: body.into(), next: None });
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// One verdict.
pub(crate) fn verdict(body: impl Into<Bytes>, replayed: bool) -> Response<Reply> {
    let mut response = whole(StatusCode::OK, JSON, body);
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// A problem as the whole answer.
pub(crate) fn problem(problem: &Problem<'_>) -> Response<Reply> {
    problem_with(problem, |_| ())
}

/// The same, with more headers.
pub(crate) fn problem_with(problem: &Problem<'_>, headers: impl FnOnce(&mut HeaderMap)) -> Response<Reply> {
    let mut body = Vec::with_capacity(256);
    problem.write_json(&mut body);
    let status = StatusCode::from_u16(problem.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = whole(status, PROBLEM, body);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let seconds = HeaderValue::from(problem.retry_after_s.unwrap_or(1).max(1));
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    headers(response.headers_mut());
    response
}
