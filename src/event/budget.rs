//! One budget of bytes for all requests of the process.
//!
//! Bytes are taken as they arrive and given back when the [`Permit`] falls: with the answer, or at once
//! when the request is refused. So two half-read bodies can wait for each other no longer than the wait.

use std::{sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that requests may hold, shared by all listeners. Clones are handles to the same budget.
#[derive(Clone, Debug)]
pub struct Budget {
    free: Arc<Semaphore>,
    bytes: usize,
}

/// Bytes taken out of a [`Budget`]; dropping it gives them back.
#[derive(Debug)]
pub struct Permit(OwnedSemaphorePermit);

/// The budget did not have the bytes in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the memory budget for requests is in use")]
pub struct Exhausted;

impl Budget {
    /// A budget of `bytes`, at most 4 GiB.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes.min(u32::MAX as usize);
        Self { free: Arc::new(Semaphore::new(bytes)), bytes }
    }

    /// Bytes in all.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes taken just now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.bytes.saturating_sub(self.free.available_permits())
    }

    /// Takes `bytes` now or not at all.
    #[must_use]
    pub fn try_take(&self, bytes: usize) -> Option<Permit> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.free).try_acquire_many_owned(bytes).ok().map(Permit)
    }

    /// Takes `bytes`, waiting at most `wait`.
    ///
    /// # Errors
    /// When they did not come free in that time.
    pub async fn take(&self, bytes: usize, wait: Duration) -> Result<Permit, Exhausted> {
        if let Some(permit) = self.try_take(bytes) {
            return Ok(permit);
        }
        if bytes > self.bytes {
            return Err(Exhausted);
        }
        let bytes = u32::try_from(bytes).map_err(|_| Exhausted)?;
        match tokio::time::timeout(wait, Arc::clone(&self.free).acquire_many_owned(bytes)).await {
            Ok(Ok(permit)) => Ok(Permit(permit)),
            _ => Err(Exhausted),
        }
    }
}

impl Permit {
    /// Bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.num_permits()
    }

    /// Joins `other`, of the same budget, into this one.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }
}
