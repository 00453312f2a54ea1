//! The rows of one statement, as they gather.

use super::Layout;
use crate::forward::Encoding;
use crate::link::postgres::TextArray;
use crate::verdict::{Member, Verdict, write_members};
use std::collections::HashSet;
use xxhash_rust::xxh3::Xxh3;

/// What a row costs beyond its bytes, in the arrays' lengths and in the set of identities.
const ROW_COST_BYTES: usize = 64;

/// Rows for one statement, in the order of their verdicts. Buffers are used again.
#[derive(Debug, Default)]
pub(super) struct Batch {
    columns: Vec<TextArray>,
    rows: usize,
    identities: HashSet<u64>,
}

/// Whether a verdict became a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Yes,
    /// Its identity is in this batch already: a statement may not touch a row twice.
    Twice,
    /// It holds what PostgreSQL cannot store, in this member.
    Unstorable(Member),
}

impl Batch {
    pub fn new(layout: &Layout) -> Self {
        let columns = layout.columns().iter().map(|_| TextArray::default()).collect();
        Self { columns, ..Self::default() }
    }

    pub fn push(&mut self, layout: &Layout, encoding: Encoding, verdict: &Verdict<'_>) -> Pushed {
        if let Some(member) = unstorable(layout, verdict) {
            return Pushed::Unstorable(member);
        }
        if !self.identities.insert(identity(verdict)) {
            return Pushed::Twice;
        }
        for (column, values) in layout.columns().iter().zip(&mut self.columns) {
            values.push(|out| match (column.member, encoding) {
                (Some(member), _) => member.write_text(verdict, out),
                (None, Encoding::Json) => {
                    write_members(verdict, |member| !layout.holds(member), out);
                    true
                }
                (None, Encoding::CloudEvents) => {
                    encoding.write(verdict, out);
                    true
                }
            });
        }
        self.rows += 1;
        Pushed::Yes
    }

    pub fn columns(&self) -> &[TextArray] {
        &self.columns
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn bytes(&self) -> usize {
        self.columns.iter().map(TextArray::bytes).sum::<usize>() + self.rows * ROW_COST_BYTES
    }

    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(TextArray::clear);
        self.identities.clear();
        self.rows = 0;
    }
}

/// Two of one value end a batch too early, and no more.
fn identity(verdict: &Verdict<'_>) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&verdict.source.len().to_le_bytes());
    hash.update(verdict.source.as_bytes());
    hash.update(verdict.id.as_bytes());
    hash.digest()
}

/// A member with a U+0000 that some column is to hold.
fn unstorable(layout: &Layout, verdict: &Verdict<'_>) -> Option<Member> {
    let texts = [
        (Member::Source, verdict.source),
        (Member::Id, verdict.id),
        (Member::Key, verdict.key.unwrap_or_default()),
        (Member::Decision, verdict.decision),
        (Member::Model, verdict.model),
    ];
    let reasons = verdict.reasons.iter().map(|reason| (Member::Reasons, *reason));
    let has_nul = |text: &str| memchr::memchr(0, text.as_bytes()).is_some();
    let mut found = texts.into_iter().chain(reasons).filter(|(_, text)| has_nul(text)).map(|(member, _)| member);
    let has_rest = layout.columns().iter().any(|column| column.member.is_none());
    // What has no column of its own is in the rest, and in an envelope there is all of it.
    found.find(|member| layout.holds(*member) || has_rest)
}
