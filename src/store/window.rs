//! Which sequences are still in the dedup window: coarse marks of when the log stood where.

use std::collections::VecDeque;
use std::time::Duration;

/// Most marks kept; the window's edge is exact to a two-hundredth of the window or better.
pub const MARKS_MAX: usize = 1024;

/// The log's times, thinned out: from `first` on, records have a log time of at least `log_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl Window {
    pub fn new(length: Duration) -> Self {
        let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        Self { length_ms, step_ms: length_ms / (MARKS_MAX as u64 / 2), marks: VecDeque::new() }
    }

    /// Notes that the record `first` was logged at `log_ms`. Both ascend.
    pub fn note(&mut self, first: u64, log_ms: u64) {
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

    /// The age of the record `sequence` at `now_ms`, as far as the marks tell.
    pub fn age_ms(&self, sequence: u64, now_ms: u64) -> u64 {
        let at = self.marks.iter().rev().find(|mark| mark.first <= sequence).or(self.marks.front());
        at.map_or(0, |mark| now_ms.saturating_sub(mark.log_ms))
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
    fn marks_are_bounded() {
        let mut window = Window::new(Duration::from_secs(1));
        for n in 0..100_000 {
            window.note(n + 1, n * 1000);
        }
        assert!(window.marks.len() <= MARKS_MAX);
    }
}
