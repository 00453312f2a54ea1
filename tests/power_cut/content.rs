//! What the load commits: a function of the seed and a number, so that a reader knows each byte of it.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;
use std::sync::Arc;
use verdictd::store::{
    Calls, Case, CaseChange, CaseState, CellKind, Kept, Label, NewRecord, Observation, Observed, QuarantineEntry,
    Record, Schema,
};

pub const SINK: &str = "sink";
pub const SOURCE: &str = "pos";
pub const OFFSET_OF: &str = "file";

/// The texts of one record.
pub struct Texts {
    id: String,
    key: Option<String>,
    reasons: Vec<String>,
    random: Pcg64Mcg,
}

fn random_of(seed: u64, number: u64, what: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed ^ number.rotate_left(20) ^ what.rotate_left(50))
}

fn text(random: &mut Pcg64Mcg, bytes: usize) -> String {
    (0..bytes).map(|_| char::from(random.random_range(b'!'..=b'~'))).collect()
}

impl Texts {
    /// Most records are small; one in ten has an identity and a key as long as they may be.
    pub fn of(seed: u64, sequence: u64) -> Self {
        let mut random = random_of(seed, sequence, 1);
        let is_large = random.random_ratio(1, 10);
        let pad = if is_large { random.random_range(0..480) } else { random.random_range(0..20) };
        let id = format!("{sequence}-{}", text(&mut random, pad));
        let key = random.random_ratio(2, 3).then(|| {
            let bytes = if is_large { 1000 } else { 12 };
            text(&mut random, bytes)
        });
        let reasons = (0..random.random_range(0..3)).map(|n| format!("REASON_{n}")).collect();
        Self { id, key, reasons, random }
    }

