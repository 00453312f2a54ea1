//! `[replay]`: what is kept of events, so that another model can be tried over them.

use super::{Key, Kind, Period, Preset, Size, section::Section};
use crate::event::Pointer;

/// Most fields named beside those that models read.
pub const FIELDS_MAX: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// How long; None: nothing is kept.
    pub keep: Option<Period>,
    /// Fields beside those that the models read.
    pub fields: Vec<Pointer>,
    /// Over it the oldest go.
    pub disk: Size,
}

pub(super) const KEEP: Key = Key::new(
    "keep",
    Kind::Period { min: Period::seconds(1), max: Period::days(400) },
    Preset::Optional("\"30 d\"", "nothing is kept"),
    "How long the fields that models read stay in the store, for `backtest` and `store kept`. They are people's data: set \
     it only where that is allowed.",
);
pub(super) const FIELDS: Key = Key::new(
    "fields",
    Kind::Texts,
    Preset::Optional("[\"/MCC\"]", "those that the models read"),
    "JSON pointers of further fields to keep, for models that are still to come.",
);
pub(super) const DISK: Key = Key::new(
    "disk",
    Kind::Size { min: Size::mib(1), max: Size::gib(1024) },
    Preset::Default("\"256 MiB\""),
    "Room for them, part of limits.disk while they are kept. Over it, and where the disk budget is nearly reached, the oldest go.",
);
pub(super) const KEYS: &[Key] = &[KEEP, FIELDS, DISK];

pub(super) fn read(section: &mut Section<'_>) -> Replay {
    let keep = section.period(&KEEP);
    let fields = section.texts_as(&FIELDS, FIELDS_MAX, Pointer::parse).unwrap_or_default();
    Replay { keep, fields, disk: section.size(&DISK) }
}
