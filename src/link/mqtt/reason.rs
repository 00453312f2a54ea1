//! Reason codes: what they say, and what kind of trouble they are.
//!
//! Sources: MQTT 5.0 section 2.4, MQTT 3.1.1 section 3.2.2.3. Brokers use codes outside the lists that belong to
//! a packet (Mosquitto answers a PUBLISH that is too large with 0x95), so there is one table for all packets.

use crate::link::Trouble;
use std::fmt;

/// A code with the broker's own words, if it has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: u8,
    pub text: Option<String>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (0x{:02x})", name(self.code), self.code)?;
        self.text.as_ref().map_or(Ok(()), |text| write!(f, ": {text}"))
    }
}

/// Whether a code of MQTT 5 says no.
#[must_use]
pub fn is_refusal(code: u8) -> bool {
    code >= 0x80
}

/// A code with its name, for people.
#[must_use]
pub fn named_reason(code: u8) -> String {
    Reason { code, text: None }.to_string()
}

fn name(code: u8) -> &'static str {
    match code {
        0x00 => "success",
        0x04 => "disconnected with will",
        0x10 => "no matching subscribers",
        0x11 => "no subscription existed",
        0x80 => "unspecified error",
        0x81 => "malformed packet",
        0x82 => "protocol error",
        0x83 => "implementation specific error",
        0x84 => "unsupported protocol version",
        0x85 => "client identifier not valid",
        0x86 => "bad user name or password",
        0x87 => "not authorized",
        0x88 => "server unavailable",
        0x89 => "server busy",
        0x8a => "banned",
        0x8b => "server shutting down",
        0x8c => "bad authentication method",
        0x8d => "keep alive timeout",
        0x8e => "session taken over by another client of the same id",
        0x8f => "topic filter invalid",
        0x90 => "topic name invalid",
        0x91 => "packet identifier in use",
        0x92 => "packet identifier not found",
        0x93 => "receive maximum exceeded",
        0x94 => "topic alias invalid",
        0x95 => "packet too large",
        0x96 => "message rate too high",
        0x97 => "quota exceeded",
        0x98 => "administrative action",
        0x99 => "payload format invalid",
        0x9a => "retain not supported",
        0x9b => "QoS not supported",
        0x9c => "use another server",
        0x9d => "server moved",
        0x9e => "shared subscriptions not supported",
        0x9f => "connection rate exceeded",
        0xa0 => "maximum connect time",
        0xa1 => "subscription identifiers not supported",
        0xa2 => "wildcard subscriptions not supported",
        _ => "unknown reason",
    }
}

/// What a refused connection, an ended one or a refused subscription means.
pub(super) fn trouble(code: u8) -> Trouble {
    match code {
        0x84..=0x87 | 0x8a | 0x8c | 0x8e | 0x8f | 0x90 | 0x95 | 0x9a..=0x9e | 0xa1 | 0xa2 => Trouble::Configuration,
        _ => Trouble::Transient,
    }
}

/// What a refused PUBLISH means. `fixed_topic`: every record goes to the same topic, so that it is not the
/// record's fault.
#[must_use]
pub fn publish_trouble(code: u8, fixed_topic: bool) -> Trouble {
    match code {
        0x87 | 0x9a | 0x9b => Trouble::Configuration,
        0x90 if fixed_topic => Trouble::Configuration,
        0x90 | 0x95 | 0x99 => Trouble::Poison,
        _ => Trouble::Transient,
    }
}

/// The return codes of 3.1.1's CONNACK as those of MQTT 5.
pub(super) fn of_311(code: u8) -> u8 {
    match code {
        0 => 0x00,
        1 => 0x84,
        2 => 0x85,
        3 => 0x88,
        4 => 0x86,
        5 => 0x87,
        _ => 0x80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_and_names_need_a_person_weather_does_not_and_a_record_can_be_at_fault_itself() {
        assert!([0x86, 0x87, 0x85, 0x8e].iter().all(|code| trouble(*code) == Trouble::Configuration));
        assert!([0x88, 0x89, 0x8b, 0x97, 0x9f, 0xff].iter().all(|code| trouble(*code) == Trouble::Transient));
        assert_eq!(publish_trouble(0x87, false), Trouble::Configuration);
        assert_eq!(publish_trouble(0x97, false), Trouble::Transient);
        assert_eq!(publish_trouble(0x95, true), Trouble::Poison);
        assert_eq!(
            (publish_trouble(0x90, false), publish_trouble(0x90, true)),
            (Trouble::Poison, Trouble::Configuration)
        );
    }

    #[test]
    fn a_reason_shows_its_name_its_code_and_the_brokers_words() {
        let reason = Reason { code: 0x97, text: Some("disk full".to_owned()) };
        assert_eq!(reason.to_string(), "quota exceeded (0x97): disk full");
        assert_eq!(Reason { code: 0xee, text: None }.to_string(), "unknown reason (0xee)");
    }
}
