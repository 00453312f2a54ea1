//! The labels in the store: which chunks there are, how new ones are added, how long each is kept.
//!
//! # Rules
//!
//! - The labels of a commit go into the chunk that is open, as long as its labels have fewer than [`OPEN_BYTES_MAX`]
//!   bytes: it is then written anew, under its key.
//! - A chunk is kept for as long as the dedup window is, and until the windows' horizon has passed the events of its
//!   labels, as far as their times are known. An event of the future counts as one of now there, so that none holds its
//!   chunk for ever. Oldest first.
//! - Of labels whose event is not known yet at most [`PENDING_MAX`] are kept: above that the oldest go.

use super::error::StoreError;
use super::frame::{self, Kind};
use super::keys;
use super::label::{Filling, Label, LabelChunk};
use super::medium::Medium;
use super::writer::ENTRY_OVERHEAD;
use std::collections::VecDeque;

/// A chunk whose labels are shorter is written anew with the next commit's in it, bytes.
const OPEN_BYTES_MAX: usize = 1536;
/// Most labels kept whose event is not known yet.
pub const PENDING_MAX: u64 = 65_536;

/// One chunk as the writer knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: u64,
    count: u64,
    pending: u64,
    log_ms: u64,
    held_us: Option<i64>,
    bytes: u64,
}

/// The label chunks there are, oldest first.
#[derive(Debug, Default)]
pub struct LabelLog {
    chunks: VecDeque<Known>,
    filling: Option<Filling>,
    next: u64,
    count: u64,
    pending: u64,
    bytes: u64,
    /// Chunks before this one, counted from the oldest, hold none that is pending.
    resolved: usize,
}

/// What a change of the labels does to the store: a value, or none where the key goes.
pub type Change = ([u8; 9], Option<Vec<u8>>);

fn is_pending(label: &Label) -> bool {
    label.sequence.is_none()
}

impl LabelLog {
    /// Takes note of a stored chunk; they come in the order of their keys. False where it is damaged.
    pub fn note(&mut self, key: &[u8], value: &[u8]) -> bool {
        let Some(chunk) = LabelChunk::of_value(value).filter(|chunk| key == keys::label(chunk.number)) else {
            return false;
        };
        let mut known = Known {
            number: chunk.number,
            count: 0,
            pending: 0,
            log_ms: 0,
            held_us: chunk.held_us,
            bytes: value.len() as u64 + ENTRY_OVERHEAD,
        };
        self.filling = (!chunk.is_old).then(|| Filling::new(chunk.number, chunk.held_us));
        for label in &chunk.labels {
            known.count += 1;
            known.pending += u64::from(!chunk.is_old && is_pending(label));
            known.log_ms = known.log_ms.max(label.log_ms);
            if self.filling.as_mut().is_some_and(|filling| !filling.append(label)) {
                self.filling = None;
            }
        }
        self.put(known);
        true
    }

    /// What new labels change. `newest_us` is the windows' watermark, microseconds since 1970.
    pub fn append(&mut self, labels: &[Label], newest_us: i64, commit: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut filling = self.filling.take().filter(|filling| filling.label_bytes() < OPEN_BYTES_MAX);
        let mut known = filling.as_ref().and_then(|_| self.chunks.back().copied());
        for label in labels {
            if !filling.as_mut().is_some_and(|filling| filling.append(label)) {
                if let Some((full, known)) = filling.as_ref().zip(known) {
                    self.finish(full, known, commit, &mut changes);
                }
                let mut next = Filling::new(self.next, None);
                next.append(label);
                filling = Some(next);
                known = Some(Known { number: self.next, count: 0, pending: 0, log_ms: 0, held_us: None, bytes: 0 });
            }
            self.next += 1;
            if let (Some(filling), Some(known)) = (&mut filling, &mut known) {
                known.count += 1;
                known.pending += u64::from(is_pending(label));
                known.log_ms = known.log_ms.max(label.log_ms);
                known.held_us = known.held_us.max(label.event_us.map(|event_us| event_us.min(newest_us)));
                filling.held_us = known.held_us;
            }
        }
        if let (Some(filling), Some(known), false) = (&filling, known, labels.is_empty()) {
            self.finish(filling, known, commit, &mut changes);
        }
        self.filling = filling;
        changes
    }

