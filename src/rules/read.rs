//! `[[list]]` and `[[rule]]` tables, read and checked.

use super::compile::compile;
use super::program::Truth;
use super::syntax::Own;
use super::types::{Origin, Scope};
use super::{Act, Inner, Outcome, Rule, RuleSet};
use crate::event::Pointer;
use crate::features::{FeatureSet, List, Problems, Reader, found};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use toml::{Table, Value};

/// Most lists of a bundle.
pub const LISTS_MAX: usize = 64;
/// Most rules of a bundle.
pub const RULES_MAX: usize = 256;
/// Longest name of a list or a decision, bytes.
const NAME_BYTES_MAX: usize = 64;
/// Longest reason, bytes.
const REASON_BYTES_MAX: usize = 256;

impl RuleSet {
    /// Reads the tables `[[list]]` and `[[rule]]`, and the lists' files, whose paths are relative to `base_dir`.
    /// `features` are the names that rules know. Problems are added to `problems`, each with the path of its key; the
    /// set is complete only if there are none.
    pub fn read(
        lists: &[Value],
        rules: &[Value],
        base_dir: &Path,
        features: &FeatureSet,
        problems: &mut Problems,
    ) -> Self {
        for (key, count, most) in [("list", lists.len(), LISTS_MAX), ("rule", rules.len(), RULES_MAX)] {
            if count > most {
                problems.add(key, format!("expected at most {most}, found {count}"));
            }
        }
        let mut pointers = Vec::new();
        let mut opened: Vec<Arc<List>> = Vec::new();
        let mut acts = Vec::new();
        for (n, table) in tables("list", lists, LISTS_MAX, problems) {
            let mut reader = Reader::new(table, format!("list[{n}]"));
            let Some((list, act)) = read_list(&mut reader, base_dir, &mut pointers, problems) else {
                reader.finish(problems);
                continue;
            };
            if opened.iter().any(|other| other.name() == list.name()) {
                problems.add(reader.key("name"), format!("a second list named {:?}", list.name()));
            }
            acts.extend(act.map(|(origin, outcome)| Act { list: list.clone(), origin, outcome }));
            opened.push(list);
            reader.finish(problems);
        }
        let mut scope =
            Scope { features, lists: &opened, pointers, wants_score: false, uses: Vec::new(), notes: Vec::new() };
        let mut compiled: Vec<Rule> = Vec::new();
        for (n, table) in tables("rule", rules, RULES_MAX, problems) {
            let mut reader = Reader::new(table, format!("rule[{n}]"));
            let rule = read_rule(&mut reader, n, &mut scope, problems);
            if let Some(rule) = rule {
                if compiled.iter().any(|other| other.outcome.reason == rule.outcome.reason) {
                    problems
                        .add(reader.key("reason"), format!("a second rule with the reason {:?}", rule.outcome.reason));
                }
                compiled.push(rule);
            }
            reader.finish(problems);
        }
        let Scope { pointers, wants_score, uses, notes, .. } = scope;
        let inner = Inner {
            lists: opened,
            acts,
            rules: compiled,
            pointers,
            wants_score,
            uses,
            notes,
            bytes_max: AtomicUsize::default(),
        };
        Self(Arc::new(inner))
    }
}

fn tables<'a>(key: &str, list: &'a [Value], most: usize, problems: &mut Problems) -> Vec<(usize, &'a Table)> {
    let mut tables = Vec::new();
    for (n, value) in list.iter().take(most).enumerate() {
        match value {
            Value::Table(table) => tables.push((n, table)),
            other => problems.add(format!("{key}[{n}]"), format!("expected a table, found {}", found(other))),
        }
    }
    tables
}

type ReadList = (Arc<List>, Option<(Origin, Outcome)>);

fn read_list(
    reader: &mut Reader<'_>,
    base_dir: &Path,
    pointers: &mut Vec<Pointer>,
    problems: &mut Problems,
) -> Option<ReadList> {
    let name = read_name("name", reader, NAME_BYTES_MAX, problems);
    let file = reader.required_text("file", problems);
    let key = reader.text("key", problems);
    let pointer = key.and_then(|text| match Pointer::parse(text) {
        Ok(pointer) => Some(pointer),
        Err(error) => {
            problems.add(reader.key("key"), error.to_string());
            None
        }
    });
    let decides = reader.value("decision").is_some();
    let decision = decides.then(|| read_name("decision", reader, NAME_BYTES_MAX, problems)).flatten();
    let has_reason = reader.value("reason").is_some();
    let reason = has_reason.then(|| read_name("reason", reader, REASON_BYTES_MAX, problems)).flatten();
    if !decides && (key.is_some() || has_reason) {
        let given = if key.is_some() { "key" } else { "reason" };
        problems.add(reader.key(given), "expected a decision beside it: without one a list is for rules and features");
    }
    let name = name?;
    let list = match List::open(name, &base_dir.join(file?)) {
        Ok(list) => Arc::new(list),
        Err(what) => {
            problems.add(reader.key("file"), format!("{}: {what}", base_dir.join(file?).display()));
            return None;
        }
    };
    let act = decision.map(|decision| {
        let origin = match pointer {
            None => Origin::Own(Own::Key),
            Some(pointer) => Origin::Field(pointers.iter().position(|other| *other == pointer).unwrap_or_else(|| {
                pointers.push(pointer);
                pointers.len() - 1
            })),
        };
        (origin, Outcome { decision: decision.into(), reason: reason.unwrap_or(name).into() })
    });
    Some((list, act))
}

fn read_rule(reader: &mut Reader<'_>, n: usize, scope: &mut Scope<'_>, problems: &mut Problems) -> Option<Rule> {
    let when = reader.required_text("when", problems);
    let decision = read_name("decision", reader, NAME_BYTES_MAX, problems);
    let has_reason = reader.value("reason").is_some();
    let reason = has_reason.then(|| read_name("reason", reader, REASON_BYTES_MAX, problems)).flatten();
    let (notes, uses) = (scope.notes.len(), scope.uses.len());
    let text = when?;
    let when = match compile(text, scope) {
        Ok(when) => when,
        Err(fault) => {
            problems.add(reader.key("when"), fault.shown(text));
            return None;
        }
    };
    let at = reader.key("when");
    scope.uses.iter_mut().skip(uses).for_each(|one| one.at = format!("{at}: {}", one.at));
    scope.notes.iter_mut().skip(notes).for_each(|note| *note = format!("{at}: {note}"));
    let reason = reason.map_or_else(|| format!("rule-{}", n + 1), str::to_owned);
    // Not more than a node for two of its bytes.
    let bytes = text.len() / 2 * size_of::<Truth>();
    Some(Rule { when, bytes, outcome: Outcome { decision: decision?.into(), reason: reason.into() } })
}

fn read_name<'a>(key: &'static str, reader: &mut Reader<'a>, most: usize, problems: &mut Problems) -> Option<&'a str> {
    let text = reader.required_text(key, problems)?;
    if text.is_empty() || text.len() > most || text.chars().any(char::is_control) {
        let what = format!("expected 1 to {most} bytes without control characters, found {}", text.len());
        problems.add(reader.key(key), what);
        return None;
    }
    Some(text)
}
