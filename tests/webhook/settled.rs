//! Settling calls of a daemon that is stopped, and of a sink that is gone.

use super::hook::{await_drained, await_uncertain, guarded, listed, resolve, send, sink};
use super::receiver::{Receiver, Reply};
use super::support::child::{WATCHDOG, poll};
use super::support::daemon::{Daemon, verdictd};

/// What the daemon was killed over is uncertain before and after the next start, and is settled in between.
#[test]
fn a_stopped_daemons_calls_are_listed_and_settled_in_its_store() {
    for how in ["--delivered", "--resend"] {
        let receiver = Receiver::start(|request| if request.id() == "1" { Reply::Hang } else { Reply::Status(200) });
        let mut site = guarded(&receiver);
        site.set("sinks.hook.timeout", "\"5 min\"");
        let daemon = Daemon::start(&site);
        send(&daemon, 0..4);
        poll(WATCHDOG, || (receiver.ids().len() == 2).then_some(())).expect("the call that hangs");
        daemon.kill();
        let calls = listed(&site);
        assert_eq!((calls.len(), &calls[0]["id"], &calls[0]["state"]), (1, &"1".into(), &"uncertain".into()));
        let finished = resolve(&site, &calls[0], how);
        assert!(finished.status.success(), "{finished:?}");
        assert_eq!(resolve(&site, &calls[0], "--resend").status.code(), Some(1));
        receiver.set(|_| Reply::Status(200));
        let daemon = Daemon::start(&site);
        await_drained(&daemon);
        let expected: &[&str] = if how == "--resend" { &["0", "1", "1", "2", "3"] } else { &["0", "1", "2", "3"] };
        poll(WATCHDOG, || (receiver.ids() == expected).then_some(()))
            .unwrap_or_else(|| panic!("{how}: {:?}", receiver.ids()));
        assert!(daemon.stop().success());
        let config = site.config().display().to_string();
        assert!(verdictd(&site, &["store", "verify", "--config", &config]).status.success());
    }
}

/// The open calls of a sink that is no longer configured stay until someone settles them, and the log goes on without.
#[test]
fn a_retired_sinks_calls_stay_until_they_are_settled() {
    let receiver = Receiver::start(|request| if request.id() == "1" { Reply::Close } else { Reply::Status(200) });
    let mut site = guarded(&receiver);
    let daemon = Daemon::start(&site);
    send(&daemon, 0..4);
    await_drained(&daemon);
    await_uncertain(&daemon, 1);
    assert!(daemon.stop().success());
    // The same name, another kind of sink.
    site.set("sinks.hook.idempotent", "true");
    let daemon = Daemon::start(&site);
    assert!(sink(&daemon)["guarded"].is_null());
    assert!(daemon.status()["warnings"].to_string().contains("not guarded any more"), "{}", daemon.status());
    let calls = listed(&site);
    assert_eq!((calls.len(), &calls[0]["sink"], &calls[0]["id"]), (1, &"hook".into(), &"1".into()));
    let refused = resolve(&site, &calls[0], "--resend");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("no guarded sink"), "{refused:?}");
    assert!(resolve(&site, &calls[0], "--delivered").status.success());
    assert!(listed(&site).is_empty());
    assert!(!daemon.status()["warnings"].to_string().contains("not guarded any more"));
    assert_eq!(receiver.ids().len(), 4);
}
