//! Where an HTTP server is asked: `https://host:443/path?query`.
//!
//! Names are looked up when the client connects. A user name or a password has no place in it, because `check` and
//! `status` show it.

use super::broker::HostPort;
use std::fmt;

/// Longest path and query, bytes.
pub const TARGET_BYTES_MAX: usize = 2048;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebUrl {
    pub address: HostPort,
    /// Whether it is spoken to over TLS: `https://`.
    pub tls: bool,
    /// Path and query, with the braces of a template.
    pub target: String,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WebUrlError {
    #[error("\"http://HOST/PATH\" or \"https://HOST/PATH\", with a port after a colon where it is not 80 or 443")]
    Url,
    #[error("no user and no password in it: a token is a key of its own (token-file)")]
    UserInfo,
    #[error("a host by name or address and, where one stands, a port from 1 to 65535")]
    Host,
    #[error("a path and a query of at most {TARGET_BYTES_MAX} visible ASCII characters, anything else percent-encoded")]
    Target,
    #[error("no fragment in it (#…)")]
    Fragment,
    #[error("no braces in it but those of {{source}} and {{id}}")]
    Braces,
}

impl WebUrl {
    /// Reads a URL whose path and query may hold these names in braces.
    ///
    /// # Errors
    /// When it is none; what was expected.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, WebUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(WebUrlError::Url)?;
        let (tls, port) = match scheme {
            "http" => (false, 80),
            "https" => (true, 443),
            _ => return Err(WebUrlError::Url),
        };
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(at);
        if authority.contains('@') {
            return Err(WebUrlError::UserInfo);
        }
        if target.contains('#') {
            return Err(WebUrlError::Fragment);
        }
        let address = HostPort::parse(authority, Some(port)).map_err(|_| WebUrlError::Host)?;
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{target}");
        if target.len() > TARGET_BYTES_MAX || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WebUrlError::Target);
        }
        let plain = names.iter().fold(target.clone(), |plain, name| plain.replace(&format!("{{{name}}}"), ""));
        if plain.contains(['{', '}']) {
            return Err(WebUrlError::Braces);
        }
        // What is left must be a path as clients take it.
        if plain.contains(['"', '<', '>', '\\', '^', '`', '|']) {
            return Err(WebUrlError::Target);
        }
        Ok(Self { address, tls, target })
    }
}

/// Without its query, which is nobody's business in a status.
impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.split('?').next().unwrap_or_default();
        write!(f, "{}://{}{path}", if self.tls { "https" } else { "http" }, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_with_what_may_be_left_out() {
        let read = |text: &str| WebUrl::parse(text, &["id"]).map(|url| (url.to_string(), url.target));
        let both = |shown: &str, target: &str| Ok((shown.to_owned(), target.to_owned()));
        assert_eq!(read("https://a.site"), both("https://a.site:443/", "/"));
        assert_eq!(read("http://[::1]:8080/x/y?k=1"), both("http://[::1]:8080/x/y", "/x/y?k=1"));
        assert_eq!(read("http://a?id={id}"), both("http://a:80/", "/?id={id}"));
    }

    #[test]
    fn what_is_no_url_is_refused_with_what_was_expected() {
        for (text, error) in [
            ("a.site/x", WebUrlError::Url),
            ("ftp://a/x", WebUrlError::Url),
            ("https://u:p@a/x", WebUrlError::UserInfo),
            ("https:///x", WebUrlError::Host),
            ("https://a:0/x", WebUrlError::Host),
            ("https://a/x#y", WebUrlError::Fragment),
            ("https://a/x y", WebUrlError::Target),
            ("https://a/ä", WebUrlError::Target),
            ("https://a/{source}", WebUrlError::Braces),
            ("https://a/{id", WebUrlError::Braces),
        ] {
            assert_eq!(WebUrl::parse(text, &["id"]), Err(error), "{text}");
        }
    }
}
