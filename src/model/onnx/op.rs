//! Operators: what a node of the graph says, what is known when it is built, and what runs.
//!
//! A node is built once for each number of rows that the plan is compiled for. What does not depend on it (packed
//! weights, trees, tables) is built once: [`Context::shared`]. `run` allocates nothing and does not panic; whatever
//! it needs is checked by the build, with an error that says what was expected.

use super::sums::Sums;
use super::tensor::{Data, Tensor, TensorType, View};
use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// Most texts that a model's constants hold.
const TEXTS_MAX: usize = 1 << 20;

/// Why a node cannot be built. The import puts the node's name in front.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpError(pub String);

impl OpError {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl From<String> for OpError {
    fn from(what: String) -> Self {
        Self(what)
    }
}

impl From<&str> for OpError {
    fn from(what: &str) -> Self {
        Self(what.to_owned())
    }
}

/// An attribute's value.
#[derive(Clone, Debug)]
pub enum Attribute {
    Float(f32),
    Int(i64),
    Text(String),
    Tensor(Arc<Tensor>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
    /// A kind that no operator here takes, by its name: a graph, say.
    Other(&'static str),
}

impl Attribute {
    fn what(&self) -> &'static str {
        match self {
            Self::Float(_) => "a float",
            Self::Int(_) => "an integer",
            Self::Text(_) => "a text",
            Self::Tensor(_) => "a tensor",
            Self::Floats(_) => "floats",
            Self::Ints(_) => "integers",
            Self::Texts(_) => "texts",
            Self::Other(what) => what,
        }
    }
}

/// A node as the file has it.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// As in the file, or made of its operator and place where it has none.
    pub name: String,
    /// "" for ai.onnx.
    pub domain: String,
    pub op: String,
    /// The version of its domain's operators that the model imports.
    pub version: i64,
    /// Names of values; "" where an optional one is left out.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: BTreeMap<String, Attribute>,
}

macro_rules! attribute {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty, $take:expr, $expected:literal) => {
        $(#[$doc])*
        pub fn $name(&self, name: &str) -> Result<Option<$type>, OpError> {
            match self.attributes.get(name) {
                None => Ok(None),
                #[allow(clippy::redundant_closure_call)]
                Some(Attribute::$variant(value)) => Ok(Some($take(value))),
                Some(other) => Err(wrong(name, $expected, other)),
            }
        }
    };
}

fn wrong(name: &str, expected: &str, found: &Attribute) -> OpError {
    OpError(format!("attribute {name}: expected {expected}, found {}", found.what()))
}

/// The attributes, by name: None where it is left out, an error where it is of another kind.
#[allow(clippy::missing_errors_doc)] // said above
impl Node {
    attribute!(float, Float, f32, |v: &f32| *v, "a float");
    attribute!(int, Int, i64, |v: &i64| *v, "an integer");
    attribute!(text, Text, &str, String::as_str, "a text");
    attribute!(tensor, Tensor, &Arc<Tensor>, |v| v, "a tensor");
    attribute!(floats, Floats, &[f32], Vec::as_slice, "floats");
    attribute!(ints, Ints, &[i64], Vec::as_slice, "integers");
    attribute!(texts, Texts, &[String], Vec::as_slice, "texts");

    /// An integer that is 0 or 1.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, OpError> {
        Ok(self.int(name)?.map_or(default, |v| v != 0))
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    /// Whether output `n` has a name: somebody may want it.
    #[must_use]
    pub fn wants(&self, n: usize) -> bool {
        self.outputs.get(n).is_some_and(|name| !name.is_empty())
    }
}

/// What is known of an input when a node is built.
#[derive(Clone, Debug)]
pub struct Fact {
    pub of: TensorType,
    /// Its numbers, where they do not depend on the rows.
    pub constant: Option<Arc<Tensor>>,
}

/// The texts of a model, by code from 0. Codes of rows that are not among them are [`Dictionary::UNSEEN`].
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    texts: Vec<Arc<str>>,
    codes: HashMap<Arc<str>, u32>,
    bytes: usize,
}

