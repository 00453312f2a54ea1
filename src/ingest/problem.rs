//! Problem details (RFC 9457): why something was not done, as a response or as a line among verdicts.

use crate::verdict::write_json_string;
use std::{borrow::Cow, io::Write};

/// What went wrong; it decides the HTTP status, the title and the `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Not an event, or not a request this API knows: it will be refused again.
    Malformed,
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    /// The body did not come in time.
    Timeout,
    /// The id is known with another payload.
    Conflict,
    Oversized,
    UnsupportedMediaType,
    /// It cannot be taken now and was not taken.
    Busy,
    /// A bug of ours; the log says more.
    Internal,
}

impl ProblemKind {
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Unauthorized => 401,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Timeout => 408,
            Self::Conflict => 409,
            Self::Oversized => 413,
            Self::UnsupportedMediaType => 415,
            Self::Internal => 500,
            Self::Busy => 503,
        }
    }

    /// The last part of its `type`, `urn:verdictd:problem:NAME`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::Oversized => "oversized",
            Self::UnsupportedMediaType => "unsupported-media-type",
            Self::Internal => "internal",
            Self::Busy => "busy",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Malformed => "Not understood",
            Self::Unauthorized => "Not authorised",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed",
            Self::Timeout => "The request took too long",
            Self::Conflict => "The id is known with another payload",
            Self::Oversized => "Too large",
            Self::UnsupportedMediaType => "Content type not supported",
            Self::Internal => "Internal error",
            Self::Busy => "Not taken, try again",
        }
    }
}

/// One problem. `detail` says what was expected and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem<'a> {
    pub kind: ProblemKind,
    pub detail: Cow<'a, str>,
    /// Source and id of the event, where known.
    pub source: Option<Cow<'a, str>>,
    pub id: Option<Cow<'a, str>>,
    /// Seconds, for [`ProblemKind::Busy`]; 1 where not said.
    pub retry_after_s: Option<u32>,
}

impl<'a> Problem<'a> {
    #[must_use]
    pub fn new(kind: ProblemKind, detail: impl Into<Cow<'a, str>>) -> Self {
        Self { kind, detail: detail.into(), source: None, id: None, retry_after_s: None }
    }

    /// It cannot be taken now; try again in a second.
    #[must_use]
    pub fn busy(detail: impl Into<Cow<'a, str>>) -> Self {
        Self { retry_after_s: Some(1), ..Self::new(ProblemKind::Busy, detail) }
    }

    /// Appends it as one JSON object, without a line end.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"urn:verdictd:problem:");
        out.extend_from_slice(self.kind.name().as_bytes());
        out.extend_from_slice(b"\",\"title\":");
        write_json_string(self.kind.title(), out);
        let _ = write!(out, ",\"status\":{},\"detail\":", self.kind.status());
        write_json_string(&self.detail, out);
        if let Some(source) = &self.source {
            out.extend_from_slice(b",\"source\":");
            write_json_string(source, out);
        }
        if let Some(id) = &self.id {
            out.extend_from_slice(b",\"id\":");
            write_json_string(id, out);
        }
        out.push(b'}');
    }
}
