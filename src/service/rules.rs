//! From a source's `event` table to the rules that its decoder follows; reads the key of an HMAC.

use super::daemon::DaemonError;
use crate::config::{EventMapping, KeyMapping, SourceMapping, files};
use crate::event::{IdentityRules, KeyRule, SourceRule};
use std::path::PathBuf;

/// The rules of the source of this name.
///
/// # Errors
/// When the HMAC's key cannot be read.
pub fn rules(source: &str, mapping: &EventMapping) -> Result<IdentityRules, DaemonError> {
    let key = match &mapping.key {
        KeyMapping::Fixed(text) => KeyRule { fixed: Some(text.clone()), ..KeyRule::default() },
        KeyMapping::Pointers { pointers, hmac_key_file } => {
            let read = |path: &PathBuf| {
                files::read_hmac_key(path).map_err(|error| DaemonError::Secret {
                    key: format!("sources.{source}.event.key.hmac-key-file"),
                    path: path.clone(),
                    error,
                })
            };
            let hmac_key = hmac_key_file.as_ref().map(read).transpose()?;
            KeyRule { pointers: pointers.clone(), fixed: None, hmac_key }
        }
    };
    Ok(IdentityRules {
        id: mapping.id.clone(),
        time: mapping.time.pointer.clone(),
        time_form: mapping.time.form.clone(),
        source: match &mapping.source {
            SourceMapping::Name => SourceRule::Fixed(source.to_owned()),
            SourceMapping::Fixed(text) => SourceRule::Fixed(text.clone()),
            SourceMapping::Pointer(pointer) => {
                SourceRule::Pointer { pointer: pointer.clone(), otherwise: source.to_owned() }
            }
        },
        key,
    })
}
