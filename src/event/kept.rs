//! An event written down again, with no more of it than its identity and the fields that models read: what is kept for
//! a replay through another model.
//!
//! The line is a structured CloudEvent, so that every decoder reads it by itself: `id`, `source`, `time` and
//! `partitionkey` are the event's, and `data` holds the fields where their pointers look for them. A list or an object
//! that no feature can use stands there empty; what stood in a list stands in an object under its place.
//!
//! **Secrets.** Where the event's key is an HMAC, the field that it was made of never stands in a line: the HMAC does in
//! its place, which groups events alike; of a key out of several fields nothing does.

use super::{Event, EventBatch, Field, Pointer, Timestamp};
use std::collections::BTreeMap;

/// The type of such an event.
pub const KEPT_TYPE: &str = "verdictd.event.v1";

/// Where fields stand in the line: made once for the fields of a model.
#[derive(Debug, Default)]
pub struct KeptForm {
    /// Of its own: a handle on the batch's would say that more batches for these models can come.
    pointers: Box<[Pointer]>,
    root: Node,
}

/// A member of the data: a field's, or what stands below it.
#[derive(Debug, Default)]
struct Node {
    /// Its place among the fields.
    field: Option<usize>,
    /// By name.
    members: BTreeMap<String, Node>,
}

impl KeptForm {
    /// The form for the events of a batch, taken over from `self` where it is the same.
    pub fn follow(&mut self, batch: &EventBatch) {
        let Some(columns) = &batch.columns else { return };
        if *self.pointers == **columns {
            return;
        }
        let mut root = Node::default();
        for (place, pointer) in columns.iter().enumerate().filter(|(_, pointer)| !pointer.parts().is_empty()) {
            let parts = pointer.parts().iter();
            let node = parts.fold(&mut root, |node, part| node.members.entry(part.clone()).or_default());
            node.field = Some(place);
        }
        *self = Self { pointers: columns.iter().cloned().collect(), root };
    }

    /// Appends the event, without a line end.
    pub fn write(&self, batch: &EventBatch, event: &Event, out: &mut Vec<u8>) {
        let columns = &self.pointers;
        let line = Line { batch, event, columns, fields: batch.fields_of(event, columns.len()) };
        let text = |name: &str, text: &str, out: &mut Vec<u8>| {
            out.extend_from_slice(name.as_bytes());
            write_text(text, out);
        };
        text("{\"specversion\":\"1.0\",\"type\":", KEPT_TYPE, out);
        text(",\"source\":", batch.str(event.source), out);
        text(",\"id\":", batch.str(event.id), out);
        out.extend_from_slice(b",\"time\":\"");
        Timestamp(event.time_us).write(out);
        out.push(b'"');
        if let Some(key) = event.key {
            text(",\"partitionkey\":", batch.str(key), out);
        }
        out.extend_from_slice(b",\"data\":");
        if !line.write(&self.root, out) {
            out.extend_from_slice(b"{}");
        }
        out.push(b'}');
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    // Into memory: it cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// One event on its way into its line.
struct Line<'a> {
    batch: &'a EventBatch,
    event: &'a Event,
    columns: &'a [Pointer],
    fields: &'a [Field],
}

impl Line<'_> {
    /// Whether there is anything of it; else nothing was written.
    fn write(&self, node: &Node, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let mut some = false;
        for (name, member) in &node.members {
            let before = out.len();
            out.push(if some { b',' } else { b'{' });
            write_text(name, out);
            out.push(b':');
            if self.write(member, out) {
                some = true;
            } else {
                out.truncate(before);
            }
        }
        if some {
            out.push(b'}');
            return true;
        }
        out.truncate(start);
        node.field.is_some_and(|place| self.field(place, out))
    }

