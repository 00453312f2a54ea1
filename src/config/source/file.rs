//! Source `file`: one file that grows, followed through its rotations.

use super::{CONTENT, of_type};
use crate::config::{
    Format, Key, Kind, Period, Preset,
    format::{self, CSV, FORMAT},
    mapping::EVENT,
    section::Section,
};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSource {
    pub path: PathBuf,
    pub format: Format,
    pub start: FileStart,
    pub poll_interval: Period,
    /// How long a renamed file must have been quiet before the next one is begun.
    pub rotate_wait: Period,
}

/// Where a file begins that was never read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStart {
    Beginning,
    End,
}

const TYPE: Key = of_type("\"file\"");
const PATH: Key = Key::new(
    "path",
    Kind::AbsolutePath,
    Preset::Required("\"/var/log/terminal/events.ndjson\""),
    "The file; it may be rotated by a rename or by copy and truncate, and need not exist yet.",
);
const START: Key = Key::new(
    "start",
    Kind::OneOf(&["beginning", "end"]),
    Preset::Default("\"beginning\""),
    "Where to begin with a file that was never read: at its beginning, or with what is appended from then on.",
);
const POLL_INTERVAL: Key = Key::new(
    "poll-interval",
    Kind::Period { min: Period::milliseconds(10), max: Period::seconds(3600) },
    Preset::Default("\"50 ms\""),
    "How often new bytes are looked for.",
);
const ROTATE_WAIT: Key = Key::new(
    "rotate-wait",
    Kind::Period { min: Period::milliseconds(0), max: Period::seconds(3600) },
    Preset::Default("\"2 s\""),
    "How long a file that was renamed must have been quiet before the next one is begun.",
);
pub(in crate::config) const KEYS: &[Key] =
    &[TYPE, PATH, FORMAT, CSV, START, POLL_INTERVAL, ROTATE_WAIT, CONTENT, EVENT];

pub(super) fn read(section: &mut Section<'_>) -> Option<FileSource> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    let path = section.absolute_path(&PATH);
    let format = format::read(section);
    let start = section.one_of(&START, &[FileStart::Beginning, FileStart::End]);
    if path.as_ref().is_some_and(|path| path.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with('/'))
    {
        section.fault(&PATH, "expected the path of a file, found that of a folder");
    }
    let (poll_interval, rotate_wait) = (section.period(&POLL_INTERVAL), section.period(&ROTATE_WAIT));
    Some(FileSource {
        path: path?,
        format: format?,
        start: start?,
        poll_interval: poll_interval?,
        rotate_wait: rotate_wait?,
    })
}
