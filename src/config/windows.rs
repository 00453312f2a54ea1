//! `[windows]`: the state of window features, for a model that has any.

use super::{Key, Kind, Period, Preset, Size, section::Section};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// What the state may take; None takes its share of limits.memory.
    pub memory: Option<Size>,
    /// How far an event may be behind the newest one and still have exact features; None: the model's longest window.
    pub lateness: Option<Period>,
}

pub(super) const MEMORY: Key = Key::new(
    "memory",
    Kind::Size { min: Size::mib(1), max: Size::gib(1024) },
    Preset::Optional("\"24 MiB\"", "a quarter of limits.memory, where the model has window features"),
    "What is held of the past for window features, part of limits.memory. When it is reached: see the guide to models.",
);
pub(super) const LATENESS: Key = Key::new(
    "lateness",
    Kind::Period { min: Period::seconds(1), max: Period::days(400) },
    Preset::Optional("\"1 d\"", "the model's longest window"),
    "How long beyond its windows the past is held, so that late events have exact features too. Less takes less memory.",
);
pub(super) const KEYS: &[Key] = &[MEMORY, LATENESS];

pub(super) fn read(section: &mut Section<'_>) -> Windows {
    let memory = section.size(&MEMORY);
    Windows { memory: (memory != Size::ZERO).then_some(memory), lateness: section.period(&LATENESS) }
}
