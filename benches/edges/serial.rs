//! A serial line: a pseudo-terminal, which knows no bit rate. At 921,600 baud a line carries 92,160 bytes a second,
//! some 300 events: what is shown is how far above that the daemon could go.

use super::events::{Events, MAPPING};
use super::meter::{Figures, Place};
use super::support::pty::Pty;

/// Lines sent and not yet acknowledged.
const WINDOW: usize = 64;

pub fn lines(count: usize) -> Figures {
    let mut pty = Pty::open();
    let place = Place::new("");
    let device = pty.path.display().to_string();
    let sink = place.path().join("verdicts.ndjson").display().to_string();
    place.configure(&format!(
        "[sources.line]\ntype = \"serial\"\ndevice = {device:?}\nbaud = 921600\nevent = {MAPPING}\n\
         [sinks.out]\ntype = \"file\"\npath = {sink:?}\n"
    ));
    let daemon = place.start();
    daemon.await_ready();
    daemon.until("open", |status| status["sources"][0]["state"] == "up");
    let (cpu, begun) = (daemon.cpu_s(), std::time::Instant::now());
    let mut events = Events::new();
    let (mut sent, mut answered) = (0, 0);
    let mut line = Vec::new();
    while answered < count {
        line.clear();
        while sent < count && sent - answered < WINDOW && line.len() < 2048 {
            events.write(&mut line);
            line.push(b'\n');
            sent += 1;
        }
        pty.send(&line);
        let reply = pty.line();
        assert!(reply.starts_with("ACK "), "{reply}");
        answered += 1;
    }
    daemon.carry(count, Some((begun, cpu)))
}
