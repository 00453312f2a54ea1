//! Finding the records of a body before they are read: elements of a batch, CloudEvents among lines.

use super::{BATCH_EVENTS_MAX, Span};
use jiter::{Jiter, Peek};
use memchr::memmem;
use std::sync::LazyLock;

/// Elements of a CloudEvents batch, counted up to one more than [`BATCH_EVENTS_MAX`] or to a fault: what
/// decoding it is to be paid for.
#[must_use]
pub fn batch_events(body: &[u8]) -> usize {
    let mut count = 0;
    // A fault is told when it is decoded.
    let _ = each_element(body, |_| count += 1);
    count
}

/// Where the elements of a JSON array lie, at most one more than [`BATCH_EVENTS_MAX`]. Each is only skipped
/// over here and read for itself later.
pub(super) fn elements(body: &[u8]) -> Result<Vec<Span>, String> {
    let mut spans = Vec::new();
    match each_element(body, |span| spans.push(span)) {
        Ok(true) => Ok(spans),
        Ok(false) => Err("expected a batch, which is a JSON array of CloudEvents".to_owned()),
        Err(error) => Err(format!("not JSON: {error} at byte {}", error.index)),
    }
}

/// False where the body is no array.
fn each_element(body: &[u8], mut each: impl FnMut(Span)) -> Result<bool, jiter::JiterError> {
    let mut jiter = Jiter::new(body);
    if jiter.peek()? != Peek::Array {
        return Ok(false);
    }
    let mut next = jiter.known_array()?;
    for _ in 0..=BATCH_EVENTS_MAX {
        let Some(peek) = next else {
            jiter.finish()?;
            return Ok(true);
        };
        let start = jiter.current_index();
        jiter.known_skip(peek)?;
        each(Span { start: offset(start), end: offset(jiter.current_index()) });
        next = jiter.array_step()?;
    }
    Ok(true)
}

/// Whether a line is a structured CloudEvent: an object that has a member `specversion`.
pub(super) fn is_cloud_event(line: &[u8]) -> bool {
    static MEMBER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\"specversion\""));
    if MEMBER.find(line).is_none() {
        return false;
    }
    let mut jiter = Jiter::new(line);
    let mut read = || -> Result<bool, jiter::JiterError> {
        let mut next = jiter.next_object()?;
        while let Some(name) = next {
            if name == "specversion" {
                return Ok(true);
            }
            jiter.next_skip()?;
            next = jiter.next_key()?;
        }
        Ok(false)
    };
    read().unwrap_or(false)
}

/// Offsets fit: a body is limited to far less than 4 GiB.
pub(super) fn offset(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
