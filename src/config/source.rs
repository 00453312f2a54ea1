//! `[sources.NAME]`: where events come in.

use super::{
    Endpoint, EventMapping, Key, Kind, Preset,
    endpoint::{self, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE},
    mapping,
    section::Section,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub event: EventMapping,
    pub kind: SourceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    Http(Endpoint),
}

/// The types of this version.
pub const SOURCE_TYPES: &[&str] = &["http"];
/// Types that a later version may have: named so that the error can say it is no slip of the pen.
pub(super) const SOURCE_TYPES_LATER: &[&str] = &["socket", "mqtt", "kafka", "serial", "file", "spool"];

pub(super) const TYPE: Key =
    Key::new("type", Kind::OneOf(SOURCE_TYPES), Preset::Required("\"http\""), "What it speaks.");
pub(super) const LISTEN: Key = Key::new(
    "listen",
    Kind::Listen,
    Preset::Required("\"unix:/run/verdictd/events.sock\""),
    "Where events are posted: \"unix:/path\", or an address such as \"127.0.0.1:8080\".",
);
pub(super) const HTTP_KEYS: &[Key] = &[TYPE, LISTEN, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE, mapping::EVENT];

/// None where something in it is faulty.
pub(super) fn read_http(section: &mut Section<'_>, name: &str) -> Option<Source> {
    section.one_of(&TYPE, &[()]);
    let endpoint = endpoint::read(section, &LISTEN);
    let event = mapping::read(section);
    Some(Source { name: name.to_owned(), event: event?, kind: SourceKind::Http(endpoint?) })
}

/// What `init` calls a source of a type.
pub(super) fn starter_name(_kind: &str) -> &'static str {
    "events"
}
