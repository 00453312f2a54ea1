//! A batch being gathered, and the memory that is paid for it.

use super::offset::Mark;
use super::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX};
use crate::event::{Assembly, Budget, EventBatch, Permit};
use crate::ingest::limits::EVENT_COST_BYTES;
use std::sync::Arc;

/// Memory is paid for in pieces of this, before records are put in.
const PIECE_BYTES: usize = 64 << 10;

/// Records and the places behind them.
pub(super) struct Gathering {
    pub assembly: Assembly,
    permit: Option<Permit>,
    /// How far it reads each partition that it reads, by the offset's name.
    marks: Vec<(Arc<str>, Mark)>,
}

/// A batch on its way.
pub(super) struct Batch {
    pub events: EventBatch,
    pub permit: Option<Permit>,
    pub offsets: Vec<(Arc<str>, Vec<u8>)>,
    /// The offset names with the places, to be told to the group.
    pub places: Vec<(Arc<str>, i64)>,
}

impl Gathering {
    pub fn new(assembly: Assembly) -> Self {
        Self { assembly, permit: None, marks: Vec::new() }
    }

    pub fn is_full(&self) -> bool {
        self.assembly.len() >= BATCH_RECORDS_MAX || self.assembly.bytes() >= BATCH_BYTES_MAX
    }

    /// Whether it holds nothing that is to be committed.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Bytes that must still be paid for before a record of `bytes` may be put in.
    pub fn owes(&self, bytes: usize) -> usize {
        let used = self.assembly.bytes() + self.assembly.len() * EVENT_COST_BYTES;
        let paid = self.permit.as_ref().map_or(0, Permit::bytes);
        (used + bytes + EVENT_COST_BYTES).saturating_sub(paid)
    }

    /// Pays for a record of `bytes`, if the budget has it now.
    pub fn try_pay(&mut self, bytes: usize, budget: &Budget) -> bool {
        let owed = self.owes(bytes);
        if owed == 0 {
            return true;
        }
        let permit = budget.try_take(owed.max(PIECE_BYTES)).or_else(|| budget.try_take(owed));
        let Some(permit) = permit else { return false };
        self.pay(permit);
        true
    }

    pub fn pay(&mut self, permit: Permit) {
        match &mut self.permit {
            Some(paid) => paid.merge(permit),
            none => *none = Some(permit),
        }
    }

    /// Notes how far a partition is read with this batch.
    pub fn reached(&mut self, name: &Arc<str>, mark: Mark) {
        // Records come in runs of one partition: the last one is asked first.
        match self.marks.iter_mut().rev().find(|(known, _)| Arc::ptr_eq(known, name)) {
            Some((_, known)) => *known = mark,
            None => self.marks.push((Arc::clone(name), mark)),
        }
    }

    pub fn finish(self) -> Batch {
        Batch {
            offsets: self.marks.iter().map(|(name, mark)| (Arc::clone(name), mark.encode())).collect(),
            places: self.marks.into_iter().map(|(name, mark)| (name, mark.next)).collect(),
            events: self.assembly.finish(),
            permit: self.permit,
        }
    }
}
