//! Responses: a body that is there as a whole, or lines that are still being made.

use super::Problem;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
};
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The body of a response.
pub enum Reply {
    Whole(Full<Bytes>),
    Lines(Lines),
}

/// Chunks that are made one after the other, each when the one before it was taken.
pub struct Lines {
    /// Sent before `next` is asked.
    first: Option<Bytes>,
    next: Next,
}

/// Resolves to the next chunk and the future of the one after it.
pub(crate) type Next = Pin<Box<dyn Future<Output = Option<Chunk>> + Send>>;

pub(crate) struct Chunk {
    pub bytes: Bytes,
    pub next: Next,
}

impl Reply {
    pub(crate) fn lines(first: Bytes, next: Next) -> Self {
        Self::Lines(Lines { first: Some(first), next })
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(full) => Pin::new(full).poll_frame(cx),
            Self::Lines(lines) => {
                if let Some(first) = lines.first.take() {
                    return Poll::Ready(Some(Ok(Frame::data(first))));
                }
                match lines.next.as_mut().poll(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(None) => {
                        lines.next = Box::pin(async { None });
                        Poll::Ready(None)
                    }
                    Poll::Ready(Some(chunk)) => {
                        lines.next = chunk.next;
                        Poll::Ready(Some(Ok(Frame::data(chunk.bytes))))
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(full) => full.is_end_stream(),
            Self::Lines(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(full) => full.size_hint(),
            Self::Lines(_) => SizeHint::default(),
        }
    }
}

/// A response with `body` as it stands.
pub(crate) fn whole(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Response<Reply> {
    let mut response = Response::new(Reply::Whole(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// One verdict.
pub(crate) fn verdict(body: Vec<u8>, replayed: bool) -> Response<Reply> {
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
