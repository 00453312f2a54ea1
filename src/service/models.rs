//! Which model may be taken into use, and what is kept of those that were.

use crate::engine::{Along, Engine};
use crate::model::{Bundle, hex_text};
use crate::store::{KnownModels, ModelId, ModelUse, Stamp, Store, StoreError, Why, model_before};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Entries of the history that the status shows, the newest first.
const SHOWN: usize = 5;

/// What was in use, as far as the status shows it.
#[derive(Clone, Debug, Default)]
pub struct Past {
    newest: Vec<ModelUse>,
    before: Option<ModelId>,
}

impl Past {
    /// # Errors
    /// When the store cannot be read.
    pub fn read(store: &Store) -> Result<Self, StoreError> {
        let uses = store.models()?;
        let before = model_before(&uses).cloned();
        Ok(Self { newest: uses.into_iter().rev().take(SHOWN).collect(), before })
    }

    /// The newest entries.
    #[must_use]
    pub fn json(&self) -> Vec<Value> {
        self.newest.iter().map(use_json).collect()
    }

    /// What a rollback would go back to.
    #[must_use]
    pub fn before_json(&self) -> Value {
        self.before.as_ref().map_or(Value::Null, model_json)
    }
}

/// An entry of the history, for scripts.
#[must_use]
pub fn use_json(used: &ModelUse) -> Value {
    let at = jiff::Timestamp::from_millisecond(used.at_ms).map(|at| at.to_string()).unwrap_or_default();
    json!({
        "number": used.number,
        "at": at,
        "why": used.why.name(),
        "first-sequence": used.first_sequence,
        "to": model_json(&used.to),
        "from": used.from.as_ref().map_or(Value::Null, model_json),
    })
}

fn model_json(model: &ModelId) -> Value {
    json!({
        "label": model.label,
        "sha256": hex_text(&model.sha256),
        "manifest-sha256": hex_text(&model.manifest_sha256),
        "folder": model.folder.display().to_string(),
        "signed": model.stamp.signed,
        "serial": model.stamp.serial,
        "signed-at": model.stamp.signed_at,
    })
}

/// A bundle as the history names it.
fn id(bundle: &Bundle) -> ModelId {
    let stamp = bundle.seal().map(|seal| Stamp { signed: true, serial: seal.serial, signed_at: seal.signed_at });
    ModelId {
        label: bundle.label().to_owned(),
        sha256: *bundle.sha256(),
        manifest_sha256: *bundle.manifest_sha256(),
        folder: bundle.folder().to_owned(),
        stamp: stamp.unwrap_or_default(),
    }
}

/// Whether the bundle is none that is older than what was in use, where its signature is asked for. What is in use
/// already is none. `permitted`: an operator asked for this very bundle.
///
/// # Errors
/// Why it is refused.
pub fn judge(store: &Store, bundle: &Bundle, permitted: bool) -> Result<(), String> {
    if permitted || bundle.seal().is_none() {
        return Ok(());
    }
    judge_by(&KnownModels::of(store).map_err(|error| error.to_string())?, bundle)
}

/// The same by the store in the state-dir `dir`, which is neither opened nor changed. Says why it could not be judged,
/// if so.
///
/// # Errors
/// Why it is refused.
pub fn judge_at(dir: &Path, bundle: &Bundle) -> Result<Option<String>, String> {
    if bundle.seal().is_none() {
        return Ok(None);
    }
    match KnownModels::look(dir) {
        Ok(known) => judge_by(&known, bundle).map(|()| None),
        Err(error) => Ok(Some(format!(
            "whether {} is older than what was in use cannot be told from here: {error}",
            bundle.label()
        ))),
    }
}

fn judge_by(known: &KnownModels, bundle: &Bundle) -> Result<(), String> {
    let Some(seal) = bundle.seal() else { return Ok(()) };
    let is_this = |sha256: &[u8; 32]| sha256 == bundle.manifest_sha256();
    let in_use = known.newest.as_ref().is_some_and(|newest| is_this(&newest.to.manifest_sha256));
    if in_use || known.permit.as_ref().is_some_and(is_this) {
        return Ok(());
    }
    let found = Stamp { signed: true, serial: seal.serial, signed_at: seal.signed_at };
    let highest = known.highest(&bundle.manifest().name);
    let Some(fault) = highest.and_then(|highest| older(found, highest)) else { return Ok(()) };
    Err(format!("{}: {fault}; only `verdictd model rollback` goes back", bundle.label()))
}

