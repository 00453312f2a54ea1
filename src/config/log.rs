//! `[log]`: what is logged, and where.

use super::{Key, Kind, Preset, section::Section};

/// Least level that is written; what an operator must do: error at once, warn soon, info nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The journal where stderr is connected to it, text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    Text,
    Json,
    Journal,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub level: LogLevel,
    pub format: LogFormat,
}

impl LogLevel {
    /// As a filter writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

pub(super) const LEVEL: Key = Key::new(
    "level",
    Kind::OneOf(&["error", "warn", "info", "debug", "trace"]),
    Preset::Default("\"info\""),
    "Least level written. Lines for single events come only at debug.",
);
pub(super) const FORMAT: Key = Key::new(
    "format",
    Kind::OneOf(&["auto", "text", "json", "journal"]),
    Preset::Default("\"auto\""),
    "\"auto\": the journal where stderr is connected to it, text on a terminal, JSON elsewhere.",
);
pub(super) const KEYS: &[Key] = &[LEVEL, FORMAT];

pub(super) fn read(section: &mut Section<'_>) -> Log {
    use LogFormat::{Auto, Journal, Json, Text};
    use LogLevel::{Debug, Error, Info, Trace, Warn};
    Log {
        level: section.one_of(&LEVEL, &[Error, Warn, Info, Debug, Trace]).unwrap_or_default(),
        format: section.one_of(&FORMAT, &[Auto, Text, Json, Journal]).unwrap_or_default(),
    }
}
