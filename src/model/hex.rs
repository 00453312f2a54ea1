//! SHA-256 values as text.

/// 64 hexadecimal digits to 32 bytes.
pub fn decode(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        let value = char::from(*high).to_digit(16)? * 16 + char::from(*low).to_digit(16)?;
        *byte = u8::try_from(value).ok()?;
    }
    Some(out)
}

/// 32 bytes as 64 lower-case digits.
#[must_use]
pub fn encode(bytes: &[u8; 32]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(64), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
