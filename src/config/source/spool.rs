//! Source `spool`: a folder into which whole files are renamed.

use super::{CONTENT, of_type};
use crate::config::{
    Format, Key, Kind, Period, Preset,
    format::{self, CSV, FORMAT},
    mapping::EVENT,
    section::Section,
};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolSource {
    pub path: PathBuf,
    pub format: Format,
    pub after: After,
    /// Where files go that were taken; None: `done` in the folder.
    pub done: Option<PathBuf>,
    /// Where files go that cannot be taken; None: `failed` in the folder.
    pub failed: Option<PathBuf>,
    pub poll_interval: Period,
}

/// What becomes of a file whose events are all committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// To the folder `done`.
    Move,
    Delete,
}

const TYPE: Key = of_type("\"spool\"");
const PATH: Key = Key::new(
    "path",
    Kind::AbsolutePath,
    Preset::Required("\"/var/spool/verdictd\""),
    "The folder. Files are renamed into it when they are complete and taken in the order of their names.",
);
const AFTER: Key = Key::new(
    "after",
    Kind::OneOf(&["move", "delete"]),
    Preset::Default("\"move\""),
    "A file that was taken is moved to `done`, which something else must clear, or deleted.",
);
const DONE: Key = Key::new(
    "done",
    Kind::AbsolutePath,
    Preset::Optional("\"/var/spool/verdictd/done\"", "done/ in the folder"),
    "Where files go that were taken; on the same file system.",
);
const FAILED: Key = Key::new(
    "failed",
    Kind::AbsolutePath,
    Preset::Optional("\"/var/spool/verdictd/failed\"", "failed/ in the folder"),
    "Where files go that cannot be taken as a whole, with the reason beside them; on the same file system.",
);
const POLL_INTERVAL: Key = Key::new(
    "poll-interval",
    Kind::Period { min: Period::milliseconds(10), max: Period::seconds(3600) },
    Preset::Default("\"200 ms\""),
    "How often the folder is looked at.",
);
pub(in crate::config) const KEYS: &[Key] =
    &[TYPE, PATH, FORMAT, CSV, AFTER, DONE, FAILED, POLL_INTERVAL, CONTENT, EVENT];

pub(super) fn read(section: &mut Section<'_>) -> Option<SpoolSource> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    let path = section.absolute_path(&PATH);
    let format = format::read(section);
    let after = section.one_of(&AFTER, &[After::Move, After::Delete]);
    let (done, failed) = (section.absolute_path(&DONE), section.absolute_path(&FAILED));
    let poll_interval = section.period(&POLL_INTERVAL);
    if after == Some(After::Delete) && done.is_some() {
        section.fault(&DONE, "is for after = \"move\"");
    }
    Some(SpoolSource { path: path?, format: format?, after: after?, done, failed, poll_interval: poll_interval? })
}
