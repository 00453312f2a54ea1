//! How many nodes a file has, counted as it streams by: nothing of it is kept.
//!
//! Every tree has one list `left_children`: in JSON its commas are counted, in UBJ its length is told before it.

use super::super::trees::{Node, TreePlan, Weight};
use std::io::{ErrorKind, Read};

const KEY: &[u8] = b"left_children";
/// Bytes that a node's entries in all lists of [`TreeFile`](super::file::TreeFile) take.
const NODE_BYTES: usize = 40;

/// Numbers of things in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Bytes of the file.
    pub bytes: u64,
    pub trees: usize,
    pub nodes: usize,
}

impl Survey {
    /// Bytes that loading takes at most: the file, its lists, the forest and the plan, all there at once.
    #[must_use]
    pub fn memory(&self) -> usize {
        let file = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let forest = self.nodes.saturating_mul(NODE_BYTES + size_of::<Node>() + size_of::<Weight>() + 16);
        let splits = self.nodes / 2;
        // Columns are not told before the trees; names and categories are no longer than the file.
        let plan = TreePlan::bytes_of(self.trees, splits, splits + self.trees, splits + self.trees, 0);
        file.saturating_mul(2).saturating_add(forest).saturating_add(plan)
    }
}

/// Counts; never more nodes than the file has bytes.
///
/// # Errors
/// Those of reading.
pub fn survey(mut file: impl Read) -> std::io::Result<Survey> {
    let mut survey = Survey::default();
    let mut scan = Scan::Key(0);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        survey.bytes += count as u64;
        for byte in &buffer[..count] {
            scan = scan.take(*byte, &mut survey);
        }
    }
    let most = usize::try_from(survey.bytes).unwrap_or(usize::MAX);
    survey.nodes = survey.nodes.min(most);
    Ok(survey)
}

#[derive(Clone, Copy)]
enum Scan {
    /// So much of the key was seen.
    Key(usize),
    /// Behind the key, before the list.
    Before,
    /// Behind the list's bracket.
    Open,
    /// In a JSON list.
    List,
    /// UBJ: behind `$`, behind `#`, in the length.
    Type,
    Hash,
    Length {
        left: u32,
        told: u64,
    },
}

impl Scan {
    fn take(self, byte: u8, survey: &mut Survey) -> Self {
        match (self, byte) {
            (Self::Key(seen), _) => {
                if KEY.get(seen) == Some(&byte) {
                    if seen + 1 < KEY.len() {
                        return Self::Key(seen + 1);
                    }
                    survey.trees += 1;
                    return Self::Before;
                }
                Self::Key(usize::from(KEY.first() == Some(&byte)))
            }
            (Self::Before, b'"' | b':' | b' ' | b'\n' | b'\r' | b'\t') => Self::Before,
            (Self::Before, b'[') => Self::Open,
            (Self::Open | Self::Type, b'#') => Self::Hash,
            (Self::Open, b'$') | (Self::Type, _) => Self::Type,
            (Self::Open | Self::List, b']') => {
                survey.nodes += 1;
                Self::Key(0)
            }
            (Self::List, b',') => {
                survey.nodes += 1;
                Self::List
            }
            (Self::Open | Self::List, _) => Self::List,
            (Self::Hash, b'i' | b'U') => Self::Length { left: 1, told: 0 },
            (Self::Hash, b'I') => Self::Length { left: 2, told: 0 },
            (Self::Hash, b'l') => Self::Length { left: 4, told: 0 },
            (Self::Hash, b'L') => Self::Length { left: 8, told: 0 },
            (Self::Length { left, told }, byte) => {
                let told = told << 8 | u64::from(byte);
                if left > 1 {
                    return Self::Length { left: left - 1, told };
                }
                let told = usize::try_from(told).unwrap_or(usize::MAX);
                survey.nodes = survey.nodes.saturating_add(told);
                Self::Key(0)
            }
            (Self::Before | Self::Hash, _) => Self::Key(0),
        }
    }
}
