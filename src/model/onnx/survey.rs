//! A first look at a model's file: how much is in it, without reading a weight.
//!
//! The file's messages are walked in a stream; contents are stepped over, so the survey of a file of gigabytes takes
//! a few kilobytes. It says what the model will take at most, before anything of it is read, and holds the limits
//! that protect the reader behind it: a node is two bytes in a file and two hundred in memory.
//!
//! Nesting: what is read here nests six deep by its very code (model, graph, node, attribute, tensor, entry);
//! subgraphs and types are stepped over whole, and the reader behind steps over them too.

use super::error::Error;
use super::proto;
use super::wire::{Content, Wire};
use std::io::{Read, Seek};

/// Nodes of a model, functions included.
pub const NODES_MAX: u64 = 100_000;
const ATTRIBUTES_MAX: u64 = 1_000_000;
const TENSORS_MAX: u64 = 200_000;
const VALUES_MAX: u64 = 100_000;
const FUNCTIONS_MAX: u64 = 10_000;
/// Texts: names, categories, class labels.
const TEXTS_MAX: u64 = 4_000_000;
/// Numbers in attributes: a tree's node has about ten.
const NUMBERS_MAX: u64 = 1 << 28;
/// Dimensions of a tensor.
pub const DIMS_MAX: u64 = 12;
/// `metadata_props`, opsets, entries of external data.
const ENTRIES_MAX: u64 = 100_000;
/// The longest file: protobuf's own limit is 2 GB.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// What a model's file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Bytes of the file.
    pub file: u64,
    pub nodes: u64,
    pub attributes: u64,
    /// Initializers and tensors in attributes.
    pub tensors: u64,
    pub texts: u64,
    pub numbers: u64,
    /// Bytes that the tensors' shapes claim, wherever their numbers stand.
    pub claimed: u64,
    /// Bytes that the file's messages take once they are read, contents of tensors left out.
    pub decoded: u64,
    values: u64,
    functions: u64,
    entries: u64,
}

impl Survey {
    /// Bytes that loading the model takes at most, the buffers for rows left out: the file, its messages, what is
    /// made of them, and the weights twice (as they stand and as they are packed).
    #[must_use]
    pub fn estimate(&self) -> u64 {
        let messages = self.decoded.saturating_mul(2);
        self.file.saturating_add(messages).saturating_add(self.claimed.saturating_mul(2))
    }

    fn take(&mut self, bytes: usize) {
        // Twice: a growing list is copied once.
        self.decoded = self.decoded.saturating_add(2 * bytes as u64);
    }
}

fn limited(count: &mut u64, by: u64, most: u64, what: &str) -> Result<(), Error> {
    *count = count.saturating_add(by);
    if *count > most { Err(Error(format!("expected at most {most} {what} in a model"))) } else { Ok(()) }
}

/// Surveys a file of `len` bytes.
///
/// # Errors
/// It is no protobuf message of that length, or holds more of something than a model may.
pub fn survey<R: Read + Seek>(reader: R, len: u64) -> Result<Survey, Error> {
    if len > FILE_BYTES_MAX {
        return Err(Error(format!("the file has {len} bytes, expected at most {FILE_BYTES_MAX}")));
    }
    let mut walk = Walk { wire: Wire::new(reader), found: Survey { file: len, ..Survey::default() } };
    walk.model(len)?;
    Ok(walk.found)
}

struct Walk<R: Read + Seek> {
    wire: Wire<R>,
    found: Survey,
}

impl<R: Read + Seek> Walk<R> {
    fn model(&mut self, end: u64) -> Result<(), Error> {
        while let Some((field, content)) = self.wire.field(end)? {
            match (field, content) {
                (7, Content::Bytes(bytes)) => self.graph(self.wire.at() + bytes)?,
                (25, Content::Bytes(bytes)) => {
                    limited(&mut self.found.functions, 1, FUNCTIONS_MAX, "functions")?;
                    self.found.take(size_of::<proto::Function>());
                    self.function(self.wire.at() + bytes)?;
                }
                (8 | 14, Content::Bytes(bytes)) => self.entry(content, bytes, end)?,
                _ => self.other(content, end)?,
            }
        }
        Ok(())
    }

    fn graph(&mut self, end: u64) -> Result<(), Error> {
        while let Some((field, content)) = self.wire.field(end)? {
            match (field, content) {
                (1, Content::Bytes(bytes)) => self.node(self.wire.at() + bytes)?,
                (5, Content::Bytes(bytes)) => self.tensor(self.wire.at() + bytes)?,
                (11 | 12 | 15, Content::Bytes(bytes)) => {
                    limited(&mut self.found.values, 1, VALUES_MAX, "inputs and outputs")?;
                    self.found.take(size_of::<proto::ValueInfo>());
                    // Its dimensions: two bytes each in the file.
                    let dims = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
                    self.found.take(dims.saturating_mul(size_of::<proto::shape::Dimension>()));
                    self.wire.skip(content, end)?;
                }
                _ => self.other(content, end)?,
            }
        }
        Ok(())
    }

    fn function(&mut self, end: u64) -> Result<(), Error> {
        while let Some((field, content)) = self.wire.field(end)? {
            match (field, content) {
                (7, Content::Bytes(bytes)) => self.node(self.wire.at() + bytes)?,
                (11, Content::Bytes(bytes)) => self.attribute(self.wire.at() + bytes)?,
                (4..=6, Content::Bytes(bytes)) => self.one_text(content, bytes, end)?,
                (9, Content::Bytes(bytes)) => self.entry(content, bytes, end)?,
                _ => self.other(content, end)?,
            }
        }
        Ok(())
    }

