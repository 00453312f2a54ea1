//! `event.time`: where an event's time stands and how it is written.

use super::{
    node::{Node, Value},
    section::{Expected, pointer},
    suggest::suggest,
};
use crate::event::{Pointer, TimeForm};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeMapping {
    pub pointer: Pointer,
    pub form: TimeForm,
}

/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 256;

/// Reads a pointer, or a table of pointer, format and zone; or what was expected.
pub(super) fn time_mapping(node: &Node) -> Result<TimeMapping, Expected> {
    match &node.value {
        Value::Text(text) => Ok(TimeMapping { pointer: pointer(text)?, form: TimeForm::Any }),
        Value::Table(table) => {
            let known = ["pointer", "format", "zone"];
            if let Some((other, entry)) = table.iter().find(|(name, _)| !known.contains(&name.as_str())) {
                let hint = suggest(other, &known).replace(';', ",");
                let part = Some((String::new(), entry.key.clone(), other.clone()));
                return Err(Expected { text: format!("only pointer, format and zone in it{hint}"), part });
            }
            let member = |name: &str| table.get(name).map(|entry| &entry.node);
            let of = |name: &str, node: &Node, text: String| Expected::of(&format!(".{name}"), node, text);
            let text = |name: &str| match member(name) {
                Some(Node { value: Value::Text(text), .. }) if text.len() <= PATTERN_BYTES_MAX => {
                    Ok(Some(text.as_str()))
                }
                Some(other) => Err(of(name, other, format!("a text of at most {PATTERN_BYTES_MAX} bytes"))),
                None => Ok(None),
            };
            let at = text("pointer")?.ok_or_else(|| "pointer = \"/time\" in it".to_owned())?;
            let pointer = pointer(at).map_err(|_| match member("pointer") {
                Some(node) => of("pointer", node, "a JSON pointer, as in \"/time\"".to_owned()),
                None => String::new().into(),
            })?;
            let form = match (text("format")?, text("zone")?) {
                (Some(format), zone) => TimeForm::parse(format, zone).map_err(|expected| {
                    // Alone the pattern is good where the zone is at fault.
                    let name = if TimeForm::parse(format, None).is_ok() { "zone" } else { "format" };
                    match member(name) {
                        Some(node) => of(name, node, expected),
                        None => expected.into(),
                    }
                })?,
                (None, None) => TimeForm::Any,
                (None, Some(_)) => return Err("zone only beside a pattern as format".to_owned().into()),
            };
            Ok(TimeMapping { pointer, form })
        }
        _ => Err(String::new().into()),
    }
}
