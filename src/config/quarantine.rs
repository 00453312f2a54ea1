//! `[quarantine]`: what is kept of records that were refused.

use super::{Key, Kind, Preset, Size, section::Section};

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
    "Keep the bytes of a refused record; false keeps only its reason, source, id and length.",
);
pub(super) const KEYS: &[Key] = &[LIMIT, PAYLOAD];

pub(super) fn read(section: &mut Section<'_>) -> Quarantine {
    Quarantine { limit: section.size(&LIMIT), payload: section.bool(&PAYLOAD) }
}
