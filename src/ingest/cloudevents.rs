//! The HTTP binding of CloudEvents 1.0: attributes in `ce-` headers.

use super::Attributes;
use hyper::HeaderMap;
use percent_encoding::percent_decode;
use std::borrow::Cow;

/// The attributes of a request in binary mode, or None where it has none.
///
/// # Errors
/// What was expected of which header: a value that is UTF-8 once decoded, each attribute once.
pub(super) fn attributes(headers: &HeaderMap) -> Result<Option<Attributes>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, value) in headers {
        let Some(attribute) = name.as_str().strip_prefix("ce-") else { continue };
        let value = decode(value.as_bytes())
            .ok_or_else(|| format!("header {name}: expected UTF-8, percent-encoded as CloudEvents has it"))?;
        if found.iter().any(|(other, _)| other == attribute) {
            return Err(format!("header {name}: expected it once, found it twice"));
        }
        found.push((attribute.to_owned(), value));
    }
    Ok((!found.is_empty()).then_some(Attributes(found)))
}

/// Takes off quotes with their backslashes, as older senders write them, then decodes percent signs once.
fn decode(value: &[u8]) -> Option<String> {
    let value = value.trim_ascii();
    let inner = match value {
        [b'"', inner @ .., b'"'] => Cow::Owned(unescape(inner)),
        _ => Cow::Borrowed(value),
    };
    percent_decode(&inner).decode_utf8().ok().map(Cow::into_owned)
}

fn unescape(quoted: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter();
    while let Some(&byte) = bytes.next() {
        let byte = if byte == b'\\' { bytes.next().copied().unwrap_or(byte) } else { byte };
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(value: &str) -> Option<String> {
        decode(value.as_bytes())
    }

    #[test]
    fn values_are_percent_decoded_once() {
        assert_eq!(decoded("Euro%20%E2%82%AC%20%F0%9F%98%80").as_deref(), Some("Euro € 😀"));
        assert_eq!(decoded("100%2525").as_deref(), Some("100%25"));
        assert_eq!(decoded("50% off").as_deref(), Some("50% off"));
        assert_eq!(decoded("%FF"), None);
    }

    #[test]
    fn quoted_values_of_older_senders_are_read() {
        assert_eq!(decoded(r#""a \"b\" \\ c%20d""#).as_deref(), Some(r#"a "b" \ c d"#));
        assert_eq!(decoded("\"").as_deref(), Some("\""));
    }

    #[test]
    fn only_ce_headers_are_attributes() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "application/json".parse().unwrap());
        assert_eq!(attributes(&headers), Ok(None));
        headers.insert("ce-id", "7".parse().unwrap());
        assert_eq!(attributes(&headers).unwrap().unwrap().get("id"), Some("7"));
        headers.insert("ce-source", "%C3".parse().unwrap());
        assert!(attributes(&headers).unwrap_err().starts_with("header ce-source: expected UTF-8"));
    }

    #[test]
    fn an_attribute_comes_once() {
        let mut headers = HeaderMap::new();
        headers.append("ce-id", "7".parse().unwrap());
        headers.append("ce-id", "8".parse().unwrap());
        assert!(attributes(&headers).unwrap_err().contains("header ce-id: expected it once"));
    }
}
