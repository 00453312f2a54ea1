//! Settings and errors, without a broker.

use super::*;
use crate::link::Trouble;
use rdkafka::error::RDKafkaErrorCode as Code;

fn connection() -> Connection {
    Connection {
        brokers: vec!["a:1".to_owned(), "b:2".to_owned()],
        client_id: "edge-1".to_owned(),
        ..Default::default()
    }
}

#[test]
fn a_missing_file_is_named_with_its_key_and_a_password_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let tls = ClientTls { ca_file: Some(missing.clone()), ..ClientTls::default() };
    let error = Connection { tls: Some(tls), ..connection() }.settings().unwrap_err().to_string();
    assert!(error.contains("tls.ca-file") && error.contains("missing"), "{error}");
    let sasl = |password_file| Sasl { mechanism: Mechanism::ScramSha256, username: "app".to_owned(), password_file };
    let error = Connection { sasl: Some(sasl(missing)), ..connection() }.settings().unwrap_err().to_string();
    assert!(error.contains("sasl.password-file") && error.contains("missing"), "{error}");

    let secret = dir.path().join("secret");
    std::fs::write(&secret, "hunter2\n").unwrap();
    let settings = Connection { sasl: Some(sasl(secret)), ..connection() }.settings().unwrap();
    assert_eq!(settings.get("sasl.password"), Some("hunter2"));
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn the_protocol_follows_from_what_is_given() {
    let protocol = |connection: Connection| connection.settings().unwrap().get("security.protocol").map(str::to_owned);
    assert_eq!(protocol(connection()).as_deref(), Some("PLAINTEXT"));
    let tls = Connection { tls: Some(ClientTls::default()), ..connection() };
    assert_eq!(protocol(tls).as_deref(), Some("SSL"));
}

#[test]
fn a_cut_link_is_weather_and_a_certificate_is_not() {
    let handshake = "ssl://a:1/bootstrap: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker";
    assert_eq!(trouble_of_global(Code::SSL, handshake), Trouble::Transient);
    let expired = "SSL handshake failed: certificate verify failed: broker certificate could not be verified";
    assert_eq!(trouble_of_global(Code::SSL, expired), Trouble::Configuration);
    assert_eq!(trouble_of_global(Code::Authentication, "SASL authentication error"), Trouble::Configuration);
    assert_eq!(trouble_of_global(Code::Authentication, "Disconnected"), Trouble::Transient);
    assert_eq!(trouble_of_global(Code::AllBrokersDown, "1/1 brokers are down"), Trouble::Transient);
    assert_eq!(trouble(Code::TopicAuthorizationFailed), Trouble::Configuration);
    assert_eq!(trouble(Code::MessageSizeTooLarge), Trouble::Poison);
}

#[test]
fn only_what_kafka_takes_for_a_topic_reaches_the_client() {
    assert!(["verdicts", "a.b-c_D9", &"x".repeat(249)].iter().all(|topic| check_topic(topic).is_ok()));
    let bad = ["", ".", "..", "a b", "ä", "a\0b", "^re", &"x".repeat(250)];
    assert!(bad.iter().all(|topic| check_topic(topic).is_err()));
}
