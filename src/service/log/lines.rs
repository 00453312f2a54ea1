//! The forms on stderr: a line for people, a JSON object for programs.

use super::message::Message;
use jiff::Timestamp;
use serde_json::Value;
use std::fmt::Write;
use std::time::SystemTime;
use tracing::Level;

/// `time LEVEL text name=value … [kind]`, with its line end.
pub(super) fn text(message: &Message, colour: bool) -> String {
    let level = message.level.as_str();
    let mut line = if colour {
        let code = match message.level {
            Level::ERROR => 31,
            Level::WARN => 33,
            Level::INFO => 32,
            _ => 34,
        };
        format!("\x1b[2m{}\x1b[0m \x1b[{code}m{level:>5}\x1b[0m ", time(message.at))
    } else {
        format!("{} {level:>5} ", time(message.at))
    };
    put_shown(&mut line, &message.text);
    for (name, value) in &message.fields {
        match value {
            Value::String(text) if is_plain(text) => drop(write!(line, " {name}={text}")),
            // As JSON has it: in quotes, and what is no letter escaped.
            value => drop(write!(line, " {name}={value}")),
        }
    }
    if let Some(notice) = message.kind {
        let _ = write!(line, " [{}]", notice.kind);
    }
    line.push('\n');
    line
}

/// One object: `timestamp`, `level`, `kind`, `message` and the fields beside them; with its line end.
pub(super) fn json(message: &Message) -> String {
    let (time, level, text) = (time(message.at), message.level, Value::from(message.text.as_str()));
    let mut line = format!("{{\"timestamp\":\"{time}\",\"level\":\"{level}\",");
    if let Some(notice) = message.kind {
        let _ = write!(line, "\"kind\":\"{}\",", notice.kind);
    }
    let _ = write!(line, "\"message\":{text}");
    for (name, value) in &message.fields {
        let _ = write!(line, ",\"{name}\":{value}");
    }
    line.push_str("}\n");
    line
}

fn time(at: SystemTime) -> String {
    Timestamp::try_from(at).map_or_else(|_| "-".to_owned(), |at| format!("{at:.3}"))
}

/// The text on one line: others write part of it, so control characters are escaped.
fn put_shown(line: &mut String, text: &str) {
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '=')
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::message;
    use super::*;
    use crate::notice;

    #[test]
    fn a_message_is_one_line_in_either_form() {
        let fields = [("sink", "bank".into()), ("error", "no\nroute \u{1b}[31m".into()), ("sequence", 7.into())];
        let message = message(&notice::SINK_DOWN, "the sink\nfails", &fields);
        assert_eq!(
            text(&message, false),
            "1970-01-01T00:00:00.000Z  WARN the sink\\nfails sink=bank error=\"no\\nroute \\u001b[31m\" sequence=7 \
             [sink-down]\n"
        );
        let object: Value = serde_json::from_str(&json(&message)).unwrap();
        let line = json(&message);
        assert!(
            line.starts_with("{\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"level\":\"WARN\",\"kind\":\"sink-down\",")
        );
        assert_eq!(line.lines().count(), 1);
        let expected = serde_json::json!({
            "timestamp": "1970-01-01T00:00:00.000Z", "level": "WARN", "kind": "sink-down",
            "message": "the sink\nfails", "sink": "bank", "error": "no\nroute \u{1b}[31m", "sequence": 7,
        });
        assert_eq!(object, expected);
    }

    #[test]
    fn colour_marks_the_level_alone() {
        let line = text(&message(&notice::SINK_BLOCKED, "x", &[]), true);
        assert_eq!(line, "\x1b[2m1970-01-01T00:00:00.000Z\x1b[0m \x1b[31mERROR\x1b[0m x [sink-blocked]\n");
    }
}
