//! The service under its manager: reload, hang, kill, idle.

use super::machine::Machine;
use super::on_both;
use std::path::Path;

on_both!(
    a_good_reload_is_taken_and_a_bad_one_changes_nothing,
    a_hung_commit_is_ended_by_the_watchdog_and_started_anew,
    an_idle_daemon_is_left_alone_by_the_watchdog,
    a_killed_daemon_is_back_by_itself_and_keeps_its_answers,
    a_wrong_configuration_is_not_tried_in_a_tight_loop,
    a_serial_port_is_reached_with_the_example_alone,
);

const SEND_ONE: &str =
    "printf '{\"id\":\"%s\",\"key\":\"k\"}\\n' ID | verdictd send --to unix:/run/verdictd/events.sock";

/// Hands in an event, and gives the answer.
fn send(machine: &Machine, id: &str) -> String {
    machine.well(&SEND_ONE.replace("ID", id))
}

fn a_good_reload_is_taken_and_a_bad_one_changes_nothing(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    let pid = machine.show("MainPID");
    let sink = |name: &str| {
        format!(
            "[sinks.{name}]\ntype = \"file\"\npath = \"/var/lib/verdictd/verdicts/{name}.ndjson\"\nstart = \"newest\"\n"
        )
    };
    let is_in = |machine: &Machine, id: &str, name: &str| {
        let lines = machine.sh(&format!("cat /var/lib/verdictd/verdicts/{name}.ndjson")).stdout;
        lines.contains(&format!("\"id\":\"{id}\""))
    };
    machine.write("/etc/verdictd/conf.d/site.toml", &sink("second"));
    machine.well("systemctl reload verdictd.service");
    machine.wait_active();
    send(&machine, "after-a-good-reload");
    machine.wait_for("the verdict in the new sink", |machine| is_in(machine, "after-a-good-reload", "second"));

    machine.write("/etc/verdictd/conf.d/site.toml", &format!("[log]\nlevel = \"loud\"\n{}", sink("third")));
    let bad = machine.sh("systemctl reload verdictd.service");
    assert!(!bad.status.success(), "{bad:#?}");
    machine.wait_active();
    let journal = machine.well("journalctl --no-pager --output cat --unit verdictd.service");
    assert!(journal.contains("site.toml:2") && journal.contains("log.level"), "{journal}");
    assert_eq!(machine.show("MainPID"), pid, "the daemon was restarted");
    send(&machine, "after-a-bad-reload");
    machine.wait_for("the verdict in the sink of before", |machine| is_in(machine, "after-a-bad-reload", "second"));
    assert!(!is_in(&machine, "after-a-bad-reload", "third"), "a part of a wrong configuration was taken");
}

/// The service runs a binary that can be made to hang, with a short watchdog.
fn with_watchdog(machine: &Machine, seconds: u32, binary: Option<&Path>) {
    let mut dropin = format!("[Service]\nWatchdogSec={seconds}s\n");
    if let Some(binary) = binary {
        machine.tree().bring(binary, "verdictd");
        // /root is hidden from the service; a debug build needs the libraries of the tree and more memory.
        machine.well("install -m 755 /root/verdictd /usr/local/bin/verdictd-hangs");
        dropin += "ExecStart=\nExecStart=/usr/local/bin/verdictd-hangs run\nMemoryMax=infinity\n\
                   Environment=VERDICTD_FAULT_HANG=/var/lib/verdictd/hang\n";
    }
    machine.well("mkdir -p /etc/systemd/system/verdictd.service.d");
    machine.write("/etc/systemd/system/verdictd.service.d/test.conf", &dropin);
    machine.well("systemctl daemon-reload && systemctl restart verdictd.service");
    machine.wait_active();
}

fn a_hung_commit_is_ended_by_the_watchdog_and_started_anew(release: &str) {
    if !cfg!(feature = "fault-injection") {
        // Only a build with the feature can be made to hang; CI runs this test with it.
        return;
    }
    let Some(machine) = Machine::with_package(release) else { return };
    with_watchdog(&machine, 2, Some(Path::new(env!("CARGO_BIN_EXE_verdictd"))));
    send(&machine, "before");
    machine.well("touch /var/lib/verdictd/hang");
    // Nobody waits for this answer: the watchdog is to end the daemon before there is one.
    machine.well(&format!("({}) >/root/answer 2>&1 &", SEND_ONE.replace("ID", "hangs")));
    machine.wait_for("the watchdog", |machine| {
        machine.sh("journalctl --no-pager --output cat _PID=1").stdout.contains("Watchdog timeout")
    });
    machine.well("rm /var/lib/verdictd/hang");
    machine.wait_active();
    machine.wait_for("the answer after the restart", |machine| machine.read("/root/answer").contains("\"decision\""));
}

