//! A verdict that a sink refuses for what it is, as it stands in the quarantine.

use super::Encoding;
use crate::link::Trouble;
use crate::store::QuarantineEntry;
use crate::verdict::Verdict;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

/// The entry of a verdict, with its bytes as the sink writes them; with the reason alone where the verdict is not there
/// any more.
#[must_use]
pub fn poison_entry(verdict: Option<&Verdict<'_>>, sink: &str, encoding: Encoding, reason: &str) -> QuarantineEntry {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut entry = QuarantineEntry {
        kind: Trouble::Poison.name().to_owned(),
        source: String::new(),
        id: None,
        reason: format!("sink {sink}: {reason}"),
        bytes: Vec::new(),
        length: 0,
        at_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
    };
    if let Some(verdict) = verdict {
        verdict.source.clone_into(&mut entry.source);
        entry.id = Some(verdict.id.to_owned());
        let mut bytes = Vec::new();
        // What made it poison may be that it cannot be written.
        if catch_unwind(AssertUnwindSafe(|| encoding.write(verdict, &mut bytes))).is_ok() {
            entry.length = bytes.len() as u64;
            entry.bytes = bytes;
        }
    }
    entry
}
