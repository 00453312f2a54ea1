//! Source `http`: events posted over HTTP.

use super::{CONTENT, of_type};
use crate::config::{
    Endpoint, Key, Kind, Preset,
    endpoint::{self, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE},
    mapping::EVENT,
    section::Section,
};

const TYPE: Key = of_type("\"http\"");
const LISTEN: Key = Key::new(
    "listen",
    Kind::Listen,
    Preset::Required("\"unix:/run/verdictd/events.sock\""),
    "Where events are posted: \"unix:/path\", or an address such as \"127.0.0.1:8080\".",
);
pub(in crate::config) const KEYS: &[Key] = &[TYPE, LISTEN, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE, CONTENT, EVENT];

pub(super) fn read(section: &mut Section<'_>) -> Option<Endpoint> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    endpoint::read(section, &LISTEN)
}
