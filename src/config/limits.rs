//! `[limits]`: the budgets of the process and the bounds on what comes from outside.

use super::{Key, Kind, Period, Preset, Size, section::Section};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The whole process.
    pub memory: Size,
    /// The whole state-dir.
    pub disk: Size,
    /// One event.
    pub event: Size,
    /// One request body.
    pub request: Size,
    /// Open connections of all sources.
    pub connections: usize,
    /// For a request to arrive whole, and for an idle connection to send the next.
    pub timeout: Period,
}

pub(super) const MEMORY: Key = Key::new(
    "memory",
    Kind::Size { min: Size::mib(16), max: Size::gib(1024) },
    Preset::Default("\"64 MiB\""),
    "The whole process. `verdictd check` shows how it divides.",
);
pub(super) const DISK: Key = Key::new(
    "disk",
    Kind::Size { min: Size::mib(64), max: Size::gib(1024 * 1024) },
    Preset::Default("\"4 GiB\""),
    "The whole state-dir. What gives way when it is reached: `dedup.when-full`.",
);
pub(super) const EVENT: Key = Key::new(
    "event",
    Kind::Size { min: Size::kib(1), max: Size::mib(16) },
    Preset::Default("\"256 KiB\""),
    "One event. A greater one is refused and its head kept in quarantine.",
);
pub(super) const REQUEST: Key = Key::new(
    "request",
    Kind::Size { min: Size::kib(1), max: Size::mib(256) },
    Preset::Default("\"8 MiB\""),
    "One request body, however many events are in it.",
);
pub(super) const CONNECTIONS: Key = Key::new(
    "connections",
    Kind::Integer { min: 1, max: 65_536 },
    Preset::Default("256"),
    "Open connections of all sources together. One more is told 503 and closed.",
);
pub(super) const TIMEOUT: Key = Key::new(
    "timeout",
    Kind::Period { min: Period::milliseconds(100), max: Period::seconds(3600) },
    Preset::Default("\"30 s\""),
    "For a request to arrive whole; a slower client is cut off.",
);
pub(super) const KEYS: &[Key] = &[MEMORY, DISK, EVENT, REQUEST, CONNECTIONS, TIMEOUT];

pub(super) fn read(section: &mut Section<'_>) -> Limits {
    Limits {
        memory: section.size(&MEMORY),
        disk: section.size(&DISK),
        event: section.size(&EVENT),
        request: section.size(&REQUEST),
        connections: usize::try_from(section.integer(&CONNECTIONS)).unwrap_or_default(),
        timeout: section.period(&TIMEOUT).unwrap_or_default(),
    }
}
