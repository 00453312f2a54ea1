//! The log engine's traps, each with what happens without its cure.

use super::*;
use std::fs;

#[test]
fn a_conf_that_was_cut_off_is_made_whole() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 10);
    rig.writer.close().expect("close");
    drop(rig.store);
    let conf = dir.path().join("store/conf");
    let whole = fs::read(&conf).expect("conf");
    assert_eq!(whole.len(), 62);
    for length in [0, 9, 30, 61] {
        fs::write(&conf, &whole[..length]).expect("cut");
        let rig = Rig::open(&options(dir.path()));
        assert_eq!(rig.log(1).len(), 10);
        assert_eq!(fs::read(&conf).expect("conf"), whole);
        drop((rig.writer, rig.store));
    }
}

#[test]
fn no_snapshot_is_ever_read() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 10);
    drop((rig.writer, rig.store));
    for name in ["snap.00000000000000FF.generating", "snap.00000000000000FF", "snap.FFFFFFFFFFFFFFFF"] {
        fs::write(dir.path().join("store").join(name), [1; 100]).expect("write");
        let rig = Rig::open(&options(dir.path()));
        assert_eq!(rig.log(1).len(), 10, "{name}");
        drop((rig.writer, rig.store));
    }
}

#[test]
fn the_largest_record_and_a_chunk_of_any_size_stay_under_the_blob_threshold() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    // Letters that do not compress, over and over at the longest lengths taken.
    let text: String = (0u64..4000).map(|n| char::from(33 + noise(n).to_le_bytes()[0] % 90)).collect();
    let reasons: Vec<&str> = (0..REASONS_MAX).map(|n| &text[n * 300..n * 300 + REASON_BYTES_MAX]).collect();
    for n in 0u16..200 {
        let (n, later) = (usize::from(n), i64::from(n));
        let record = NewRecord {
            source: &text[n..n + NAME_BYTES_MAX],
            id: &text[n + 1..=n + NAME_BYTES_MAX],
            key: Some(&text[n..n + KEY_BYTES_MAX]),
            time_us: i64::MIN + later,
            payload: u64::MAX,
            decision: &text[..LABEL_BYTES_MAX],
            score: Some(std::f64::consts::PI),
            reasons: &reasons,
            model: &text[..MODEL_BYTES_MAX],
            model_sha256: &SHA,
            decided_ms: i64::MAX - later,
            log_ms: u64::MAX / 2 + n as u64 * 1_000_000,
            shadow: Some(Shadowed {
                model: &text[1..=MODEL_BYTES_MAX],
                model_sha256: &[8; 32],
                decision: &text[1..=LABEL_BYTES_MAX],
                score: Some(std::f64::consts::E),
            }),
        };
        rig.builder.append(&record).expect("it fits");
    }
    let too_long = NewRecord { source: &text[..=NAME_BYTES_MAX], ..small(&text) };
    assert!(matches!(rig.builder.append(&too_long), Err(StoreError::TooLong { what: "source", .. })));
    rig.commit();
    assert_eq!(rig.log(1).len(), 200);
    for entry in rig.store.medium.scan(keys::LOG, &[keys::LOG]) {
        let (_, value) = entry.expect("read");
        assert!(value.len() <= frame::STORED_BYTES_MAX, "{}", value.len());
    }
    assert!(!rig.store.stats().blobs);
    assert_eq!(fs::read_dir(dir.path().join("store/blobs")).expect("list").count(), 0);
}

pub fn small(id: &str) -> NewRecord<'_> {
    NewRecord {
        source: "pos",
        id: &id[..8],
        key: None,
        time_us: 0,
        payload: 0,
        decision: "allow",
        score: None,
        reasons: &[],
        model: "m@1",
        model_sha256: &SHA,
        decided_ms: 0,
        log_ms: 0,
        shadow: None,
    }
}

