//! `[admin]`: /metrics, /healthz, /readyz and /v1/status.

use super::{
    Endpoint, Key, Kind, Preset,
    endpoint::{self, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE},
    section::Section,
};

pub(super) const LISTEN: Key = Key::new(
    "listen",
    Kind::Listen,
    Preset::Default("\"unix:/run/verdictd/admin.sock\""),
    "Where status and metrics are served: \"unix:/path\", or an address such as \"127.0.0.1:9464\".",
);
pub(super) const KEYS: &[Key] = &[LISTEN, SOCKET_GROUP, SOCKET_MODE, TLS, TOKEN_FILE];

/// None where the address is faulty.
pub(super) fn read(section: &mut Section<'_>) -> Option<Endpoint> {
    endpoint::read(section, &LISTEN)
}
