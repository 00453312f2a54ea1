//! Where a broker is: `mqtt://host:1883`, `mqtts://host:8883`.

use std::fmt;
use std::str::FromStr;

/// A broker's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an IP address, without brackets.
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected mqtt://HOST[:PORT] or mqtts://HOST[:PORT], found {0:?}")]
pub struct AddressError(pub String);

/// The ports that are registered for MQTT, and for MQTT over TLS.
const PORT: u16 = 1883;
const TLS_PORT: u16 = 8883;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let fault = || AddressError(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(fault)?;
        let tls = match scheme {
            "mqtt" => false,
            "mqtts" => true,
            _ => return Err(fault()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (host, port) = inner.split_once(']').ok_or_else(fault)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| fault())?;
                let port = if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or_else(fault)?) };
                (host, port)
            }
            None => match rest.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            },
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        if host.is_empty() || !host.chars().all(is_host) {
            return Err(fault());
        }
        let default = if tls { TLS_PORT } else { PORT };
        let port = port.map_or(Ok(default), str::parse).ok().filter(|port| *port != 0).ok_or_else(fault)?;
        Ok(Self { host: host.to_owned(), port, tls })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_and_ports_have_defaults() {
        for (text, whole) in [
            ("mqtt://broker", "mqtt://broker:1883"),
            ("mqtts://broker.site", "mqtts://broker.site:8883"),
            ("mqtt://10.0.0.7:1884/", "mqtt://10.0.0.7:1884"),
            ("mqtts://[fd00::7]", "mqtts://[fd00::7]:8883"),
            ("mqtt://[::1]:99", "mqtt://[::1]:99"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), whole);
            assert_eq!(whole.parse(), Ok(address));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_was_expected() {
        for text in [
            "broker:1883",
            "tcp://broker",
            "mqtt://",
            "mqtt://:1883",
            "mqtt://a:b",
            "mqtt://a:0",
            "mqtt://a:70000",
            "mqtt://user@host",
            "mqtt://[broker]",
            "mqtt://[::1",
            "mqtt://[::1]99",
            "mqtt://a/b",
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.starts_with("expected mqtt://HOST"), "{text}: {error}");
        }
    }
}