#[test]
fn a_blob_raises_the_alarm() {
    let dir = tempfile::tempdir().expect("dir");
    fs::create_dir_all(dir.path().join("store/blobs")).expect("dir");
    fs::write(dir.path().join("store/blobs/1"), b"x").expect("write");
    assert!(Rig::open(&options(dir.path())).store.stats().blobs);
}

#[test]
fn a_later_format_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().expect("dir");
    let rig = Rig::open(&options(dir.path()));
    let later = state::State { format: state::FORMAT + 1, ..state::State::new(1) };
    let mut batch = medium::Batch::default();
    batch.insert(keys::named(keys::META, state::STATE), frame::wrap(frame::Kind::Meta, 1 << 50, &later.encode()));
    rig.store.medium.write(batch).expect("write");
    drop((rig.writer, rig.store));
    let error = open(&options(dir.path())).err().expect("refused");
    assert!(matches!(error, StoreError::NewerFormat { found, known, .. } if found == known + 1), "{error}");
    assert!(matches!(inspect::report(dir.path()), Err(StoreError::NewerFormat { .. })));
}

/// In a process of its own, whose files may not grow over 9 MiB, the ballast among them: writes fail with EFBIG there.
#[test]
fn a_failed_write_is_an_error_and_the_last() {
    if let Some(dir) = std::env::var_os("STORE_TEST_FAILING_DIR") {
        return fail_in(Path::new(&dir));
    }
    let dir = tempfile::tempdir().expect("dir");
    let program = std::env::current_exe().expect("exe");
    let script = "trap '' XFSZ; ulimit -f 18432; exec \"$0\" --exact store::tests::traps::a_failed_write_is_an_error_and_the_last --nocapture";
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(program)
        .env("STORE_TEST_FAILING_DIR", dir.path())
        .output()
        .expect("run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let acked: u64 = text.lines().find_map(|line| line.strip_prefix("acked before ")?.parse().ok()).expect("acked");
    // What was acked is there, and a start without the limit goes on.
    let mut rig = Rig::open(&options(dir.path()));
    assert_eq!(rig.recovery.salvaged_to, None);
    assert!(rig.store.committed() >= acked && acked > 1, "{} {acked}", rig.store.committed());
    assert_eq!(rig.log(1).len() as u64, rig.store.committed() - 1);
    rig.load("after", 1);
}

fn fail_in(dir: &Path) {
    let mut rig = Rig::open(&options(dir));
    for round in 0u64.. {
        for n in 0..100u64 {
            rig.add(&noisy_id(round * 100 + n));
        }
        let chunks = rig.builder.seal();
        match rig.writer.commit(&Commit { chunks, ..Commit::default() }) {
            Ok(_) => assert!(round < 100_000, "the limit was never met"),
            Err(error) => {
                assert!(error.is_medium(), "{error}");
                break;
            }
        }
    }
    println!("\nacked before {}", rig.store.committed());
    let next = rig.writer.next_sequence();
    rig.builder = BatchBuilder::new(next);
    rig.add("later");
    let chunks = rig.builder.seal();
    let again = rig.writer.commit(&Commit { chunks, ..Commit::default() });
    assert!(matches!(again, Err(StoreError::Latched(_))), "{again:?}");
    assert!(matches!(rig.writer.maintain(), Err(StoreError::Latched(_))));
    assert!(rig.store.stats().failed.is_some());
}

/// The device that is always full stands in for a file that the start writes, whatever free space there is.
#[test]
fn a_start_that_finds_no_space_gives_the_ballast_up() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 10);
    drop((rig.writer, rig.store));
    let ballast = dir.path().join("ballast");
    assert_eq!(fs::metadata(&ballast).expect("made with the store").len(), BALLAST_BYTES);
    std::os::unix::fs::symlink("/dev/full", dir.path().join("segments.new")).expect("link");
    let error = open(&options(dir.path())).err().expect("no space");
    assert!(error.is_full() && error.is_medium(), "{error}");
    assert!(!ballast.exists());
    fs::remove_file(dir.path().join("segments.new")).expect("unlink");
    assert_eq!(Rig::open(&options(dir.path())).log(1).len(), 10);
}
