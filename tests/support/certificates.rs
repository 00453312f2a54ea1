//! Certificates made on the spot: an authority, and one that it signed for `localhost` and 127.0.0.1.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validity {
    #[default]
    Valid,
    /// It ended an hour ago.
    Expired,
}

const DAY_S: i64 = 86_400;

/// Writes `ca.pem`, and `server.pem` with key and certificate. The authority is kept where there is one.
pub fn write(folder: &Path, validity: Validity) {
    let at = |name: &str| folder.join(name);
    if !at("ca.pem").exists() {
        let (certificate, key) = sign(None, Validity::Valid);
        fs::write(at("ca.pem"), certificate.to_pem().expect("PEM")).expect("a file");
        fs::write(at("ca.key"), key.private_key_to_pem_pkcs8().expect("PEM")).expect("a file");
    }
    let certificate = X509::from_pem(&fs::read(at("ca.pem")).expect("a file")).expect("a certificate");
    let key = PKey::private_key_from_pem(&fs::read(at("ca.key")).expect("a file")).expect("a key");
    let (server, server_key) = sign(Some((&certificate, &key)), validity);
    let mut both = server_key.private_key_to_pem_pkcs8().expect("PEM");
    both.extend(server.to_pem().expect("PEM"));
    fs::write(at("server.pem"), both).expect("a file");
}

fn sign(authority: Option<(&X509, &PKey<Private>)>, validity: Validity) -> (X509, PKey<Private>) {
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let mut name = X509NameBuilder::new().expect("a name");
    let text = if authority.is_some() { "localhost" } else { "test authority" };
    name.append_entry_by_text("CN", text).expect("a name");
    let name = name.build();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock past 1970").as_secs().cast_signed();
    let until = match validity {
        Validity::Valid => now + 2 * DAY_S,
        Validity::Expired => now - 3600,
    };
    let time = |at| Asn1Time::from_unix(at).expect("a time");
    let mut builder = X509::builder().expect("a certificate");
    builder.set_version(2).expect("version 3");
    builder.set_serial_number(&BigNum::from_u32(1).expect("1").to_asn1_integer().expect("1")).expect("a serial number");
    builder.set_subject_name(&name).expect("a subject");
    builder.set_issuer_name(authority.map_or(&name, |(issuer, _)| issuer.subject_name())).expect("an issuer");
    builder.set_not_before(&time(now - DAY_S)).expect("a start");
    builder.set_not_after(&time(until)).expect("an end");
    builder.set_pubkey(&key).expect("a key");
    if authority.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build().expect("CA")).expect("CA");
    }
    let context = builder.x509v3_context(authority.map(|(issuer, _)| &**issuer), None);
    let names = SubjectAlternativeName::new().dns("localhost").ip("127.0.0.1").build(&context).expect("names");
    builder.append_extension(names).expect("names");
    builder.sign(authority.map_or(&key, |(_, key)| key), MessageDigest::sha256()).expect("a signature");
    (builder.build(), key)
}
