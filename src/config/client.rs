//! What every client of a broker has: its TLS files, and who it says it is.

use super::{Key, Kind, Preset, broker::MqttUrl, section::Section};
use crate::link::{
    ClientTls,
    kafka::{Mechanism, Sasl},
};
use std::path::PathBuf;

/// Who an MQTT client says it is, and what both its types have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttClient {
    pub broker: MqttUrl,
    /// Stable, so that the broker keeps the session of a client that comes back.
    pub client_id: String,
    pub protocol: MqttProtocol,
    /// With it there may be a password.
    pub username: Option<String>,
    pub password_file: Option<PathBuf>,
    /// None: the broker is `mqtt://`, or the system's authorities are trusted.
    pub tls: Option<ClientTls>,
    pub keep_alive: super::Period,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MqttProtocol {
    /// 3.1.1
    V311,
    V5,
}

/// Longest client id that every broker of MQTT 3.1.1 must take.
pub const CLIENT_ID_BYTES_311: usize = 23;

pub(super) const TLS: Key = Key::new(
    "tls",
    Kind::Table(TLS_KEYS),
    Preset::Optional(
        "{ ca-file = \"/etc/verdictd/tls/ca.pem\", cert-file = \"/etc/verdictd/tls/client.pem\", key-file = \"/etc/verdictd/tls/client.key\" }",
        "no TLS",
    ),
    "TLS to the brokers, whatever is in the table; `{}` trusts the system's authorities.",
);
pub(super) const MQTT_TLS: Key = Key::new(
    "tls",
    TLS.kind,
    Preset::Optional(
        "{ ca-file = \"/etc/verdictd/tls/ca.pem\", cert-file = \"/etc/verdictd/tls/client.pem\", key-file = \"/etc/verdictd/tls/client.key\" }",
        "an mqtts:// broker is judged by the system's authorities",
    ),
    "Files for TLS; an mqtts:// broker only.",
);
const CA_FILE: Key = Key::new(
    "ca-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/tls/ca.pem\"", "the system's authorities"),
    "Authorities that may have signed the broker's certificate, PEM.",
);
const CERT_FILE: Key = Key::new(
    "cert-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/tls/client.pem\"", "no client certificate is shown"),
    "The client's certificate and chain, PEM.",
);
const KEY_FILE: Key = Key::new(
    "key-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/tls/client.key\"", "no client certificate is shown"),
    "Its private key, PEM.",
);
const TLS_KEYS: &[Key] = &[CA_FILE, CERT_FILE, KEY_FILE];

pub(super) const SASL: Key = Key::new(
    "sasl",
    Kind::Table(SASL_KEYS),
    Preset::Optional(
        "{ mechanism = \"SCRAM-SHA-512\", username = \"verdictd\", password-file = \"/etc/verdictd/kafka.password\" }",
        "no user name",
    ),
    "Who the client says it is.",
);
const MECHANISM: Key = Key::new(
    "mechanism",
    Kind::OneOf(&["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
    Preset::Required("\"SCRAM-SHA-512\""),
    "How the password is shown; PLAIN sends it as it is, so use it over TLS.",
);
const SASL_USERNAME: Key = Key::new("username", Kind::Text(1024), Preset::Required("\"verdictd\""), "The user.");
const SASL_PASSWORD_FILE: Key = Key::new(
    "password-file",
    Kind::Path,
    Preset::Required("\"/etc/verdictd/kafka.password\""),
    "A file with the password on its one line.",
);
const SASL_KEYS: &[Key] = &[MECHANISM, SASL_USERNAME, SASL_PASSWORD_FILE];

pub(super) const BROKER: Key = Key::new(
    "broker",
    Kind::Form("an MQTT broker, as in \"mqtt://broker.site:1883\" or \"mqtts://broker.site\""),
    Preset::Required("\"mqtt://broker.site:1883\""),
    "The broker: mqtt://HOST, or mqtts://HOST for TLS; without a port 1883 or 8883.",
);
const CLIENT_ID_DOC: &str =
    "The client's name at the broker, stable and its own: the session hangs on it. {instance} and {name} are put in.";
pub(super) const SOURCE_CLIENT_ID: Key = Key::new(
    "client-id",
    Kind::Form("a text of 1 to 256 bytes, with {instance} and {name} as its only braces"),
    Preset::Default("\"verdictd-{instance}-{name}\""),
    CLIENT_ID_DOC,
);
pub(super) const SINK_CLIENT_ID: Key =
    Key::new("client-id", SOURCE_CLIENT_ID.kind, Preset::Default("\"verdictd-{instance}-{name}-out\""), CLIENT_ID_DOC);
pub(super) const PROTOCOL: Key = Key::new(
    "protocol",
    Kind::OneOf(&["5", "3.1.1"]),
    Preset::Default("\"5\""),
    "MQTT 5, or 3.1.1, which has no user properties and only promises to take client ids of up to 23 bytes.",
);
pub(super) const USERNAME: Key =
    Key::new("username", Kind::Text(1024), Preset::Optional("\"verdictd\"", "no user name"), "The user.");
pub(super) const PASSWORD_FILE: Key = Key::new(
    "password-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/mqtt.password\"", "no password"),
    "A file with the password on its one line.",
);
pub(super) const KEEP_ALIVE: Key = Key::new(
    "keep-alive",
    Kind::Period { min: super::Period::seconds(1), max: super::Period::seconds(65_535) },
    Preset::Default("\"30 s\""),
    "The longest silence: a sign of life is asked for before it is over, and a link that gives none is given up.",
);

/// Names that a text may hold in braces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub instance: &'a str,
    /// Of the source or sink.
    pub name: &'a str,
}

