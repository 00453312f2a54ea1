//! A guarded sink in a world that crashes at every step.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const NOW: i64 = 20_000 * DAY_MS;

/// What happens at one step of the sink.
#[derive(Clone, Debug)]
enum Act {
    /// One turn: what the receiver does with the call, what is seen of it, and where the process ends.
    Turn { done: bool, seen: Outcome, crash: Option<Crash> },
    /// A person, or the probe, settles the oldest uncertain call; `truly`: by what the receiver did.
    Settle { truly: bool, again: bool },
    /// A verdict is made.
    Make,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crash {
    BeforeIntent,
    AfterIntent,
    AfterCall,
    AfterOutcome,
}

fn acts() -> impl Strategy<Value = Act> {
    let outcome = prop_oneof![
        Just(Outcome::Delivered),
        Just(Outcome::NotMade),
        Just(Outcome::Declined),
        Just(Outcome::Refused),
        Just(Outcome::Unknown),
    ];
    let crash = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Crash::BeforeIntent)),
        1 => Just(Some(Crash::AfterIntent)),
        1 => Just(Some(Crash::AfterCall)),
        1 => Just(Some(Crash::AfterOutcome)),
    ];
    prop_oneof![
        6 => (any::<bool>(), outcome, crash).prop_map(|(done, seen, crash)| Act::Turn { done, seen, crash }),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(truly, again)| Act::Settle { truly, again }),
        3 => Just(Act::Make),
    ]
}

/// The receiver, the log, and what was promised.
#[derive(Default)]
struct World {
    durable: Ledger,
    made: u64,
    /// Calls that reached the receiver and may have been done, by sequence.
    effects: BTreeMap<u64, u64>,
    /// How often someone said that it is to be made again.
    permits: BTreeMap<u64, u64>,
    settled: BTreeMap<u64, &'static str>,
}

impl World {
    fn commit(&mut self, memory: &mut Ledger, change: &Change) {
        self.durable.apply(change);
        memory.apply(change);
    }

    fn restarted(&mut self, now: i64) -> Ledger {
        let mut memory = self.durable.clone();
        for change in memory.recovery(now) {
            self.commit(&mut memory, &change);
        }
        memory
    }

    fn turn(&mut self, memory: &mut Ledger, rules: &Rules, now: i64, act: (bool, Outcome, Option<Crash>)) {
        let (done, seen, crash) = act;
        let head = (memory.cursor..self.made).find(|sequence| !memory.is_open(*sequence));
        let Next::Call { sequence, again } = memory.next(head, now, rules) else { return };
        if crash == Some(Crash::BeforeIntent) {
            *memory = self.restarted(now);
            return;
        }
        let intent = memory.begin(sequence, again, now).expect("what was decided just now");
        self.commit(memory, &intent);
        if crash == Some(Crash::AfterIntent) {
            *memory = self.restarted(now);
            return;
        }
        // What is said for certain is true.
        let effect = match seen {
            Outcome::Delivered => true,
            Outcome::NotMade | Outcome::Declined | Outcome::Refused => false,
            Outcome::Unknown => done,
        };
        if effect {
            *self.effects.entry(sequence).or_default() += 1;
        }
        if crash == Some(Crash::AfterCall) {
            *memory = self.restarted(now);
            return;
        }
        let change = memory.end(sequence, seen, now).expect("it is under way");
        self.commit(memory, &change);
        match seen {
            Outcome::Delivered => self.settled.insert(sequence, "delivered"),
            Outcome::Refused => self.settled.insert(sequence, "set aside"),
            _ => None,
        };
        if crash == Some(Crash::AfterOutcome) {
            *memory = self.restarted(now);
        }
    }

