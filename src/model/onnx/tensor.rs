//! Tensors as the graph knows them: a kind of number, a shape, and the numbers row after row.
//!
//! Six kinds are enough for tabular models. A text is a code of the plan's [`super::op::Dictionary`], a truth value
//! a byte 0 or 1. Shapes are concrete: a plan is compiled for one number of rows.

use std::fmt;

/// What a tensor's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    F32,
    F64,
    I64,
    I32,
    /// A byte, 0 or 1.
    Bool,
    /// A code of the dictionary.
    Text,
}

impl Kind {
    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 | Self::Text => 4,
            Self::Bool => 1,
        }
    }

    /// As ONNX writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "float",
            Self::F64 => "double",
            Self::I64 => "int64",
            Self::I32 => "int32",
            Self::Bool => "bool",
            Self::Text => "string",
        }
    }

    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Something one can reckon with.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::I64 | Self::I32)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kind and a shape. No dimension: one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    pub kind: Kind,
    pub shape: Vec<usize>,
}

impl TensorType {
    #[must_use]
    pub fn new(kind: Kind, shape: impl Into<Vec<usize>>) -> Self {
        Self { kind, shape: shape.into() }
    }

    /// Elements; None where they cannot be counted.
    #[must_use]
    pub fn checked_len(&self) -> Option<usize> {
        count(&self.shape)
    }

    /// Elements, of a type whose size has been checked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.checked_len().unwrap_or(usize::MAX)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes; None where they cannot be counted.
    #[must_use]
    pub fn checked_bytes(&self) -> Option<usize> {
        self.checked_len()?.checked_mul(self.kind.bytes())
    }

    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Elements that follow each other for one index of the first dimension: 1 of a tensor without any.
    #[must_use]
    pub fn row_len(&self) -> usize {
        self.shape.get(1..).and_then(count).unwrap_or(1)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.kind)?;
        for (n, dim) in self.shape.iter().enumerate() {
            write!(f, "{}{dim}", if n == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// Elements of a shape; None where they cannot be counted. Of an empty tensor the other dimensions count all the same:
/// so every part of a shape that was counted can be counted.
#[must_use]
pub fn count(shape: &[usize]) -> Option<usize> {
    let all = shape.iter().filter(|dim| **dim != 0).try_fold(1usize, |n, dim| n.checked_mul(*dim))?;
    Some(if shape.contains(&0) { 0 } else { all })
}

/// The numbers of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    I32(Vec<i32>),
    Bool(Vec<u8>),
    Text(Vec<u32>),
}

/// An empty one: what stands where a buffer has been taken out.
impl Default for Data {
    fn default() -> Self {
        Self::Bool(Vec::new())
    }
}

/// A tensor's numbers, to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    I64(&'a [i64]),
    I32(&'a [i32]),
    Bool(&'a [u8]),
    Text(&'a [u32]),
}

impl Data {
    /// Zeros, codes of 0, or false.
    #[must_use]
    pub fn zeros(kind: Kind, len: usize) -> Self {
        match kind {
            Kind::F32 => Self::F32(vec![0.0; len]),
            Kind::F64 => Self::F64(vec![0.0; len]),
            Kind::I64 => Self::I64(vec![0; len]),
            Kind::I32 => Self::I32(vec![0; len]),
            Kind::Bool => Self::Bool(vec![0; len]),
            Kind::Text => Self::Text(vec![0; len]),
        }
    }

    #[must_use]
    pub fn view(&self) -> View<'_> {
        match self {
            Self::F32(v) => View::F32(v),
            Self::F64(v) => View::F64(v),
            Self::I64(v) => View::I64(v),
            Self::I32(v) => View::I32(v),
            Self::Bool(v) => View::Bool(v),
            Self::Text(v) => View::Text(v),
        }
    }

    #[must_use]
    pub fn kind(&self) -> Kind {
        self.view().kind()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers to write; none where they are of another kind (the build makes sure that they are not).
    pub fn f32_mut(&mut self) -> &mut [f32] {
        if let Self::F32(v) = self { v } else { &mut [] }
    }

    /// As [`Self::f32_mut`].
    pub fn f64_mut(&mut self) -> &mut [f64] {
        if let Self::F64(v) = self { v } else { &mut [] }
    }

    /// As [`Self::f32_mut`].
    pub fn i64_mut(&mut self) -> &mut [i64] {
        if let Self::I64(v) = self { v } else { &mut [] }
    }

    /// As [`Self::f32_mut`].
    pub fn i32_mut(&mut self) -> &mut [i32] {
        if let Self::I32(v) = self { v } else { &mut [] }
    }

    /// As [`Self::f32_mut`].
    pub fn bool_mut(&mut self) -> &mut [u8] {
        if let Self::Bool(v) = self { v } else { &mut [] }
    }

    /// As [`Self::f32_mut`].
    pub fn text_mut(&mut self) -> &mut [u32] {
        if let Self::Text(v) = self { v } else { &mut [] }
    }
}

impl<'a> View<'a> {
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
            Self::I64(_) => Kind::I64,
            Self::I32(_) => Kind::I32,
            Self::Bool(_) => Kind::Bool,
            Self::Text(_) => Kind::Text,
        }
    }

    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The numbers; none where they are of another kind (the build makes sure that they are not).
    #[must_use]
    pub fn f32(self) -> &'a [f32] {
        if let Self::F32(v) = self { v } else { &[] }
    }

    /// As [`Self::f32`].
    #[must_use]
    pub fn f64(self) -> &'a [f64] {
        if let Self::F64(v) = self { v } else { &[] }
    }

