//! What a guarded sink may do next, and what each outcome changes: decisions alone, no I/O.
//!
//! A call is made once. Before it the intent is durable (a case that is *under way*); after it its outcome is, together
//! with the cursor. What a crash finds under way is *uncertain*, and stays so until someone who knows has settled it.
//! So of each verdict at most one call is made without a word of a person or of the receiver (the probe), and none is
//! passed over: each is delivered, set aside, open, or still to come.

use crate::store::{Calls, Case, CaseState};
use std::collections::BTreeMap;

pub(super) const DAY_MS: i64 = 86_400_000;
/// 2024-01-01, in days since 1970: a clock that shows an earlier day is not set.
const EARLIEST_DAY: u64 = 19_723;

/// What is durable about a guarded sink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Every verdict below that the sink wants is settled or a case.
    pub cursor: u64,
    pub open: BTreeMap<u64, Open>,
    pub calls: Calls,
}

/// A case, as decisions need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub state: CaseState,
    pub calls: u64,
    pub at_ms: i64,
}

/// As configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether later verdicts wait until an uncertain call is settled.
    pub wait: bool,
    /// Most cases there may be.
    pub open_max: usize,
    pub calls_per_day: Option<u64>,
    /// Least time from one call to the next, milliseconds.
    pub spacing_ms: i64,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// All is settled or open, as far as the log goes.
    Nothing,
    /// The call of this verdict. `again`: it was begun before, and someone decided that it is to be made.
    Call {
        sequence: u64,
        again: bool,
    },
    /// Nothing for so many milliseconds at the least.
    Later(i64),
    Hold(Hold),
}

/// What has to happen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// An uncertain call is to be settled: later ones wait for it.
    Uncertain,
    /// There are as many open cases as may be.
    Full,
    /// The day's calls are used up.
    Budget,
}

impl Hold {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncertain => "uncertain",
            Self::Full => "uncertain-limit",
            Self::Budget => "calls-per-day",
        }
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has done it.
    Delivered,
    /// No byte of it was sent.
    NotMade,
    /// The receiver says that it has not done it, and may do it later.
    Declined,
    /// The receiver says that it will not do it: the verdict is set aside.
    Refused,
    Unknown,
}

/// Who knows what came of an uncertain call: it was done, or it is to be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Delivered,
    Again,
}

/// What becomes durable in one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub sequence: u64,
    /// The case as it is then; None: there is none.
    pub case: Option<Open>,
    /// Where the cursor is then, if it is not there yet.
    pub cursor: Option<u64>,
    pub calls: Option<Calls>,
}

impl Ledger {
    /// As the store has it.
    #[must_use]
    pub fn new(cursor: u64, cases: &[Case], calls: Calls) -> Self {
        let open = |case: &Case| (case.sequence, Open { state: case.state, calls: case.calls, at_ms: case.at_ms });
        Self { cursor, open: cases.iter().map(open).collect(), calls }
    }

    /// Whether the verdict has a case: it is not to be called for as a new one.
    #[must_use]
    pub fn is_open(&self, sequence: u64) -> bool {
        self.open.contains_key(&sequence)
    }

    /// How many cases are in a state, and since when the oldest is, milliseconds since 1970.
    #[must_use]
    pub fn count(&self, state: CaseState) -> (usize, Option<i64>) {
        let of = || self.open.values().filter(|open| open.state == state);
        (of().count(), of().map(|open| open.at_ms).min())
    }

    /// Takes in what has become durable.
    pub fn apply(&mut self, change: &Change) {
        match change.case {
            Some(open) => self.open.insert(change.sequence, open),
            None => self.open.remove(&change.sequence),
        };
        self.cursor = self.cursor.max(change.cursor.unwrap_or(0));
        self.calls = change.calls.unwrap_or(self.calls);
    }

    /// What the last stop left under way: its outcome is lost.
    #[must_use]
    pub fn recovery(&self, now_ms: i64) -> Vec<Change> {
        let lost = self.open.iter().filter(|(_, open)| open.state == CaseState::UnderWay);
        lost.map(|(sequence, open)| to_uncertain(*sequence, *open, now_ms)).collect()
    }

