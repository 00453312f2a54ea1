//! A real pseudo-terminal under a real engine: lines, frames, noise, a device that is pulled or deaf.

#[path = "../../../tests/support/pty.rs"]
mod pty;

use super::*;
use crate::ingest::tests::rig::{EVENT_BYTES_MAX, Rig, event, names, poll};
use crate::store;
use pty::Pty;

struct Bench {
    rig: Rig,
    pty: Pty,
    dir: tempfile::TempDir,
}

/// Plugs in: the source opens it by a name that stays.
fn plug(dir: &tempfile::TempDir) -> Pty {
    let pty = Pty::open();
    let (name, new) = (dir.path().join("by-id"), dir.path().join("new"));
    std::os::unix::fs::symlink(&pty.path, &new).unwrap();
    std::fs::rename(new, name).unwrap();
    pty
}

fn start(change: impl FnOnce(&mut Options)) -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let store = store::Options::new(dir.path().join("state"));
    start_with(dir, &store, change)
}

fn start_with(dir: tempfile::TempDir, store: &store::Options, change: impl FnOnce(&mut Options)) -> Bench {
    let pty = plug(&dir);
    let mut rig = Rig::with(dir.path(), store);
    let mut options = Options { baud: 921_600, ..Options::new("line", dir.path().join("by-id"), EVENT_BYTES_MAX) };
    change(&mut options);
    rig.run(|intake, budget, status, stop| run(options, intake, budget, status, stop));
    Bench { rig, pty, dir }
}

#[test]
fn lines_are_acknowledged_and_what_is_refused_is_told_why() {
    let mut bench = start(|_| ());
    bench.pty.send(format!("{}\r\n{}not an event\n{}", event(1), event(1), event(2).replace(":5,", ":6,")));
    let answers: Vec<_> = (0..4).map(|_| bench.pty.line()).collect();
    assert_eq!((&*answers[0], &*answers[1], &*answers[3]), ("ACK 1", "ACK 1", "ACK 2"));
    assert!(answers[2].starts_with("NAK - not JSON"), "{answers:?}");
    bench.pty.send(event(2));
    assert!(bench.pty.line().starts_with("NAK 2 expected the payload"));
    assert_eq!(bench.rig.ids(), ["1", "2"]);
    assert_eq!(bench.rig.aside().iter().map(|(kind, _)| &**kind).collect::<Vec<_>>(), ["malformed", "conflict"]);
    bench.rig.close();
}

#[test]
fn what_cannot_be_taken_now_is_busy_and_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let sinks = vec![store::SinkDecl { name: "dead".to_owned(), start: store::SinkStart::Oldest }];
    let options = store::Options { sinks, ..store::Options::new(dir.path().join("state")) };
    let mut bench = start_with(dir, &options, |_| ());
    bench.pty.send(event(1));
    assert_eq!(bench.pty.line(), "ACK 1");
    let Bench { rig, dir, .. } = bench;
    rig.close();
    // No room is left, nor to be made; what is known is answered all the same.
    let mut bench = start_with(dir, &store::Options { disk_bytes: 1, ..options }, |_| ());
    bench.pty.send(event(2) + &event(1) + "broken\n");
    assert_eq!([(); 3].map(|()| bench.pty.line()), ["BUSY 2", "ACK 1", "BUSY -"]);
    bench.rig.close();
}

#[test]
fn frames_are_answered_by_frames() {
    for reply in [Reply::Ack, Reply::Verdict] {
        let mut bench = start(|options| (options.framing, options.reply) = (Framing::Frames, reply));
        let mut bytes = b"noise before the first".to_vec();
        encode_frame(event(1).trim_end().as_bytes(), &mut bytes);
        bytes.extend(b"noise between\0");
        // A checksum that is not its own.
        encode_frame(event("damaged").as_bytes(), &mut bytes);
        let at = bytes.len() - 10;
        bytes[at] ^= 1;
        encode_frame(event(2).as_bytes(), &mut bytes);
        bench.pty.send(&bytes);
        for id in ["1", "2"] {
            let (payload, noise) = decode_frame(&bench.pty.until(0)).unwrap();
            let text = String::from_utf8(payload).unwrap();
            assert_eq!(noise, 0);
            match reply {
                Reply::Verdict => assert!(text.contains(&format!("\"id\":\"{id}\"")) && text.contains("\"sequence\"")),
                _ => assert_eq!(text, format!("ACK {id}")),
            }
        }
        assert!(bench.rig.count("garbage-bytes") > 22 + 14);
        assert!(bench.rig.aside().is_empty());
        bench.rig.close();
    }
}