    /// As [`Self::f32`].
    #[must_use]
    pub fn i64(self) -> &'a [i64] {
        if let Self::I64(v) = self { v } else { &[] }
    }

    /// As [`Self::f32`].
    #[must_use]
    pub fn i32(self) -> &'a [i32] {
        if let Self::I32(v) = self { v } else { &[] }
    }

    /// As [`Self::f32`].
    #[must_use]
    pub fn bool(self) -> &'a [u8] {
        if let Self::Bool(v) = self { v } else { &[] }
    }

    /// As [`Self::f32`].
    #[must_use]
    pub fn text(self) -> &'a [u32] {
        if let Self::Text(v) = self { v } else { &[] }
    }

    /// Element `n` as f64 (an i64 beyond 2^53 is rounded); 0 behind the end.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // said above
    pub fn number(self, n: usize) -> f64 {
        match self {
            Self::F32(v) => v.get(n).copied().map(f64::from),
            Self::F64(v) => v.get(n).copied(),
            Self::I64(v) => v.get(n).map(|v| *v as f64),
            Self::I32(v) => v.get(n).copied().map(f64::from),
            Self::Bool(v) => v.get(n).copied().map(f64::from),
            Self::Text(v) => v.get(n).copied().map(f64::from),
        }
        .unwrap_or_default()
    }
}

/// A tensor that stands in the model or was computed at load.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub shape: Vec<usize>,
    pub data: Data,
}

impl Tensor {
    /// None where the numbers do not fill the shape.
    #[must_use]
    pub fn new(shape: impl Into<Vec<usize>>, data: Data) -> Option<Self> {
        let shape = shape.into();
        (count(&shape) == Some(data.len())).then_some(Self { shape, data })
    }

    #[must_use]
    pub fn of(&self) -> TensorType {
        TensorType::new(self.data.kind(), self.shape.clone())
    }

    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.data.view()
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.len().saturating_mul(self.data.kind().bytes())
    }

    /// The integers of an int64 or int32 tensor: axes, shapes, indices.
    #[must_use]
    pub fn integers(&self) -> Option<Vec<i64>> {
        match &self.data {
            Data::I64(v) => Some(v.clone()),
            Data::I32(v) => Some(v.iter().copied().map(i64::from).collect()),
            _ => None,
        }
    }
}
