//! The load: a child process that commits to a store on the mounted disk and notes what it was told.
//!
//! Notes, each a line in the trace:
//!
//! - `begin C next=N cursor=S floor=F drop=Q horizon=H`: before commit C, which reaches up to the sequence N; the sink's
//!   cursor is at S, the window begins at F, the quarantine entry Q (0: none) goes, observations up to that of H may go;
//! - `ack C quarantine=Q`: it returned; its quarantine entry has the sequence Q (0: none);
//! - `error …`, `refused …`, `recovered`; `closed` behind a clean end.

use super::content::{
    GUARDED, OFFSET_OF, SINK, Texts, calls_after, cases_in, kept, label_in, observed, quarantine_in, records_in,
    time_us,
};
use super::state_of;
use crate::support::child;
use crate::support::powercut_fs::NOTES;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use verdictd::event::identity_fingerprint;
use verdictd::store::{
    BatchBuilder, Commit, Index, Keeping, Opened, Options, Room, SinkDecl, SinkStart, Store, StoreError, Writer, open,
};

/// What the child is to do.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub seed: u64,
    pub commits: u64,
    /// Goes on until the store has no room, waits for it, and commits once more.
    pub until_full: bool,
    /// Commits whatever the store says about room.
    pub ignore_room: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// By an error of the medium.
    Io,
    /// By anything else: a panic, a signal.
    Other,
}

const IO: i32 = 74;

impl Ending {
    pub fn of(status: ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Done,
            Some(IO) => Self::Io,
            _ => Self::Other,
        }
    }
}

impl Task {
    pub fn new(seed: u64, commits: u64) -> Self {
        Self { seed, commits, until_full: false, ignore_room: false }
    }

    pub fn to_text(self, mount: &Path) -> String {
        format!("{} {} {} {} {}", self.seed, self.commits, self.until_full, self.ignore_room, mount.display())
    }

    fn from_text(text: &str) -> (Self, &Path) {
        let words: Vec<&str> = text.splitn(5, ' ').collect();
        let number = |n: usize| words[n].parse().expect("a number");
        let flag = |n: usize| words[n] == "true";
        let task = Self { seed: number(0), commits: number(1), until_full: flag(2), ignore_room: flag(3) };
        (task, Path::new(words[4]))
    }
}

/// The options of load and check: an index so small that the log is trimmed while it runs.
pub fn options(state: &Path) -> Options {
    Options {
        index_bytes: 0,
        cache_bytes: 4 << 20,
        tail_bytes: 64 << 10,
        sinks: vec![SinkDecl { name: SINK.to_owned(), start: SinkStart::Oldest }],
        keeping: Keeping { time: Some(Duration::from_hours(24)), bytes: 1 << 20 },
        ..Options::new(state)
    }
}

struct Load {
    task: Task,
    notes: File,
    store: std::sync::Arc<Store>,
    index: Index,
    writer: Writer,
    builder: BatchBuilder,
    /// Quarantine entries not dropped yet.
    kept: VecDeque<u64>,
}

#[test]
#[ignore = "the child process of the other tests here"]
fn load() {
    let Some(text) = child::task() else { return };
    let (task, mount) = Task::from_text(&text);
    let notes = File::options().write(true).open(mount.join(NOTES)).expect("the notes");
    let ended = match open(&options(&state_of(mount))) {
        Ok(opened) => Load::new(task, notes.try_clone().expect("a handle"), opened).run(),
        Err(error) => Err(error),
    };
    let code = match &ended {
        Ok(()) => 0,
        Err(error) if error.is_medium() => IO,
        Err(_) => 1,
    };
    if let Err(error) = ended {
        println!("ended: {error}");
        note(&notes, &format!("error {error}"));
    }
    // Not by dropping the store: a daemon that failed ends here too.
    std::process::exit(code);
}

fn note(mut notes: &File, text: &str) {
    notes.write_all(text.as_bytes()).expect("a note");
}

impl Load {
    fn new(task: Task, notes: File, opened: Opened) -> Self {
        let Opened { store, index, writer, .. } = opened;
        let builder = BatchBuilder::new(writer.next_sequence());
        Self { task, notes, store, index, writer, builder, kept: VecDeque::new() }
    }

