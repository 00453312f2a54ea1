//! `verdictd model history`: which model was in use when.

use super::{Failure, output::Output, store::StoreArgs};
use crate::{
    service::use_json,
    store::{ModelUse, model_before},
};
use serde_json::json;

pub(super) fn run(args: &StoreArgs) -> Result<(), Failure> {
    let uses = args.place.open()?.models()?;
    let before = model_before(&uses);
    let mut out = Output::new();
    if args.json {
        let before = before.map(|model| &model.label);
        out.json(&json!({ "history": uses.iter().map(use_json).collect::<Vec<_>>(), "before": before }))?;
        return out.finish();
    }
    for used in &uses {
        out.line(&line(used))?;
    }
    if uses.is_empty() {
        out.line("no model was in use")?;
    }
    out.finish()
}

fn line(used: &ModelUse) -> String {
    let at = jiff::Timestamp::from_millisecond(used.at_ms).map(|at| format!("{at:.0}")).unwrap_or_default();
    let from = used.from.as_ref().map(|from| format!(" instead of {}", from.label)).unwrap_or_default();
    let serial = used.to.stamp.serial.map(|serial| format!(", serial {serial}")).unwrap_or_default();
    let (number, why, label, first) = (used.number, used.why.name(), &used.to.label, used.first_sequence);
    let folder = used.to.folder.display();
    format!("{number:>4}  {at}  {why:<8}  {label}{serial}{from}, from sequence {first}, of {folder}")
}
