//! `event.time`: where an event's time stands and how it is written.

use super::{
    node::{Node, Value},
    section::pointer,
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
pub(super) fn time_mapping(node: &Node) -> Result<TimeMapping, String> {
    match &node.value {
        Value::Text(text) => Ok(TimeMapping { pointer: pointer(text)?, form: TimeForm::Any }),
        Value::Table(table) => {
            let known = ["pointer", "format", "zone"];
            if let Some(other) = table.keys().find(|k| !known.contains(&k.as_str())) {
                let hint = suggest(other, &known).replace(';', ",");
                return Err(format!("only pointer, format and zone in it, not {other}{hint},"));
            }
            let text = |name: &str| match table.get(name).map(|e| &e.node.value) {
                Some(Value::Text(text)) if text.len() <= PATTERN_BYTES_MAX => Ok(Some(text.as_str())),
                Some(_) => Err(format!("a text of at most {PATTERN_BYTES_MAX} bytes for {name}")),
                None => Ok(None),
            };
            let at = text("pointer")?.ok_or("pointer = \"/time\" in it")?;
            let pointer = pointer(at).map_err(|_| "a JSON pointer for pointer, as in \"/time\"".to_owned())?;
            let form = match (text("format")?, text("zone")?) {
                (Some(format), zone) => TimeForm::parse(format, zone).map_err(|expected| match zone {
                    Some(zone) => format!("{expected} (format {format:?}, zone {zone:?})"),
                    None => format!("{expected} for format, not {format:?}"),
                })?,
                (None, None) => TimeForm::Any,
                (None, Some(_)) => return Err("zone only beside a pattern as format".to_owned()),
            };
            Ok(TimeMapping { pointer, form })
        }
        _ => Err(String::new()),
    }
}
