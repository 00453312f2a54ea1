//! The batch that is being gathered while another is committed.

use super::arrival::Arrivals;
use crate::event::{Assembly, BadKind, EventBatch};
use crate::ingest::{Budget, Intake, Permit};
use crate::link::mqtt::Message;

/// Records and bytes of one batch: a round of the engine takes no more.
pub(super) const BATCH_RECORDS_MAX: usize = 4096;
const BATCH_BYTES_MAX: usize = 1 << 20;
/// Memory is paid for in pieces of at least this, given back with the batch.
const PIECE_BYTES: usize = 16 << 10;

/// Decoded events, what they cost, and what is to be acknowledged for them.
pub(super) struct Gathering<'a, I: Intake> {
    intake: &'a I,
    /// Begun with the first message, whose arrival is the time of all.
    assembly: Option<Assembly>,
    /// Packet ids, in the order in which messages came; those of a connection that is gone are not in it.
    acks: Vec<u16>,
    paid: Option<Permit>,
    used: usize,
}

/// A batch that can be handed in.
pub(super) struct Batch {
    pub events: EventBatch,
    pub acks: Vec<u16>,
    pub paid: Option<Permit>,
}

impl<'a, I: Intake> Gathering<'a, I> {
    pub fn new(intake: &'a I) -> Self {
        Self { intake, assembly: None, acks: Vec::new(), paid: None, used: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.assembly.is_none() && self.acks.is_empty()
    }

    pub fn has_room(&self) -> bool {
        let (records, bytes) = self.assembly.as_ref().map_or((0, 0), |begun| (begun.len(), begun.bytes()));
        records.max(self.acks.len()) < BATCH_RECORDS_MAX && bytes < BATCH_BYTES_MAX
    }

    /// Pays for a message of that cost, if the memory is there now.
    pub fn pay(&mut self, cost: usize, budget: &Budget) -> bool {
        let paid = self.paid.as_ref().map_or(0, Permit::bytes);
        let missing = (self.used + cost).saturating_sub(paid);
        // There is no more to be had than the whole.
        if missing > 0 && paid < budget.bytes() {
            let piece = missing.max(PIECE_BYTES);
            let Some(permit) = budget.try_take(piece).or_else(|| budget.try_take(missing)) else { return false };
            self.paid_for(permit);
        }
        self.used += cost;
        true
    }

    /// Adds memory that was paid for.
    pub fn paid_for(&mut self, permit: Permit) {
        match &mut self.paid {
            Some(paid) => paid.merge(permit),
            None => self.paid = Some(permit),
        }
    }

    /// Adds a message that is paid for.
    pub fn push(&mut self, message: &Message, arrivals: &mut Arrivals, event_bytes_max: usize) {
        self.acks.extend(message.packet_id);
        let assembly = self.assembly.get_or_insert_with(|| self.intake.assemble());
        if let Some(bytes) = message.cut_from {
            // Without the topic: it may hold a key that is to stay a secret.
            let reason = format!("expected an event of at most {event_bytes_max} bytes, found {bytes}");
            let beginning = message.payload.get(..event_bytes_max).unwrap_or(&message.payload);
            assembly.push_bad(BadKind::Oversized, reason, beginning, None);
            return;
        }
        let form = Arrivals::form(message);
        assembly.push(&form, &message.payload, arrivals.beside(message));
    }

    /// Notes a message that holds nothing: only its acknowledgement is due.
    pub fn push_nothing(&mut self, message: &Message) {
        self.acks.extend(message.packet_id);
    }

    /// The connection is gone: its messages come again, under other ids as far as it matters here.
    pub fn forget_acks(&mut self) {
        self.acks.clear();
    }

    /// Takes the batch out and begins another.
    pub fn take(&mut self) -> Batch {
        let gathered = std::mem::replace(self, Self::new(self.intake));
        let events = gathered.assembly.map(Assembly::finish).unwrap_or_default();
        Batch { events, acks: gathered.acks, paid: gathered.paid }
    }
}
