//! Where a listener listens: a Unix socket or a TCP address. The config reads it, the listeners bind it.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

/// Longest path of a Unix socket, in bytes: what `sockaddr_un` holds less its final zero.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// An address to listen on. Names of hosts are no addresses: they are not looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listen {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AddressError {
    #[error("expected \"unix:/absolute/path\" or an address with its port, as in \"127.0.0.1:8080\" or \"[::1]:8080\"")]
    Neither,
    #[error("expected an absolute path after \"unix:\"")]
    Relative,
    #[error("expected a socket path of at most {SOCKET_PATH_BYTES_MAX} bytes, which is what the system takes")]
    TooLong,
}

impl FromStr for Listen {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match Path::new(path) {
                relative if !relative.is_absolute() => Err(AddressError::Relative),
                _ if path.len() > SOCKET_PATH_BYTES_MAX => Err(AddressError::TooLong),
                absolute => Ok(Self::Unix(absolute.to_owned())),
            };
        }
        text.parse().map(Self::Tcp).map_err(|_| AddressError::Neither)
    }
}

impl Listen {
    /// Whether only this machine can connect.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
        }
    }

    /// Whether both cannot be listened on at once.
    #[must_use]
    pub fn collides(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unix(a), Self::Unix(b)) => a == b,
            (Self::Tcp(a), Self::Tcp(b)) => {
                let (ip_a, ip_b) = (a.ip().to_canonical(), b.ip().to_canonical());
                a.port() != 0
                    && a.port() == b.port()
                    && (ip_a == ip_b || ip_a.is_unspecified() || ip_b.is_unspecified())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(text: &str) -> Listen {
        text.parse().unwrap()
    }

    #[test]
    fn both_forms_read_back_as_written() {
        for text in ["unix:/run/verdictd/events.sock", "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:1"] {
            assert_eq!(listen(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        let long = format!("unix:/{}", "x".repeat(SOCKET_PATH_BYTES_MAX));
        for (text, error) in [
            ("", AddressError::Neither),
            ("localhost:80", AddressError::Neither),
            ("127.0.0.1", AddressError::Neither),
            ("127.0.0.1:70000", AddressError::Neither),
            ("unix:run/x", AddressError::Relative),
            ("unix:", AddressError::Relative),
            (&long, AddressError::TooLong),
        ] {
            assert_eq!(text.parse::<Listen>(), Err(error), "{text}");
        }
    }

    #[test]
    fn only_loopback_and_unix_are_local() {
        for (text, local) in [
            ("unix:/x", true),
            ("127.0.0.1:1", true),
            ("127.8.0.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(listen(text).is_local(), local, "{text}");
        }
    }

    #[test]
    fn a_wildcard_collides_with_every_address_of_its_port() {
        assert!(listen("0.0.0.0:80").collides(&listen("127.0.0.1:80")));
        assert!(listen("unix:/a").collides(&listen("unix:/a")));
        assert!(!listen("127.0.0.1:80").collides(&listen("127.0.0.1:81")));
        assert!(!listen("127.0.0.1:80").collides(&listen("127.0.0.2:80")));
        // Port 0 is a fresh port each time.
        assert!(!listen("127.0.0.1:0").collides(&listen("127.0.0.1:0")));
    }
}
