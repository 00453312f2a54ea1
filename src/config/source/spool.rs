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
    pub poll_interval: Period,
}

/// What becomes of a file whose events are all committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// To `done/` in the folder.
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
    "A file that is taken is moved to done/ in the folder, which something else must clear, or deleted.",
);
const POLL_INTERVAL: Key = Key::new(
    "poll-interval",
    Kind::Period { min: Period::milliseconds(10), max: Period::seconds(3600) },
    Preset::Default("\"1 s\""),
    "How often the folder is looked at while it is empty.",
);
pub(in crate::config) const KEYS: &[Key] = &[TYPE, PATH, FORMAT, CSV, AFTER, POLL_INTERVAL, CONTENT, EVENT];

pub(super) fn read(section: &mut Section<'_>) -> Option<SpoolSource> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    let path = section.absolute_path(&PATH);
    let format = format::read(section);
    let after = section.one_of(&AFTER, &[After::Move, After::Delete]);
    let poll_interval = section.period(&POLL_INTERVAL);
    Some(SpoolSource { path: path?, format: format?, after: after?, poll_interval: poll_interval? })
}
