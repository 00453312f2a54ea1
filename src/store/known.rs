//! What a store knows of the models that were in use: by that an older bundle is told.
//!
//! [`KnownModels::look`] finds it in a store that it does not open, copy or change: it reads the log engine's file from
//! one end to the other, as a salvage does, and goes by the commit numbers that each value carries. A daemon may write
//! meanwhile: what is not whole yet is passed over.

use super::error::StoreError;
use super::frame::{Framed, Kind};
use super::history;
use super::layout::Layout;
use super::model_use::{ModelUse, Stamp};
use super::scan;
use super::shared::Store;
use super::state::{self, FORMAT, State};
use std::io;
use std::path::Path;

/// The models that were in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownModels {
    /// The one taken into use last.
    pub newest: Option<ModelUse>,
    stamps: Vec<(String, Stamp)>,
    /// The manifest that may be taken into use though it is older.
    pub permit: Option<[u8; 32]>,
}

impl KnownModels {
    /// Of an open store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(Self { newest: store.models()?.pop(), stamps: store.stamps()?, permit: store.permitted_model()? })
    }

    /// Of the store in the state-dir `dir`; none where there is no store.
    ///
    /// # Errors
    /// When it cannot be read, or a later release wrote it.
    pub fn look(dir: &Path) -> Result<Self, StoreError> {
        let mut found = Found::default();
        match scan::values_in_file(&Layout::new(dir).db(), |framed| found.take(&framed)) {
            Err(StoreError::Io { kind: io::ErrorKind::NotFound, .. }) => return Ok(Self::default()),
            scanned => scanned?,
        }
        if found.format > FORMAT {
            return Err(StoreError::NewerFormat { path: dir.to_owned(), found: found.format, known: FORMAT });
        }
        let (used_at, newest) = found.newest.unzip();
        // A use takes the permission away: what is left of it in the file is a remnant.
        let permit = found.permit.filter(|(at, _)| used_at.is_none_or(|used_at| *at > used_at));
        Ok(Self {
            newest,
            stamps: found.stamps.map(|(_, stamps)| stamps).unwrap_or_default(),
            permit: permit.map(|(_, permit)| permit),
        })
    }

    /// The highest stamp of the models of that name, by what their signatures vouch for.
    #[must_use]
    pub fn highest(&self, name: &str) -> Option<Stamp> {
        self.stamps.iter().find(|(known, _)| known == name).map(|(_, stamp)| *stamp)
    }
}

/// The latest value of each kind, with its commit number.
#[derive(Default)]
struct Found {
    format: u32,
    newest: Option<(u64, ModelUse)>,
    stamps: Option<(u64, Vec<(String, Stamp)>)>,
    permit: Option<(u64, [u8; 32])>,
}

impl Found {
    fn take(&mut self, framed: &Framed) {
        if framed.kind != Kind::Meta {
            return;
        }
        let (commit, body) = (framed.commit, &framed.body);
        match state::meta_name(body) {
            Ok(state::STATE) => {
                let format = State::decode(body).map_or(0, |state| state.format);
                self.format = self.format.max(format);
            }
            Ok(history::STAMPS) => keep(&mut self.stamps, commit, history::decode_stamps(body).ok()),
            Ok(history::PERMIT) => keep(&mut self.permit, commit, history::decode_permit(body).ok()),
            Ok(name) if name.starts_with(history::USE) => {
                keep(&mut self.newest, commit, history::decode_use(body).ok());
            }
            _ => {}
        }
    }
}

fn keep<T>(latest: &mut Option<(u64, T)>, commit: u64, value: Option<T>) {
    if let Some(value) = value
        && latest.as_ref().is_none_or(|(known, _)| *known <= commit)
    {
        *latest = Some((commit, value));
    }
}