    fn finish(&mut self, filling: &Filling, known: Known, commit: u64, changes: &mut Vec<Change>) {
        let value = frame::wrap(Kind::Label, commit, &filling.body());
        self.put(Known { bytes: value.len() as u64 + ENTRY_OVERHEAD, ..known });
        changes.push((keys::label(known.number), Some(value)));
    }

    fn put(&mut self, chunk: Known) {
        if self.chunks.back().is_some_and(|last| last.number == chunk.number)
            && let Some(last) = self.chunks.pop_back()
        {
            self.forget(last);
        }
        self.count += chunk.count;
        self.pending += chunk.pending;
        self.bytes += chunk.bytes;
        self.next = self.next.max(chunk.number.saturating_add(chunk.count));
        self.chunks.push_back(chunk);
    }

    fn forget(&mut self, chunk: Known) {
        self.count -= chunk.count;
        self.pending -= chunk.pending;
        self.bytes -= chunk.bytes;
    }

    /// Lets the oldest chunk go, if all of it is older than `floor_ms` and behind the windows' horizon: its key. What a
    /// window may hold is kept where no horizon is told.
    pub fn trim(&mut self, floor_ms: u64, horizon_us: Option<i64>) -> Option<[u8; 9]> {
        let oldest = *self.chunks.front()?;
        let is_held = oldest.held_us.is_some_and(|held_us| horizon_us.is_none_or(|horizon_us| held_us > horizon_us));
        if oldest.log_ms >= floor_ms || is_held {
            return None;
        }
        if self.chunks.len() == 1 {
            self.filling = None;
        }
        self.chunks.pop_front();
        self.resolved = self.resolved.saturating_sub(1);
        self.forget(oldest);
        Some(keys::label(oldest.number))
    }

    /// Where there are too many labels of events not known yet: lets those of the oldest chunk that has some go. Gives
    /// the change and how many went.
    ///
    /// # Errors
    /// When the chunk cannot be read.
    pub fn shed(&mut self, medium: &Medium, commit: u64) -> Result<Option<(Change, u64)>, StoreError> {
        if self.pending <= PENDING_MAX {
            return Ok(None);
        }
        while self.chunks.get(self.resolved).is_some_and(|chunk| chunk.pending == 0) {
            self.resolved += 1;
        }
        // The last one is being filled.
        let last = self.chunks.len().saturating_sub(1);
        let Some(old) = self.chunks.get(self.resolved).copied().filter(|_| self.resolved < last) else {
            return Ok(None);
        };
        let key = keys::label(old.number);
        let chunk = medium.get(&key)?.and_then(|value| LabelChunk::of_value(&value));
        let mut filling = Filling::new(old.number, old.held_us);
        for label in chunk.iter().flat_map(|chunk| &chunk.labels).filter(|label| !is_pending(label)) {
            filling.append(label);
        }
        let value = (filling.count > 0).then(|| frame::wrap(Kind::Label, commit, &filling.body()));
        self.forget(old);
        if let (Some(value), Some(known)) = (&value, self.chunks.get_mut(self.resolved)) {
            *known = Known { count: filling.count, pending: 0, bytes: value.len() as u64 + ENTRY_OVERHEAD, ..old };
            self.count += known.count;
            self.bytes += known.bytes;
        } else {
            self.chunks.remove(self.resolved);
        }
        Ok(Some(((key, value), old.pending)))
    }

