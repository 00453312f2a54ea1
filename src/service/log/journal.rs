//! The form in the journal: each field of a message a field there.
//!
//! `MESSAGE`, `PRIORITY`, `MESSAGE_ID` and `VERDICTD_KIND` of its kind, `CODE_FILE`, `CODE_LINE`, `TARGET`, and the
//! message's own in upper case: `SOURCE`, `SINK`, `EVENT_ID`, `SEQUENCE`, `ERROR`, … Names that the journal does not
//! take are escaped by the client.

use super::message::Message;
use log::kv::{self, Key, Value, VisitSource};
use std::io;
use systemd_journal_logger::JournalLog;
use tracing::Level;

/// The name that `journalctl -t` finds.
const IDENTIFIER: &str = "verdictd";

/// Connects to the journal of this machine.
///
/// # Errors
/// When nobody listens there.
pub(super) fn connect() -> io::Result<JournalLog> {
    Ok(JournalLog::empty()?.with_syslog_identifier(IDENTIFIER.to_owned()))
}

/// Hands a message over; returns when the journal has it.
///
/// # Errors
/// When the journal cannot be reached just now.
pub(super) fn send(journal: &JournalLog, message: &Message) -> io::Result<()> {
    let level = match message.level {
        Level::ERROR => log::Level::Error,
        Level::WARN => log::Level::Warn,
        Level::INFO => log::Level::Info,
        Level::DEBUG => log::Level::Debug,
        Level::TRACE => log::Level::Trace,
    };
    let fields = Fields(message);
    let mut record = log::Record::builder();
    record.level(level).target(message.target).file_static(message.file).line(message.line).key_values(&fields);
    journal.journal_send(&record.args(format_args!("{}", message.text)).build())
}

struct Fields<'a>(&'a Message);

impl kv::Source for Fields<'_> {
    fn visit<'kvs>(&'kvs self, visitor: &mut dyn VisitSource<'kvs>) -> Result<(), kv::Error> {
        if let Some(notice) = self.0.kind {
            visitor.visit_pair(Key::from_str("MESSAGE_ID"), Value::from(notice.id))?;
            visitor.visit_pair(Key::from_str("VERDICTD_KIND"), Value::from(notice.kind))?;
        }
        for (name, value) in &self.0.fields {
            let value = match value {
                serde_json::Value::String(text) => Value::from(text.as_str()),
                other => Value::from_display(other),
            };
            visitor.visit_pair(Key::from_str(name), value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::message;
    use super::*;
    use crate::notice;

    #[test]
    fn the_kinds_id_and_the_fields_are_handed_over() {
        struct Seen(Vec<(String, String)>);
        impl<'kvs> VisitSource<'kvs> for Seen {
            fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
                self.0.push((key.to_string(), value.to_string()));
                Ok(())
            }
        }
        let message = message(&notice::SINK_POISON, "set aside", &[("sink", "bank".into()), ("sequence", 7.into())]);
        let mut seen = Seen(Vec::new());
        kv::Source::visit(&Fields(&message), &mut seen).unwrap();
        let expected = [
            ("MESSAGE_ID", notice::SINK_POISON.id),
            ("VERDICTD_KIND", "sink-poison"),
            ("sink", "bank"),
            ("sequence", "7"),
        ];
        assert_eq!(seen.0, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