/// None where it is faulty, which leaves TLS on.
pub(super) fn read_tls(section: &mut Section<'_>, key: &Key) -> Option<ClientTls> {
    let mut table = section.sub(key)?;
    let tls =
        ClientTls { ca_file: table.path(&CA_FILE), cert_file: table.path(&CERT_FILE), key_file: table.path(&KEY_FILE) };
    let (has_cert, has_key) = (table.entry(CERT_FILE.name).is_some(), table.entry(KEY_FILE.name).is_some());
    match (has_cert, has_key) {
        (true, false) => table.fault(&KEY_FILE, "missing; expected the private key of cert-file"),
        (false, true) => table.fault(&CERT_FILE, "missing; expected the certificate of key-file"),
        _ => {}
    }
    Some(tls)
}

pub(super) fn read_sasl(section: &mut Section<'_>) -> Option<Sasl> {
    let mut table = section.sub(&SASL)?;
    let mechanisms = [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512];
    let mechanism = table.one_of(&MECHANISM, &mechanisms);
    let (username, password_file) = (table.text(&SASL_USERNAME), table.path(&SASL_PASSWORD_FILE));
    Some(Sasl { mechanism: mechanism?, username: username?, password_file: password_file? })
}

/// None where something in it is faulty.
pub(super) fn read_mqtt(section: &mut Section<'_>, client_id: &Key, names: Names<'_>) -> Option<MqttClient> {
    let broker = section.text_as(&BROKER, str::parse::<MqttUrl>);
    let client_id = section.text_as(client_id, |text| filled(text, names));
    let protocol = section.one_of(&PROTOCOL, &[MqttProtocol::V5, MqttProtocol::V311]);
    let (username, password_file) = (section.text(&USERNAME), section.path(&PASSWORD_FILE));
    let tls = read_tls(section, &MQTT_TLS);
    let keep_alive = section.period(&KEEP_ALIVE);
    if section.entry(PASSWORD_FILE.name).is_some() && section.entry(USERNAME.name).is_none() {
        section.fault(&USERNAME, "missing; expected the user of password-file");
    }
    if section.entry(MQTT_TLS.name).is_some() && broker.as_ref().is_some_and(|broker| !broker.tls) {
        section.fault(&MQTT_TLS, "TLS is for an mqtts:// broker, and broker is mqtt://");
    }
    Some(MqttClient {
        broker: broker?,
        client_id: client_id?,
        protocol: protocol?,
        username,
        password_file,
        tls,
        keep_alive: keep_alive?,
    })
}

/// The text with its names put in.
fn filled(text: &str, names: Names<'_>) -> Result<String, String> {
    let plain = text.replace("{instance}", "").replace("{name}", "");
    let filled = text.replace("{instance}", names.instance).replace("{name}", names.name);
    if plain.contains(['{', '}', '\0']) || !(1..=256).contains(&filled.len()) {
        return Err(String::new());
    }
    Ok(filled)
}
