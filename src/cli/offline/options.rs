//! What the offline commands ask about events: their form, and where their identity stands.

use super::input::Format;
use crate::{
    cli::Failure,
    event::{IdentityRules, KeyRule, Pointer, PointerError, SourceRule, TimeForm},
};
use clap::Args;

#[derive(Args, Debug)]
pub(in crate::cli) struct EventArgs {
    /// Where neither the name nor the first byte of FILE says it
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Where an event's id stands; of a CSV without such a column the number of the record is taken
    #[arg(long, value_name = "POINTER", default_value = "/id", value_parser = pointer)]
    pub id: Pointer,
    /// Where its key stands; several times for a key of several
    #[arg(long, value_name = "POINTER", default_value = "/key", value_parser = pointer)]
    pub key: Vec<Pointer>,
    /// Where its time stands
    #[arg(long, value_name = "POINTER", default_value = "/time", value_parser = pointer)]
    pub time: Pointer,
}

pub(in crate::cli) fn pointer(text: &str) -> Result<Pointer, PointerError> {
    Pointer::parse(text)
}

impl EventArgs {
    /// `source`: a text, or a pointer, which begins with `/`; `otherwise`: the source of events where it finds none.
    pub fn rules(&self, source: &str, otherwise: &str) -> Result<IdentityRules, Failure> {
        rules(&self.id, &self.key, &self.time, source, otherwise)
    }
}

/// The rules by which an offline command knows an event.
pub(in crate::cli) fn rules(
    id: &Pointer,
    key: &[Pointer],
    time: &Pointer,
    source: &str,
    otherwise: &str,
) -> Result<IdentityRules, Failure> {
    let source = if source.starts_with('/') {
        let pointer = pointer(source).map_err(|error| Failure::usage(format!("--source: {error}")))?;
        SourceRule::Pointer { pointer, otherwise: otherwise.to_owned() }
    } else {
        SourceRule::Fixed(source.to_owned())
    };
    Ok(IdentityRules {
        id: id.clone(),
        time: time.clone(),
        time_form: TimeForm::Any,
        source,
        key: KeyRule { pointers: key.to_vec(), hmac_key: None, ..KeyRule::default() },
    })
}
