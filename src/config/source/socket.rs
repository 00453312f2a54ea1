//! Source `socket`: NDJSON on a stream, a line in and a line out.

use super::{CONTENT, of_type};
use crate::config::{
    Endpoint, Key, Kind, Preset,
    endpoint::{self, SOCKET_GROUP, SOCKET_MODE, TLS},
    mapping::EVENT,
    section::Section,
};

const TYPE: Key = of_type("\"socket\"");
const LISTEN: Key = Key::new(
    "listen",
    Kind::Listen,
    Preset::Required("\"unix:/run/verdictd/lines.sock\""),
    "Where lines are taken: \"unix:/path\", or an address such as \"127.0.0.1:9000\".",
);
const TOKEN_FILE: Key = Key::new(
    "token-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/token\"", "no token; TCP outside loopback needs one or tls.client-ca-file"),
    "A file with a token: the first line of each connection is then `AUTH TOKEN`.",
);
pub(in crate::config) const KEYS: &[Key] = &[TYPE, LISTEN, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE, CONTENT, EVENT];

pub(super) fn read(section: &mut Section<'_>) -> Option<Endpoint> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    endpoint::read(section, &LISTEN)
}
