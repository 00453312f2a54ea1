//! The writer's work on what windows are folded from: observations and labels.

use super::commit::Commit;
use super::error::StoreError;
use super::label_log::PENDING_MAX;
use super::writer::{Pending, Writer};
use crate::notice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Writer {
    /// Whether the observations and labels can be stored. `end`: the sequence after the commit's last record.
    pub(crate) fn check_kept(&self, commit: &Commit, end: u64) -> Result<(), StoreError> {
        if let Some(observed) = &commit.observed {
            observed.schema.check()?;
            let (width, rows) = (observed.schema.columns.len(), observed.rows.len());
            if observed.cells.len() != width * rows {
                return Err(StoreError::Cells { found: observed.cells.len(), rows, width });
            }
            let mut next = self.state.next;
            for row in &observed.rows {
                if !(next..end).contains(&row.sequence) {
                    return Err(StoreError::OutOfOrder { found: row.sequence, expected: next });
                }
                next = row.sequence + 1;
            }
        }
        for label in &commit.labels {
            let width = label.schema.as_ref().map_or(0, |schema| schema.columns.len());
            label.schema.as_ref().map_or(Ok(()), |schema| schema.check())?;
            if label.cells.len() != width {
                return Err(StoreError::Cells { found: label.cells.len(), rows: 1, width });
            }
        }
        Ok(())
    }

    /// Adds the commit's observations, and takes note of where the windows stand.
    pub(crate) fn observe(&mut self, commit: &Commit, pending: &mut Pending) {
        if commit.horizon_us.is_some() {
            self.observations.horizon_us = commit.horizon_us;
        }
        let Some(observed) = commit.observed.as_ref().filter(|observed| !observed.rows.is_empty()) else { return };
        self.newest_us = Some(observed.newest_us);
        // Told while there were no windows: it says nothing of those that there are now.
        if self.observations.horizon_us.is_some_and(|horizon_us| horizon_us >= observed.newest_us) {
            self.observations.horizon_us = commit.horizon_us;
        }
        let store = Arc::clone(&self.store);
        let added = self.observations.append(observed, self.commit, &mut store.observed());
        self.live = self.live.saturating_add_signed(added.grown);
        added.put.into_iter().for_each(|(key, value)| pending.insert(&key, value));
    }

    /// Adds the commit's labels, and lets those go that wait for an event and are too many.
    pub(crate) fn label(&mut self, commit: &Commit, pending: &mut Pending) -> Result<(), StoreError> {
        if commit.labels.is_empty() {
            return Ok(());
        }
        let now_us = i64::try_from(self.clock.now_ms().saturating_mul(1000)).unwrap_or(i64::MAX);
        let before = self.labels.bytes();
        let mut changes = self.labels.append(&commit.labels, self.newest_us.unwrap_or(now_us), self.commit);
        let mut shed = 0;
        while let Some((change, count)) = self.labels.shed(&self.store.medium, self.commit)? {
            changes.push(change);
            shed += count;
        }
        for (key, value) in changes {
            match value {
                Some(value) => pending.insert(&key, value),
                None => pending.remove(&key),
            }
        }
        self.live = self.live.saturating_add(self.labels.bytes()).saturating_sub(before);
        if shed > 0 {
            self.store.figures.labels_shed.fetch_add(shed, Ordering::Relaxed);
            tracing::warn!(
                kind = notice::LABELS_SHED.kind,
                shed,
                most = PENDING_MAX,
                "too many labels wait for their event: the oldest are gone"
            );
        }
        Ok(())
    }

    /// Where the disk budget is used up by observations alone: the oldest go although windows may need them after the
    /// next start. Without that nothing new would be taken ever again, for the horizon moves only with new events.
    pub(crate) fn cut_observations(&mut self, most: usize, pending: &mut Pending) {
        let store = Arc::clone(&self.store);
        let mut list = store.observed();
        let mut cut = 0;
        for _ in 0..most {
            let before = list.count();
            let Some((key, bytes)) = self.observations.cut(&mut list) else { break };
            pending.remove(&key);
            self.live = self.live.saturating_sub(bytes);
            cut += before - list.count();
        }
        let before = store.figures.observations_cut.fetch_add(cut, Ordering::Relaxed);
        if cut > 0 && before == 0 {
            let kind = notice::OBSERVATIONS_CUT.kind;
            tracing::warn!(
                kind,
                cut,
                "the disk budget does not hold what windows need: after a start they miss the oldest events"
            );
        }
    }

    /// Lets go of what no window needs: at most `most` chunks.
    pub(crate) fn forget(&mut self, floor_ms: u64, most: usize, pending: &mut Pending) {
        let store = Arc::clone(&self.store);
        let horizon_us = self.observations.horizon_us;
        let before = self.labels.bytes();
        for key in std::iter::from_fn(|| self.labels.trim(floor_ms, horizon_us)).take(most) {
            pending.remove(&key);
        }
        self.live = self.live.saturating_sub(before - self.labels.bytes());
        store.figures.labels.store(self.labels.count(), Ordering::Relaxed);
        store.figures.labels_pending.store(self.labels.pending(), Ordering::Relaxed);
        if horizon_us.is_some() {
            let mut list = store.observed();
            for (key, bytes) in std::iter::from_fn(|| self.observations.trim(&mut list)).take(most) {
                pending.remove(&key);
                self.live = self.live.saturating_sub(bytes);
            }
        }
    }
}
