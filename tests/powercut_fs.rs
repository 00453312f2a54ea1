//! The file system that cuts the power is checked itself: what it serves, and what its cuts leave.
//!
//! A child process, `hands`, works on the mounted folder; this process serves it and looks at the images.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod support;

use rustix::fs::{FallocateFlags, FlockOperation};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use support::child::{Guarded, part, task};
use support::powercut_fs::{Fault, NOTES, Names, PowercutFs, Rest, Setup, Syncs};
use tempfile::TempDir;

/// A mounted file system and the child that works on it.
struct Bench {
    hands: Hands,
    fs: PowercutFs,
    folder: TempDir,
}

struct Hands {
    child: Guarded,
    answers: BufReader<std::process::ChildStdout>,
}

impl Bench {
    fn new(setup: Setup) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mount = folder.path().join("mount");
        let fs = support::mount_powercut(&mount, setup)?;
        let mut command = part("hands", &mount.display().to_string());
        let mut child = Guarded::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let answers = BufReader::new(child.0.stdout.take().expect("a pipe"));
        Some(Self { hands: Hands { child, answers }, fs, folder })
    }

    /// Has each line done; the answer of the last: `ok…` or the error's name.
    fn does(&mut self, lines: &[&str]) -> String {
        lines.iter().fold(String::new(), |_, line| self.hands.does(line))
    }

    /// The files in the image, by path, after a cut now or behind an operation.
    fn left(&self, cut: usize, names: Names, rest: Rest) -> BTreeMap<String, Vec<u8>> {
        let image = self.folder.path().join("image");
        self.fs.image(cut, names, rest, &image).expect("an image");
        let mut files = BTreeMap::new();
        collect(&image, &image, &mut files);
        files
    }

    fn synced(&self) -> BTreeMap<String, Vec<u8>> {
        self.left(usize::MAX, Names::Strict, Rest::Nothing)
    }
}

impl Hands {
    fn does(&mut self, line: &str) -> String {
        writeln!(self.child.0.stdin.as_mut().expect("a pipe"), "{line}").expect("a child that listens");
        loop {
            let mut answer = String::new();
            assert!(
                self.answers.read_line(&mut answer).expect("a child that answers") > 0,
                "the child ended at {line}"
            );
            // The test harness of the child writes lines of its own.
            if let Some(answer) = answer.strip_prefix("> ") {
                return answer.trim_end().to_owned();
            }
        }
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the image") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("a path below the root").display().to_string();
            files.insert(name, std::fs::read(&path).expect("a file of the image"));
        }
    }
}

fn files(list: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    list.iter().map(|(name, data)| ((*name).to_owned(), data.to_vec())).collect()
}

/// The child: does what the lines on its standard input say, within the folder that is its task.
#[test]
#[ignore = "the child process of the other tests here"]
fn hands() {
    let Some(folder) = task() else { return };
    std::env::set_current_dir(folder).expect("the mounted folder");
    let mut open: BTreeMap<String, File> = BTreeMap::new();
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match act(&words, &mut open) {
            Ok(answer) => answer,
            Err(error) => format!("{:?}", error.kind()),
        };
        println!("\n> {answer}");
    }
}

fn act(words: &[&str], open: &mut BTreeMap<String, File>) -> std::io::Result<String> {
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let writable = |name: &str| File::options().write(true).read(true).open(name);
    match *words {
        ["put", name, text] => std::fs::write(name, text)?,
        ["fill", name, byte, count] => {
            let data = vec![byte.as_bytes()[0]; usize::try_from(number(count)).expect("a length")];
            File::options().write(true).create(true).truncate(false).open(name)?.write_all_at(&data, 0)?;
        }
        ["at", name, at, text] => writable(name)?.write_all_at(text.as_bytes(), number(at))?,
        ["read", name] => return Ok(format!("ok {}", std::fs::read_to_string(name)?)),
        ["sync", name] => File::open(name)?.sync_all()?,
        ["datasync", name] => File::open(name)?.sync_data()?,
        ["resize", name, len] => writable(name)?.set_len(number(len))?,
        ["punch", name, at, len] => {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(writable(name)?, flags, number(at), number(len))?;
        }
        ["grow", name, len] => rustix::fs::fallocate(writable(name)?, FallocateFlags::empty(), 0, number(len))?,
        ["mkdir", name] => std::fs::create_dir(name)?,
        ["rename", old, new] => std::fs::rename(old, new)?,
        ["link", old, new] => std::fs::hard_link(old, new)?,
        ["remove", name] => std::fs::remove_file(name)?,
        ["open", name] => {
            open.insert(name.to_owned(), writable(name)?);
        }
        ["write-open", name, text] => open[name].write_all_at(text.as_bytes(), 0)?,
        ["sync-open", name] => open[name].sync_all()?,
        ["lock", name] => rustix::fs::flock(&open[name], FlockOperation::NonBlockingLockExclusive)?,
        ["lock-again", name] => rustix::fs::flock(writable(name)?, FlockOperation::NonBlockingLockExclusive)?,
        ["list", name] => {
            let mut names: Vec<_> =
                std::fs::read_dir(name)?.map(|e| e.map(|e| e.file_name())).collect::<Result<_, _>>()?;
            names.sort();
            return Ok(format!("ok {names:?}"));
        }
        ["free"] => {
            let state = rustix::fs::statvfs(".")?;
            return Ok(format!("ok {}", state.f_bavail * state.f_frsize));
        }
        ["note", text] => File::options().write(true).open(NOTES)?.write_all(text.as_bytes())?,
        _ => panic!("{words:?}"),
    }
    Ok("ok".to_owned())
}

