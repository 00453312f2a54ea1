//! Sink `file`: verdicts appended to a file, one a line.

use super::{DECISIONS, ENCODING, START, of_type};
use crate::config::{Key, Kind, Period, Preset, Size, section::Section};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSink {
    pub path: PathBuf,
    pub rotate_size: Size,
    pub rotate_age: Period,
    /// Rotated files that are kept; 0: all.
    pub keep: usize,
    /// How long lines may gather before they are synced and confirmed.
    pub sync_interval: Period,
}

const TYPE: Key = of_type("\"file\"");
const PATH: Key = Key::new(
    "path",
    Kind::AbsolutePath,
    Preset::Required("\"/var/lib/verdictd/verdicts/verdicts.ndjson\""),
    "The file, one verdict a line. Rotated files keep the stem: verdicts-….ndjson.",
);
const ROTATE_SIZE: Key = Key::new(
    "rotate-size",
    Kind::Size { min: Size::kib(64), max: Size::gib(1024) },
    Preset::Default("\"64 MiB\""),
    "A file that reaches it is rotated.",
);
const ROTATE_AGE: Key = Key::new(
    "rotate-age",
    Kind::Period { min: Period::seconds(1), max: Period::days(3_650) },
    Preset::Default("\"1 d\""),
    "A file that is older is rotated, unless it is empty.",
);
const KEEP: Key = Key::new(
    "keep",
    Kind::Integer { min: 0, max: 1_000_000 },
    Preset::Default("0"),
    "Rotated files that are kept, the newest; older ones are deleted. 0: all are kept, and something else must clear them.",
)
.starting_with("30");
const SYNC_INTERVAL: Key = Key::new(
    "sync-interval",
    Kind::Period { min: Period::milliseconds(0), max: Period::seconds(60) },
    Preset::Default("\"10 ms\""),
    "How long lines may gather before one fdatasync confirms them. It delays no answer.",
);
pub(in crate::config) const KEYS: &[Key] =
    &[TYPE, PATH, ROTATE_SIZE, ROTATE_AGE, KEEP, SYNC_INTERVAL, ENCODING, DECISIONS, START];

pub(super) fn read(section: &mut Section<'_>) -> Option<FileSink> {
    section.one_of(&TYPE, super::SINK_TYPES);
    let path = section.absolute_path(&PATH);
    let (rotate_size, rotate_age) = (section.size(&ROTATE_SIZE), section.period(&ROTATE_AGE));
    let keep = usize::try_from(section.integer(&KEEP)).unwrap_or_default();
    let sync_interval = section.period(&SYNC_INTERVAL);
    if path.as_ref().is_some_and(|path| path.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with('/'))
    {
        section.fault(&PATH, "expected the path of a file, found that of a folder");
    }
    Some(FileSink { path: path?, rotate_size, rotate_age: rotate_age?, keep, sync_interval: sync_interval? })
}
