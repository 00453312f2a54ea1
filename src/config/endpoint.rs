//! What every listener has: its address, and who may connect.

use super::{Key, Kind, Preset, section::Section};
use crate::listen::Listen;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub listen: Listen,
    /// Name or number of the group that owns a Unix socket; None: the daemon's own.
    pub socket_group: Option<String>,
    /// Permission bits of a Unix socket.
    pub socket_mode: u32,
    pub tls: Option<Tls>,
    /// A file with the token that each request must bring (`Authorization: Bearer …`).
    pub token_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// PEM, the listener's own certificate first, then the chain.
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
    /// PEM; with it a client must show a certificate signed by one of these.
    pub client_ca_file: Option<PathBuf>,
}

pub(super) const SOCKET_GROUP: Key = Key::new(
    "socket-group",
    Kind::Text(64),
    Preset::Optional("\"verdictd-clients\"", "the daemon's own group"),
    "Unix socket: the group whose members may connect.",
);
pub(super) const SOCKET_MODE: Key =
    Key::new("socket-mode", Kind::Mode, Preset::Default("\"0660\""), "Unix socket: its mode.");
pub(super) const TLS: Key = Key::new(
    "tls",
    Kind::Table(TLS_KEYS),
    Preset::Optional(
        "{ cert-file = \"/etc/verdictd/tls/cert.pem\", key-file = \"/etc/verdictd/tls/key.pem\", client-ca-file = \"/etc/verdictd/tls/clients.pem\" }",
        "no TLS, which TCP outside loopback must have",
    ),
    "TLS on TCP.",
);
pub(super) const TOKEN_FILE: Key = Key::new(
    "token-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/token\"", "no token; TCP outside loopback needs one or tls.client-ca-file"),
    "A file with a token that each request must bring as `Authorization: Bearer …`.",
);

const CERT_FILE: Key = Key::new(
    "cert-file",
    Kind::Path,
    Preset::Required("\"/etc/verdictd/tls/cert.pem\""),
    "The listener's certificate and chain, PEM.",
);
const KEY_FILE: Key =
    Key::new("key-file", Kind::Path, Preset::Required("\"/etc/verdictd/tls/key.pem\""), "Its private key, PEM.");
const CLIENT_CA_FILE: Key = Key::new(
    "client-ca-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/tls/clients.pem\"", "client certificates are not asked for"),
    "Clients must show a certificate signed by one of these authorities, PEM.",
);
const TLS_KEYS: &[Key] = &[CERT_FILE, KEY_FILE, CLIENT_CA_FILE];

/// Reads them; `listen` is a key of each kind of listener with its own default. None where it is faulty.
pub(super) fn read(section: &mut Section<'_>, listen: &Key) -> Option<Endpoint> {
    let address = section.listen(listen);
    let socket_group = section.text(&SOCKET_GROUP);
    let socket_mode = section.mode(&SOCKET_MODE);
    let tls = read_tls(section);
    let token_file = section.path(&TOKEN_FILE);
    let endpoint = Endpoint { listen: address?, socket_group, socket_mode, tls, token_file };
    check(section, listen, &endpoint);
    Some(endpoint)
}

fn read_tls(section: &mut Section<'_>) -> Option<Tls> {
    let mut table = section.sub(&TLS)?;
    let (cert, key, ca) = (table.path(&CERT_FILE), table.path(&KEY_FILE), table.path(&CLIENT_CA_FILE));
    Some(Tls { cert_file: cert?, key_file: key?, client_ca_file: ca })
}

fn check(section: &mut Section<'_>, listen: &Key, endpoint: &Endpoint) {
    let has_tls = section.entry(TLS.name).is_some();
    match &endpoint.listen {
        Listen::Unix(_) => {
            if has_tls {
                section.fault(&TLS, "TLS is for TCP; a Unix socket is guarded by socket-mode and socket-group");
            }
        }
        Listen::Tcp(address) => {
            for key in [SOCKET_GROUP, SOCKET_MODE] {
                if section.entry(key.name).is_some() {
                    section.fault(&key, "is for a Unix socket, but listen is a TCP address");
                }
            }
            // Where the tls table itself is faulty, that fault is reported and enough.
            let certificates = match &endpoint.tls {
                Some(tls) => tls.client_ca_file.is_some(),
                None => has_tls,
            };
            let who = section.entry(TOKEN_FILE.name).is_some() || certificates;
            let guarded = has_tls && who;
            if !guarded && !endpoint.listen.is_local() {
                let missing = match (has_tls, who) {
                    (false, true) => "tls = { cert-file, key-file } is missing",
                    (true, _) => "a token-file or tls.client-ca-file is missing",
                    (false, false) => {
                        "tls = { cert-file, key-file } and a token-file or tls.client-ca-file are missing"
                    }
                };
                section.fault(
                    listen,
                    format!(
                        "{address} can be reached from outside this machine, which needs TLS and either a token or \
                         client certificates: {missing}; or listen on 127.0.0.1 or a Unix socket"
                    ),
                );
            }
        }
    }
}