    fn node(&mut self, end: u64) -> Result<(), Error> {
        limited(&mut self.found.nodes, 1, NODES_MAX, "nodes")?;
        self.found.take(size_of::<proto::Node>());
        while let Some((field, content)) = self.wire.field(end)? {
            match (field, content) {
                (5, Content::Bytes(bytes)) => self.attribute(self.wire.at() + bytes)?,
                (1 | 2, Content::Bytes(bytes)) => self.one_text(content, bytes, end)?,
                _ => self.other(content, end)?,
            }
        }
        Ok(())
    }

    fn attribute(&mut self, end: u64) -> Result<(), Error> {
        limited(&mut self.found.attributes, 1, ATTRIBUTES_MAX, "attributes")?;
        self.found.take(size_of::<proto::Attribute>());
        while let Some((field, content)) = self.wire.field(end)? {
            match (field, content) {
                (5 | 10, Content::Bytes(bytes)) => self.tensor(self.wire.at() + bytes)?,
                (7, Content::Bytes(bytes)) => {
                    self.numbers(bytes / 4, 4)?;
                    self.wire.skip(content, end)?;
                }
                (8, Content::Bytes(bytes)) => {
                    let numbers = self.wire.count_varints(self.wire.at() + bytes)?;
                    self.numbers(numbers, 8)?;
                }
                (7 | 8, _) => {
                    self.numbers(1, 8)?;
                    self.wire.skip(content, end)?;
                }
                (9, Content::Bytes(bytes)) => self.one_text(content, bytes, end)?,
                _ => self.other(content, end)?,
            }
        }
        Ok(())
    }

    fn tensor(&mut self, end: u64) -> Result<(), Error> {
        limited(&mut self.found.tensors, 1, TENSORS_MAX, "tensors")?;
        self.found.take(size_of::<proto::Tensor>());
        let (mut dims, mut elements, mut bits) = (0, 1u64, 64);
        while let Some((field, content)) = self.wire.field(end)? {
            match (field, content) {
                (1, Content::Varint) => {
                    limited(&mut dims, 1, DIMS_MAX, "dimensions of a tensor")?;
                    elements = elements.saturating_mul(self.wire.varint(end)?);
                }
                (1, Content::Bytes(bytes)) => {
                    let end = self.wire.at() + bytes;
                    while self.wire.at() < end {
                        limited(&mut dims, 1, DIMS_MAX, "dimensions of a tensor")?;
                        elements = elements.saturating_mul(self.wire.varint(end)?);
                    }
                }
                (2, Content::Varint) => bits = bits_of(self.wire.varint(end)?),
                // Numbers that are not raw are decoded beside the file: what their bytes can be at most.
                (4 | 10, Content::Bytes(bytes)) => {
                    self.found.decoded = self.found.decoded.saturating_add(bytes);
                    self.wire.skip(content, end)?;
                }
                (5 | 7 | 11, Content::Bytes(bytes)) => {
                    let numbers = self.wire.count_varints(self.wire.at() + bytes)?;
                    self.found.decoded = self.found.decoded.saturating_add(numbers.saturating_mul(16));
                }
                (4 | 5 | 7 | 10 | 11, _) => {
                    self.numbers(1, 8)?;
                    self.wire.skip(content, end)?;
                }
                (6, Content::Bytes(bytes)) => self.one_text(content, bytes, end)?,
                (13, Content::Bytes(bytes)) => self.entry(content, bytes, end)?,
                _ => self.other(content, end)?,
            }
        }
        self.found.claimed = self.found.claimed.saturating_add(elements.saturating_mul(bits) / 8);
        Ok(())
    }

    fn numbers(&mut self, count: u64, bytes: u64) -> Result<(), Error> {
        limited(&mut self.found.numbers, count, NUMBERS_MAX, "numbers in attributes")?;
        self.found.decoded = self.found.decoded.saturating_add(count.saturating_mul(2 * bytes));
        Ok(())
    }

    fn one_text(&mut self, content: Content, bytes: u64, end: u64) -> Result<(), Error> {
        limited(&mut self.found.texts, 1, TEXTS_MAX, "texts")?;
        self.found.take(size_of::<bytes::Bytes>());
        self.found.decoded = self.found.decoded.saturating_add(bytes);
        self.wire.skip(content, end)
    }

    /// A message of two short fields.
    fn entry(&mut self, content: Content, bytes: u64, end: u64) -> Result<(), Error> {
        limited(&mut self.found.entries, 1, ENTRIES_MAX, "entries of metadata")?;
        self.found.take(size_of::<proto::Entry>());
        self.found.decoded = self.found.decoded.saturating_add(bytes);
        self.wire.skip(content, end)
    }

    /// A field that is not looked into. A text among them is copied by the reader.
    fn other(&mut self, content: Content, end: u64) -> Result<(), Error> {
        self.wire.skip(content, end)
    }
}

/// Bits of an element of ONNX's `data_type`; the widest of what is not known.
fn bits_of(data_type: u64) -> u64 {
    match data_type {
        2 | 3 | 9 => 8,
        4 | 5 | 10 | 16 => 16,
        1 | 6 | 8 | 12 => 32,
        _ => 64,
    }
}
