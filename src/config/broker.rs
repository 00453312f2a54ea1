//! Where a broker is: `mqtt://host:1883`, and the `host:9092` of a Kafka broker.
//!
//! Names are looked up when the client connects, so a broker that cannot be found yet is no fault of the config.
//! A user name or a password has no place in an address, because `check` and `status` show it.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// Longest name of a host, as DNS has it.
pub const HOST_BYTES_MAX: usize = 253;

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
}

/// An MQTT broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MqttUrl {
    pub address: HostPort,
    /// Whether it is spoken to over TLS: `mqtts://`.
    pub tls: bool,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BrokerError {
    #[error("\"mqtt://HOST\" or \"mqtts://HOST\", with a port after a colon where it is not 1883 or 8883")]
    Url,
    #[error("only a host and a port in it: user and password are keys of their own (username, password-file)")]
    UserInfo,
    #[error("only a host and a port in it, no path")]
    Path,
    #[error("a port from 1 to 65535 after the host, as in \"{0}:9092\"")]
    Port(String),
    #[error("a host by name or address (an IPv6 address in brackets, as in \"[::1]:9092\")")]
    Host,
}

impl HostPort {
    /// Reads `host:port`; with a `default` the port may be left out.
    ///
    /// # Errors
    /// When `text` has no host that could be one, or no port from 1 on; what was expected.
    pub fn parse(text: &str, default: Option<u16>) -> Result<Self, BrokerError> {
        let (host, rest) = if let Some(inner) = text.strip_prefix('[') {
            let (address, rest) = inner.split_once(']').ok_or(BrokerError::Host)?;
            let address: Ipv6Addr = address.parse().map_err(|_| BrokerError::Host)?;
            (address.to_string(), rest)
        } else {
            let at = text.find(':').unwrap_or(text.len());
            let (host, rest) = text.split_at(at);
            if !is_name(host) {
                return Err(BrokerError::Host);
            }
            (host.to_owned(), rest)
        };
        let no_port = || BrokerError::Port(if host.contains(':') { format!("[{host}]") } else { host.clone() });
        let port = match (rest.strip_prefix(':'), default) {
            (Some(digits), _) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port > 0).ok_or_else(no_port)?
            }
            (None, Some(default)) if rest.is_empty() => default,
            (None, _) if !rest.is_empty() => return Err(BrokerError::Host),
            _ => return Err(no_port()),
        };
        Ok(Self { host, port })
    }

    /// Whether only this machine answers there, as far as the address itself says.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let v4 = self.host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
        let v6 = self.host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        v4 || v6 || self.host.eq_ignore_ascii_case("localhost")
    }
}

/// Letters, digits, `-`, `_` and dots between labels that are not empty; one dot may end it.
fn is_name(host: &str) -> bool {
    let labels = host.strip_suffix('.').unwrap_or(host);
    let letters = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    host.len() <= HOST_BYTES_MAX && labels.split('.').all(letters)
}

/// As it is written in a config: an IPv6 address in brackets.
impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for MqttUrl {
    type Err = BrokerError;

    fn from_str(text: &str) -> Result<Self, BrokerError> {
        let (scheme, rest) = text.split_once("://").ok_or(BrokerError::Url)?;
        let (tls, port) = match scheme {
            "mqtt" => (false, 1883),
            "mqtts" => (true, 8883),
            _ => return Err(BrokerError::Url),
        };
        if rest.contains('@') {
            return Err(BrokerError::UserInfo);
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err(BrokerError::Path);
        }
        Ok(Self { address: HostPort::parse(rest, Some(port))?, tls })
    }
}

/// With its port, also where that is the usual one.
impl fmt::Display for MqttUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "mqtts" } else { "mqtt" }, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Result<String, BrokerError> {
        text.parse::<MqttUrl>().map(|url| url.to_string())
    }

    #[test]
    fn a_port_that_is_left_out_is_the_usual_one() {
        for (text, whole) in [
            ("mqtt://broker.site", "mqtt://broker.site:1883"),
            ("mqtts://broker.site", "mqtts://broker.site:8883"),
            ("mqtt://10.0.0.1:1999", "mqtt://10.0.0.1:1999"),
            ("mqtts://[2001:db8::1]", "mqtts://[2001:db8::1]:8883"),
            ("mqtt://[::1]:1884/", "mqtt://[::1]:1884"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(whole), "{text}");
        }
    }

    #[test]
    fn what_is_no_broker_is_refused_with_what_was_expected() {
        for (text, error) in [
            ("broker.site", BrokerError::Url),
            ("http://broker.site", BrokerError::Url),
            ("mqtt://user:secret@broker", BrokerError::UserInfo),
            ("mqtt://broker/topic", BrokerError::Path),
            ("mqtt://", BrokerError::Host),
            ("mqtt://:1883", BrokerError::Host),
            ("mqtt://a b", BrokerError::Host),
            ("mqtt://2001:db8::1", BrokerError::Port("2001".to_owned())),
            ("mqtt://[::1", BrokerError::Host),
            ("mqtt://[broker]", BrokerError::Host),
            ("mqtt://broker:", BrokerError::Port("broker".to_owned())),
            ("mqtt://broker:0", BrokerError::Port("broker".to_owned())),
            ("mqtt://broker:65536", BrokerError::Port("broker".to_owned())),
            ("mqtt://broker:+1", BrokerError::Port("broker".to_owned())),
        ] {
            assert_eq!(url(text), Err(error), "{text}");
        }
        assert_eq!(HostPort::parse("kafka.site", None), Err(BrokerError::Port("kafka.site".to_owned())));
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is_loopback = |text: &str| HostPort::parse(text, None).unwrap().is_loopback();
        for text in ["localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(is_loopback(text), "{text}");
        }
        for text in ["localhost.site:1", "10.0.0.1:1", "[2001:db8::1]:1", "0.0.0.0:1"] {
            assert!(!is_loopback(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_address_reads_back_as_written(
            host in "[a-z0-9]{1,10}(\\.[a-z0-9_-]{1,10}){0,3}", port in 1u16.., v6: [u16; 8], tls: bool
        ) {
            let v6 = Ipv6Addr::from(v6).to_string();
            for host in [host, v6] {
                let url = MqttUrl { address: HostPort { host, port }, tls };
                prop_assert_eq!(url.to_string().parse(), Ok(url.clone()));
                prop_assert_eq!(HostPort::parse(&url.address.to_string(), None), Ok(url.address));
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in "(mqtts?://)?[\\[\\]:a-z0-9./@é-]*") {
            let _ = text.parse::<MqttUrl>();
            let _ = HostPort::parse(&text, None);
        }
    }
}
