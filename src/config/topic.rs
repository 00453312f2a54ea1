//! Names of topics: MQTT filters to subscribe to, MQTT topics with placeholders to publish to, Kafka topics.

use std::fmt;

/// Longest topic or filter of MQTT, which writes its length in 16 bits.
pub const MQTT_TOPIC_BYTES_MAX: usize = 65_535;
/// Longest topic of Kafka.
pub const KAFKA_TOPIC_BYTES_MAX: usize = 249;
/// What a sink's topic may hold: parts of the verdict.
pub const PLACEHOLDERS: &[&str] = &["decision", "key", "source"];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TopicError {
    #[error("a topic of 1 to {MQTT_TOPIC_BYTES_MAX} bytes without control characters")]
    Length,
    #[error("+ as a whole level, as in \"plant/+/events\"")]
    Plus,
    #[error("# as the last level, as in \"plant/#\"")]
    Hash,
    #[error("a name and a filter in it, as in \"$share/appliances/plant/#\"")]
    Share,
    #[error("a topic without + and #, which are for subscribing")]
    Wildcard,
    #[error("{{decision}}, {{key}} or {{source}} between braces, found {0:?}")]
    Placeholder(String),
    #[error("a topic of 1 to {KAFKA_TOPIC_BYTES_MAX} letters, digits, dots, _ and -")]
    Kafka,
}

/// What a source subscribes to: levels between slashes, `+` for one level, `#` for all that follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicFilter(String);

/// Where a sink publishes: a topic, with [`PLACEHOLDERS`] in braces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicTemplate(String);

