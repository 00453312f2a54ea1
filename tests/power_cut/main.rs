//! The store over a file system that forgets what was not synced, fails, and runs full.
//!
//! One run of a load (`load`, in a child process) is traced; the disk that a power cut leaves behind any of
//! its operations is then opened (`image`) and held against what the load had been told by then (`promises`).
//! The controls: with syncs that lie, and with the store's own fdatasync taken out, the same check must
//! report loss.
//!
//! `VERDICTD_TEST_IMAGES` sets the images, `VERDICTD_TEST_SEED` repeats a run's choices.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod content;
mod image;
mod load;
mod promises;

use image::{Fault as Broken, check};
use load::{Ending, Task};
use promises::Promises;
use rand::Rng;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::powercut_fs::{Fault, Names, PowercutFs, Rest, Setup, Syncs};
use support::{child, mount_powercut, random};
use tempfile::TempDir;

/// Images are opened on as many threads.
const THREADS: usize = 2;

/// What is kept of a failing image for the report.
struct Failed {
    what: String,
    broken: Broken,
}

/// A load that ran on a mounted disk.
struct Run {
    fs: PowercutFs,
    folder: TempDir,
    ended: child::Finished,
    seed: u64,
}

fn run(setup: Setup, task: Task, fault: Option<(usize, Fault)>) -> Option<Run> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mount = folder.path().join("disk");
    let fs = mount_powercut(&mount, setup)?;
    if let Some((at, fault)) = fault {
        fs.fail(at, fault);
    }
    let mut command = child::part("load::load", &task.to_text(&mount));
    let ended = child::run(&mut command);
    let ended = ended.unwrap_or_else(|| panic!("the load hangs with {task:?} and {fault:?}: {:?}", fs.failed()));
    Some(Run { fs, folder, ended, seed: task.seed })
}

impl Run {
    fn promises(&self, cut: usize) -> Promises {
        Promises::until(&self.fs.notes(), cut)
    }

    /// Opens the disks that cuts behind `cuts` leave; those that break a promise.
    fn cut(&self, images: &[(usize, Names, Rest)]) -> Vec<Failed> {
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (next, failed) = (&next, &failed);
                scope.spawn(move || {
                    let folder = self.folder.path().join(format!("image-{thread}"));
                    while let Some((cut, names, rest)) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
                        self.fs.image(*cut, *names, *rest, &folder).expect("an image");
                        if let Err(broken) = check(&folder, &self.promises(*cut), self.seed) {
                            let last = self.fs.trace(cut.saturating_sub(6), *cut).join("; ");
                            let what = format!("cut behind {cut}, {names:?}, {rest:?} ({last}): {broken}");
                            failed.lock().expect("no panic holds it").push(Failed { what, broken });
                        }
                    }
                });
            }
        });
        failed.into_inner().expect("no panic holds it")
    }
}

/// Cuts spread over the trace, densely over the store's creation, in four ways each.
fn spread(operations: usize, images: usize, seed: u64) -> Vec<(usize, Names, Rest)> {
    let cuts = (images / 4).max(1);
    let creation = (cuts / 4).min(operations);
    let rest = cuts - creation;
    let even = (1..=rest).map(|n| creation + n * (operations - creation) / rest.max(1));
    (1..=creation)
        .chain(even)
        .flat_map(|cut| {
            let some = |n: u64| Rest::Some(seed ^ (cut as u64) << 8 ^ n);
            let synced = [(cut, Names::Strict, Rest::Nothing), (cut, Names::Journal, Rest::Nothing)];
            let torn = [(cut, Names::Strict, some(0)), (cut, Names::Journal, some(1))];
            synced.into_iter().chain(torn)
        })
        .collect()
}

fn report(failed: &[Failed]) -> String {
    failed.iter().take(5).map(|f| f.what.as_str()).collect::<Vec<_>>().join("\n  ")
}

