//! The structured CloudEvents 1.0 form: the verdict as `data`, its own identity as the event's.

use super::Verdict;
use super::json::{write_decided, write_json, write_json_string};

/// The type of every verdict's CloudEvent.
pub const VERDICT_TYPE: &str = "verdictd.verdict.v1";

/// Appends the verdict as one structured CloudEvent, without a line end. `id` and `source` are those of the
/// event that was judged, so they are the unique key here too.
pub fn write_cloud_event(verdict: &Verdict<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"specversion\":\"1.0\",\"id\":");
    write_json_string(verdict.id, out);
    out.extend_from_slice(b",\"source\":");
    write_json_string(verdict.source, out);
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(VERDICT_TYPE.as_bytes());
    out.push(b'"');
    if let Some(key) = verdict.key {
        out.extend_from_slice(b",\"subject\":");
        write_json_string(key, out);
    }
    out.extend_from_slice(b",\"time\":\"");
    write_decided(verdict.decided_ms, out);
    out.extend_from_slice(b"\",\"datacontenttype\":\"application/json\",\"data\":");
    write_json(verdict, out);
    out.push(b'}');
}
