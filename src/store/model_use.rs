//! A model was taken into use: which, when, why, and what a rollback would go back to.

use std::path::PathBuf;

/// How a signed bundle is told from an older one of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Whether its signature was asked for and good: only then does the rest count.
    pub signed: bool,
    /// `serial` of its manifest.
    pub serial: Option<u64>,
    /// Seconds since 1970, by the clock of who signed it.
    pub signed_at: Option<u64>,
}

impl Stamp {
    /// The higher of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            signed: self.signed || other.signed,
            serial: self.serial.max(other.serial),
            signed_at: self.signed_at.max(other.signed_at),
        }
    }
}

/// A model as it stood when it was taken into use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelId {
    /// `name@version`.
    pub label: String,
    pub sha256: [u8; 32],
    pub manifest_sha256: [u8; 32],
    /// Where it was loaded from, links resolved; empty where not known.
    pub folder: PathBuf,
    pub stamp: Stamp,
}

impl ModelId {
    /// Its name without the version.
    #[must_use]
    pub fn name(&self) -> &str {
        self.label.split_once('@').map_or(self.label.as_str(), |(name, _)| name)
    }
}

/// What had it taken into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Start,
    Reload,
    Rollback,
}

impl Why {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Reload => "reload",
            Self::Rollback => "rollback",
        }
    }
}

/// A model was taken into use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// From 1; given by the store.
    pub number: u64,
    /// Wall clock, milliseconds since 1970.
    pub at_ms: i64,
    pub why: Why,
    /// No verdict before this sequence is of this use.
    pub first_sequence: u64,
    pub from: Option<ModelId>,
    pub to: ModelId,
}

/// The bundle that was in use before the one that is now: what a rollback goes back to. `uses`, ascending, are read as
/// a pile on which each use of another manifest lies; a rollback takes off what lies on the one that it went back to.
#[must_use]
pub fn model_before(uses: &[ModelUse]) -> Option<&ModelId> {
    let mut pile: Vec<&ModelId> = Vec::new();
    for used in uses {
        let known = pile.iter().rposition(|model| model.manifest_sha256 == used.to.manifest_sha256);
        match known {
            Some(at) if used.why == Why::Rollback => pile.truncate(at),
            Some(at) if at + 1 == pile.len() => pile.truncate(at),
            _ => {}
        }
        pile.push(&used.to);
    }
    pile.pop();
    pile.pop()
}
