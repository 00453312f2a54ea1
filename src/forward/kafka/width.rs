//! How many records may share a batch, after a broker has refused one.
//!
//! The topic's limit (`max.message.bytes`) holds for a whole batch, and the broker does not say which record
//! was too much. So after a refusal all that was in flight goes singly. A record that is refused alone is
//! poison. Where none was, the batches were too large for this topic, and the next ones are smaller.

/// Bytes of a batch, of which the brokers' default (1 MiB) takes four.
pub(super) const BATCH_BYTES_MAX: usize = 256 << 10;
/// Below this a batch holds no more than a record or two.
const BATCH_BYTES_MIN: usize = 1 << 10;

/// What the next producer may put into a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Records below the sequence go one a batch; those from it on wait.
    Single {
        below: u64,
    },
    Bytes(usize),
}

impl Width {
    /// The records that may be handed over are below.
    pub fn below(self) -> u64 {
        match self {
            Self::Single { below } => below,
            Self::Bytes(_) => u64::MAX,
        }
    }
}

/// Finds the width that a topic takes.
#[derive(Debug)]
pub(super) struct Widths {
    bytes: usize,
    single_below: Option<u64>,
    /// Whether one of those that went singly was poison, and so the reason for the refusal.
    has_found: bool,
}

impl Default for Widths {
    fn default() -> Self {
        Self { bytes: BATCH_BYTES_MAX, single_below: None, has_found: false }
    }
}

impl Widths {
    pub fn now(&self) -> Width {
        self.single_below.map_or(Width::Bytes(self.bytes), |below| Width::Single { below })
    }

    /// A batch of records below `handed_over` was refused. True where it was a single record's.
    pub fn refused(&mut self, handed_over: u64) -> bool {
        let is_single = self.single_below.is_some();
        self.has_found = is_single;
        if !is_single {
            self.single_below = Some(handed_over);
        }
        is_single
    }

    /// The cursor is at `cursor`. True where the time of single records is over.
    pub fn passed(&mut self, cursor: u64) -> bool {
        if self.single_below.is_none_or(|below| cursor < below) {
            return false;
        }
        self.single_below = None;
        if !self.has_found {
            self.bytes = (self.bytes / 4).max(BATCH_BYTES_MIN);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_refusal_records_go_singly_and_a_poisoned_batch_is_no_reason_for_smaller_ones() {
        let mut widths = Widths::default();
        assert!(!widths.refused(100) && widths.now() == Width::Single { below: 100 });
        assert!(widths.refused(100) && !widths.passed(99));
        assert!(widths.passed(100));
        assert_eq!(widths.now(), Width::Bytes(BATCH_BYTES_MAX));
    }

    #[test]
    fn batches_get_smaller_where_every_record_of_a_refused_one_passes_alone() {
        let mut widths = Widths::default();
        let mut last = BATCH_BYTES_MAX;
        for cursor in 1..20 {
            widths.refused(cursor);
            assert!(widths.passed(cursor));
            let Width::Bytes(bytes) = widths.now() else { panic!("single") };
            assert!(bytes <= last && bytes >= BATCH_BYTES_MIN);
            last = bytes;
        }
        assert_eq!(last, BATCH_BYTES_MIN);
    }
}