#[test]
fn a_name_is_durable_after_a_sync_of_its_folder_only() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["put f one"]);
    assert_eq!(bench.synced(), files(&[]));
    bench.does(&["sync f"]);
    assert_eq!(bench.synced(), files(&[]), "the file was synced, not its folder");
    let journal = bench.left(usize::MAX, Names::Journal, Rest::Nothing);
    assert_eq!(journal, files(&[("f", b"one")]), "a journal has the name with any sync");
    bench.does(&["sync ."]);
    assert_eq!(bench.synced(), files(&[("f", b"one")]));
    bench.does(&["mkdir d", "put d/x x", "sync d/x", "sync d"]);
    assert_eq!(bench.synced(), files(&[("f", b"one")]), "a synced folder without a name is not there");
    bench.does(&["sync ."]);
    assert_eq!(bench.synced(), files(&[("d/x", b"x"), ("f", b"one")]));
    bench.does(&["rename d/x y", "sync ."]);
    assert_eq!(bench.synced(), files(&[("f", b"one"), ("y", b"x")]), "a rename over two folders is whole");
}

#[test]
fn data_and_size_are_durable_after_a_sync_of_the_file() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["put f one", "sync f", "sync .", "at f 0 TWO"]);
    assert_eq!(bench.does(&["read f"]), "ok TWO");
    assert_eq!(bench.synced(), files(&[("f", b"one")]));
    assert_eq!(bench.left(usize::MAX, Names::Strict, Rest::All), files(&[("f", b"TWO")]), "as after a kill");
    bench.does(&["datasync f"]);
    assert_eq!(bench.synced(), files(&[("f", b"TWO")]));
    bench.does(&["resize f 1"]);
    assert_eq!(bench.does(&["read f"]), "ok T");
    assert_eq!(bench.synced(), files(&[("f", b"TWO")]));
    bench.does(&["sync f"]);
    assert_eq!(bench.synced(), files(&[("f", b"T")]));
    bench.does(&["grow f 8192", "fill f x 8192", "punch f 1 4096", "sync f"]);
    let expected = [b"x".as_slice(), &[0; 4096], &[b'x'; 4095]].concat();
    assert_eq!(bench.synced()["f"], expected);
}

#[test]
fn a_rename_is_there_whole_or_not_at_all() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["put f old", "sync f", "put new new", "sync new", "sync .", "rename new f"]);
    assert_eq!(bench.does(&["read f"]), "ok new");
    let before = files(&[("f", b"old"), ("new", b"new")]);
    let behind = files(&[("f", b"new")]);
    assert_eq!(bench.synced(), before);
    let seen: Vec<_> = (0..60).map(|seed| bench.left(usize::MAX, Names::Strict, Rest::Some(seed))).collect();
    assert!(seen.iter().all(|image| *image == before || *image == behind));
    assert!(seen.contains(&before) && seen.contains(&behind), "both are drawn");
    bench.does(&["link f g", "remove f"]);
    assert_eq!(bench.does(&["list ."]), r#"ok ["g"]"#);
    bench.does(&["sync ."]);
    assert_eq!(bench.synced(), files(&[("g", b"new")]));
}