    /// The calls of today: a day that is over has none left over. A clock that goes back gives no new budget.
    fn today(&self, now_ms: i64) -> Calls {
        // What a box shows that has not been told the time says nothing: else it had a new budget at each start.
        let shown = u64::try_from(now_ms / DAY_MS).ok().filter(|day| *day >= EARLIEST_DAY);
        let day = shown.unwrap_or(self.calls.day);
        let made = if day > self.calls.day { 0 } else { self.calls.made };
        Calls { day, made, last_ms: self.calls.last_ms }
    }

    /// What to do, where `head` is the first verdict behind the cursor that the sink wants and that has no case.
    #[must_use]
    pub fn next(&self, head: Option<u64>, now_ms: i64, rules: &Rules) -> Next {
        let again = self.open.iter().find(|(_, open)| open.state == CaseState::Again).map(|(sequence, _)| *sequence);
        let (uncertain, _) = self.count(CaseState::Uncertain);
        // What is behind is settled or open, whatever the log's reader says.
        let head = head.filter(|head| *head >= self.cursor && !self.is_open(*head));
        let Some(sequence) = again.or(head) else { return Next::Nothing };
        if again.is_none() && rules.wait && uncertain > 0 {
            return Next::Hold(Hold::Uncertain);
        }
        if again.is_none() && self.open.len() >= rules.open_max {
            return Next::Hold(Hold::Full);
        }
        if rules.calls_per_day.is_some_and(|most| self.today(now_ms).made >= most) {
            return Next::Hold(Hold::Budget);
        }
        // A clock that went back does not hold it up for longer than that.
        let since = now_ms.saturating_sub(self.calls.last_ms);
        if (0..rules.spacing_ms).contains(&since) {
            return Next::Later(rules.spacing_ms - since);
        }
        Next::Call { sequence, again: again.is_some() }
    }

    /// The intent of a call, `again` or for the first time; None where that has been settled since it was decided.
    #[must_use]
    pub fn begin(&self, sequence: u64, again: bool, now_ms: i64) -> Option<Change> {
        let open = self.open.get(&sequence);
        let is_due = match open {
            Some(open) => again && open.state == CaseState::Again,
            None => !again && sequence >= self.cursor,
        };
        if !is_due {
            return None;
        }
        let before = open.map_or(0, |open| open.calls);
        let today = self.today(now_ms);
        Some(Change {
            sequence,
            case: Some(Open { state: CaseState::UnderWay, calls: before + 1, at_ms: now_ms }),
            cursor: None,
            calls: Some(Calls { made: today.made + 1, last_ms: now_ms, ..today }),
        })
    }

    /// What came of a call that is under way; None where it is not.
    #[must_use]
    pub fn end(&self, sequence: u64, outcome: Outcome, now_ms: i64) -> Option<Change> {
        let open = *self.open.get(&sequence).filter(|open| open.state == CaseState::UnderWay)?;
        let settled = Change { sequence, case: None, cursor: Some(sequence + 1), calls: None };
        // One that was begun before is to be made again as before.
        let before = (open.calls > 1).then(|| Open { state: CaseState::Again, calls: open.calls - 1, at_ms: now_ms });
        Some(match outcome {
            Outcome::Delivered | Outcome::Refused => settled,
            Outcome::NotMade => {
                let calls = Calls { made: self.calls.made.saturating_sub(1), ..self.calls };
                Change { case: before, cursor: None, calls: Some(calls), ..settled }
            }
            Outcome::Declined => Change { case: before, cursor: None, ..settled },
            Outcome::Unknown => to_uncertain(sequence, open, now_ms),
        })
    }

    /// Someone knows what came of an uncertain call; None where it is not uncertain. That it is made again may be taken
    /// back while it has not begun.
    #[must_use]
    pub fn settle(&self, sequence: u64, how: Settled, now_ms: i64) -> Option<Change> {
        let open = *self.open.get(&sequence)?;
        let case = match (open.state, how) {
            (CaseState::Uncertain | CaseState::Again, Settled::Delivered) => None,
            (CaseState::Uncertain, Settled::Again) => Some(Open { state: CaseState::Again, at_ms: now_ms, ..open }),
            _ => return None,
        };
        Some(Change { sequence, case, cursor: None, calls: None })
    }
}

fn to_uncertain(sequence: u64, open: Open, now_ms: i64) -> Change {
    let case = Open { state: CaseState::Uncertain, at_ms: now_ms, ..open };
    Change { sequence, case: Some(case), cursor: Some(sequence + 1), calls: None }
}

#[cfg(test)]
#[path = "guarded_tests.rs"]
mod guarded_tests;
