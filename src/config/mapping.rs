//! `event = { … }` of a source: where in an event its identity, key and time stand.

use super::{
    Key, Kind, Preset, TimeMapping,
    files::Named,
    node::{Node, Table, Value},
    section::{Expected, Section, pointer},
    time::time_mapping,
};
use crate::event::{KEY_BYTES_MAX, Pointer, SOURCE_BYTES_MAX};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMapping {
    pub id: Pointer,
    /// Whether the config says it; where it does not, a source may know an event by where it came from.
    pub id_given: bool,
    pub key: KeyMapping,
    pub time: TimeMapping,
    pub source: SourceMapping,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMapping {
    Pointers {
        /// One or more; the values of several make one key together.
        pointers: Vec<Pointer>,
        /// With it the key is replaced by its HMAC-SHA-256 under the bytes of this file before anything is kept.
        hmac_key_file: Option<PathBuf>,
    },
    /// The same for every event.
    Fixed(String),
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
    Kind::Form(
        "a JSON pointer, a list of them, { pointer = \"/PAN\", hmac-key-file = \"FILE\" }, or a fixed text without a leading /",
    ),
    Preset::Default("\"/key\""),
    "Order is kept per key. { pointer, hmac-key-file } keeps only its HMAC-SHA-256; a list makes one key of several.",
);
const TIME: Key = Key::new(
    "time",
    Kind::Form(
        "a JSON pointer, or { pointer = \"/at\", format = \"%d.%m.%Y %H:%M:%S\", zone = \"Europe/Berlin\" }; format is also \"rfc3339\", \"epoch-s\", \"epoch-ms\" or \"epoch-us\"",
    ),
    Preset::Default("\"/time\""),
    "The event's time; without one, the time of arrival. A pattern is as in strftime and in UTC without a zone.",
);
const SOURCE: Key = Key::new(
    "source",
    Kind::Form("a JSON pointer, as in \"/till\", or a fixed text of 1 to 512 bytes"),
    Preset::Optional("\"/till\"", "the source's name here"),
    "The event's source: a pointer (it begins with /) or a fixed text.",
);
const KEYS: &[Key] = &[ID, KEY, TIME, SOURCE];

/// None where a pointer is faulty.
pub(super) fn read(section: &mut Section<'_>) -> Option<EventMapping> {
    let mut table = section.sub_or_default(&EVENT);
    let id_given = table.entry(ID.name).is_some();
    let id = table.pointer(&ID);
    let key = table.value(&KEY, key_mapping);
    if let Some(KeyMapping::Pointers { hmac_key_file: Some(file), .. }) = &key {
        let file = file.clone();
        let place = table.place_of(KEY.name);
        let path = table.key_path("key.hmac-key-file");
        table.reader.named.push(Named { key: path, path: file, origin: place });
    }
    let time = table.value(&TIME, time_mapping);
    let source = table.value(&SOURCE, source_mapping).unwrap_or(SourceMapping::Name);
    Some(EventMapping { id: id?, id_given, key: key?, time: time?, source })
}

fn source_mapping(node: &Node) -> Result<SourceMapping, String> {
    match &node.value {
        Value::Text(text) if text.starts_with('/') => pointer(text).map(SourceMapping::Pointer),
        Value::Text(text) if (1..=SOURCE_BYTES_MAX).contains(&text.len()) => Ok(SourceMapping::Fixed(text.clone())),
        _ => Err(String::new()),
    }
}

fn key_mapping(node: &Node) -> Result<KeyMapping, Expected> {
    match &node.value {
        Value::Text(text) if !text.starts_with('/') => match text.len() {
            1..=KEY_BYTES_MAX => Ok(KeyMapping::Fixed(text.clone())),
            _ => Err(format!("a fixed text of 1 to {KEY_BYTES_MAX} bytes").into()),
        },
        Value::Table(table) => hashed(table),
        _ => Ok(KeyMapping::Pointers { pointers: key_pointers(node)?, hmac_key_file: None }),
    }
}

fn key_pointers(node: &Node) -> Result<Vec<Pointer>, Expected> {
    match &node.value {
        Value::Text(text) => Ok(vec![pointer(text)?]),
        Value::Array(items) if (1..=KEY_POINTERS_MAX).contains(&items.len()) => {
            let pointers = items.iter().enumerate().map(|(n, item)| {
                let pointer = match &item.value {
                    Value::Text(text) => pointer(text).ok(),
                    _ => None,
                };
                pointer.ok_or_else(|| Expected::of(&format!("[{n}]"), item, Kind::Pointer.expected()))
            });
            pointers.collect()
        }
        Value::Array(_) => Err(format!("a list of 1 to {KEY_POINTERS_MAX} JSON pointers").into()),
        _ => Err(String::new().into()),
    }
}

fn hashed(table: &Table) -> Result<KeyMapping, Expected> {
    let known = ["pointer", "hmac-key-file"];
    if let Some((other, entry)) = table.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        let part = Some((String::new(), entry.key.clone(), other.clone()));
        return Err(Expected { text: "only pointer and hmac-key-file in it".to_owned(), part });
    }
    let inner = table.get("pointer").ok_or_else(|| "pointer = \"/PAN\" in it".to_owned())?;
    let pointers = key_pointers(&inner.node).map_err(|Expected { text, part }| {
        let part = part.map(|(part, origin, found)| (format!(".pointer{part}"), origin, found));
        part.map_or_else(
            || Expected::of(".pointer", &inner.node, "a JSON pointer, as in \"/PAN\", or a list of them"),
            |part| Expected { text, part: Some(part) },
        )
    })?;
    let hmac_key_file = match table.get("hmac-key-file").map(|e| &e.node) {
        Some(Node { value: Value::Text(text), origin }) if !text.is_empty() && !text.contains('\0') => {
            let folder = origin.file().and_then(Path::parent).unwrap_or(Path::new(""));
            Some(folder.join(text))
        }
        Some(other) => return Err(Expected::of(".hmac-key-file", other, "the path of a file")),
        None => None,
    };
    Ok(KeyMapping::Pointers { pointers, hmac_key_file })
}