#[test]
fn an_unsynced_write_is_torn_at_sectors() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["fill f 1 8192", "sync f", "sync ."]);
    let cut = bench.fs.operations();
    bench.does(&["fill f 2 8192"]);
    let mut mixes = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let data = bench.left(usize::MAX, Names::Strict, Rest::Some(seed)).remove("f").expect("a durable file");
        assert_eq!(data.len(), 8192);
        let sectors: Vec<u8> = data.chunks(512).map(|sector| sector[0]).collect();
        assert!(data.chunks(512).zip(&sectors).all(|(sector, first)| sector.iter().all(|byte| byte == first)));
        mixes.insert(sectors);
    }
    assert!(mixes.len() > 20, "{} mixes", mixes.len());
    let earlier = bench.left(cut, Names::Strict, Rest::All);
    assert_eq!(earlier["f"], vec![b'1'; 8192], "a cut before it knows nothing of it");
}

#[test]
fn a_failed_sync_loses_its_data_for_good() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["put f one", "sync f", "sync .", "at f 0 two"]);
    bench.fs.fail(1, Fault::NextSync);
    assert_eq!(bench.does(&["sync f"]), "Uncategorized", "EIO");
    assert_eq!(bench.fs.failed(), ["sync f"]);
    assert_eq!(bench.does(&["sync f"]), "ok", "the second sync lies, as Linux does");
    assert_eq!(bench.synced(), files(&[("f", b"one")]));
}

#[test]
fn a_failed_write_stays_failed_until_healed() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["put f one"]);
    bench.fs.fail(bench.fs.operations() + 2, Fault::Once);
    assert_eq!(bench.does(&["at f 0 a"]), "ok", "the operation before passes");
    assert_eq!(bench.does(&["at f 1 b"]), "Uncategorized");
    assert_eq!(bench.does(&["at f 1 b"]), "Uncategorized", "the spot is bad");
    assert_eq!(bench.does(&["at f 2 c"]), "ok");
    bench.fs.heal();
    assert_eq!(bench.does(&["at f 1 b"]), "ok");
    assert_eq!(bench.does(&["read f"]), "ok abc");
    bench.fs.fail(1, Fault::Always);
    let all = ["put g x", "mkdir d", "rename f g", "remove f", "resize f 0", "sync ."];
    assert!(all.iter().all(|line| bench.does(&[line]) == "Uncategorized"));
}

#[test]
fn syncs_that_lie_make_nothing_durable() {
    let Some(mut bench) = Bench::new(Setup { syncs: Syncs::Lie, ..Setup::default() }) else { return };
    assert_eq!(bench.does(&["put f one", "datasync f", "sync f", "sync ."]), "ok");
    assert_eq!(bench.synced(), files(&[]));
    let Some(mut bench) = Bench::new(Setup { syncs: Syncs::DataSyncLies, ..Setup::default() }) else { return };
    assert_eq!(bench.does(&["put f one", "sync .", "datasync f"]), "ok");
    assert_eq!(bench.synced(), files(&[("f", b"")]));
    bench.does(&["sync f"]);
    assert_eq!(bench.synced(), files(&[("f", b"one")]));
}

#[test]
fn a_full_disk_says_so_and_recovers() {
    let Some(mut bench) = Bench::new(Setup { size_bytes: 8192, ..Setup::default() }) else { return };
    assert_eq!(bench.does(&["free"]), "ok 8192");
    assert_eq!(bench.does(&["fill f x 8193"]), "StorageFull");
    assert_eq!(bench.does(&["fill f x 4096"]), "ok");
    assert_eq!(bench.does(&["free"]), "ok 4096");
    assert_eq!(bench.does(&["remove f", "free"]), "ok 8192");
    bench.fs.resize(1 << 20);
    assert_eq!(bench.does(&["fill f x 100000"]), "ok");
}

#[test]
fn it_serves_locks_open_files_without_names_and_notes() {
    let Some(mut bench) = Bench::new(Setup::default()) else { return };
    bench.does(&["put f one", "open f", "lock f"]);
    assert_eq!(bench.does(&["lock-again f"]), "WouldBlock");
    bench.does(&["remove f"]);
    assert_eq!(bench.does(&["write-open f two", "sync-open f"]), "ok", "an open file outlives its name");
    let operations = bench.fs.operations();
    assert_eq!(bench.does(&["note acked-7"]), "ok");
    assert_eq!(bench.fs.operations(), operations, "a note is no operation");
    let note = bench.fs.notes().pop().expect("the note");
    assert_eq!((note.after, note.text.as_str()), (operations, "acked-7"));
    assert_eq!(bench.does(&["list ."]), "ok []", "and no file");
}
