//! `[model]`: the bundle that scores.

use super::{Key, Kind, Preset, section::Section};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// A folder, or a symbolic link to one; followed at each load.
    pub bundle: PathBuf,
    /// A minisign public key: with it an unsigned or altered bundle is refused.
    pub public_key: Option<PathBuf>,
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
    "A minisign public key: an unsigned or altered bundle is then refused.",
);
pub(super) const KEYS: &[Key] = &[BUNDLE, PUBLIC_KEY];

pub(super) fn read(section: &mut Section<'_>) -> Model {
    Model { bundle: section.path(&BUNDLE).unwrap_or_default(), public_key: section.path(&PUBLIC_KEY) }
}