    /// Gives the record to `with`.
    pub fn record<T>(&self, log_ms: u64, with: impl FnOnce(&NewRecord<'_>) -> T) -> T {
        let mut random = self.random.clone();
        let reasons: Vec<&str> = self.reasons.iter().map(String::as_str).collect();
        with(&NewRecord {
            source: SOURCE,
            id: &self.id,
            key: self.key.as_deref(),
            time_us: random.random_range(0..4_000_000_000_000_000),
            payload: random.random(),
            decision: ["allow", "review", "block"][random.random_range(0..3)],
            score: random.random_ratio(9, 10).then(|| random.random()),
            reasons: &reasons,
            model: "test@1",
            model_sha256: &[7; 32],
            decided_ms: random.random_range(0..4_000_000_000_000),
            log_ms,
            shadow: None,
        })
    }

    /// Whether a record read back is this one, member for member.
    pub fn equal(&self, found: &Record<'_>) -> bool {
        self.record(found.log_ms, |expected| {
            let verdict = &found.verdict;
            verdict.source == expected.source
                && verdict.id == expected.id
                && verdict.key == expected.key
                && verdict.time_us == expected.time_us
                && verdict.decision == expected.decision
                && verdict.score == expected.score
                && verdict.reasons == expected.reasons
                && verdict.model == expected.model
                && verdict.model_sha256 == expected.model_sha256
                && verdict.decided_ms == expected.decided_ms
                && found.payload == expected.payload
        })
    }
}

/// How many records the commit has: mostly few, sometimes hundreds, sometimes none.
pub fn records_in(seed: u64, commit: u64) -> u64 {
    let mut random = random_of(seed, commit, 2);
    match random.random_range(0..10) {
        0 => 0,
        1..6 => random.random_range(1..8),
        6..9 => random.random_range(20..120),
        _ => random.random_range(200..400),
    }
}

/// The quarantine entry that the commit brings, in one of three.
pub fn quarantine_in(seed: u64, commit: u64) -> Option<QuarantineEntry> {
    let mut random = random_of(seed, commit, 3);
    if !random.random_ratio(1, 3) {
        return None;
    }
    let mut bytes = vec![0; random.random_range(0..15_000)];
    random.fill(&mut bytes[..]);
    Some(QuarantineEntry {
        kind: "malformed".to_owned(),
        source: SOURCE.to_owned(),
        id: Some(format!("bad-{commit}")),
        reason: "expected JSON".to_owned(),
        length: bytes.len() as u64,
        bytes,
        at_ms: 1_600_000_000_000 + i64::try_from(commit).unwrap_or(0),
    })
}

/// The event's line, as it is kept for a replay.
pub fn line(seed: u64, sequence: u64) -> Vec<u8> {
    let mut random = random_of(seed, sequence, 5);
    let bytes = if random.random_ratio(1, 20) { 4000 } else { random.random_range(20..300) };
    format!("{sequence} {}", text(&mut random, bytes)).into_bytes()
}

pub fn kept(seed: u64, sequences: Range<u64>) -> Kept {
    let mut kept = Kept::default();
    sequences.for_each(|sequence| kept.push(sequence, &line(seed, sequence)));
    kept
}

/// The sink that has open calls.
pub const GUARDED: &str = "guarded";
/// How many commits long a call is open.
const OPEN_FOR: u64 = 5;

/// The call that a commit begins, as it stands after another commit.
fn case(begun: u64, after: u64) -> Case {
    // Every other one is looked at again by the next commit.
    let state = match begun % 3 {
        _ if begun % 2 == 1 && after > begun => CaseState::Uncertain,
        0 => CaseState::Again,
        _ => CaseState::UnderWay,
    };
    let at_ms = i64::try_from(begun).unwrap_or(0);
    let reason = format!("of commit {begun}, {}", "x".repeat(usize::try_from(begun % 400).unwrap_or(0)));
    Case { sink: GUARDED.to_owned(), sequence: begun, state, calls: begun, at_ms, reason, verdict: None }
}

/// What a commit does to open calls.
pub fn cases_in(commit: u64) -> Vec<CaseChange> {
    let mut changes = vec![CaseChange::Put(case(commit, commit))];
    if commit.is_multiple_of(2) {
        changes.push(CaseChange::Put(case(commit - 1, commit)));
    }
    if commit > OPEN_FOR {
        changes.push(CaseChange::Drop(GUARDED.to_owned(), commit - OPEN_FOR));
    }
    changes
}

/// The calls that are open after a commit, ascending.
pub fn cases_after(commit: u64) -> Vec<Case> {
    (commit.saturating_sub(OPEN_FOR) + 1..=commit).map(|begun| case(begun, commit)).collect()
}

/// How many were made.
pub fn calls_after(commit: u64) -> Calls {
    Calls { day: commit / 100, made: commit, last_ms: i64::try_from(commit).unwrap_or(0) }
}

/// Event time of an observation: a second each.
pub fn time_us(sequence: u64) -> i64 {
    1_600_000_000_000_000 + i64::try_from(sequence).unwrap_or(0) * 1_000_000
}

fn schema() -> Arc<Schema> {
    let columns = [(CellKind::Hash, "key /K"), (CellKind::Number, "number /N")];
    Arc::new(Schema { columns: columns.map(|(kind, name)| (kind, name.to_owned())).to_vec() })
}

/// What windows need of the event, and its cells.
pub fn observation(seed: u64, sequence: u64) -> (Observation, [u64; 2]) {
    let mut random = random_of(seed, sequence, 4);
    let identity = random.random();
    let row = Observation { sequence, time_us: time_us(sequence), identity, counted: random.random() };
    let cents = random.random_range(0..100_000u32);
    let number = if random.random_ratio(1, 9) { f64::NAN } else { f64::from(cents) / 100.0 };
    let key = if random.random_ratio(1, 9) { 0 } else { random.random() };
    (row, [key, number.to_bits()])
}

pub fn observed(seed: u64, sequences: Range<u64>) -> Observed {
    let newest_us = time_us(sequences.end.saturating_sub(1));
    let (rows, cells): (Vec<_>, Vec<_>) = sequences.map(|sequence| observation(seed, sequence)).unzip();
    Observed { schema: schema(), rows, cells: cells.into_iter().flatten().collect(), newest_us }
}

/// The label that the commit brings, in one of three: of an event that is known, or of one that is not.
pub fn label_in(seed: u64, commit: u64, log_ms: u64) -> Option<Label> {
    let mut random = random_of(seed, commit, 5);
    if !random.random_ratio(1, 3) {
        return None;
    }
    let with_cells = random.random::<bool>();
    Some(Label {
        source: SOURCE.to_owned(),
        id: format!("{commit}"),
        key: random.random::<bool>().then(|| text(&mut random, 30)),
        identity: random.random(),
        sequence: random.random::<bool>().then_some(commit),
        event_us: with_cells.then(|| time_us(commit)),
        time_us: time_us(commit) + 5,
        value: random.random(),
        log_ms,
        next: commit,
        schema: with_cells.then(schema),
        cells: if with_cells { observation(seed, commit).1.to_vec() } else { Vec::new() },
    })
}
