//! The keys before the first table.

use super::{Key, Kind, Preset, section::Section};
use std::path::PathBuf;

pub(super) const INSTANCE: Key = Key::new(
    "instance",
    Kind::Text(64),
    Preset::Optional("\"edge-1\"", "the host's name"),
    "This appliance's name, as `status` and the lock of state-dir show it.",
);
pub(super) const STATE_DIR: Key = Key::new(
    "state-dir",
    Kind::AbsolutePath,
    Preset::Default("\"/var/lib/verdictd\""),
    "The folder with the store. One daemon holds it at a time.",
);
pub(super) const KEYS: &[Key] = &[INSTANCE, STATE_DIR];

pub(super) fn read(section: &mut Section<'_>, host: &str) -> (String, PathBuf) {
    let instance = section.text(&INSTANCE).unwrap_or_else(|| {
        // What is in effect is shown, also where it comes from the machine.
        if let Some(setting) = section.reader.settings.iter_mut().find(|s| s.key == INSTANCE.name) {
            setting.value = Some(toml::Value::String(host.to_owned()).to_string());
        }
        host.to_owned()
    });
    (instance, section.absolute_path(&STATE_DIR).unwrap_or_default())
}
