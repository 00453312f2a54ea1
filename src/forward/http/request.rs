//! A verdict, or several, as a request.

use super::Options;
use crate::forward::Encoding;
use crate::link::http::Call;
use crate::verdict::Verdict;
use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use std::fmt::Write;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What stands for itself in a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A verdict that is to be sent.
#[derive(Clone, Debug)]
pub struct Item {
    pub sequence: u64,
    /// As JSON or as a CloudEvent.
    pub body: Bytes,
    pub key: UniqueKey,
}

/// SHA-256 of source, NUL, id: 32 bytes, shown as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueKey([u8; 32]);

impl UniqueKey {
    #[must_use]
    pub fn of(source: &str, id: &str) -> Self {
        let hasher = Sha256::new().chain_update(source).chain_update([0]).chain_update(id);
        Self(hasher.finalize().into())
    }

    /// That of several in this order: SHA-256 of theirs. One alone is itself.
    fn of_all(items: &[Item]) -> Self {
        match items {
            [one] => one.key,
            many => {
                let hasher = many.iter().fold(Sha256::new(), |hasher, item| hasher.chain_update(item.key.0));
                Self(hasher.finalize().into())
            }
        }
    }

    fn hex(self) -> String {
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a String does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl Item {
    #[must_use]
    pub fn new(sequence: u64, encoding: Encoding, verdict: &Verdict<'_>) -> Self {
        let mut body = Vec::with_capacity(512);
        encoding.write(verdict, &mut body);
        Self { sequence, body: body.into(), key: UniqueKey::of(verdict.source, verdict.id) }
    }
}

/// The request for one verdict or, where batches are configured, for an array of them.
#[must_use]
pub fn post(options: &Options, items: &[Item]) -> Call {
    let is_array = options.batch > 1;
    let content_type = match (options.encoding, is_array) {
        (Encoding::Json, _) => "application/json",
        (Encoding::CloudEvents, false) => "application/cloudevents+json; charset=utf-8",
        (Encoding::CloudEvents, true) => "application/cloudevents-batch+json; charset=utf-8",
    };
    let body = match items {
        [one] if !is_array => one.body.clone(),
        many => {
            let mut body = Vec::with_capacity(many.iter().map(|item| item.body.len() + 1).sum::<usize>() + 2);
            for (n, item) in many.iter().enumerate() {
                body.push(if n == 0 { b'[' } else { b',' });
                body.extend_from_slice(&item.body);
            }
            body.push(b']');
            body.into()
        }
    };
    let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
    headers.extend(HeaderValue::from_str(&UniqueKey::of_all(items).hex()).ok().map(|key| (IDEMPOTENCY_KEY, key)));
    Call { method: Method::POST, target: options.target.clone(), headers, body }
}

/// The question whether a verdict's call was done: `target` with `{source}` and `{id}` filled in.
#[must_use]
pub fn probe(target: &str, verdict: &Verdict<'_>) -> Call {
    let mut filled = String::with_capacity(target.len() + 64);
    let mut rest = target;
    // In one pass: what is put in is not looked at again.
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
        let text = match name {
            "id" => verdict.id,
            "source" => verdict.source,
            _ => "",
        };
        filled.extend(utf8_percent_encode(text, ENCODED));
        rest = after;
    }
    filled.push_str(rest);
    Call { method: Method::GET, target: filled, headers: Vec::new(), body: Bytes::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_source_and_id_and_tells_them_apart() {
        let known = "c2cc5c61"; // printf "pos\\000288063" | sha256sum
        assert!(UniqueKey::of("pos", "288063").hex().starts_with(known), "{}", UniqueKey::of("pos", "288063").hex());
        assert_ne!(UniqueKey::of("a", "bc"), UniqueKey::of("ab", "c"));
        assert_eq!(UniqueKey::of("a", "b").hex().len(), 64);
    }

    #[test]
    fn the_question_holds_source_and_id_whatever_they_are() {
        let verdict = Verdict {
            sequence: 1,
            source: "{id}/?#",
            id: "a b%é{source}",
            key: None,
            time_us: 0,
            decision: "block",
            score: None,
            reasons: vec![],
            model: "m@1",
            model_sha256: &[0; 32],
            decided_ms: 0,
        };
        let target = probe("/done/{source}?id={id}&x=1", &verdict).target;
        assert_eq!(target, "/done/%7Bid%7D%2F%3F%23?id=a%20b%25%C3%A9%7Bsource%7D&x=1");
    }
}
