//! What a message says of itself: how its payload is to be read, and what stands beside it.
//!
//! Source: the CloudEvents MQTT protocol binding 1.0.2: with MQTT 5 the content type `application/cloudevents+json`
//! means the structured form, a user property `specversion` the binary one. With 3.1.1, and where neither is there, a
//! structured CloudEvent is known by its members.

use crate::event::{Attributes, Beside, Form};
use crate::ingest::limits::EVENT_COST_BYTES;
use crate::link::mqtt::Message;
use rand::RngCore;
use std::fmt::Write;

/// Reads messages; makes ids for those that have none.
#[derive(Debug)]
pub(super) struct Arrivals {
    default_id: bool,
    /// No other process has it.
    prefix: u64,
    count: u64,
    id: String,
}

impl Arrivals {
    pub fn new(default_id: bool, random: &mut impl RngCore) -> Self {
        Self { default_id, prefix: random.next_u64(), count: 0, id: String::new() }
    }

    /// How to read the payload.
    pub fn form(message: &Message) -> Form {
        let content_type = message.content_type.as_deref().unwrap_or_default();
        let media = content_type.split(';').next().unwrap_or_default().trim();
        if media.eq_ignore_ascii_case("application/cloudevents+json") {
            return Form::CloudEvent;
        }
        if message.user_properties.iter().any(|(name, _)| name == "specversion") {
            return Form::Binary(Box::new(Attributes(message.user_properties.clone())));
        }
        Form::Record
    }

    /// What stands beside the payload. A new id is made at each call.
    pub fn beside<'a>(&'a mut self, message: &'a Message) -> Beside<'a> {
        let property = |wanted: &str| {
            let mut properties = message.user_properties.iter();
            properties.find(|(name, value)| name == wanted && !value.is_empty()).map(|(_, value)| value.as_str())
        };
        let (id, source, key) = (property("id"), property("source"), property("key"));
        let id = match id {
            _ if !self.default_id => None,
            Some(id) => Some(id),
            None => {
                self.count += 1;
                self.id.clear();
                // Writing to a String does not fail.
                let _ = write!(self.id, "{:016x}-{}", self.prefix, self.count);
                Some(self.id.as_str())
            }
        };
        Beside { id, source, key }
    }

    /// Memory that its event costs.
    pub fn cost(message: &Message) -> usize {
        let properties: usize = message.user_properties.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
        message.payload.len() + properties + EVENT_COST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn message(content_type: Option<&str>, properties: &[(&str, &str)]) -> Message {
        Message {
            topic: "a".to_owned(),
            payload: bytes::Bytes::new(),
            packet_id: Some(1),
            retained: false,
            again: false,
            content_type: content_type.map(str::to_owned),
            user_properties: properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cut_from: None,
        }
    }

    #[test]
    fn the_form_follows_the_content_type_then_the_properties_then_the_payload() {
        assert_eq!(Arrivals::form(&message(None, &[])), Form::Record);
        assert_eq!(Arrivals::form(&message(Some("application/json"), &[("id", "1")])), Form::Record);
        let structured = message(Some("Application/CloudEvents+json; charset=utf-8"), &[("specversion", "1.0")]);
        assert_eq!(Arrivals::form(&structured), Form::CloudEvent);
        let binary = message(Some("application/json"), &[("specversion", "1.0"), ("id", "7")]);
        let Form::Binary(attributes) = Arrivals::form(&binary) else { panic!("not binary") };
        assert_eq!(attributes.get("id"), Some("7"));
    }

    #[test]
    fn an_id_beside_the_payload_is_taken_and_without_one_each_arrival_has_its_own() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(1);
        let mut arrivals = Arrivals::new(true, &mut random);
        let told = message(None, &[("id", "7"), ("source", "till"), ("key", "k")]);
        let beside = arrivals.beside(&told);
        assert_eq!((beside.id, beside.source, beside.key), (Some("7"), Some("till"), Some("k")));
        let silent = message(None, &[("id", "")]);
        let first = arrivals.beside(&silent).id.unwrap().to_owned();
        let second = arrivals.beside(&silent).id.unwrap().to_owned();
        let other = Arrivals::new(true, &mut random).beside(&silent).id.unwrap().to_owned();
        assert!(first != second && first != other && second != other);
        let mut strict = Arrivals::new(false, &mut random);
        assert_eq!(strict.beside(&told).id, None);
        assert_eq!(strict.beside(&silent).id, None);
    }
}
