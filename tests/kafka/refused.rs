//! What only a person can mend: the sink says so, waits, and goes on when it is mended.

use super::reader::{check, read_all};
use super::rig::{Rig, Running, sink_options};
use super::support::certificates::Validity;
use super::support::child::{WATCHDOG, poll};
use super::support::kafka::{Broker, Setup, USER, unique};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use verdictd::forward::SinkStatus;
use verdictd::forward::kafka::Options;
use verdictd::link::kafka::{Connection, Mechanism, Sasl};
use verdictd::link::{ClientTls, Trouble};

/// One broker with log-in, TLS and rights for all that do not restart it.
fn secured() -> Option<&'static Broker> {
    static SECURED: OnceLock<Option<Broker>> = OnceLock::new();
    SECURED.get_or_init(|| Broker::start(setup())).as_ref()
}

fn setup() -> Setup {
    Setup { secured: true, acls: true, ..Setup::default() }
}

fn password(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("password");
    fs::write(&path, format!("{text}\n")).unwrap();
    path
}

fn options(bootstrap: &str, topic: &str, mechanism: Option<Mechanism>, rig: &Rig, ca: Option<PathBuf>) -> Options {
    let plain = sink_options(bootstrap, topic);
    let sasl = mechanism.map(|mechanism| Sasl {
        mechanism,
        username: USER.0.to_owned(),
        password_file: password(rig.path(), USER.1),
    });
    let tls = ca.map(|ca| ClientTls { ca_file: Some(ca), ..ClientTls::default() });
    Options { connection: Connection { sasl, tls, ..plain.connection.clone() }, ..plain }
}

/// The reason it is parked for.
fn alarm(sink: &Running<SinkStatus>) -> String {
    let told = || {
        let last = sink.status.link.last_error().filter(|error| error.trouble == Trouble::Configuration);
        last.filter(|_| !sink.status.link.is_up())
    };
    poll(WATCHDOG, told).unwrap_or_else(|| panic!("no alarm: {:?}", sink.status.link.last_error())).text
}

#[test]
fn plain_and_scram_with_and_without_tls_deliver() {
    let Some(broker) = secured() else { return };
    let ways = [
        (broker.sasl_bootstrap(), Some(Mechanism::Plain), false),
        (broker.sasl_bootstrap(), Some(Mechanism::ScramSha256), false),
        (broker.sasl_tls_bootstrap(), Some(Mechanism::ScramSha256), true),
    ];
    for (bootstrap, mechanism, tls) in ways {
        let topic = unique("allowed");
        broker.create_topic(&topic, 1, &[]);
        broker.acl(&["--add"], &topic);
        let rig = Rig::new();
        rig.take(0..100);
        let sink = rig.sink(options(&bootstrap, &topic, mechanism, &rig, tls.then(|| broker.ca_file())));
        rig.await_drained();
        rig.wait(sink);
        check(&read_all(&broker.bootstrap(), &topic), 0..100);
    }
}

#[test]
fn a_wrong_password_is_an_alarm_until_the_file_holds_the_right_one() {
    let Some(broker) = secured() else { return };
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256] {
        let topic = unique("password");
        broker.create_topic(&topic, 1, &[]);
        broker.acl(&["--add"], &topic);
        let rig = Rig::new();
        rig.take(0..100);
        let options = options(&broker.sasl_bootstrap(), &topic, Some(mechanism), &rig, None);
        password(rig.path(), "wrong");
        let sink = rig.sink(options);
        let text = alarm(&sink);
        assert!(text.contains("uthentication") && !text.contains("wrong"), "{text}");
        password(rig.path(), USER.1);
        rig.await_drained();
        assert!(sink.status.link.is_up());
        rig.wait(sink);
        check(&read_all(&broker.bootstrap(), &topic), 0..100);
    }
}

#[test]
fn a_missing_password_file_is_named() {
    let Some(broker) = secured() else { return };
    let rig = Rig::new();
    rig.take(0..1);
    let options = options(&broker.sasl_bootstrap(), "any", Some(Mechanism::Plain), &rig, None);
    fs::remove_file(rig.path().join("password")).unwrap();
    let sink = rig.sink(options);
    let text = alarm(&sink);
    assert!(text.contains("password-file") && text.contains("password"), "{text}");
    rig.wait(sink);
}

#[test]
fn rights_refused_park_the_sink_and_rights_granted_release_it_in_order() {
    let Some(broker) = secured() else { return };
    let topic = unique("rights");
    broker.create_topic(&topic, 2, &[]);
    let rig = Rig::new();
    rig.take(0..500);
    let sink = rig.sink(options(&broker.sasl_bootstrap(), &topic, Some(Mechanism::Plain), &rig, None));
    let text = alarm(&sink);
    assert!(text.contains("uthorization") || text.contains("authorized"), "{text}");
    assert_eq!(rig.cursor(), 1);
    broker.acl(&["--add"], &topic);
    rig.await_drained();
    assert!(sink.status.link.is_up());
    // Taken away in the midst of it, and given back.
    broker.acl(&["--remove", "--force"], &topic);
    rig.take(500..1000);
    alarm(&sink);
    broker.acl(&["--add"], &topic);
    rig.await_drained();
    rig.wait(sink);
    check(&read_all(&broker.bootstrap(), &topic), 0..1000);
}

#[test]
fn an_authority_that_is_not_the_brokers_is_an_alarm() {
    let Some(broker) = secured() else { return };
    let other = tempfile::tempdir().unwrap();
    super::support::certificates::write(other.path(), Validity::Valid);
    let rig = Rig::new();
    rig.take(0..1);
    let sink = rig.sink(options(&broker.tls_bootstrap(), "any", None, &rig, Some(other.path().join("ca.pem"))));
    let text = alarm(&sink);
    assert!(text.contains("certificate"), "{text}");
    rig.wait(sink);
}

#[test]
fn a_certificate_that_expired_is_an_alarm_until_there_is_a_new_one() {
    let expired = Setup { certificate: Validity::Expired, secured: true, ..Setup::default() };
    let Some(mut broker) = Broker::start(expired) else { return };
    broker.create_topic("verdicts", 1, &[]);
    let rig = Rig::new();
    rig.take(0..100);
    let sink = rig.sink(options(&broker.tls_bootstrap(), "verdicts", None, &rig, Some(broker.ca_file())));
    let text = alarm(&sink);
    assert!(text.contains("certificate"), "{text}");
    broker.stop();
    broker.set_certificate(Validity::Valid);
    broker.up();
    rig.await_drained();
    poll(WATCHDOG, || sink.status.link.is_up().then_some(())).expect("a sink that is up again");
    rig.wait(sink);
    check(&read_all(&broker.bootstrap(), "verdicts"), 0..100);
}

#[test]
fn a_name_that_cannot_be_resolved_is_weather() {
    let rig = Rig::new();
    rig.take(0..1);
    let sink = rig.sink(sink_options("no-such-host.invalid:9092", "verdicts"));
    let told = || sink.status.link.last_error().filter(|_| !sink.status.link.is_up());
    let error = poll(WATCHDOG, told).expect("a sink that is down");
    assert_eq!(error.trouble, Trouble::Transient, "{}", error.text);
    rig.wait(sink);
}
