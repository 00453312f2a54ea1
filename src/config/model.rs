//! `[model]`: the bundle that scores, and perhaps one that is only compared with it.

use super::{Key, Kind, Period, Preset, section::Section};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// A folder, or a symbolic link to one; followed at each load.
    pub bundle: PathBuf,
    /// A minisign public key: with it an unsigned, altered or older bundle is refused.
    pub public_key: Option<PathBuf>,
    /// The bundle of a second model over the same events, never acted on.
    pub shadow: Option<PathBuf>,
    /// What a row may take of the second model, on average.
    pub shadow_limit: Period,
}

pub(super) const BUNDLE: Key = Key::new(
    "bundle",
    Kind::Path,
    Preset::Default("\"/var/lib/verdictd/models/card-fraud\""),
    "The folder with model.toml and the weights; may be a symbolic link.",
);
pub(super) const PUBLIC_KEY: Key = Key::new(
    "public-key",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/models.pub\"", "signatures are not asked for"),
    "A minisign public key: an unsigned or altered bundle is then refused, and one older than what was in use.",
);
pub(super) const SHADOW: Key = Key::new(
    "shadow",
    Kind::Path,
    Preset::Optional("\"/var/lib/verdictd/models/next\"", "there is no second model"),
    "The bundle of a second model: it scores the same events, is compared with the first and never acted on.",
);
pub(super) const SHADOW_LIMIT: Key = Key::new(
    "shadow-limit",
    Kind::Period { min: Period::milliseconds(1), max: Period::seconds(1) },
    Preset::Default("\"1 ms\""),
    "What an event may take of it, on average: a slower shadow is dropped until the next reload.",
);
pub(super) const KEYS: &[Key] = &[BUNDLE, PUBLIC_KEY, SHADOW, SHADOW_LIMIT];

pub(super) fn read(section: &mut Section<'_>) -> Model {
    Model {
        bundle: section.path(&BUNDLE).unwrap_or_default(),
        public_key: section.path(&PUBLIC_KEY),
        shadow: section.path(&SHADOW),
        shadow_limit: section.period(&SHADOW_LIMIT).unwrap_or_default(),
    }
}
