//! `event = { … }` of a source: where in an event its identity, key and time stand.

use super::{
    Key, Kind, Preset,
    files::Named,
    node::{Node, Value},
    section::{Section, pointer},
};
use crate::event::Pointer;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMapping {
    pub id: Pointer,
    pub key: KeyMapping,
    pub time: Pointer,
    pub source: SourceMapping,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMapping {
    /// One or more; the values of several make one key together.
    pub pointers: Vec<Pointer>,
    /// With it the key is replaced by its HMAC-SHA-256 under the bytes of this file before anything is kept.
    pub hmac_key_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceMapping {
    /// The name of the source in the config.
    Name,
    Pointer(Pointer),
    Fixed(String),
}

/// Most pointers that make one key.
pub const KEY_POINTERS_MAX: usize = 8;
/// Longest fixed source, in bytes.
const SOURCE_BYTES_MAX: usize = 512;

pub(super) const EVENT: Key = Key::new(
    "event",
    Kind::Table(KEYS),
    Preset::Optional("{ id = \"/id\", key = \"/key\", time = \"/time\" }", "the defaults of its keys"),
    "Where in an event its identity stands (JSON pointers); attributes of a CloudEvent win.",
);
const ID: Key = Key::new(
    "id",
    Kind::Pointer,
    Preset::Default("\"/id\""),
    "The event's id: (source, id) is what a repeat is known by.",
);
const KEY: Key = Key::new(
    "key",
    Kind::KeyPointer,
    Preset::Default("\"/key\""),
    "Order is kept per key. { pointer, hmac-key-file } keeps only its HMAC-SHA-256; a list makes one key of several.",
);
const TIME: Key = Key::new(
    "time",
    Kind::Pointer,
    Preset::Default("\"/time\""),
    "The event's time; without one, the time of arrival.",
);
const SOURCE: Key = Key::new(
    "source",
    Kind::SourceValue,
    Preset::Optional("\"/till\"", "the source's name here"),
    "The event's source: a pointer (it begins with /) or a fixed text.",
);
const KEYS: &[Key] = &[ID, KEY, TIME, SOURCE];

/// None where a pointer is faulty.
pub(super) fn read(section: &mut Section<'_>) -> Option<EventMapping> {
    let mut table = section.sub_or_default(&EVENT);
    let id = table.pointer(&ID);
    let key = table.value(&KEY, key_mapping);
    if let Some(file) = key.as_ref().and_then(|k| k.hmac_key_file.clone()) {
        let place = table.place_of(KEY.name);
        let path = table.key_path("key.hmac-key-file");
        table.reader.named.push(Named { key: path, path: file, origin: place });
    }
    let time = table.pointer(&TIME);
    let source = table.value(&SOURCE, source_mapping).unwrap_or(SourceMapping::Name);
    Some(EventMapping { id: id?, key: key?, time: time?, source })
}

fn source_mapping(node: &Node) -> Result<SourceMapping, String> {
    match &node.value {
        Value::Text(text) if text.starts_with('/') => pointer(text).map(SourceMapping::Pointer),
        Value::Text(text) if (1..=SOURCE_BYTES_MAX).contains(&text.len()) => Ok(SourceMapping::Fixed(text.clone())),
        _ => Err(String::new()),
    }
}

fn key_mapping(node: &Node) -> Result<KeyMapping, String> {
    match &node.value {
        Value::Text(text) => Ok(KeyMapping { pointers: vec![pointer(text)?], hmac_key_file: None }),
        Value::Array(items) if (1..=KEY_POINTERS_MAX).contains(&items.len()) => {
            let pointers = items.iter().map(|item| match &item.value {
                Value::Text(text) => pointer(text),
                _ => Err(String::new()),
            });
            Ok(KeyMapping { pointers: pointers.collect::<Result<_, _>>()?, hmac_key_file: None })
        }
        Value::Array(_) => Err(format!("a list of 1 to {KEY_POINTERS_MAX} JSON pointers")),
        Value::Table(table) => {
            let known = ["pointer", "hmac-key-file"];
            if let Some(other) = table.keys().find(|k| !known.contains(&k.as_str())) {
                return Err(format!("only pointer and hmac-key-file in it, not {other},"));
            }
            let inner = table.get("pointer").ok_or("pointer = \"/PAN\" in it")?;
            if matches!(inner.node.value, Value::Table(_)) {
                return Err(String::new());
            }
            let KeyMapping { pointers, .. } = key_mapping(&inner.node)?;
            let file = match table.get("hmac-key-file").map(|e| &e.node) {
                Some(Node { value: Value::Text(text), origin }) if !text.is_empty() && !text.contains('\0') => {
                    let folder = origin.file().and_then(Path::parent).unwrap_or(Path::new(""));
                    Some(folder.join(text))
                }
                Some(_) => return Err("hmac-key-file = \"FILE\" in it".to_owned()),
                None => None,
            };
            Ok(KeyMapping { pointers, hmac_key_file: file })
        }
        _ => Err(String::new()),
    }
}
