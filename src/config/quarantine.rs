//! `[quarantine]`: what is kept of records that were refused.

use super::{Key, Kind, Preset, Size, node::Value, section::Section};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quarantine {
    /// Over it the oldest entries go, counted and warned of.
    pub limit: Size,
    /// Whether the record's bytes are kept beside the reason.
    pub payload: bool,
}

pub(super) const LIMIT: Key = Key::new(
    "limit",
    Kind::Size { min: Size::mib(1), max: Size::gib(1024) },
    Preset::Default("\"64 MiB\""),
    "Room for refused records, part of limits.disk. Over it the oldest go, with a warning.",
);
pub(super) const PAYLOAD: Key = Key::new(
    "payload",
    Kind::Bool,
    Preset::Default("true"),
    "Keep the bytes of a refused record. This version always does; false is refused.",
);
pub(super) const KEYS: &[Key] = &[LIMIT, PAYLOAD];

pub(super) fn read(section: &mut Section<'_>) -> Quarantine {
    let quarantine = Quarantine { limit: section.size(&LIMIT), payload: section.bool(&PAYLOAD) };
    // A promise about people's data must hold or be refused.
    if section.entry(PAYLOAD.name).is_some_and(|entry| matches!(entry.node.value, Value::Bool(false))) {
        section.fault(&PAYLOAD, "false is not in this version: the bytes of refused records are always kept");
    }
    quarantine
}
