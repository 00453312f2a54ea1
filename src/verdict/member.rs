//! The members of a verdict, one by one: for those who take them apart.

use super::Verdict;
use super::json::{write_decided, write_hex, write_json_string, write_score};
use crate::event::Timestamp;
use std::io::Write;

/// A member of a verdict's JSON form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    Source,
    Id,
    Key,
    Time,
    Decision,
    Score,
    Reasons,
    Model,
    ModelSha256,
    Sequence,
    Decided,
}

impl Member {
    /// In the order of the JSON form.
    pub const ALL: [Self; 11] = [
        Self::Source,
        Self::Id,
        Self::Key,
        Self::Time,
        Self::Decision,
        Self::Score,
        Self::Reasons,
        Self::Model,
        Self::ModelSha256,
        Self::Sequence,
        Self::Decided,
    ];

    /// Its name in the JSON form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Id => "id",
            Self::Key => "key",
            Self::Time => "time",
            Self::Decision => "decision",
            Self::Score => "score",
            Self::Reasons => "reasons",
            Self::Model => "model",
            Self::ModelSha256 => "model-sha256",
            Self::Sequence => "sequence",
            Self::Decided => "decided",
        }
    }

    /// The member of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|member| member.name() == name)
    }

    /// Whether a verdict may lack it.
    #[must_use]
    pub fn is_optional(self) -> bool {
        matches!(self, Self::Key | Self::Score)
    }

    /// Appends it as bare text, reasons as a JSON array. False where the verdict has none.
    pub fn write_text(self, verdict: &Verdict<'_>, out: &mut Vec<u8>) -> bool {
        let text = match self {
            Self::Source => verdict.source,
            Self::Id => verdict.id,
            Self::Key => match verdict.key {
                Some(key) => key,
                None => return false,
            },
            Self::Decision => verdict.decision,
            Self::Model => verdict.model,
            Self::Score if verdict.score.is_none_or(|score| !score.is_finite()) => return false,
            Self::Score => {
                write_score(verdict.score, out);
                return true;
            }
            Self::Time => {
                Timestamp(verdict.time_us).write(out);
                return true;
            }
            Self::Reasons => {
                write_reasons(verdict, out);
                return true;
            }
            Self::ModelSha256 => {
                write_hex(verdict.model_sha256, out);
                return true;
            }
            Self::Sequence => {
                let _ = write!(out, "{}", verdict.sequence);
                return true;
            }
            Self::Decided => {
                write_decided(verdict.decided_ms, out);
                return true;
            }
        };
        out.extend_from_slice(text.as_bytes());
        true
    }
}

/// Appends a JSON object of the members that are wanted, in the order and form of the whole verdict.
pub fn write_members(verdict: &Verdict<'_>, wanted: impl Fn(Member) -> bool, out: &mut Vec<u8>) {
    out.push(b'{');
    let start = out.len();
    for member in Member::ALL.into_iter().filter(|member| wanted(*member)) {
        if member == Member::Key && verdict.key.is_none() {
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        let _ = write!(out, "\"{}\":", member.name());
        match member {
            Member::Source => write_json_string(verdict.source, out),
            Member::Id => write_json_string(verdict.id, out),
            Member::Key => write_json_string(verdict.key.unwrap_or_default(), out),
            Member::Decision => write_json_string(verdict.decision, out),
            Member::Model => write_json_string(verdict.model, out),
            Member::Score => write_score(verdict.score, out),
            Member::Reasons | Member::Sequence => {
                member.write_text(verdict, out);
            }
            Member::Time | Member::ModelSha256 | Member::Decided => {
                out.push(b'"');
                member.write_text(verdict, out);
                out.push(b'"');
            }
        }
    }
    out.push(b'}');
}

fn write_reasons(verdict: &Verdict<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (n, reason) in verdict.reasons.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_json_string(reason, out);
    }
    out.push(b']');
}