    fn settle(&mut self, memory: &mut Ledger, truly: bool, again: bool, now: i64) {
        let oldest = memory.open.iter().find(|(_, open)| open.state == CaseState::Uncertain);
        let Some(sequence) = oldest.map(|(sequence, _)| *sequence) else { return };
        let was_done = self.effects.contains_key(&sequence);
        let again = if truly { !was_done } else { again };
        let how = if again { Settled::Again } else { Settled::Delivered };
        let change = memory.settle(sequence, how, now).expect("it is uncertain");
        self.commit(memory, &change);
        if again {
            *self.permits.entry(sequence).or_default() += 1;
        } else {
            self.settled.insert(sequence, "settled");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_call_is_made_twice_unasked_and_none_is_lost_wherever_it_crashes(
        acts in prop::collection::vec(acts(), 1..120),
        wait: bool,
        open_max in 1usize..6,
        per_day in prop::option::of(1u64..8),
        spacing_ms in prop_oneof![Just(0), Just(500i64)],
    ) {
        let rules = Rules { wait, open_max, calls_per_day: per_day, spacing_ms };
        let mut world = World::default();
        let mut memory = world.restarted(NOW);
        let mut now = NOW;
        let mut begun_today = (NOW / DAY_MS, 0);
        for act in acts {
            now += 7_000_000;
            if now / DAY_MS != begun_today.0 {
                begun_today = (now / DAY_MS, 0);
            }
            let before: u64 = world.effects.values().sum();
            match act {
                Act::Make => world.made += 1,
                Act::Settle { truly, again } => world.settle(&mut memory, truly, again, now),
                Act::Turn { done, seen, crash } => world.turn(&mut memory, &rules, now, (done, seen, crash)),
            }
            begun_today.1 += world.effects.values().sum::<u64>() - before;
            prop_assert_eq!(&memory, &world.durable);
            for (sequence, effects) in &world.effects {
                let allowed = 1 + world.permits.get(sequence).copied().unwrap_or(0);
                prop_assert!(*effects <= allowed, "verdict {} was done {} times", sequence, effects);
            }
            for sequence in 0..world.made {
                let is_to_come = sequence >= memory.cursor;
                let is_known = world.settled.contains_key(&sequence) || memory.is_open(sequence);
                prop_assert!(is_to_come || is_known, "verdict {} is lost", sequence);
            }
            prop_assert!(memory.open.len() <= open_max);
            prop_assert!(per_day.is_none_or(|most| begun_today.1 <= most), "more calls than a day has");
            prop_assert!(!wait || memory.count(CaseState::Uncertain).0 <= 1);
        }
        // With a receiver that works and settles what is open, all of it gets through.
        for _ in 0..2_000 {
            now += DAY_MS;
            world.settle(&mut memory, true, false, now);
            world.turn(&mut memory, &rules, now, (true, Outcome::Delivered, None));
        }
        prop_assert_eq!(memory.cursor.max(world.made), memory.cursor);
        prop_assert!(memory.open.is_empty());
    }
}

#[test]
fn a_clock_that_goes_back_gives_no_new_budget_and_holds_nothing_up() {
    let rules = Rules { wait: false, open_max: 9, calls_per_day: Some(1), spacing_ms: 1_000 };
    let mut ledger = Ledger::default();
    ledger.apply(&ledger.begin(0, false, NOW + 3 * DAY_MS).unwrap());
    ledger.apply(&ledger.end(0, Outcome::Delivered, NOW).unwrap());
    assert_eq!(ledger.next(Some(1), NOW, &rules), Next::Hold(Hold::Budget));
    let free = Rules { calls_per_day: None, ..rules };
    assert_eq!(ledger.next(Some(1), NOW, &free), Next::Call { sequence: 1, again: false });
    assert_eq!(ledger.next(Some(1), NOW + 3 * DAY_MS + 400, &free), Next::Later(600));
    assert_eq!(ledger.next(Some(1), NOW + 4 * DAY_MS, &rules), Next::Call { sequence: 1, again: false });
}

#[test]
fn what_was_not_made_gives_its_call_back_and_what_was_declined_does_not() {
    let mut ledger = Ledger::default();
    for (outcome, made) in [(Outcome::NotMade, 0), (Outcome::Declined, 1)] {
        ledger.apply(&ledger.begin(0, ledger.is_open(0), NOW).unwrap());
        ledger.apply(&ledger.end(0, outcome, NOW).unwrap());
        assert_eq!((ledger.calls.made, ledger.cursor, ledger.open.len()), (made, 0, 0));
    }
}

/// A box without a battery for its clock begins each day of its life in 1970.
#[test]
fn a_clock_that_is_not_set_gives_no_new_budget_when_it_is() {
    let rules = Rules { wait: false, open_max: 9, calls_per_day: Some(2), spacing_ms: 0 };
    let mut ledger = Ledger::default();
    for (sequence, now_ms) in [(0, NOW), (1, 5_000)] {
        ledger.apply(&ledger.begin(sequence, false, now_ms).unwrap());
        ledger.apply(&ledger.end(sequence, Outcome::Delivered, now_ms).unwrap());
    }
    assert_eq!(ledger.next(Some(2), NOW + 1_000, &rules), Next::Hold(Hold::Budget));
    assert_eq!(ledger.next(Some(2), NOW + DAY_MS, &rules), Next::Call { sequence: 2, again: false });
}

/// A person took it back while the connection for it was being made.
#[test]
fn a_call_that_was_settled_since_it_was_decided_is_not_begun() {
    let mut ledger = Ledger::default();
    ledger.apply(&ledger.begin(0, false, NOW).unwrap());
    assert_eq!(ledger.begin(0, false, NOW), None, "it is under way");
    ledger.apply(&ledger.end(0, Outcome::Unknown, NOW).unwrap());
    assert_eq!(ledger.begin(0, true, NOW), None, "nobody said so");
    ledger.apply(&ledger.settle(0, Settled::Again, NOW).unwrap());
    assert!(ledger.begin(0, true, NOW).is_some());
    ledger.apply(&ledger.settle(0, Settled::Delivered, NOW).unwrap());
    assert_eq!((ledger.begin(0, true, NOW), ledger.begin(0, false, NOW)), (None, None));
}
