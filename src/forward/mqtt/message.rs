//! A verdict as a message.
//!
//! | | payload | beside it |
//! |---|---|---|
//! | MQTT 5, `json` | the verdict | CloudEvents attributes as user properties, content type `application/json` (binary mode) |
//! | MQTT 5, `cloudevents` | a structured CloudEvent | content type `application/cloudevents+json` |
//! | MQTT 3.1.1 | a structured CloudEvent | nothing |
//!
//! Source: the CloudEvents MQTT protocol binding 1.0.2. An attribute with a character that MQTT or CloudEvents does
//! not want in a string (a control, say) has no place in a user property, and a broker may end the connection for
//! it: such a verdict goes in the structured form, which the content type tells.

use super::topic::{Template, is_unwanted};
use crate::forward::Encoding;
use crate::link::mqtt::{Outgoing, Protocol};
use crate::verdict::{VERDICT_TYPE, Verdict, write_cloud_event, write_json};
use jiff::Timestamp;

const JSON: &str = "application/json";
const CLOUD_EVENT: &str = "application/cloudevents+json; charset=utf-8";

/// Writes messages; keeps its buffers from one to the next.
#[derive(Debug)]
pub(super) struct Writer {
    protocol: Protocol,
    encoding: Encoding,
    template: Template,
    retain: bool,
    topic: String,
    payload: Vec<u8>,
    decided: String,
}

impl Writer {
    pub fn new(protocol: Protocol, encoding: Encoding, template: Template, retain: bool) -> Self {
        let (topic, payload, decided) = (String::new(), Vec::new(), String::new());
        Self { protocol, encoding, template, retain, topic, payload, decided }
    }

    /// Calls `with` with the verdict's message.
    pub fn write<T>(&mut self, verdict: &Verdict<'_>, with: impl FnOnce(&Outgoing<'_>) -> T) -> T {
        self.template.write(verdict, &mut self.topic);
        self.payload.clear();
        let texts = [verdict.id, verdict.source, verdict.key.unwrap_or_default()];
        let is_plain = |text: &str| text.bytes().all(|b| (0x20..0x7f).contains(&b)) || !text.contains(is_unwanted);
        let binary =
            self.protocol == Protocol::V5 && self.encoding == Encoding::Json && texts.into_iter().all(is_plain);
        let message = Outgoing { topic: &self.topic, retain: self.retain, ..Outgoing::default() };
        if !binary {
            write_cloud_event(verdict, &mut self.payload);
            return with(&Outgoing { content_type: Some(CLOUD_EVENT), payload: &self.payload, ..message });
        }
        write_json(verdict, &mut self.payload);
        self.decided.clear();
        if let Ok(instant) = Timestamp::from_millisecond(verdict.decided_ms) {
            use std::fmt::Write;
            // Writing to a String does not fail.
            let _ = write!(self.decided, "{instant:.3}");
        }
        let properties = [
            ("specversion", "1.0"),
            ("id", verdict.id),
            ("source", verdict.source),
            ("type", VERDICT_TYPE),
            ("time", self.decided.as_str()),
            ("subject", verdict.key.unwrap_or_default()),
        ];
        // A CloudEvents attribute is not empty: without a key there is no subject.
        let count = if verdict.key.is_some_and(|key| !key.is_empty()) { 6 } else { 5 };
        with(&Outgoing {
            content_type: Some(JSON),
            user_properties: properties.get(..count).unwrap_or_default(),
            payload: &self.payload,
            ..message
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict<'a>(id: &'a str, key: Option<&'a str>) -> Verdict<'a> {
        Verdict {
            sequence: 41,
            source: "pos",
            id,
            key,
            time_us: 0,
            decision: "block",
            score: Some(0.5),
            reasons: Vec::new(),
            model: "m@1",
            model_sha256: &[0; 32],
            decided_ms: 1_795_968_000_120,
        }
    }

    fn parts(
        protocol: Protocol,
        encoding: Encoding,
        verdict: &Verdict<'_>,
    ) -> (String, Vec<(String, String)>, serde_json::Value) {
        let mut writer = Writer::new(protocol, encoding, Template::parse("v/{decision}").unwrap(), false);
        writer.write(verdict, |message| {
            let properties =
                message.user_properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let payload = serde_json::from_slice(message.payload).unwrap();
            assert_eq!((message.topic, message.retain), ("v/block", false));
            (message.content_type.unwrap_or_default().to_owned(), properties.collect(), payload)
        })
    }

    #[test]
    fn with_mqtt_5_the_verdict_is_the_payload_and_the_attributes_stand_beside_it() {
        let (content_type, properties, payload) = parts(Protocol::V5, Encoding::Json, &verdict("288063", Some("3961")));
        let expected = [
            ("specversion", "1.0"),
            ("id", "288063"),
            ("source", "pos"),
            ("type", "verdictd.verdict.v1"),
            ("time", "2026-11-29T16:00:00.120Z"),
            ("subject", "3961"),
        ];
        assert_eq!(content_type, "application/json");
        assert_eq!(properties, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!((&payload["sequence"], &payload["id"]), (&41.into(), &"288063".into()));
        let (_, properties, _) = parts(Protocol::V5, Encoding::Json, &verdict("288063", None));
        assert!(properties.iter().all(|(name, _)| name != "subject"));
    }

    #[test]
    fn the_structured_form_holds_all_in_the_payload() {
        for (protocol, encoding) in [(Protocol::V311, Encoding::Json), (Protocol::V5, Encoding::CloudEvents)] {
            let (content_type, properties, payload) = parts(protocol, encoding, &verdict("288063", Some("3961")));
            assert!(content_type.starts_with("application/cloudevents+json") && properties.is_empty());
            assert_eq!((&payload["id"], &payload["subject"]), (&"288063".into(), &"3961".into()));
            assert_eq!(payload["data"]["sequence"], 41);
        }
    }

    /// Mosquitto ends the connection for a control character in a user property; the same verdict again each time.
    #[test]
    fn an_identity_that_no_user_property_can_hold_goes_in_the_payload() {
        for id in ["a\tb", "\u{7f}", "\u{ffff}", "\u{85}"] {
            let (content_type, properties, payload) = parts(Protocol::V5, Encoding::Json, &verdict(id, None));
            assert!(content_type.starts_with("application/cloudevents+json") && properties.is_empty());
            assert_eq!(payload["id"], id);
        }
        let (content_type, ..) = parts(Protocol::V5, Encoding::Json, &verdict("a é €", None));
        assert_eq!(content_type, "application/json");
    }
}
