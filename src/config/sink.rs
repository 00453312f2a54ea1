//! `[sinks.NAME]`: where verdicts go.

use super::{Key, Kind, Period, Preset, Size, section::Section};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sink {
    pub name: String,
    pub encoding: Encoding,
    /// None: every verdict; else only those with one of these decisions, the others are passed over.
    pub decisions: Option<Vec<String>>,
    pub start: Start,
    pub kind: SinkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkKind {
    File(FileSink),
}

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    #[default]
    Json,
    CloudEvents,
}

/// Where a sink that is new in the config begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    Oldest,
    Newest,
}

/// The types of this version.
pub const SINK_TYPES: &[&str] = &["file"];
pub(super) const SINK_TYPES_LATER: &[&str] = &["kafka", "mqtt", "postgres", "http"];

pub(super) const TYPE: Key = Key::new("type", Kind::OneOf(SINK_TYPES), Preset::Required("\"file\""), "Where they go.");
pub(super) const PATH: Key = Key::new(
    "path",
    Kind::AbsolutePath,
    Preset::Required("\"/var/lib/verdictd/verdicts/verdicts.ndjson\""),
    "The file, one verdict a line. Rotated files keep the stem: verdicts-….ndjson.",
);
pub(super) const ROTATE_SIZE: Key = Key::new(
    "rotate-size",
    Kind::Size { min: Size::kib(64), max: Size::gib(1024) },
    Preset::Default("\"64 MiB\""),
    "A file that reaches it is rotated.",
);
pub(super) const ROTATE_AGE: Key = Key::new(
    "rotate-age",
    Kind::Period { min: Period::seconds(1), max: Period::days(3_650) },
    Preset::Default("\"1 d\""),
    "A file that is older is rotated, unless it is empty.",
);
pub(super) const KEEP: Key = Key::new(
    "keep",
    Kind::Integer { min: 0, max: 1_000_000 },
    Preset::Default("0"),
    "Rotated files that are kept, the newest; older ones are deleted. 0: all are kept, and something else must clear them.",
)
.starting_with("30");
pub(super) const SYNC_INTERVAL: Key = Key::new(
    "sync-interval",
    Kind::Period { min: Period::milliseconds(0), max: Period::seconds(60) },
    Preset::Default("\"10 ms\""),
    "How long lines may gather before one fdatasync confirms them. It delays no answer.",
);
pub(super) const ENCODING: Key = Key::new(
    "encoding",
    Kind::OneOf(&["json", "cloudevents"]),
    Preset::Default("\"json\""),
    "The verdict itself, or the verdict in a CloudEvents envelope.",
);
pub(super) const DECISIONS: Key = Key::new(
    "decisions",
    Kind::Texts,
    Preset::Optional("[\"block\"]", "every verdict"),
    "Only verdicts with one of these decisions; others are passed over.",
);
pub(super) const START: Key = Key::new(
    "start",
    Kind::OneOf(&["oldest", "newest"]),
    Preset::Default("\"oldest\""),
    "Where a sink that is new here begins: with the oldest verdict kept, or with the next one made.",
);
pub(super) const FILE_KEYS: &[Key] =
    &[TYPE, PATH, ROTATE_SIZE, ROTATE_AGE, KEEP, SYNC_INTERVAL, ENCODING, DECISIONS, START];

/// None where something in it is faulty.
pub(super) fn read_file(section: &mut Section<'_>, name: &str) -> Option<Sink> {
    section.one_of(&TYPE, &[()]);
    let path = section.absolute_path(&PATH);
    let (rotate_size, rotate_age) = (section.size(&ROTATE_SIZE), section.period(&ROTATE_AGE));
    let keep = usize::try_from(section.integer(&KEEP)).unwrap_or_default();
    let sync_interval = section.period(&SYNC_INTERVAL);
    let encoding = section.one_of(&ENCODING, &[Encoding::Json, Encoding::CloudEvents]);
    let decisions = section.texts(&DECISIONS);
    let start = section.one_of(&START, &[Start::Oldest, Start::Newest]);
    if path.as_ref().is_some_and(|path| path.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with('/'))
    {
        section.fault(&PATH, "expected the path of a file, found that of a folder");
    }
    Some(Sink {
        name: name.to_owned(),
        encoding: encoding?,
        decisions,
        start: start?,
        kind: SinkKind::File(FileSink {
            path: path?,
            rotate_size,
            rotate_age: rotate_age?,
            keep,
            sync_interval: sync_interval?,
        }),
    })
}

/// What `init` calls a sink of a type.
pub(super) fn starter_name(_kind: &str) -> &'static str {
    "audit"
}