impl Dictionary {
    /// A text that no constant of the model equals.
    pub const UNSEEN: u32 = u32::MAX;

    /// The text's code, a new one if need be.
    ///
    /// # Errors
    /// More texts than a model may hold.
    pub fn intern(&mut self, text: &str) -> Result<u32, OpError> {
        if let Some(code) = self.codes.get(text) {
            return Ok(*code);
        }
        let code = self.texts.len();
        if code >= TEXTS_MAX {
            return Err(OpError(format!("expected at most {TEXTS_MAX} different texts in a model")));
        }
        let text: Arc<str> = text.into();
        // The text, its header, both entries.
        self.bytes = self.bytes.saturating_add(text.len() + 64);
        self.texts.push(Arc::clone(&text));
        let code = u32::try_from(code).unwrap_or(Self::UNSEEN);
        self.codes.insert(text, code);
        Ok(code)
    }

    /// The code of a row's text.
    #[must_use]
    pub fn code(&self, text: &str) -> u32 {
        self.codes.get(text).copied().unwrap_or(Self::UNSEEN)
    }

    #[must_use]
    pub fn text(&self, code: u32) -> Option<&str> {
        self.texts.get(usize::try_from(code).ok()?).map(AsRef::as_ref)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Bytes held, counted roughly from above.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What nodes are built with.
#[derive(Debug, Default)]
pub struct Context {
    pub dictionary: Dictionary,
    /// Bytes that tables, weights and buffers may still take.
    left: usize,
    /// What one node built for all numbers of rows, by node and type.
    shared: HashMap<(String, TypeId), Arc<dyn Any + Send + Sync>>,
    /// The node that is being built: its first output, which no other node has.
    node: String,
    /// Files beside the model's own that were read from.
    files: BTreeSet<String>,
    /// Class names of the node's outputs, as [`Context::label`] was told.
    labels: Vec<(usize, Vec<String>)>,
}

impl Context {
    /// With so many bytes for everything.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { left: bytes, ..Self::default() }
    }

    /// Notes a file that was read from.
    pub fn opened(&mut self, file: String) {
        self.files.insert(file);
    }

    /// All of them, each once.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        self.files.iter().cloned().collect()
    }

    /// Starts the next node.
    pub fn enter(&mut self, node: &Node) {
        self.node = node.outputs.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        self.labels.clear();
    }

    /// Takes bytes off the budget. To be called **before** a table of that size is made.
    ///
    /// # Errors
    /// They are not there.
    pub fn take(&mut self, bytes: usize, what: &str) -> Result<(), OpError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(OpError(format!("{what} takes {bytes} bytes, and {} are left for the model", self.left))),
        }
    }

    #[must_use]
    pub fn left(&self) -> usize {
        self.left
    }

    /// Gives back what was taken and is free again.
    pub fn give(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
    }

    /// What this node builds once, whatever the number of rows: made by the first call, then the same again. One a
    /// node and type.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn shared<T: Any + Send + Sync>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<T, OpError>,
    ) -> Result<Arc<T>, OpError> {
        let key = (self.node.clone(), TypeId::of::<T>());
        if let Some(made) = self.shared.get(&key).cloned().and_then(|made| made.downcast::<T>().ok()) {
            return Ok(made);
        }
        let shared = Arc::new(make(self)?);
        self.shared.insert(key, Arc::<T>::clone(&shared));
        Ok(shared)
    }

    /// Says what the columns of the node's output `n` are called: the classes of a classifier.
    pub fn label(&mut self, output: usize, labels: Vec<String>) {
        self.labels.push((output, labels));
    }

    /// What the node called its outputs' columns.
    pub fn take_labels(&mut self) -> Vec<(usize, Vec<String>)> {
        std::mem::take(&mut self.labels)
    }
}

/// Where a step's inputs lie.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Buffer(usize),
    Constant(usize),
    /// An optional input that is left out.
    Nothing,
}

