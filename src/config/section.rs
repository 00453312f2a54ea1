//! Reads the keys of one table by their definitions, and notes faults and effective values on the way.
//!
//! A getter that meets a fault notes it and gives a stand-in, so that reading goes on and finds the rest;
//! a config with a fault is never handed out.

use super::{
    Key, Kind, Origin, Period, Preset, Problem, Setting, Size,
    files::Named,
    node::{Entry, Node, Table, Value, default_node},
    suggest::suggest,
};
use crate::{
    event::{Pointer, PointerError},
    listen::{AddressError, Listen},
};
use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

/// What reading a config has found so far.
#[derive(Default)]
pub(super) struct Reader {
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
    /// Whether a text was no TOML, so that what is missing may stand in its broken part.
    pub broken: bool,
    pub settings: Vec<Setting>,
    /// Files that the config names.
    pub named: Vec<Named>,
}

impl Reader {
    /// Where the effective value of `key` comes from.
    pub fn origin(&self, key: &str) -> Origin {
        self.settings.iter().find(|s| s.key == key).map_or(Origin::Default, |s| s.origin.clone())
    }
}

/// What was expected of a value, where that is more than its kind says; and of which part of it, if not of the whole.
pub(super) struct Expected {
    pub text: String,
    /// The part's key below the value's, as in `.zone` or `[2]`, with its place and what was found there.
    pub part: Option<(String, Origin, String)>,
}

impl Expected {
    /// Of a member or an item of the value.
    pub fn of(part: &str, node: &Node, text: impl Into<String>) -> Self {
        Self { text: text.into(), part: Some((part.to_owned(), node.origin.clone(), node.found())) }
    }
}

impl From<String> for Expected {
    fn from(text: String) -> Self {
        Self { text, part: None }
    }
}

/// One table while it is read.
pub(super) struct Section<'a> {
    pub reader: &'a mut Reader,
    path: String,
    table: Option<&'a Table>,
    origin: Origin,
}

impl<'a> Section<'a> {
    /// Opens the table at `path`; notes keys that are not in `keys`. `at` is where its own key stands.
    pub fn open(reader: &'a mut Reader, path: &str, entry: Option<&'a Entry>, keys: &[Key]) -> Self {
        let origin = entry.map_or(Origin::Default, |e| e.key.clone());
        let table = match entry.map(|e| &e.node) {
            Some(Node { value: Value::Table(table), .. }) => Some(table),
            Some(node) => {
                let expected = Kind::Table(&[]).expected().replace(" {  }", "");
                reader.problems.push(Problem::value(&node.origin, path, &expected, &node.found()));
                None
            }
            None => None,
        };
        let section = Self { reader, path: path.to_owned(), table, origin };
        section.unknown_keys(keys)
    }

    fn unknown_keys(self, keys: &[Key]) -> Self {
        let names: Vec<&str> = keys.iter().map(|k| k.name).collect();
        for (name, entry) in self.table.into_iter().flatten() {
            if names.contains(&name.as_str()) {
                continue;
            }
            let secret = format!("{name}-file");
            let hint = if names.contains(&secret.as_str()) {
                format!("; a secret is taken only from a file: {secret}")
            } else {
                match suggest(name, &names) {
                    hint if hint.is_empty() => format!("; there is {}", names.join(", ")),
                    hint => hint,
                }
            };
            let path = self.key_path(name);
            let message = format!("{path}: unknown key{hint}");
            let expected = format!("one of {}", names.join(", "));
            self.reader.problems.push(Problem::at(&entry.key, &path, message).with(expected, name));
        }
        self
    }

    pub fn key_path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Where the key stands, or the table's head where it does not.
    pub fn place_of(&self, name: &str) -> Origin {
        self.entry(name).map_or_else(|| self.origin.clone(), |e| e.node.origin.clone())
    }

