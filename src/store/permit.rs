//! A permission for an older model, in a store that no daemon has open: what a rollback leaves for the next start.

use super::error::StoreError;
use super::forget::changed;
use super::frame::{self, Kind};
use super::history;
use super::keys;
use std::path::Path;

/// Who holds the lock meanwhile, as it says of itself.
pub const PERMIT_MODEL: &str = "model rollback";

/// Lets the next start take a bundle with this manifest into use though it is older than what was. Used up by it.
///
/// # Errors
/// [`StoreError::Held`] while a daemon runs, `NotFound` where there is no store, otherwise when the medium fails.
pub fn permit_model(dir: &Path, manifest_sha256: &[u8; 32]) -> Result<(), StoreError> {
    changed(dir, PERMIT_MODEL, |_, commit, batch| {
        let body = history::encode_permit(manifest_sha256);
        batch.insert(keys::named(keys::META, history::PERMIT), frame::wrap(Kind::Meta, commit, &body));
        Ok(())
    })
}