fn an_idle_daemon_is_left_alone_by_the_watchdog(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    with_watchdog(&machine, 1, None);
    let pid = machine.show("MainPID");
    let fed = |machine: &Machine| machine.show("WatchdogTimestampMonotonic").parse::<u64>().unwrap_or(0);
    let first = fed(&machine);
    // More than three periods later it is the same process.
    machine.wait_for("the watchdog being fed for 3 s", |machine| {
        assert_eq!(machine.show("MainPID"), pid, "{}", machine.journal());
        fed(machine) > first + 3_000_000
    });
    assert_eq!(machine.show("NRestarts"), "0");
}

fn a_killed_daemon_is_back_by_itself_and_keeps_its_answers(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    let first = send(&machine, "kept");
    let pid = machine.show("MainPID");
    machine.well(&format!("kill -KILL {pid}"));
    // The caller is not refused: it waits at the socket.
    assert_eq!(send(&machine, "kept"), first);
    assert_ne!(machine.show("MainPID"), pid);
    assert_eq!(machine.show("NRestarts"), "1");
}

/// The socket would have it started at once, again and again, while a caller waits.
fn a_wrong_configuration_is_not_tried_in_a_tight_loop(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    machine.write("/etc/verdictd/conf.d/site.toml", "[log]\nlevel = \"loud\"\n");
    machine.sh("systemctl restart verdictd.service");
    machine.well(&format!("({}) >/root/answer 2>&1 &", SEND_ONE.replace("ID", "waits")));
    machine.wait_for("a second start", |machine| {
        machine.sh("journalctl --no-pager --output cat _PID=1").stdout.matches("status=78").count() >= 2
    });
    let stamps = machine.entries("_PID=1 --grep status=78");
    let at = |entry: &serde_json::Value| {
        entry["__MONOTONIC_TIMESTAMP"].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a time stamp")
    };
    for pair in stamps.windows(2) {
        assert!(at(&pair[1]) - at(&pair[0]) >= 4_000_000, "{stamps:#?}");
    }
    // Mended, it is started by the caller who still waits.
    machine.write("/etc/verdictd/conf.d/site.toml", "[log]\nlevel = \"info\"\n");
    machine.wait_for("the answer after the repair", |machine| machine.read("/root/answer").contains("\"decision\""));
}

/// The port is a pseudo terminal with the owner that Debian gives to serial ports.
fn a_serial_port_is_reached_with_the_example_alone(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    machine.well(
        "script --quiet --flush --command 'stty raw -echo && tty >/root/making && mv /root/making /root/tty && sleep infinity' \
         /dev/null </dev/null >/dev/null 2>&1 &",
    );
    machine.wait_for("a terminal", |machine| machine.path("/root/tty").exists());
    let port = machine.read("/root/tty").trim().to_owned();
    machine.well(&format!("chown root:dialout {port} && chmod 660 {port}"));
    let table = format!("[sources.line]\ntype = \"serial\"\ndevice = \"{port}\"\nbaud = 9600\n");
    machine.write("/etc/verdictd/conf.d/line.toml", &table);
    let has = |machine: &Machine, wanted: &str| {
        let status = machine.sh("verdictd status").stdout;
        status.lines().any(|line| line.contains("line ") && line.contains(wanted))
    };
    machine.well("systemctl restart verdictd.service");
    machine.wait_for("the port being closed to the service", |machine| has(machine, "Permission denied"));
    machine.well(
        "mkdir -p /etc/systemd/system/verdictd.service.d \
         && cp /usr/share/doc/verdictd/examples/serial-port.conf /etc/systemd/system/verdictd.service.d \
         && systemctl daemon-reload && systemctl restart verdictd.service",
    );
    machine.wait_for("the port being open to the service", |machine| has(machine, " up at "));
}
