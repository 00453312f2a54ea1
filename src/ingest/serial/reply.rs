//! What the device hears: a line or a frame an event.

use super::{Framing, Reply, encode_frame};
use crate::event::{EventBatch, Item};
use crate::ingest::{Answer, Outcome, ProblemKind};
use std::fmt::Write;

/// The answers to a batch, in order.
pub(super) fn render<A: Answer>(answer: A, reply: Reply, framing: Framing) -> Vec<u8> {
    let mut out = Vec::new();
    match reply {
        Reply::None => {}
        Reply::Verdict => {
            let mut lines = Vec::new();
            answer.write_lines(&mut lines);
            if framing == Framing::Lines {
                return lines;
            }
            let whole = lines.strip_suffix(b"\n").unwrap_or(&lines);
            whole.split(|byte| *byte == b'\n').for_each(|line| say(line, framing, &mut out));
        }
        Reply::Ack => {
            let told: Vec<_> = (0..answer.len()).map(|n| Told::of(&answer.outcome(n))).collect();
            let (batch, _paid) = answer.into_batch();
            for (n, told) in told.iter().enumerate() {
                say(told.line(id(&batch, n)).as_bytes(), framing, &mut out);
            }
        }
    }
    out
}

/// The answers where none is known of: to be repeated.
pub(super) fn busy(events: usize, reply: Reply, framing: Framing) -> Vec<u8> {
    let mut out = Vec::new();
    let problem = crate::ingest::Problem::busy("not taken");
    let mut json = Vec::new();
    problem.write_json(&mut json);
    for _ in 0..events {
        match reply {
            Reply::None => {}
            Reply::Verdict => say(&json, framing, &mut out),
            Reply::Ack => say(Told::Busy.line(None).as_bytes(), framing, &mut out),
        }
    }
    out
}

/// Ends what a broken-off answer has begun.
pub(super) fn end(framing: Framing) -> u8 {
    match framing {
        Framing::Lines => b'\n',
        Framing::Frames => 0,
    }
}

enum Told {
    Ack,
    Nak(String),
    Busy,
}

impl Told {
    fn of(outcome: &Outcome<'_>) -> Self {
        match outcome {
            Outcome::Verdict { .. } | Outcome::Label { .. } => Self::Ack,
            Outcome::Problem(problem) if problem.kind == ProblemKind::Busy => Self::Busy,
            Outcome::Problem(problem) => Self::Nak(problem.detail.clone().into_owned()),
        }
    }

    fn line(&self, id: Option<&str>) -> String {
        let mut line = match self {
            Self::Ack => "ACK ",
            Self::Nak(_) => "NAK ",
            Self::Busy => "BUSY ",
        }
        .to_owned();
        write_plain(id.unwrap_or("-"), &mut line);
        if let Self::Nak(reason) = self {
            line.push(' ');
            write_plain(reason, &mut line);
        }
        line
    }
}

fn id(batch: &EventBatch, n: usize) -> Option<&str> {
    let id = match batch.items.get(n)? {
        Item::Event(event) => Some(event.id),
        Item::Label(label) => Some(label.id),
        Item::Bad(bad) => bad.id,
    };
    id.map(|id| batch.str(id)).filter(|id| !id.is_empty())
}

/// An id may hold anything; a line may not: control characters are written as JSON has them.
fn write_plain(text: &str, line: &mut String) {
    for letter in text.chars() {
        if letter.is_control() {
            let _ = write!(line, "\\u{:04x}", u32::from(letter));
        } else {
            line.push(letter);
        }
    }
}

fn say(line: &[u8], framing: Framing, out: &mut Vec<u8>) {
    match framing {
        Framing::Lines => {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        Framing::Frames => encode_frame(line, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_end_the_line() {
        assert_eq!(Told::Ack.line(Some("a b\n\u{7f}")), "ACK a b\\u000a\\u007f");
        assert_eq!(Told::Nak("no\r".to_owned()).line(None), "NAK - no\\u000d");
        assert_eq!(busy(2, Reply::Ack, Framing::Lines), b"BUSY -\nBUSY -\n");
    }
}