    fn field(&self, place: usize, out: &mut Vec<u8>) -> bool {
        let is_secret = self.columns.get(place).is_some_and(|column| self.batch.secrets.contains(column));
        match self.fields.get(place) {
            None | Some(Field::Missing) => return false,
            Some(_) if is_secret => {
                let key = self.event.key.filter(|_| self.batch.secrets.len() == 1);
                return key.is_some_and(|key| {
                    write_text(self.batch.str(key), out);
                    true
                });
            }
            Some(Field::Null) => out.extend_from_slice(b"null"),
            Some(Field::Bool(value)) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            // The shortest text that reads back as the same number.
            Some(Field::Number(value)) if value.is_finite() => {
                let _ = serde_json::to_writer(&mut *out, value);
            }
            Some(Field::Number(value)) => out.extend_from_slice(if *value > 0.0 { b"1e999" } else { b"-1e999" }),
            Some(Field::Text(text)) => write_text(self.batch.str(*text), out),
            Some(Field::Composite) => out.extend_from_slice(b"{}"),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Decoder, Form, IdentityRules, Item, KeyRule, SourceRule, TimeForm};
    use bytes::Bytes;
    use proptest::prelude::*;

    fn decoder(key: KeyRule, fields: &[&str]) -> Decoder {
        let pointer = |text: &str| Pointer::parse(text).unwrap();
        let rules = IdentityRules {
            id: pointer("/id"),
            time: pointer("/time"),
            time_form: TimeForm::Any,
            source: SourceRule::Fixed("pos".to_owned()),
            key,
        };
        Decoder::new(rules, fields.iter().map(|text| pointer(text)).collect::<Vec<_>>(), 1 << 18, 7)
    }

    fn key(pointers: &[&str], hmac_key: Option<Vec<u8>>) -> KeyRule {
        KeyRule { pointers: pointers.iter().map(|text| Pointer::parse(text).unwrap()).collect(), hmac_key, fixed: None }
    }

    fn lines(batch: &EventBatch) -> Vec<String> {
        let mut form = KeptForm::default();
        form.follow(batch);
        let events = batch.items.iter().filter_map(|item| match item {
            Item::Event(event) => Some(event),
            _ => None,
        });
        let line = |event| {
            let mut out = Vec::new();
            form.write(batch, event, &mut out);
            String::from_utf8(out).unwrap()
        };
        events.map(line).collect()
    }

    fn kept(key: KeyRule, fields: &[&str], event: &str) -> String {
        let batch = decoder(key, fields).decode(&Form::Json, Bytes::from(event.to_owned()), 0);
        lines(&batch).pop().unwrap_or_else(|| panic!("{:?}", batch.items))
    }

    #[test]
    fn no_more_of_an_event_is_kept_than_its_identity_and_the_fields_that_are_read() {
        let event = r#"{"id":"7","time":"2018-04-01T00:00:31Z","card":"c","amount":57.16,"name":"Jo","deep":{"a":[1,{"b":true}],"x":null}}"#;
        let line = kept(key(&["/card"], None), &["/amount", "/deep/a/1/b", "/deep", "/deep/x", "/none"], event);
        assert_eq!(
            line,
            r#"{"specversion":"1.0","type":"verdictd.event.v1","source":"pos","id":"7","time":"2018-04-01T00:00:31Z","partitionkey":"c","data":{"amount":57.16,"deep":{"a":{"1":{"b":true}},"x":null}}}"#
        );
    }

    #[test]
    fn what_a_secret_key_was_made_of_is_never_kept() {
        let event = r#"{"id":"7","time":0,"pan":"4929123412341234","amount":1}"#;
        let line = kept(key(&["/pan"], Some(vec![1; 32])), &["/pan", "/amount"], event);
        assert!(!line.contains("4929") && line.contains(r#""amount":1.0,"pan":""#), "{line}");
        let line = kept(key(&["/pan", "/amount"], Some(vec![1; 32])), &["/pan", "/amount"], event);
        assert!(!line.contains("4929") && line.ends_with(r#""data":{}}"#), "{line}");
    }

    fn values() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<f64>()
                .prop_filter("JSON has no other", |value| value.is_finite())
                .prop_map(|value| format!("{value:?}")),
            any::<i64>().prop_map(|value| value.to_string()),
            ".{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("[1,2]".to_owned()),
            Just(r#"{"z":1}"#.to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn a_kept_event_is_read_as_what_it_was(
            (a, b, c) in (values(), values(), values()),
            (id, name, time_us) in ("[^\u{0}]{1,20}", ".{1,20}", -60_000_000_000_000_000_i64..250_000_000_000_000_000),
        ) {
            let fields = ["/a", "/deep/b", "/list/1", "/none"];
            let mut time = Vec::new();
            Timestamp(time_us).write(&mut time);
            let time = String::from_utf8(time).unwrap();
            let quoted = |text: &str| serde_json::to_string(text).unwrap();
            let event = format!(
                r#"{{"id":{},"time":"{time}","key":{},"a":{a},"deep":{{"b":{b}}},"list":[0,{c}]}}"#,
                quoted(&id), quoted(&name)
            );
            let decoder = decoder(key(&["/key"], None), &fields);
            let first = decoder.decode(&Form::Json, Bytes::from(event), 0);
            let line = lines(&first).pop().unwrap();
            let second = decoder.decode(&Form::CloudEvent, Bytes::from(line.clone()), 0);
            let [Item::Event(was)] = first.items.as_slice() else { panic!("{:?}", first.items) };
            let [Item::Event(is)] = second.items.as_slice() else { panic!("{line}: {:?}", second.items) };
            prop_assert_eq!((was.identity, was.time_us), (is.identity, is.time_us));
            prop_assert_eq!(was.key.map(|key| first.str(key)), is.key.map(|key| second.str(key)));
            let told = |batch: &EventBatch, event: &Event| {
                let field = |field: &Field| match field {
                    Field::Text(text) => format!("text {}", batch.str(*text)),
                    Field::Number(value) => format!("{:016x}", value.to_bits()),
                    other => format!("{other:?}"),
                };
                batch.fields_of(event, fields.len()).iter().map(field).collect::<Vec<_>>()
            };
            prop_assert_eq!(told(&first, was), told(&second, is));
            prop_assert_eq!(lines(&second).pop().unwrap(), line);
        }
    }
}
