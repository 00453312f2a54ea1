//! What was read of a connection and is not yet handed in: whole lines are cut off, a line that is too long is passed
//! over.
//!
//! The buffer grows while the client sends more than it holds, each growth paid for, and shrinks when it is idle.

use super::super::{Budget, Permit, limits::SLICE_BYTES_MAX};
use bytes::Bytes;

/// A buffer of this size is part of what a connection costs.
pub(super) const FREE_BYTES: usize = 8 << 10;
/// Bytes kept of a line that is too long.
const EXCERPT_BYTES_MAX: usize = 8 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Whole lines, their ends among them.
    Lines(Bytes),
    /// The first bytes of a line that is too long, and its length.
    TooLong { excerpt: Bytes, length: usize },
}

#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// Of `bytes`, what was searched for a line end in vain.
    searched: usize,
    room: usize,
    /// There was no memory to make room.
    stuck: bool,
    paid: Option<Permit>,
    /// Of a line that is being passed over: its first bytes and its length so far.
    skip: Option<(Vec<u8>, usize)>,
    line_bytes_max: usize,
}

impl Buffer {
    pub fn new(line_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), searched: 0, room: FREE_BYTES, stuck: false, paid: None, skip: None, line_bytes_max }
    }

    /// Where to read to, and how much at most: at least one byte.
    pub fn space(&mut self) -> (&mut Vec<u8>, usize) {
        let space = self.room.saturating_sub(self.bytes.len()).max(1);
        self.bytes.reserve_exact(space);
        (&mut self.bytes, space)
    }

    /// Whether a line has begun.
    pub fn is_within_line(&self) -> bool {
        !self.bytes.is_empty() || self.skip.is_some()
    }

    /// Makes room for the next read where the last one filled it, if there is memory for that; gives it back where it
    /// is no longer needed. `read`: bytes of the last read.
    pub fn fit(&mut self, read: usize, budget: &Budget) {
        let most = SLICE_BYTES_MAX.max(self.line_bytes_max + 1);
        if self.bytes.len() >= self.room || read >= self.room {
            let more = (self.room * 3).min(most.saturating_sub(self.room));
            let paid = budget.try_take(more).filter(|_| more > 0);
            self.stuck = paid.is_none();
            if let Some(paid) = paid {
                self.room += more;
                match &mut self.paid {
                    Some(all) => all.merge(paid),
                    None => self.paid = Some(paid),
                }
            }
        } else if self.bytes.is_empty() && read <= FREE_BYTES && self.room > FREE_BYTES {
            self.bytes = Vec::new();
            (self.room, self.paid) = (FREE_BYTES, None);
        }
    }

    /// Cuts off what is whole. `last`: nothing more will come, so the last line needs no end.
    pub fn cut(&mut self, last: bool) -> Option<Cut> {
        if self.skip.is_some() {
            return self.pass_over(last);
        }
        let fresh = self.bytes.get(self.searched..).unwrap_or_default();
        let end = match memchr::memrchr(b'\n', fresh) {
            Some(at) => self.searched + at + 1,
            None if last && !self.bytes.is_empty() => self.bytes.len(),
            // A buffer that could not grow, for want of memory, is as good as the limit.
            None if self.bytes.len() > self.line_bytes_max || (self.stuck && self.bytes.len() >= self.room) => {
                self.skip = Some((Vec::new(), 0));
                return self.pass_over(last);
            }
            None => {
                self.searched = self.bytes.len();
                return None;
            }
        };
        let lines = Bytes::copy_from_slice(self.bytes.get(..end).unwrap_or_default());
        self.bytes.drain(..end);
        self.searched = self.bytes.len();
        Some(Cut::Lines(lines))
    }

    fn pass_over(&mut self, last: bool) -> Option<Cut> {
        let (excerpt, length) = self.skip.as_mut()?;
        let end = memchr::memchr(b'\n', &self.bytes);
        let text = self.bytes.get(..end.unwrap_or(self.bytes.len())).unwrap_or_default();
        *length += text.len();
        let room = EXCERPT_BYTES_MAX.saturating_sub(excerpt.len()).min(text.len());
        excerpt.extend_from_slice(text.get(..room).unwrap_or_default());
        self.bytes.drain(..end.map_or(self.bytes.len(), |end| end + 1));
        self.searched = 0;
        if end.is_none() && !last {
            return None;
        }
        let (excerpt, length) = self.skip.take()?;
        Some(Cut::TooLong { excerpt: excerpt.into(), length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds in steps as a connection does.
    fn cuts(text: &[u8], steps: &[usize], limit: usize, budget: &Budget) -> Vec<Cut> {
        let mut buffer = Buffer::new(limit);
        let mut found = Vec::new();
        let mut rest = text;
        let mut steps = steps.iter().cycle();
        while !rest.is_empty() {
            let (bytes, space) = buffer.space();
            let read = space.min(*steps.next().unwrap()).min(rest.len());
            bytes.extend_from_slice(&rest[..read]);
            rest = &rest[read..];
            found.extend(std::iter::from_fn(|| buffer.cut(false)));
            buffer.fit(read, budget);
        }
        found.extend(std::iter::from_fn(|| buffer.cut(true)));
        assert!(!buffer.is_within_line());
        found
    }

    #[test]
    fn a_line_of_the_limit_is_taken_and_a_longer_one_passed_over() {
        let budget = Budget::new(1 << 20);
        let limit = 100_000;
        let text = [vec![b'a'; limit], vec![b'b'; 3 * limit], b"c".to_vec()].join(&b'\n');
        let found = cuts(&text, &[5000], limit, &budget);
        let [Cut::Lines(a), Cut::TooLong { excerpt, length }, Cut::Lines(c)] = &found[..] else {
            panic!("{} cuts", found.len())
        };
        assert_eq!((a.len(), excerpt.len(), *length, &c[..]), (limit + 1, EXCERPT_BYTES_MAX, 3 * limit, &b"c"[..]));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn without_memory_to_grow_a_long_line_is_passed_over_and_the_rest_flows_on() {
        let budget = Budget::new(10);
        let text = [vec![b'a'; 20_000], b"b".to_vec()].join(&b'\n');
        let found = cuts(&text, &[9000], 100_000, &budget);
        assert!(matches!(&found[..], [Cut::TooLong { length: 20_000, .. }, Cut::Lines(b)] if &b[..] == b"b"));
    }

    proptest! {
        #[test]
        fn the_lines_are_those_that_came_however_they_came(
            lines in prop::collection::vec("[a-z]{0,30}", 0..40),
            steps in prop::collection::vec(1usize..60, 1..5),
            limit in 10usize..30,
        ) {
            let text = lines.join("\n");
            let budget = Budget::new(1 << 20);
            let mut expected = lines.iter().map(String::as_str).filter(|line| !line.is_empty());
            for cut in cuts(text.as_bytes(), &steps, limit, &budget) {
                match cut {
                    Cut::Lines(bytes) => {
                        let text = std::str::from_utf8(&bytes).unwrap();
                        for line in text.split('\n').filter(|line| !line.is_empty()) {
                            prop_assert_eq!(Some(line), expected.next());
                        }
                    }
                    Cut::TooLong { excerpt, length } => {
                        let line = expected.next().unwrap();
                        prop_assert_eq!(line.as_bytes(), &excerpt[..]);
                        prop_assert!(length == line.len() && length > limit);
                    }
                }
            }
            prop_assert_eq!(expected.next(), None);
        }
    }
}
