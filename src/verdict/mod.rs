//! What goes out: the verdict and its forms.

mod cloudevents;
mod json;
mod member;
#[cfg(test)]
mod tests;

pub use cloudevents::{VERDICT_TYPE, write_cloud_event};
pub use json::{write_decided, write_json, write_json_string, write_number, write_score};
pub use member::{Member, write_members};

/// One verdict, borrowed from wherever its record stands (a log chunk, as a rule).
///
/// The log holds exactly these members, so that a repeat's answer, a sink's line and `store events` are
/// all rendered from the same record, word for word.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'a> {
    /// Commit order, unique, from 1.
    pub sequence: u64,
    pub source: &'a str,
    pub id: &'a str,
    pub key: Option<&'a str>,
    /// Event time, microseconds since 1970.
    pub time_us: i64,
    pub decision: &'a str,
    /// None where the event could not be scored and has the fallback decision.
    pub score: Option<f64>,
    pub reasons: Vec<&'a str>,
    /// `name@version`.
    pub model: &'a str,
    pub model_sha256: &'a [u8; 32],
    /// When it was decided, by the wall clock, milliseconds since 1970.
    pub decided_ms: i64,
}