#[test]
fn noise_between_lines_is_counted_and_not_answered() {
    let mut bench = start(|_| ());
    bench.pty.send(b"\xff\x00 half a line\n");
    bench.pty.send([b"\xfe\x01".as_slice(), event(1).as_bytes()].concat());
    assert_eq!(bench.pty.line(), "ACK 1");
    assert_eq!(bench.rig.count("garbage-bytes"), 14 + 2);
    assert!(bench.rig.aside().is_empty());
    bench.rig.close();
}

#[test]
fn a_line_over_the_limit_is_refused_and_the_rest_flows_on() {
    let mut bench = start(|_| ());
    bench.pty.send(format!("{}\n{}", "x".repeat(3 * EVENT_BYTES_MAX), event(1)));
    assert!(bench.pty.line().starts_with("NAK - expected an event of at most 4096 bytes, found 12288"));
    assert_eq!(bench.pty.line(), "ACK 1");
    assert_eq!((bench.rig.count("too-long"), &*bench.rig.aside()[0].0), (1, "oversized"));
    bench.rig.close();
}

#[test]
fn a_pulled_adapter_is_found_again_by_its_name() {
    let mut bench = start(|_| ());
    bench.pty.send(event(1));
    assert_eq!(bench.pty.line(), "ACK 1");
    bench.pty.send(b"{\"id\":\"begun and");
    drop(bench.pty);
    poll("the loss", || (!bench.rig.status.link.is_up()).then_some(()));
    let mut pty = plug(&bench.dir);
    poll("the device", || bench.rig.status.link.is_up().then_some(()));
    pty.send(event(1) + &event(2));
    assert_eq!((pty.line(), pty.line()), ("ACK 1".to_owned(), "ACK 2".to_owned()));
    assert_eq!(bench.rig.status.reconnects.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert!(bench.rig.aside().is_empty());
    bench.rig.close();
}

#[test]
fn a_device_is_for_one_process_only() {
    let bench = start(|_| ());
    let inside = bench.rig.runtime.enter();
    poll("the lock", || port::open(&Options::new("other", bench.dir.path().join("by-id"), 1)).is_err().then_some(()));
    drop(inside);
    bench.rig.close();
}

#[test]
fn a_device_that_takes_no_answers_is_read_all_the_same() {
    let bench = start(|options| options.reply = Reply::Verdict);
    // Nobody reads: the terminal holds some thousand bytes of answers, and no more.
    let deaf = bench.pty.sender();
    bench.pty.deaf();
    let count = 300;
    std::thread::scope(|scope| {
        scope.spawn(|| (0..count).for_each(|id| std::io::Write::write_all(&mut &deaf, event(id).as_bytes()).unwrap()));
        assert_eq!(bench.rig.wait_ids(count as usize), names(0..count));
    });
    poll("the loss", || (bench.rig.count("replies-lost") > 0).then_some(()));
    bench.rig.close();
}

#[test]
fn without_answers_nothing_is_lost_while_there_is_no_memory_and_the_window_of_loss_is_told() {
    let mut bench = start(|options| options.reply = Reply::None);
    let all = bench.rig.budget.try_take(bench.rig.budget.bytes()).unwrap();
    poll("the warning", || bench.rig.status.warnings().first().map(|warning| assert!(warning.contains("is lost"))));
    for id in 0..10 {
        bench.pty.send(event(id));
    }
    poll("the wait", || (bench.rig.count("memory-waits") > 0).then_some(()));
    drop(all);
    assert_eq!(bench.rig.wait_ids(10), names(0..10));
    bench.rig.close();
}

#[test]
fn the_line_rate_of_921600_bits_is_kept_up_with() {
    let mut bench = start(|_| ());
    let count = 20_000;
    let bytes: usize = (0..count).map(|id| event(id).len()).sum();
    let mut sender = bench.pty.sender();
    let begin = std::time::Instant::now();
    let sending = std::thread::spawn(move || {
        (0..count).for_each(|id| std::io::Write::write_all(&mut sender, event(id).as_bytes()).unwrap());
    });
    for id in 0..count {
        assert_eq!(bench.pty.line(), format!("ACK {id}"));
    }
    sending.join().unwrap();
    #[allow(clippy::cast_precision_loss)]
    let rate = bytes as f64 / begin.elapsed().as_secs_f64();
    // Shown, not asserted: 92,160 bytes a second is the line.
    println!("{rate:.0} bytes/s, {:.1} lines at 921,600 baud", rate / 92_160.0);
    bench.rig.close();
}
