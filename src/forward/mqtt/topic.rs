//! Where a verdict is published: a topic with parts of the verdict in it.
//!
//! `verdicts/{decision}/{key}`. A value stands for exactly one level and never changes what the levels are: in it
//! `/`, `+`, `#`, `$`, `%` and every character that MQTT does not want in a topic (controls, noncharacters) is
//! written as `%XX` for each of its bytes in UTF-8, upper case, as URLs have it. So two values never give the same
//! level, and percent-decoding gives the value back. A verdict without a key has an empty level there.

use crate::link::mqtt::TOPIC_BYTES_MAX;
use crate::verdict::Verdict;
use std::fmt::Write;

/// A topic template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Decision,
    Key,
    Source,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a topic of 1 to {TOPIC_BYTES_MAX} bytes without + and #, with {{decision}}, {{key}} or {{source}} \
     between braces"
)]
pub struct TemplateError;

impl Template {
    /// # Errors
    /// When it cannot be a topic, or names something else between braces.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let is_bad = |c: char| matches!(c, '+' | '#') || is_unwanted(c);
        if text.is_empty() || text.len() > TOPIC_BYTES_MAX || text.contains(is_bad) {
            return Err(TemplateError);
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}').ok_or(TemplateError)?;
            if before.contains('}') {
                return Err(TemplateError);
            }
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(match name {
                "decision" => Part::Decision,
                "key" => Part::Key,
                "source" => Part::Source,
                _ => return Err(TemplateError),
            });
            rest = behind;
        }
        if rest.contains('}') {
            return Err(TemplateError);
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Whether every verdict goes to the same topic.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// Writes a verdict's topic in place of what `topic` held. It may be longer than MQTT allows.
    pub fn write(&self, verdict: &Verdict<'_>, topic: &mut String) {
        topic.clear();
        for part in &self.parts {
            match part {
                Part::Text(text) => topic.push_str(text),
                Part::Decision => put(verdict.decision, topic),
                Part::Key => put(verdict.key.unwrap_or_default(), topic),
                Part::Source => put(verdict.source, topic),
            }
        }
    }
}

fn put(value: &str, topic: &mut String) {
    for c in value.chars() {
        if matches!(c, '/' | '+' | '#' | '$' | '%') || is_unwanted(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // Writing to a String does not fail.
                let _ = write!(topic, "%{byte:02X}");
            }
        } else {
            topic.push(c);
        }
    }
}

/// Characters that MQTT forbids in a string, or lets a broker end the connection for (MQTT 5.0, 1.5.4).
pub(super) fn is_unwanted(c: char) -> bool {
    let code = u32::from(c);
    c.is_control() || (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdict<'a>(decision: &'a str, key: Option<&'a str>) -> Verdict<'a> {
        Verdict {
            sequence: 1,
            source: "till/7",
            id: "a",
            key,
            time_us: 0,
            decision,
            score: None,
            reasons: Vec::new(),
            model: "m@1",
            model_sha256: &[0; 32],
            decided_ms: 0,
        }
    }

    fn topic(template: &str, verdict: &Verdict<'_>) -> String {
        let mut topic = "what was there".to_owned();
        Template::parse(template).unwrap().write(verdict, &mut topic);
        topic
    }

    #[test]
    fn parts_of_the_verdict_are_put_in() {
        let verdict = verdict("block", Some("4711"));
        assert_eq!(topic("verdicts/{decision}/{key}", &verdict), "verdicts/block/4711");
        assert_eq!(topic("{source}/x{key}{key}", &verdict), "till%2F7/x47114711");
        assert_eq!(topic("a/{key}/b", &Verdict { key: None, ..verdict.clone() }), "a//b");
        assert_eq!(topic("{key}", &Verdict { key: Some("$SYS"), ..verdict }), "%24SYS");
        assert!(Template::parse("verdicts").unwrap().is_fixed());
        assert!(!Template::parse("verdicts/{key}").unwrap().is_fixed());
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in ["", "a/+", "#", "a\0", "a\n", "{", "}", "{}", "{id}", "a}{key}", "{key}}", "{{key}}"] {
            assert_eq!(Template::parse(text), Err(TemplateError), "{text:?}");
        }
        assert_eq!(Template::parse(&"x".repeat(TOPIC_BYTES_MAX + 1)), Err(TemplateError));
    }

    proptest! {
        /// Two keys never share a topic, a key never adds a level, and it can be read back.
        #[test]
        fn a_key_is_one_level_and_can_be_read_back(key: String, other in "[a+#/%$\0é\u{ffff}]{0,4}") {
            let written = topic("v/{key}", &verdict("allow", Some(&key)));
            let level = written.strip_prefix("v/").unwrap();
            prop_assert!(!level.contains(['/', '+', '#', '\0', '$']) && !level.contains(is_unwanted));
            prop_assert_eq!(percent_encoding::percent_decode_str(level).decode_utf8().unwrap(), key.as_str());
            let second = topic("v/{key}", &verdict("allow", Some(&other)));
            prop_assert_eq!(second == written, other == key);
        }
    }
}
