//! The JSON form: one object, members in a fixed order, no white space.

use super::Verdict;
use crate::event::Timestamp;
use std::io::Write;

/// Appends the verdict as one JSON object, without a line end.
pub fn write_json(verdict: &Verdict<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"source\":");
    write_json_string(verdict.source, out);
    out.extend_from_slice(b",\"id\":");
    write_json_string(verdict.id, out);
    if let Some(key) = verdict.key {
        out.extend_from_slice(b",\"key\":");
        write_json_string(key, out);
    }
    out.extend_from_slice(b",\"time\":\"");
    Timestamp(verdict.time_us).write(out);
    out.extend_from_slice(b"\",\"decision\":");
    write_json_string(verdict.decision, out);
    out.extend_from_slice(b",\"score\":");
    write_score(verdict.score, out);
    out.extend_from_slice(b",\"reasons\":[");
    for (n, reason) in verdict.reasons.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_json_string(reason, out);
    }
    out.extend_from_slice(b"],\"model\":");
    write_json_string(verdict.model, out);
    out.extend_from_slice(b",\"model-sha256\":\"");
    write_hex(verdict.model_sha256, out);
    let _ = write!(out, "\",\"sequence\":{},\"decided\":\"", verdict.sequence);
    write_decided(verdict.decided_ms, out);
    out.extend_from_slice(b"\"}");
}

/// Appends a number that is a score: the shortest text that reads back as the same f32 where the score is
/// one exactly, else as the same f64; `null` where there is none.
pub fn write_score(score: Option<f64>, out: &mut Vec<u8>) {
    let Some(score) = score.filter(|s| s.is_finite()) else {
        out.extend_from_slice(b"null");
        return;
    };
    #[allow(clippy::cast_possible_truncation)]
    let short = score as f32;
    // Exact: whether the short text stands for the same number.
    #[allow(clippy::float_cmp)]
    let is_short = f64::from(short) == score;
    let _ = if is_short { write!(out, "{short:?}") } else { write!(out, "{score:?}") };
}

/// The same of any number: whole ones without decimals, as they came in.
pub fn write_number(number: f64, out: &mut Vec<u8>) {
    write_score(Some(number), out);
    if out.ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
}

/// Milliseconds since 1970 as RFC 3339 with three decimals always, so that lines align.
pub fn write_decided(decided_ms: i64, out: &mut Vec<u8>) {
    if let Ok(instant) = jiff::Timestamp::from_millisecond(decided_ms) {
        let _ = write!(out, "{instant:.3}");
    }
}

pub(super) fn write_hex(bytes: &[u8; 32], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out.extend_from_slice(&text);
}

/// Appends a JSON string with its quotes.
pub fn write_json_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}