    fn run(mut self) -> Result<(), StoreError> {
        let mut commit = 1;
        while commit <= self.task.commits {
            if self.store.room() != Room::Yes && !self.task.ignore_room {
                note(&self.notes, &format!("refused {}", self.store.room()));
                self.wait_for_room()?;
                self.commit(commit)?;
                note(&self.notes, "recovered");
                break;
            }
            if let Err(error) = self.commit(commit) {
                note(&self.notes, &format!("error {error}"));
                self.must_stay_failed(commit + 1, &error);
                return Err(error);
            }
            if commit.is_multiple_of(16) {
                self.writer.maintain()?;
            }
            commit += 1;
        }
        self.writer.close()?;
        note(&self.notes, "closed");
        Ok(())
    }

    fn commit(&mut self, commit: u64) -> Result<(), StoreError> {
        let log_ms = self.writer.clock().now_ms();
        self.store.set_cursor(SINK, self.cursor(commit))?;
        let first = self.builder.next_sequence();
        for _ in 0..records_in(self.task.seed, commit) {
            let texts = Texts::of(self.task.seed, self.builder.next_sequence());
            let sequence = texts.record(log_ms, |record| {
                let identity = identity_fingerprint(self.store.seed(), record.source, record.id);
                let sequence = self.builder.append(record)?;
                self.index.insert(identity, sequence);
                Ok::<_, StoreError>(sequence)
            })?;
            assert!(self.builder.get(sequence).is_some_and(|record| texts.equal(&record)), "{sequence} as appended");
        }
        let quarantine = quarantine_in(self.task.seed, commit);
        let dropped = if commit.is_multiple_of(5) { self.kept.pop_front() } else { None };
        let (next, floor) = (self.builder.next_sequence(), self.store.stats().window_floor);
        let (cursor, drop) = (self.cursor(commit), dropped.unwrap_or(0));
        let horizon = first.saturating_sub(500);
        note(
            &self.notes,
            &format!("begin {commit} next={next} cursor={cursor} floor={floor} drop={drop} horizon={horizon}"),
        );
        let committed = self.writer.commit(&Commit {
            chunks: self.builder.seal(),
            offsets: vec![(OFFSET_OF.to_owned(), commit.to_be_bytes().to_vec())],
            quarantine: quarantine.into_iter().collect(),
            labels: label_in(self.task.seed, commit, log_ms).into_iter().collect(),
            observed: Some(observed(self.task.seed, first..next).into()),
            kept: Some(kept(self.task.seed, first..next)),
            cases: cases_in(commit),
            calls: vec![(GUARDED.to_owned(), calls_after(commit))],
            horizon_us: Some(time_us(horizon)),
            quarantine_drop: dropped.into_iter().collect(),
            ..Commit::default()
        })?;
        let entry = committed.quarantine.first().copied();
        note(&self.notes, &format!("ack {commit} quarantine={}", entry.unwrap_or(0)));
        self.kept.extend(entry);
        Ok(())
    }

    /// The sink confirms in steps and stays some commits behind; on a full disk it is up to date.
    fn cursor(&self, commit: u64) -> u64 {
        let committed = self.store.committed();
        if self.task.until_full || self.task.ignore_room {
            // Confirms nothing: no trimming makes room.
            return 1;
        }
        let behind = 50 * (commit % 4);
        committed.saturating_sub(behind).max(self.store.cursor(SINK).unwrap_or(1))
    }

    /// Behind a failed commit no other succeeds, nor does a clean end.
    fn must_stay_failed(&mut self, commit: u64, error: &StoreError) {
        if error.is_medium() {
            self.builder = BatchBuilder::new(self.writer.next_sequence());
            assert!(self.commit(commit).is_err(), "a commit behind {error} succeeded");
            assert!(self.writer.maintain().is_err(), "maintenance behind {error} succeeded");
        }
    }

    fn wait_for_room(&mut self) -> Result<(), StoreError> {
        while self.store.room() != Room::Yes {
            self.writer.maintain()?;
            std::thread::yield_now();
        }
        Ok(())
    }
}
