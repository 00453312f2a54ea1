//! `[dedup]`: how long an event is remembered.

use super::{Key, Kind, Period, Preset, section::Section};

/// What gives way when the disk budget is reached by delivered events still in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The window, with an alarm.
    #[default]
    Shorten,
    /// The sender: nothing new is taken.
    Refuse,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dedup {
    pub window: Period,
    pub when_full: WhenFull,
}

pub(super) const WINDOW: Key = Key::new(
    "window",
    Kind::Period { min: Period::seconds(1), max: Period::days(3_650) },
    Preset::Default("\"7 d\""),
    "How long a repeat gets the first answer. The memory budget bounds it as well: see `verdictd check`.",
);
pub(super) const WHEN_FULL: Key = Key::new(
    "when-full",
    Kind::OneOf(&["shorten", "refuse"]),
    Preset::Default("\"shorten\""),
    "Disk budget reached by delivered events in the window: \"shorten\" the window, with an alarm, or \"refuse\" events.",
);
pub(super) const KEYS: &[Key] = &[WINDOW, WHEN_FULL];

pub(super) fn read(section: &mut Section<'_>) -> Dedup {
    Dedup {
        window: section.period(&WINDOW).unwrap_or_default(),
        when_full: section.one_of(&WHEN_FULL, &[WhenFull::Shorten, WhenFull::Refuse]).unwrap_or_default(),
    }
}