#[test]
fn no_power_cut_takes_what_was_acked() {
    let images = usize::try_from(support::from_env("VERDICTD_TEST_IMAGES", 640)).expect("a number of images");
    let (seed, _) = random(3);
    let Some(run) = run(Setup::default(), Task::new(seed, 120), None) else { return };
    assert_eq!(run.ended.status.code(), Some(0), "{:?}", run.ended);
    let operations = run.fs.operations();
    let all = spread(operations, images, seed);
    let promises = run.promises(operations);
    assert!(promises.floor > 1, "the load trims: {promises:?}");
    let failed = run.cut(&all);
    let (acked, floor) = (promises.acked_next - 1, promises.floor);
    println!(
        "{} images of {operations} operations, {acked} acked, trimmed to {floor}: {} broken",
        all.len(),
        failed.len()
    );
    assert!(failed.is_empty(), "seed {seed}: {} of {} images:\n  {}", failed.len(), all.len(), report(&failed));
    // As after a kill and after a clean end: nothing at all is missing.
    let whole = [(operations, Names::Strict, Rest::All), (operations, Names::Strict, Rest::Nothing)];
    let failed = run.cut(&whole);
    assert!(failed.is_empty(), "seed {seed}:\n  {}", report(&failed));
}

/// The control: the check above must see a disk that lies, and a store that does not sync.
#[test]
fn a_sync_that_does_nothing_is_reported_as_loss() {
    let (seed, _) = random(3);
    // `Syncs::DataSyncLies` is the store with its own sync taken out: its log engine calls fsync and
    // sync_file_range, never fdatasync, so the lying calls are those that the store adds, and only those.
    for syncs in [Syncs::Lie, Syncs::DataSyncLies] {
        let Some(run) = run(Setup { syncs, ..Setup::default() }, Task::new(seed, 60), None) else { return };
        assert_eq!(run.ended.status.code(), Some(0), "{:?}", run.ended);
        let operations = run.fs.operations();
        let behind_acks = run.fs.notes().into_iter().filter(|note| note.text.starts_with("ack")).map(|note| note.after);
        let cuts: Vec<_> = behind_acks.map(|cut| (cut, Names::Journal, Rest::Nothing)).collect();
        let failed = run.cut(&cuts);
        let lost = failed.iter().filter(|failed| matches!(failed.broken, Broken::Lost(_))).count();
        println!("{syncs:?}: {lost} of {} images lost acked events ({operations} operations)", cuts.len());
        assert!(lost * 2 > cuts.len(), "{syncs:?}: only {lost} of {}:\n  {}", cuts.len(), report(&failed));
    }
}

#[test]
fn an_error_of_any_operation_ends_the_acks_and_the_next_start_is_clean() {
    const RUNS: usize = 60;
    let (seed, mut random) = random(5);
    let task = Task::new(seed, 12);
    let Some(whole) = run(Setup::default(), task, None) else { return };
    let operations = whole.fs.operations();
    drop(whole);
    for n in 0..RUNS {
        let at = 1 + n * operations / RUNS;
        let fault = [Fault::Once, Fault::Always, Fault::NextSync][random.random_range(0..3)];
        let what = format!("seed {seed}, {fault:?} at {at} of {operations}");
        let Some(run) = run(Setup::default(), task, Some((at, fault))) else { return };
        if run.fs.failed().is_empty() {
            // The last syncs are behind it: this run had none left.
            assert_eq!(run.ended.status.code(), Some(0), "{what}: {:?}", run.ended);
            continue;
        }
        let what = format!("{what}, {:?}", run.fs.failed());
        if run.fs.notes().last().is_some_and(|note| note.text == "closed" && note.after < at) {
            // All was durable and said to be: what its log engine still does while it is dropped decides nothing.
            continue;
        }
        assert_eq!(Ending::of(run.ended.status), Ending::Io, "{what}: {:?}", run.ended);
        must_not_ack_behind_the_error(&run, &what);
        run.fs.heal();
        let end = run.fs.operations();
        let reboot = [
            (end, Names::Strict, Rest::Nothing),
            (end, Names::Journal, Rest::All),
            (end, Names::Strict, Rest::Some(at as u64)),
        ];
        let failed = run.cut(&reboot);
        assert!(failed.is_empty(), "{what}, after a reboot:\n  {}", report(&failed));
        let live = run.folder.path().join("live");
        run.fs.live(&live).expect("an image");
        check(&live, &run.promises(end), seed).unwrap_or_else(|broken| panic!("{what}, after a restart: {broken}"));
    }
}

