//! TLS and the token.

use super::hook::{await_drained, await_sink, send, site};
use super::receiver::{Receiver, Reply};
use super::support::certificates;
use super::support::daemon::Daemon;

#[test]
fn the_receivers_certificate_is_verified_and_the_token_comes_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start_tls(folder.path(), |_| Reply::Status(200));
    let other = tempfile::tempdir().unwrap();
    certificates::write(other.path(), certificates::Validity::Valid);
    let mut site = site(&receiver);
    std::fs::write(site.path().join("token"), "s3cret-of-the-receiver\n").unwrap();
    site.set("sinks.hook.url", &format!("\"https://localhost:{}/hook?v=1\"", receiver.port()))
        .set("sinks.hook.token-file", "\"token\"")
        .set("sinks.hook.tls.ca-file", &format!("{:?}", other.path().join("ca.pem")));
    let daemon = Daemon::start(&site);
    send(&daemon, 0..10);
    let shown = await_sink(&daemon, "down", |sink| sink["last-error"]["kind"] == "configuration");
    assert!(shown["last-error"]["text"].as_str().unwrap().contains("certificate"), "{shown}");
    assert!(daemon.stop().success());
    assert!(receiver.requests().is_empty(), "something went to a receiver that nobody trusts");
    site.set("sinks.hook.tls.ca-file", &format!("{:?}", folder.path().join("ca.pem")));
    let daemon = Daemon::start(&site);
    let shown = await_drained(&daemon);
    assert!(!shown.to_string().contains("v=1"), "the query is shown: {shown}");
    for request in receiver.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer s3cret-of-the-receiver"));
        assert_eq!(request.target, "/hook?v=1");
    }
    assert!(!daemon.log().contains("s3cret"), "the token is in the log");
}