/// How a bundle is older than the highest stamp of its name that was in use. The serial decides where it is known of
/// both; the time of the signature, by its signer's clock, where no serial ever was.
fn older(found: Stamp, highest: Stamp) -> Option<String> {
    let time = |seconds: u64| {
        let at = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        at.map_or_else(|| seconds.to_string(), |at| at.to_string())
    };
    match (found.serial, highest.serial) {
        (Some(found), Some(known)) => (found < known)
            .then(|| format!("expected a serial of at least {known}, which was in use, found the older {found}")),
        (None, Some(known)) => Some(format!("expected a serial of at least {known}, which was in use, found none")),
        (_, None) => match (found.signed_at, highest.signed_at) {
            (Some(found), Some(known)) => (found < known).then(|| {
                let (known, found) = (time(known), time(found));
                format!("expected one signed at {known}, as one that was in use, or later; found the older {found}")
            }),
            (None, Some(known)) => Some(format!(
                "expected one signed at {} or later; found no time in the trusted comment of its signature",
                time(known)
            )),
            (_, None) => None,
        },
    }
}

/// The entry for a bundle that is taken into use at a start; None where it is the one that was in use before.
///
/// # Errors
/// When the store cannot be read.
pub fn at_start(store: &Store, bundle: &Bundle) -> Result<Option<ModelUse>, StoreError> {
    let (newest, permit) = (store.models()?.pop(), store.permitted_model()?);
    let to = id(bundle);
    let is_same = |used: &ModelUse| (used.to.manifest_sha256, &used.to.folder) == (to.manifest_sha256, &to.folder);
    if permit.is_none() && newest.as_ref().is_some_and(is_same) {
        return Ok(None);
    }
    let why = if permit == Some(to.manifest_sha256) { Why::Rollback } else { Why::Start };
    Ok(Some(entry(why, newest.map(|newest| newest.to), to)))
}

/// The entry for a bundle that a reload takes into use.
pub fn at_reload(from: &Bundle, to: &Bundle, is_rollback: bool) -> ModelUse {
    entry(if is_rollback { Why::Rollback } else { Why::Reload }, Some(id(from)), id(to))
}

/// The number and the sequence are given when it becomes durable.
fn entry(why: Why, from: Option<ModelId>, to: ModelId) -> ModelUse {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    ModelUse { number: 0, at_ms, why, first_sequence: 0, from, to }
}

/// Makes an entry durable, after the engine was given the model. Where the engine has ended nothing is to be done.
pub async fn note(engine: &Engine, used: ModelUse) {
    let _ = engine.carry(Along { models: vec![used], ..Along::default() }).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(serial: Option<u64>, signed_at: Option<u64>) -> Stamp {
        Stamp { signed: true, serial, signed_at }
    }

    #[test]
    fn a_serial_decides_where_there_is_one_and_else_the_time_of_the_signature() {
        for (found, highest, is_older) in [
            (stamp(Some(3), None), stamp(Some(3), None), false),
            (stamp(Some(2), None), stamp(Some(3), None), true),
            // The signer's clock says nothing against a serial.
            (stamp(Some(4), Some(1)), stamp(Some(3), Some(9)), false),
            (stamp(Some(2), Some(9)), stamp(Some(3), Some(1)), true),
            (stamp(None, Some(9)), stamp(Some(3), Some(1)), true),
            (stamp(None, Some(9)), stamp(None, Some(9)), false),
            (stamp(None, Some(8)), stamp(None, Some(9)), true),
            (stamp(None, None), stamp(None, Some(9)), true),
            (stamp(None, None), stamp(None, None), false),
            // The first with a serial: it must still not be older by the clock that was looked at so far.
            (stamp(Some(1), Some(8)), stamp(None, Some(9)), true),
            (stamp(Some(1), Some(9)), stamp(None, Some(9)), false),
        ] {
            assert_eq!(older(found, highest).is_some(), is_older, "{found:?} after {highest:?}");
        }
    }
}