/// A step's inputs at run.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub places: &'a [Place],
    pub buffers: &'a [Data],
    pub constants: &'a [Arc<Tensor>],
}

impl<'a> Inputs<'a> {
    /// Input `n`; empty where it is left out.
    #[must_use]
    pub fn get(&self, n: usize) -> View<'a> {
        match self.places.get(n) {
            Some(Place::Buffer(at)) => self.buffers.get(*at).map(Data::view),
            Some(Place::Constant(at)) => self.constants.get(*at).map(|tensor| tensor.view()),
            _ => None,
        }
        .unwrap_or(View::Bool(&[]))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// How the numbers of output 0 hang on those of the inputs, for one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// In a way that is not known here.
    Mixed,
    /// Each on the number at its place in the only input that is no constant; where that has fewer, on each of them so
    /// many, one after the other. `grows`: and grows with it, or stays.
    Each { grows: bool },
    /// They are the inputs' numbers, one input after the other.
    Joined,
    /// Each is the number of input 0 at this place.
    Picked(Vec<usize>),
    /// Each is its share in the sum of magnitudes of input 0.
    Shares,
}

/// An operator that runs. (`Any`, so that a plan can be asked whether it is one tree ensemble.)
pub trait Op: Any + fmt::Debug + Send + Sync {
    /// The types of its outputs: as many as the node has names for, unnamed ones in between included.
    fn outputs(&self) -> &[TensorType];

    /// Bytes of its tables. What is shared with other numbers of rows counts here each time; the plan counts by Arc.
    fn bytes(&self) -> usize {
        0
    }

    /// Working space of its own, made at load: handed to every `run`.
    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    /// Bytes of it.
    fn scratch_bytes(&self) -> usize {
        0
    }

    /// Whether [`Self::run_in_place`] does the same with input 0 and output 0 in one buffer.
    fn in_place(&self) -> bool {
        false
    }

    /// Every output is of its type and length; all of it must be written. No allocation, no panic.
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any);

    /// As `run`, where `data` is input 0 and becomes output 0. Input 0 in `inputs` is empty then.
    fn run_in_place(&self, inputs: &Inputs<'_>, data: &mut Data, scratch: &mut dyn Any) {
        let _ = (inputs, data, scratch);
    }

    /// Operations of one run, where they are many more than the elements of its outputs: refused beyond a limit.
    fn work(&self) -> u64 {
        0
    }

    /// How its output hangs on its inputs, of which those that are constant can be had.
    fn flow<'a>(&self, constant: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        let _ = constant;
        Flow::Mixed
    }

    /// The sums over the columns of input 0 that its scores are made of, if it adds up.
    fn sums(&self) -> Option<Sums> {
        None
    }

    /// One line for people: what it does with which sizes.
    fn describe(&self) -> String {
        String::new()
    }
}

/// What a node becomes.
#[derive(Debug)]
pub enum Built {
    Op(Box<dyn Op>),
    /// Output 0 is the numbers of input `.0` under another type of as many elements (Reshape, Identity, `ZipMap` …).
    Alias(usize, TensorType),
    /// The outputs do not depend on the rows.
    Constants(Vec<Arc<Tensor>>),
}

impl Built {
    pub fn op(op: impl Op) -> Self {
        Self::Op(Box::new(op))
    }
}

/// Builds a node. `inputs`: as the node names them, None where left out.
pub type Build = fn(&Node, &[Option<Fact>], &mut Context) -> Result<Built, OpError>;

/// Input `n`, which the operator needs.
///
/// # Errors
/// It is left out.
pub fn need(inputs: &[Option<Fact>], n: usize) -> Result<&Fact, OpError> {
    inputs.get(n).and_then(Option::as_ref).ok_or_else(|| OpError(format!("expected an input {n}")))
}

/// Input `n`, if it is there.
#[must_use]
pub fn given(inputs: &[Option<Fact>], n: usize) -> Option<&Fact> {
    inputs.get(n).and_then(Option::as_ref)
}