    /// Labels kept.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Labels kept whose event is not known yet.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Bytes of their values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::codec::{put_bytes, put_signed, put_varint};
    use crate::store::{CellKind, Schema};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn label(n: u64, text: usize, with: u8) -> Label {
        let schema = Schema {
            columns: vec![(CellKind::Hash, "key /A".to_owned()), (CellKind::Number, format!("number /{}", with % 2))],
        };
        let has = |bit: u8| with & bit != 0;
        Label {
            source: "pos".to_owned(),
            id: format!("{n}{}", "x".repeat(text)),
            key: has(1).then(|| "k".repeat(text)),
            identity: n.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            sequence: has(2).then_some(n),
            event_us: has(4).then_some(-7),
            time_us: -5,
            value: 0.5,
            log_ms: n,
            next: if has(32) { n + 1 } else { 0 },
            schema: has(8).then(|| Arc::new(schema)),
            cells: if has(8) { vec![if has(16) { 0 } else { n }, 1.5f64.to_bits()] } else { Vec::new() },
        }
    }

    proptest! {
        #[test]
        fn labels_come_back_as_they_were_whatever_their_number_and_the_commits(
            commits in prop::collection::vec(prop::collection::vec((0..512usize, any::<u8>()), 0..40), 1..6),
        ) {
            let mut log = LabelLog::default();
            let mut values = std::collections::BTreeMap::new();
            let mut labels = Vec::new();
            for commit in commits {
                let new: Vec<_> =
                    commit.iter().zip(labels.len() as u64..).map(|((text, with), n)| label(n, *text, *with)).collect();
                for (key, value) in log.append(&new, 9, 1) {
                    values.insert(key, value.unwrap());
                }
                labels.extend(new);
            }
            let mut found = Vec::new();
            let mut again = LabelLog::default();
            for (key, value) in &values {
                prop_assert!(value.len() <= frame::STORED_BYTES_MAX);
                prop_assert!(again.note(key, value));
                found.extend(LabelChunk::of_value(value).unwrap().labels);
            }
            prop_assert_eq!(&found, &labels);
            let of = |log: &LabelLog| (log.next, log.bytes(), log.count(), log.pending());
            prop_assert_eq!(of(&again), of(&log));
            prop_assert_eq!(log.count(), labels.len() as u64);
        }

        #[test]
        fn any_bytes_are_labels_or_an_error(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = LabelChunk::decode(Kind::Label, &body);
            let _ = LabelChunk::decode(Kind::OldLabel, &body);
        }
    }

    #[test]
    fn labels_of_an_earlier_format_are_read_and_new_ones_go_on_behind_them() {
        let mut body = vec![5, 2];
        for (id, has_key) in [("a", 0), ("b", 1)] {
            put_bytes(&mut body, b"pos");
            put_bytes(&mut body, id.as_bytes());
            body.push(has_key);
            put_bytes(&mut body, if has_key == 1 { b"key" } else { b"" });
            put_signed(&mut body, -3);
            body.extend_from_slice(&2.5f64.to_le_bytes());
            put_varint(&mut body, 77);
        }
        let mut log = LabelLog::default();
        let value = frame::wrap(Kind::OldLabel, 1, &body);
        assert!(log.note(&keys::label(5), &value));
        assert_eq!((log.count(), log.pending()), (2, 0));
        let found = LabelChunk::of_value(&value).unwrap();
        assert!(found.is_old);
        let label = &found.labels[1];
        assert_eq!((&*label.id, label.key.as_deref(), label.time_us, label.value), ("b", Some("key"), -3, 2.5));
        assert_eq!(log.append(std::slice::from_ref(label), 0, 2)[0].0, keys::label(7));
    }

    #[test]
    fn only_what_is_old_as_a_whole_goes() {
        let mut log = LabelLog::default();
        log.append(&[label(10, 500, 2), label(20, 500, 2), label(21, 500, 2)], 0, 1);
        log.append(&[label(30, 1, 2)], 0, 2);
        assert!(log.trim(21, None).is_none());
        assert_eq!(log.trim(22, None), Some(keys::label(0)));
        assert!(log.trim(22, None).is_none());
        assert_eq!(log.count(), 1);
    }
}
