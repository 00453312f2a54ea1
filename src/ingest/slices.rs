//! A large NDJSON body in slices, each submitted for itself, so that what decoding and answering cost is
//! bounded however small the lines are.

use super::{
    Budget, Intake, Permit, Problem,
    limits::{EVENT_COST_BYTES, SLICE_BYTES_MAX, SLICE_LINES_MAX},
};
use bytes::Bytes;
use std::time::Duration;

/// A slice of whole lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub body: Bytes,
    /// Lines in it, empty ones among them; the last may lack its line end.
    pub lines: usize,
}

/// Cuts the next slice off `rest`; None at its end.
pub(super) fn next(rest: &mut Bytes) -> Option<Slice> {
    next_within(rest, SLICE_BYTES_MAX, SLICE_LINES_MAX)
}

fn next_within(rest: &mut Bytes, bytes_max: usize, lines_max: usize) -> Option<Slice> {
    if rest.is_empty() {
        return None;
    }
    let mut lines = 0;
    let mut end = 0;
    for at in memchr::memchr_iter(b'\n', rest) {
        if lines > 0 && at + 1 > bytes_max {
            return Some(Slice { body: rest.split_to(end), lines });
        }
        (lines, end) = (lines + 1, at + 1);
        if lines == lines_max || end >= bytes_max {
            return Some(Slice { body: rest.split_to(end), lines });
        }
    }
    if end < rest.len() {
        if lines > 0 && rest.len() > bytes_max {
            return Some(Slice { body: rest.split_to(end), lines });
        }
        lines += 1;
    }
    Some(Slice { body: std::mem::take(rest), lines })
}

/// Lines of a body that are not empty: those that have an answer.
pub(super) fn events(body: &[u8]) -> usize {
    body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count()
}

/// Pays for what decoding and answering a slice costs, and for `bytes` of it that are not paid for yet. What cannot be
/// paid is counted as refused.
pub(super) async fn pay<I: Intake>(
    slice: &Slice,
    bytes: usize,
    intake: &I,
    budget: &Budget,
    wait: Duration,
) -> Result<Permit, Problem<'static>> {
    budget.take(bytes + slice.lines * EVENT_COST_BYTES, wait).await.map_err(|_| {
        intake.refused(events(&slice.body) as u64);
        Problem::busy("the memory for requests is in use")
    })
}

/// The answer to a slice of which nothing was taken: the problem, once an event.
pub(super) fn refused(body: &[u8], problem: &Problem<'_>) -> Bytes {
    let mut line = Vec::new();
    problem.write_json(&mut line);
    line.push(b'\n');
    line.repeat(events(body)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(body: &str, bytes_max: usize, lines_max: usize) -> Vec<(String, usize)> {
        let mut rest = Bytes::copy_from_slice(body.as_bytes());
        std::iter::from_fn(|| next_within(&mut rest, bytes_max, lines_max))
            .map(|slice| (String::from_utf8(slice.body.to_vec()).unwrap(), slice.lines))
            .collect()
    }

    #[test]
    fn slices_end_at_line_ends() {
        assert_eq!(cut("", 10, 10), []);
        assert_eq!(cut("ab\ncd\nef", 6, 10), [("ab\ncd\n".into(), 2), ("ef".into(), 1)]);
        assert_eq!(cut("ab\ncd\nef", 7, 10), [("ab\ncd\n".into(), 2), ("ef".into(), 1)]);
        assert_eq!(cut("ab\ncd\nef", 99, 1), [("ab\n".into(), 1), ("cd\n".into(), 1), ("ef".into(), 1)]);
        assert_eq!(cut("a long line\nb", 3, 9), [("a long line\n".into(), 1), ("b".into(), 1)]);
    }

    proptest! {
        #[test]
        fn slices_are_the_body_and_keep_their_limits(body in "[ab\n]{0,80}", bytes in 1usize..20, lines in 1usize..5) {
            let slices = cut(&body, bytes, lines);
            prop_assert_eq!(slices.iter().map(|(text, _)| text.as_str()).collect::<String>(), body);
            for (text, count) in slices {
                prop_assert!(count >= 1 && count <= lines);
                prop_assert_eq!(count, text.lines().count());
                prop_assert!(text.len() <= bytes || count == 1, "{} bytes in {} lines", text.len(), count);
            }
        }
    }
}