fn must_not_ack_behind_the_error(run: &Run, what: &str) {
    let notes = run.fs.notes();
    let error = notes.iter().position(|note| note.text.starts_with("error"));
    let behind = notes.iter().skip(error.unwrap_or(notes.len())).find(|note| note.text.starts_with("ack"));
    assert!(behind.is_none(), "{what}: acked behind the error: {behind:?}");
}

#[test]
fn a_full_disk_refuses_keeps_everything_and_recovers() {
    let (seed, _) = random(7);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mount = folder.path().join("disk");
    let Some(fs) = mount_powercut(&mount, Setup { size_bytes: 40 << 20, ..Setup::default() }) else { return };
    let task = Task { until_full: true, ..Task::new(seed, 100_000) };
    let mut command = child::part("load::load", &task.to_text(&mount));
    // Room is made when the load says that it was refused; it must then go on by itself.
    let ended = std::thread::scope(|scope| {
        let load = scope.spawn(|| child::run(&mut command));
        let refused = || fs.notes().iter().any(|note| note.text.starts_with("refused")).then_some(());
        let waited = child::poll(child::WATCHDOG, || if load.is_finished() { Some(()) } else { refused() });
        assert!(waited.is_some(), "the disk never ran full: {} bytes", fs.used_bytes());
        fs.resize(1 << 30);
        load.join().expect("a thread that only waits").expect("a load that ends")
    });
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let notes = fs.notes();
    assert!(notes.iter().any(|note| note.text.starts_with("refused")), "{ended:?}");
    assert!(notes.iter().any(|note| note.text == "recovered"), "{ended:?}");
    let image = folder.path().join("image");
    fs.image(usize::MAX, Names::Strict, Rest::Nothing, &image).expect("an image");
    check(&image, &Promises::until(&notes, usize::MAX), seed).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn writing_into_a_full_disk_loses_nothing_either() {
    let (seed, _) = random(11);
    // It does not ask whether there is room, so that the disk itself says no.
    let task = Task { ignore_room: true, ..Task::new(seed, 100_000) };
    let Some(run) = run(Setup { size_bytes: 32 << 20, ..Setup::default() }, task, None) else { return };
    assert_eq!(Ending::of(run.ended.status), Ending::Io, "{:?}", run.ended);
    must_not_ack_behind_the_error(&run, "a full disk");
    let end = run.fs.operations();
    let failed = run.cut(&[(end, Names::Strict, Rest::Nothing), (end, Names::Journal, Rest::All)]);
    assert!(failed.is_empty(), "{}", report(&failed));
    // Not a byte is free: it opens all the same, says that it takes nothing, and ends cleanly.
    run.fs.resize(run.fs.used_bytes());
    let mount = run.fs.path();
    let again = child::run(&mut child::part("load::load", &Task::new(seed, 0).to_text(mount))).expect("an end");
    assert_eq!(Ending::of(again.status), Ending::Done, "started on a full disk: {again:?}");
    run.fs.live(&run.folder.path().join("live")).expect("an image");
    let promises = run.promises(run.fs.operations());
    check(&run.folder.path().join("live"), &promises, seed).unwrap_or_else(|broken| panic!("{broken}"));
}

/// Where the store is on a disk.
fn state_of(mount: &Path) -> std::path::PathBuf {
    mount.join("state")
}
