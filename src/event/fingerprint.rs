//! Fingerprints of 64 bits, keyed with the store's secret seed: of identities, and of JSON values.
//!
//! Two JSON values have the same fingerprint when they are the same value: member order, white space,
//! escapes and the spelling of a number (`1`, `1.0`, `10e-1`) do not count. Numbers are compared as exact
//! decimals, never through a float, so long account numbers stay apart. XXH3 with a seed nobody outside
//! knows (xxHash specification, `doc/xxhash_spec.md`): a sender cannot look for collisions.

use xxhash_rust::xxh3::xxh3_64_with_seed;

const TEXT: u64 = 0x7465_7874;
const NUMBER: u64 = 0x6e75_6d62;
const ARRAY: u64 = 0x6172_7261;
const OBJECT: u64 = 0x6f62_6a65;
const WORD: u64 = 0x776f_7264;

/// Fingerprint of the identity (source, id).
#[must_use]
pub fn identity_fingerprint(seed: u64, source: &str, id: &str) -> u64 {
    xxh3_64_with_seed(id.as_bytes(), xxh3_64_with_seed(source.as_bytes(), seed))
}

/// Builds fingerprints of JSON values bottom up.
#[derive(Clone, Copy, Debug)]
pub struct ValueHasher {
    seed: u64,
}

impl ValueHasher {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    #[must_use]
    pub fn text(self, text: &[u8]) -> u64 {
        xxh3_64_with_seed(text, self.seed ^ TEXT)
    }

    /// `null`, `true`, `false`, and the absence of an attribute.
    #[must_use]
    pub fn word(self, word: u8) -> u64 {
        self.mix(u64::from(word), WORD)
    }

    /// A number in its canonical decimal form; `scratch` is left with rubbish.
    #[must_use]
    pub fn number(self, decimal: Decimal, scratch: &mut Vec<u8>) -> u64 {
        scratch.extend_from_slice(&decimal.exponent.to_le_bytes());
        scratch.push(u8::from(decimal.negative));
        xxh3_64_with_seed(scratch, self.seed ^ NUMBER)
    }

    /// An array so far, with one more element.
    #[must_use]
    pub fn element(self, array: u64, element: u64) -> u64 {
        self.mix(array, element)
    }

    #[must_use]
    pub fn array(self, elements: u64, count: u64) -> u64 {
        self.mix(elements ^ ARRAY, count)
    }

    /// One member; members are added up, so that their order does not count.
    #[must_use]
    pub fn member(self, name: u64, value: u64) -> u64 {
        self.mix(name, value)
    }

    #[must_use]
    pub fn object(self, members: u64, count: u64) -> u64 {
        self.mix(members ^ OBJECT, count)
    }

    fn mix(self, a: u64, b: u64) -> u64 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&a.to_le_bytes());
        bytes[8..].copy_from_slice(&b.to_le_bytes());
        xxh3_64_with_seed(&bytes, self.seed)
    }
}

/// Sign and exponent of a number; its significant digits stand in a buffer beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub negative: bool,
    /// Of the last significant digit.
    pub exponent: i64,
}

/// Splits the text of a JSON number (RFC 8259, already checked) into sign, significant digits without
/// leading or trailing zeros (into `digits`, which is cleared) and exponent. Zero has no digits.
pub fn canonical(text: &[u8], digits: &mut Vec<u8>) -> Decimal {
    digits.clear();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut exponent: i64 = 0;
    let mut in_fraction = false;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if byte != b'0' || !digits.is_empty() {
                    digits.push(byte);
                }
                exponent -= i64::from(in_fraction);
            }
            b'.' => in_fraction = true,
            _ => {
                exponent = exponent.saturating_add(written_exponent(text.get(at + 1..).unwrap_or_default()));
                break;
            }
        }
    }
    while digits.last() == Some(&b'0') {
        digits.pop();
        exponent = exponent.saturating_add(1);
    }
    if digits.is_empty() {
        return Decimal { negative: false, exponent: 0 };
    }
    Decimal { negative, exponent }
}

fn written_exponent(text: &[u8]) -> i64 {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let size = text.iter().fold(0_i64, |sum, byte| sum.saturating_mul(10).saturating_add(i64::from(byte & 15)));
    if negative { -size } else { size }
}

/// Whether a number is larger than any f64.
#[must_use]
pub fn beyond_f64(decimal: Decimal, digits: &[u8], text: &[u8]) -> bool {
    // f64::MAX is 1.797…e308: 309 digits before the point.
    let before_point = i64::try_from(digits.len()).unwrap_or(i64::MAX).saturating_add(decimal.exponent);
    before_point > 309
        || (before_point == 309
            && std::str::from_utf8(text).ok().and_then(|t| t.parse::<f64>().ok()).is_none_or(f64::is_infinite))
}
