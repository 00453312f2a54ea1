//! What is subscribed to, what was, and what has to be said to the broker about it.
//!
//! # Layout
//!
//! The list of topic filters that the broker may hold for us stands in the store as JSON, `{"broker": …,
//! "client-id": …, "topics": […]}`, cut into offsets of up to 4,096 bytes named `NAME/topics`, `NAME/topics/1` and
//! on; the last one is shorter than that. It is written before the broker is told, with what is to go and what is to
//! come, and again after it has answered, with what is in force; so a crash in between forgets nothing.

use crate::ingest::{Intake, Problem};
use crate::store::OFFSET_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of all topic filters of one source.
pub const TOPICS_BYTES_MAX: usize = 64 << 10;
/// Far more than [`TOPICS_BYTES_MAX`] needs, with every character escaped.
const PARTS_MAX: usize = 128;

/// Topic filters at a broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Subscribed {
    pub broker: String,
    pub client_id: String,
    pub topics: Vec<String>,
}

/// What has to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub add: Vec<String>,
    pub remove: Vec<String>,
}

impl Change {
    /// From what the broker holds to what is wanted.
    pub fn between(held: &[String], wanted: &[String]) -> Self {
        let without =
            |from: &[String], those: &[String]| from.iter().filter(|topic| !those.contains(topic)).cloned().collect();
        Self { add: without(wanted, held), remove: without(held, wanted) }
    }

    pub fn is_none(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }
}

fn name(source: &str, part: usize) -> String {
    if part == 0 { format!("{source}/topics") } else { format!("{source}/topics/{part}") }
}

/// What is remembered; nothing where it is of another broker or client, or cannot be read.
pub(super) fn remembered<I: Intake>(
    intake: &I,
    source: &str,
    broker: &str,
    client_id: &str,
) -> Result<Vec<String>, Problem<'static>> {
    let mut bytes = Vec::new();
    for part in 0..PARTS_MAX {
        let Some(found) = intake.offset(&name(source, part))? else { break };
        bytes.extend_from_slice(&found);
        if found.len() < OFFSET_BYTES_MAX {
            break;
        }
    }
    let subscribed: Subscribed = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_same = subscribed.broker == broker && subscribed.client_id == client_id;
    Ok(if is_same { subscribed.topics } else { Vec::new() })
}

/// The offsets that remember it.
pub(super) fn offsets(source: &str, subscribed: &Subscribed) -> Vec<(Arc<str>, Vec<u8>)> {
    let json = serde_json::to_vec(subscribed).unwrap_or_default();
    let mut parts: Vec<&[u8]> = json.chunks(OFFSET_BYTES_MAX).collect();
    if json.len().is_multiple_of(OFFSET_BYTES_MAX) {
        // The last one is shorter.
        parts.push(&[]);
    }
    let parts = parts.into_iter().enumerate().take(PARTS_MAX);
    parts.map(|(part, bytes)| (name(source, part).into(), bytes.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_changed_is_said() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let change = Change::between(&list("a b c"), &list("b d"));
        assert_eq!(change, Change { add: list("d"), remove: list("a c") });
        assert!(Change::between(&list("a b"), &list("b a")).is_none());
    }

    proptest! {
        #[test]
        fn any_list_is_cut_into_parts_that_the_store_takes_and_read_back(
            topics in prop::collection::vec("[a-z/+#\"\\\\]{1,300}", 0..60),
        ) {
            let subscribed = Subscribed { broker: "b".to_owned(), client_id: "c".to_owned(), topics };
            let offsets = offsets("plant", &subscribed);
            prop_assert!(offsets.iter().all(|(_, bytes)| bytes.len() <= OFFSET_BYTES_MAX));
            let (last, full) = offsets.split_last().unwrap();
            prop_assert!(last.1.len() < OFFSET_BYTES_MAX);
            prop_assert!(full.iter().all(|(_, bytes)| bytes.len() == OFFSET_BYTES_MAX));
            let joined: Vec<u8> = offsets.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            prop_assert_eq!(serde_json::from_slice::<Subscribed>(&joined).unwrap(), subscribed);
        }
    }
}