impl TopicFilter {
    /// Reads a filter; `$share/NAME/FILTER` is a shared subscription.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn parse(text: &str) -> Result<Self, TopicError> {
        length(text)?;
        let filter = match text.strip_prefix("$share/") {
            Some(shared) => {
                let (name, filter) = shared.split_once('/').ok_or(TopicError::Share)?;
                if name.is_empty() || name.contains(['+', '#']) || filter.is_empty() {
                    return Err(TopicError::Share);
                }
                filter
            }
            None => text,
        };
        let mut levels = filter.split('/').peekable();
        while let Some(level) = levels.next() {
            if level.contains('#') && (level != "#" || levels.peek().is_some()) {
                return Err(TopicError::Hash);
            }
            if level.contains('+') && level != "+" {
                return Err(TopicError::Plus);
            }
        }
        Ok(Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a message that a sink publishes to `template` may come in here, whatever stands for its placeholders.
    #[must_use]
    pub fn may_take(&self, template: &TopicTemplate) -> bool {
        let shared = self.0.strip_prefix("$share/").and_then(|rest| rest.split_once('/'));
        let filter = shared.map_or(self.0.as_str(), |(_, filter)| filter);
        let (mut wanted, mut given) = (filter.split('/'), template.0.split('/'));
        loop {
            match (wanted.next(), given.next()) {
                (Some("#"), _) | (None, None) => return true,
                // What stands for it may hold slashes.
                (Some(_), Some(level)) if level.contains('{') => return true,
                (Some(filter), Some(level)) if filter == "+" || filter == level => {}
                _ => return false,
            }
        }
    }
}

impl TopicTemplate {
    /// Reads a topic with placeholders.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn parse(text: &str) -> Result<Self, TopicError> {
        length(text)?;
        if text.contains(['+', '#']) {
            return Err(TopicError::Wildcard);
        }
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let from = rest.get(at..).unwrap_or_default();
            let wrong = || TopicError::Placeholder(from.chars().take(32).collect());
            let end = from.find('}').filter(|end| *end > 0).ok_or_else(wrong)?;
            if !PLACEHOLDERS.contains(&from.get(1..end).unwrap_or_default()) {
                return Err(wrong());
            }
            rest = from.get(end + 1..).unwrap_or_default();
        }
        Ok(Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TopicTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters that MQTT forbids, or lets a broker end the connection for.
fn is_unwanted(c: char) -> bool {
    let code = u32::from(c);
    c.is_control() || (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}

fn length(text: &str) -> Result<(), TopicError> {
    let fits = (1..=MQTT_TOPIC_BYTES_MAX).contains(&text.len()) && !text.contains(is_unwanted);
    if fits { Ok(()) } else { Err(TopicError::Length) }
}

/// Checks the name of a Kafka topic.
///
/// # Errors
/// Says what was expected.
pub fn kafka_topic(text: &str) -> Result<(), TopicError> {
    let letters = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    let fits = (1..=KAFKA_TOPIC_BYTES_MAX).contains(&text.len()) && text != "." && text != "..";
    if letters && fits { Ok(()) } else { Err(TopicError::Kafka) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wildcards_stand_only_as_whole_levels_and_the_hash_at_the_end() {
        for text in ["a", "a/b", "/", "+", "#", "a/+/c", "+/+", "a/#", "/#", "$SYS/#", "$share/g/a/+", "a b/é"] {
            assert_eq!(TopicFilter::parse(text).map(|f| f.to_string()).as_deref(), Ok(text));
        }
        for (text, error) in [
            ("", TopicError::Length),
            ("a\0", TopicError::Length),
            ("a\u{fffe}", TopicError::Length),
            ("a/b+", TopicError::Plus),
            ("++", TopicError::Plus),
            ("#/a", TopicError::Hash),
            ("a#", TopicError::Hash),
            ("a/##", TopicError::Hash),
            ("$share/g", TopicError::Share),
            ("$share//a", TopicError::Share),
            ("$share/+/a", TopicError::Share),
        ] {
            assert_eq!(TopicFilter::parse(text), Err(error), "{text}");
        }
        assert_eq!(TopicFilter::parse(&"x".repeat(MQTT_TOPIC_BYTES_MAX + 1)), Err(TopicError::Length));
    }

    #[test]
    fn a_template_holds_known_placeholders_and_no_wildcard() {
        for text in ["verdicts", "v/{decision}/{key}", "{source}", "{key}{key}"] {
            assert_eq!(TopicTemplate::parse(text).map(|t| t.to_string()).as_deref(), Ok(text));
        }
        for text in ["v/{decisions}", "v/{}", "v/{key", "v/key}", "{{key}}", "v/{Key}"] {
            assert!(matches!(TopicTemplate::parse(text), Err(TopicError::Placeholder(_))), "{text}");
        }
        assert_eq!(TopicTemplate::parse("v/+"), Err(TopicError::Wildcard));
        assert_eq!(TopicTemplate::parse(""), Err(TopicError::Length));
    }

    #[test]
    fn a_loop_from_sink_to_source_is_seen() {
        let may = |filter: &str, template: &str| {
            TopicFilter::parse(filter).unwrap().may_take(&TopicTemplate::parse(template).unwrap())
        };
        for (filter, template) in
            [("#", "v"), ("v/#", "v/a"), ("v/#", "v"), ("v/+", "v/{key}"), ("a/b", "{source}"), ("$share/g/v", "v")]
        {
            assert!(may(filter, template), "{filter} {template}");
        }
        for (filter, template) in [("v/+", "w/a"), ("v/+", "v"), ("v", "v/a"), ("events/#", "verdicts/{key}")] {
            assert!(!may(filter, template), "{filter} {template}");
        }
    }

    #[test]
    fn a_topic_of_kafka_has_plain_letters() {
        for text in ["verdicts", "a.b_c-D1", "..."] {
            assert_eq!(kafka_topic(text), Ok(()), "{text}");
        }
        for text in ["", ".", "..", "a b", "a/b", "é", &"x".repeat(KAFKA_TOPIC_BYTES_MAX + 1)] {
            assert_eq!(kafka_topic(text), Err(TopicError::Kafka), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_keeps_the_rules(text in "[a+#/{}$ékey]*") {
            if TopicFilter::parse(&text).is_ok() {
                let levels: Vec<&str> = text.split('/').collect();
                let last = levels.len() - 1;
                let plus = levels.iter().all(|l| !l.contains('+') || *l == "+");
                prop_assert!(plus);
                prop_assert!(levels.iter().enumerate().all(|(n, l)| !l.contains('#') || (*l == "#" && n == last)));
            }
            if TopicTemplate::parse(&text).is_ok() {
                let filled = text.replace("{key}", "k").replace("{decision}", "d").replace("{source}", "s");
                let plain = !filled.contains(['+', '#', '{', '}']);
                prop_assert!(plain);
                let filter = TopicFilter::parse(&filled).unwrap();
                prop_assert!(filter.may_take(&TopicTemplate::parse(&text).unwrap()));
            }
            let _ = kafka_topic(&text);
        }
    }
}
