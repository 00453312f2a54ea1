//! Which sequences are still in the dedup window: coarse marks of when the log stood where.

use super::stats::WindowCut;
use std::collections::VecDeque;
use std::time::Duration;

/// Most marks kept; the window's edge is exact to a two-hundredth of the window or better.
pub const MARKS_MAX: usize = 1024;

/// The log's times, thinned out: from `first` on, records have a log time of at least `log_ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    first: u64,
    log_ms: u64,
}

/// The time limit of the dedup window. An event stays at least for the window's length.
#[derive(Debug)]
pub struct Window {
    length_ms: u64,
    step_ms: u64,
    marks: VecDeque<Mark>,
    /// The newest, whether it is kept or not.
    last: Mark,
}

impl Window {
    pub fn new(length: Duration) -> Self {
        let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let step_ms = length_ms / (MARKS_MAX as u64 / 2);
        Self { length_ms, step_ms, marks: VecDeque::new(), last: Mark::default() }
    }

    /// Notes that the record `first` was logged at `log_ms`. Both ascend.
    pub fn note(&mut self, first: u64, log_ms: u64) {
        self.last = Mark { first, log_ms };
        let due = self.marks.back().is_none_or(|last| log_ms > last.log_ms.saturating_add(self.step_ms));
        if due {
            self.marks.push_back(Mark { first, log_ms });
            if self.marks.len() > MARKS_MAX {
                // Only with a window that is cut off late, as after a jump: every other mark goes.
                let mut nth = 0;
                self.marks.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
            }
        }
    }

    /// The first sequence still in the window at `now_ms`, if any has left it; the log ends before `next`.
    pub fn floor(&mut self, now_ms: u64, next: u64) -> u64 {
        let edge = now_ms.saturating_sub(self.length_ms);
        // A record before the mark at index 1 is at most as young as that mark.
        while self.marks.get(1).is_some_and(|mark| mark.log_ms <= edge) {
            self.marks.pop_front();
        }
        match self.marks.front() {
            // The log has been idle for longer than a step and a window: all of it is out.
            Some(only) if self.marks.len() == 1 && only.log_ms.saturating_add(self.step_ms) < edge => next,
            Some(first) => first.first,
            None => next,
        }
    }

    /// As configured.
    pub fn length_ms(&self) -> u64 {
        self.length_ms
    }

    /// The age of the record `sequence` at `now_ms`, as far as the marks tell: between two marks records are
    /// taken to be evenly spread.
    pub fn age_ms(&self, sequence: u64, now_ms: u64) -> u64 {
        let after = self.marks.partition_point(|mark| mark.first <= sequence);
        let to = self.marks.get(after).copied().unwrap_or(self.last);
        let from = after.checked_sub(1).and_then(|at| self.marks.get(at)).copied().unwrap_or(to);
        let (records, past) = (to.first.saturating_sub(from.first), sequence.saturating_sub(from.first));
        let span = u128::from(to.log_ms.saturating_sub(from.log_ms));
        let since = span * u128::from(past.min(records)) / u128::from(records.max(1));
        now_ms.saturating_sub(from.log_ms.saturating_add(u64::try_from(since).unwrap_or(u64::MAX)))
    }
}

/// When to say that the window is cut: at first, when it has shrunk by half since that was said, and when
/// something else cuts it. Only a pause of [`CUT_PAUSE_MS`] makes the next cut a new one, so that a window at
/// its edge does not fill the log.
#[derive(Debug, Default)]
pub struct CutAlarm {
    said: Option<(WindowCut, u64)>,
    last_ms: u64,
}

/// Milliseconds.
const CUT_PAUSE_MS: u64 = 600_000;

impl CutAlarm {
    /// What is to be said now.
    pub fn of(&mut self, cut: Option<WindowCut>, window_ms: u64, now_ms: u64) -> Option<WindowCut> {
        if now_ms.saturating_sub(self.last_ms) > CUT_PAUSE_MS {
            self.said = None;
        }
        let cut = cut?;
        self.last_ms = now_ms;
        if self.said.is_some_and(|(by, said_ms)| by == cut && window_ms > said_ms / 2) {
            return None;
        }
        self.said = Some((cut, window_ms));
        Some(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_leaves_the_window_early_and_little_stays_late(
            gaps in prop::collection::vec(0u64..5_000, 1..3000),
            length in 1_000u64..1_000_000,
            idle in 0u64..2_000_000,
        ) {
            let mut window = Window::new(Duration::from_millis(length));
            let mut now = 1_000_000_000;
            let mut log = Vec::new();
            for (sequence, gap) in (1..).zip(&gaps) {
                now += gap;
                window.note(sequence, now);
                log.push((sequence, now));
            }
            let next = log.len() as u64 + 1;
            now += idle;
            let floor = window.floor(now, next);
            for (sequence, at) in log {
                if at > now - length {
                    prop_assert!(sequence >= floor, "{sequence} is {} old", now - at);
                }
                // A step, and a gap between two records.
                if at + length + 2 * (length / 512 + 5_000) < now {
                    prop_assert!(sequence < floor, "{sequence} is {} old", now - at);
                }
            }
        }
    }

    #[test]
    fn between_two_marks_the_age_is_in_between() {
        let mut window = Window::new(Duration::from_hours(24 * 7));
        // All within one step: a single mark.
        (0..100).for_each(|n| window.note(n + 1, 1_000_000 + n * 1000));
        assert_eq!(window.marks.len(), 1);
        let now = 1_160_000;
        assert_eq!(window.age_ms(1, now), 160_000);
        assert_eq!(window.age_ms(51, now), 110_000);
        assert_eq!(window.age_ms(100, now), 61_000);
        assert_eq!(window.age_ms(101, now), 61_000);
    }

    #[test]
    fn a_cut_is_said_once_and_again_at_half_by_another_budget_or_after_a_pause() {
        use WindowCut::{Disk, Memory};
        let mut alarm = CutAlarm::default();
        let said = [
            (Some(Memory), 1000, 1, true),
            (Some(Memory), 900, 2, false),
            (Some(Memory), 501, 3, false),
            (None, 2000, 4, false),
            (Some(Memory), 600, 5, false),
            (Some(Memory), 500, 6, true),
            (Some(Memory), 400, 7, false),
            (Some(Disk), 400, 8, true),
            (None, 2000, CUT_PAUSE_MS + 9, false),
            (Some(Disk), 400, CUT_PAUSE_MS + 10, true),
        ];
        for (cut, window_ms, now_ms, expected) in said {
            assert_eq!(alarm.of(cut, window_ms, now_ms), cut.filter(|_| expected), "at {now_ms}");
        }
    }

    #[test]
    fn marks_are_bounded() {
        let mut window = Window::new(Duration::from_secs(1));
        for n in 0..100_000 {
            window.note(n + 1, n * 1000);
        }
        assert!(window.marks.len() <= MARKS_MAX);
    }
}
