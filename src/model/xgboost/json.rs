//! XGBoost's JSON as JSON: the library writes `NaN` and `Infinity`, which JSON does not have.
//!
//! NaN stands where a number means nothing (the threshold of a category split). Both become texts, which
//! [`Real`](super::file::Real) reads.

use std::borrow::Cow;

/// The text with such numbers in quotation marks; untouched where there are none.
pub fn quoted(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let (mut in_text, mut escaped) = (false, false);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let token = [&b"NaN"[..], b"-NaN", b"Infinity", b"-Infinity"];
        let token = token.into_iter().find(|token| !in_text && bytes[at..].starts_with(token));
        if let Some(token) = token {
            let out = out.get_or_insert_with(|| bytes[..at].to_vec());
            out.push(b'"');
            out.extend_from_slice(token);
            out.push(b'"');
            at += token.len();
            continue;
        }
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
        } else {
            in_text = *byte == b'"';
        }
        if let Some(out) = &mut out {
            out.push(*byte);
        }
        at += 1;
    }
    out.map_or(Cow::Borrowed(bytes), Cow::Owned)
}