    pub fn entry(&self, name: &str) -> Option<&'a Entry> {
        self.table.and_then(|t| t.get(name))
    }

    /// Opens the table that is the value of `key`; None where it is not set.
    pub fn sub(&mut self, key: &Key) -> Option<Section<'_>> {
        let entry = self.entry(key.name)?;
        let Kind::Table(keys) = key.kind else { return None };
        let path = self.key_path(key.name);
        Some(Section::open(self.reader, &path, Some(entry), keys))
    }

    /// The same, opened also where it is not set, for the defaults of its keys.
    pub fn sub_or_default(&mut self, key: &Key) -> Section<'_> {
        let entry = self.entry(key.name);
        let path = self.key_path(key.name);
        let keys = if let Kind::Table(keys) = key.kind { keys } else { &[] };
        Section::open(self.reader, &path, entry, keys)
    }

    /// Notes a fault of a key that is set or missing here.
    pub fn fault(&mut self, key: &Key, message: impl Into<String>) {
        let origin = self.place_of(key.name);
        let path = self.key_path(key.name);
        self.reader.problems.push(Problem::at(&origin, &path, format!("{path}: {}", message.into())));
    }

    /// Reads a key by `convert`; its error says only what was expected, where that is more than the kind's.
    pub fn value<T, E: Into<Expected>>(&mut self, key: &Key, convert: impl Fn(&Node) -> Result<T, E>) -> Option<T> {
        let path = self.key_path(key.name);
        let default;
        let node = match (self.entry(key.name), key.preset) {
            (Some(entry), _) => &entry.node,
            (None, Preset::Default(toml)) => {
                default = default_node(toml)?;
                &default
            }
            (None, Preset::Optional(..)) => {
                self.reader.settings.push(Setting { key: path, value: None, origin: Origin::Default });
                return None;
            }
            (None, Preset::Required(example)) => {
                let expected = key.kind.expected();
                let message = format!("{path}: missing; expected {expected}, as in {} = {example}", key.name);
                let problem = Problem::at(&self.origin, &path, message).with(expected, "nothing");
                self.reader.problems.push(problem);
                return None;
            }
        };
        match convert(node) {
            Ok(value) => {
                let shown = Some(shown(node));
                self.reader.settings.push(Setting { key: path, value: shown, origin: node.origin.clone() });
                Some(value)
            }
            Err(expected) => {
                let Expected { text, part } = expected.into();
                let text = if text.is_empty() { key.kind.expected() } else { text };
                let (part, origin, found) = part.unwrap_or_else(|| (String::new(), node.origin.clone(), node.found()));
                self.reader.problems.push(Problem::value(&origin, &format!("{path}{part}"), &text, &found));
                None
            }
        }
    }

    pub fn text(&mut self, key: &Key) -> Option<String> {
        let Kind::Text(max) = key.kind else { return None };
        self.value(key, |node| match &node.value {
            Value::Text(text) if (1..=max).contains(&text.len()) => Ok(text.clone()),
            _ => Err(String::new()),
        })
    }

    /// A text that `parse` reads; its error says what was expected.
    pub fn text_as<T, E: Display>(&mut self, key: &Key, parse: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        self.value(key, |node| match &node.value {
            Value::Text(text) => parse(text).map_err(|error| error.to_string()),
            _ => Err(String::new()),
        })
    }

    /// A list of 1 to `max` texts that `parse` reads, none of them twice.
    pub fn texts_as<T: PartialEq, E: Display>(
        &mut self,
        key: &Key,
        max: usize,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Vec<T>> {
        self.value(key, |node| {
            let Value::Array(items) = &node.value else { return Err(Expected::from(String::new())) };
            if !(1..=max).contains(&items.len()) {
                return Err(format!("a list of 1 to {max} texts").into());
            }
            let mut read = Vec::with_capacity(items.len());
            for (n, item) in items.iter().enumerate() {
                let of = |expected: String| Expected::of(&format!("[{n}]"), item, expected);
                let Value::Text(text) = &item.value else { return Err(of("a text".to_owned())) };
                let one = parse(text).map_err(|error| of(error.to_string()))?;
                if read.contains(&one) {
                    return Err(of("each only once".to_owned()));
                }
                read.push(one);
            }
            Ok(read)
        })
    }

    pub fn size(&mut self, key: &Key) -> Size {
        let Kind::Size { min, max } = key.kind else { return Size::ZERO };
        self.value(key, |node| match &node.value {
            Value::Text(text) => {
                Size::parse(text).ok().filter(|size| (min..=max).contains(size)).ok_or_else(String::new)
            }
            _ => Err(String::new()),
        })
        .unwrap_or_default()
    }

    pub fn period(&mut self, key: &Key) -> Option<Period> {
        let Kind::Period { min, max } = key.kind else { return None };
        self.value(key, |node| match &node.value {
            Value::Text(text) => {
                Period::parse(text).ok().filter(|period| (min..=max).contains(period)).ok_or_else(String::new)
            }
            _ => Err(String::new()),
        })
    }

    pub fn integer(&mut self, key: &Key) -> i64 {
        let Kind::Integer { min, max } = key.kind else { return 0 };
        self.value(key, |node| match &node.value {
            Value::Integer(number) => {
                i64::try_from(*number).ok().filter(|n| (min..=max).contains(n)).ok_or_else(String::new)
            }
            _ => Err(String::new()),
        })
        .unwrap_or_default()
    }

    pub fn bool(&mut self, key: &Key) -> bool {
        self.value(key, |node| match node.value {
            Value::Bool(value) => Ok(value),
            _ => Err(String::new()),
        })
        .unwrap_or_default()
    }

    /// One of a few names, as the value that stands beside it in `values`.
    pub fn one_of<T: Copy>(&mut self, key: &Key, values: &[T]) -> Option<T> {
        let Kind::OneOf(names) = key.kind else { return None };
        self.value(key, |node| match &node.value {
            Value::Text(text) => {
                let at = names.iter().position(|name| name == text);
                at.and_then(|at| values.get(at).copied())
                    .ok_or_else(|| format!("{}{}", key.kind.expected(), suggest(text, names).replace(';', ",")))
            }
            _ => Err(String::new()),
        })
    }

    /// A path to read: a relative one starts at the folder of the file that names it.
    pub fn path(&mut self, key: &Key) -> Option<PathBuf> {
        let path = self.value(key, |node| match &node.value {
            Value::Text(text) if !text.is_empty() && !text.contains('\0') => {
                let folder = node.origin.file().and_then(Path::parent).unwrap_or(Path::new(""));
                Ok(folder.join(text))
            }
            _ => Err(String::new()),
        })?;
        self.named(key.name, path.clone());
        Some(path)
    }

    /// Notes that a key names a file to read.
    pub fn named(&mut self, name: &str, path: PathBuf) {
        let (key, origin) = (self.key_path(name), self.place_of(name));
        self.reader.named.push(Named { key, path, origin });
    }

    /// A path to write to: where it lies must not depend on where the daemon was started.
    pub fn absolute_path(&mut self, key: &Key) -> Option<PathBuf> {
        self.value(key, |node| match &node.value {
            Value::Text(text) if Path::new(text).is_absolute() && !text.contains('\0') => Ok(PathBuf::from(text)),
            _ => Err(String::new()),
        })
    }

    pub fn listen(&mut self, key: &Key) -> Option<Listen> {
        self.value(key, |node| match &node.value {
            Value::Text(text) => text.parse().map_err(|error: AddressError| {
                error.to_string().strip_prefix("expected ").unwrap_or_default().to_owned()
            }),
            _ => Err(String::new()),
        })
    }

    /// Permission bits, 0o600 to 0o777: the daemon's own user is not shut out.
    pub fn mode(&mut self, key: &Key) -> u32 {
        self.value(key, |node| match &node.value {
            Value::Text(text) if (3..=4).contains(&text.len()) => {
                u32::from_str_radix(text, 8).ok().filter(|mode| (0o600..=0o777).contains(mode)).ok_or_else(String::new)
            }
            _ => Err(String::new()),
        })
        .unwrap_or_default()
    }

    pub fn pointer(&mut self, key: &Key) -> Option<Pointer> {
        self.value(key, |node| match &node.value {
            Value::Text(text) => pointer(text),
            _ => Err(String::new()),
        })
    }

    pub fn texts(&mut self, key: &Key) -> Option<Vec<String>> {
        self.value(key, |node| match &node.value {
            Value::Array(items) if !items.is_empty() => items
                .iter()
                .enumerate()
                .map(|(n, item)| match &item.value {
                    Value::Text(text) if !text.is_empty() => Ok(text.clone()),
                    _ => Err(Expected::of(&format!("[{n}]"), item, "a text that is not empty")),
                })
                .collect(),
            _ => Err(String::new().into()),
        })
    }
}

/// A pointer to a member, or what was expected.
pub(super) fn pointer(text: &str) -> Result<Pointer, String> {
    match Pointer::parse(text) {
        Ok(pointer) if !pointer.parts().is_empty() => Ok(pointer),
        Ok(_) | Err(PointerError::NoSlash(_)) => Err(String::new()),
        Err(error) => Err(format!("{} ({error})", Kind::Pointer.expected())),
    }
}

/// A value as TOML.
pub(super) fn shown(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => toml::Value::String(text.clone()).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(text) | Value::Datetime(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Table(table) => {
            let members = table.iter().map(|(name, entry)| format!("{name} = {}", shown(&entry.node)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
