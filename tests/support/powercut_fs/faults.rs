//! What fails, and when.

use super::trace::Inode;

/// An error of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One operation fails with EIO.
    Once,
    /// Every operation fails with EIO from then on.
    Always,
    /// The next sync fails with EIO, once.
    NextSync,
}

/// Whether a sync does what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syncs {
    #[default]
    Honest,
    /// fsync and fdatasync answer well and make nothing durable.
    Lie,
    /// fdatasync alone lies. A program whose barrier is an fdatasync of its own, beside a library that
    /// calls fsync here and there, then behaves as if its author had left that barrier out.
    DataSyncLies,
}

#[derive(Default)]
pub struct Faults {
    plan: Option<(usize, Fault)>,
    failed: Vec<String>,
    /// The kernel may cut a write at page borders; when a later piece fails, the caller sees a short count
    /// and goes on with the rest. So the spot stays bad, or the failure would never be seen.
    bad_spot: Option<(Inode, i64)>,
}

impl Faults {
    pub fn plan(&mut self, at: usize, fault: Fault) {
        *self = Self { plan: Some((at, fault)), ..Self::default() };
    }

    pub fn failed(&self) -> &[String] {
        &self.failed
    }

    /// Whether operation `number` (from 1) fails.
    pub fn hits(&mut self, number: usize, is_sync: bool) -> bool {
        let Some((at, fault)) = self.plan else { return false };
        if number < at || (fault == Fault::NextSync && !is_sync) {
            return false;
        }
        if fault != Fault::Always {
            self.plan = None;
        }
        true
    }

    /// Takes down what has failed.
    pub fn took(&mut self, what: String) {
        self.failed.push(what);
    }

    /// As [`hits`](Self::hits), for a write at `spot`, which stays bad.
    pub fn hits_write(&mut self, number: usize, spot: (Inode, i64)) -> bool {
        if self.bad_spot == Some(spot) {
            return true;
        }
        let hit = self.hits(number, false);
        if hit {
            self.bad_spot = Some(spot);
        }
        hit
    }
}
