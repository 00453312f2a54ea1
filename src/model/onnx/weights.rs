//! The numbers of a tensor in a file: as raw little-endian bytes, as a list by kind, or in a file beside the model.
//!
//! The shape is held against what is there before anything is allocated, and the bytes are taken off the budget
//! first. External data lies in the bundle's own directory: a relative path of plain names (ONNX, "External data"), see
//! [`super::external`].

use super::error::{Error, shown};
use super::external::{External, Place, plain_name};
use super::op::Context;
use super::proto;
use super::survey::DIMS_MAX;
use super::tensor::{Data, Kind, Tensor, count};
use bytes::Bytes;

/// `TensorProto.DataLocation.EXTERNAL`.
const EXTERNAL: i32 = 1;
/// Bytes read at once of an external file.
const CHUNK: usize = 64 << 10;

/// The kind of ONNX's `data_type`.
///
/// # Errors
/// One that no tabular model needs, by its name.
pub fn kind(data_type: i32) -> Result<Kind, Error> {
    let other = match data_type {
        1 => return Ok(Kind::F32),
        6 => return Ok(Kind::I32),
        7 => return Ok(Kind::I64),
        8 => return Ok(Kind::Text),
        9 => return Ok(Kind::Bool),
        11 => return Ok(Kind::F64),
        2 => "uint8",
        3 => "int8",
        4 => "uint16",
        5 => "int16",
        10 => "float16",
        12 => "uint32",
        13 => "uint64",
        14 => "complex64",
        15 => "complex128",
        16 => "bfloat16",
        17..=20 => "an 8-bit float",
        21 => "uint4",
        22 => "int4",
        23 => "float4e2m1",
        _ => return Err(Error(format!("numbers of an unknown kind ({data_type})"))),
    };
    Err(Error(format!("numbers of kind {other} are not supported (float, double, int64, int32, bool and string are)")))
}

/// Reads a tensor of an attribute: one of small integers becomes one of int32 (the modes of a `TreeEnsemble` are uint8).
///
/// # Errors
/// As [`tensor`].
pub fn attribute(proto: &proto::Tensor, beside: External<'_>, context: &mut Context) -> Result<Tensor, Error> {
    type Wide = fn(&[u8]) -> Vec<i32>;
    let wide: Option<Wide> = match proto.data_type.unwrap_or_default() {
        2 => Some(|raw| raw.iter().map(|b| i32::from(*b)).collect()),
        3 => Some(|raw| raw.iter().map(|b| i32::from(b.cast_signed())).collect()),
        4 => Some(|raw| raw.as_chunks().0.iter().map(|b| i32::from(u16::from_le_bytes(*b))).collect()),
        5 => Some(|raw| raw.as_chunks().0.iter().map(|b| i32::from(i16::from_le_bytes(*b))).collect()),
        _ => None,
    };
    let Some(wide) = wide else { return tensor(proto, beside, context) };
    let mut widened = proto::Tensor { data_type: Some(6), raw_data: None, ..proto.clone() };
    if let Some(raw) = &proto.raw_data {
        context.take(raw.len().saturating_mul(4), "a tensor")?;
        widened.int32_data = wide(raw);
    }
    tensor(&widened, beside, context)
}

/// Reads a tensor.
///
/// # Errors
/// Shape and numbers do not fit, a kind that is not known, no room left, or an external file that may not be read.
pub fn tensor(proto: &proto::Tensor, beside: External<'_>, context: &mut Context) -> Result<Tensor, Error> {
    read(proto, beside, context).map_err(|error| match proto.name.as_deref() {
        Some(name) if !name.is_empty() => error.at(&format!("tensor '{}'", shown(name))),
        _ => error.at("a tensor"),
    })
}

fn read(proto: &proto::Tensor, beside: External<'_>, context: &mut Context) -> Result<Tensor, Error> {
    let kind = kind(proto.data_type.unwrap_or_default())?;
    if proto.segment.is_some() {
        return Err(Error::new("a tensor in segments is not supported"));
    }
    if proto.dims.len() as u64 > DIMS_MAX {
        return Err(Error(format!("expected at most {DIMS_MAX} dimensions, found {}", proto.dims.len())));
    }
    let dim = |dim: &i64| usize::try_from(*dim).map_err(|_| Error(format!("dimension {dim} is no size")));
    let shape = proto.dims.iter().map(dim).collect::<Result<Vec<_>, _>>()?;
    let len = count(&shape).and_then(|len| Some((len, len.checked_mul(kind.bytes())?)));
    let Some((len, bytes)) = len else { return Err(Error(format!("its shape {shape:?} has too many elements"))) };
    let data = if proto.data_location == Some(EXTERNAL) {
        let (place, offset) = external(proto, beside, bytes, context)?;
        context.take(bytes, "a tensor")?;
        from_file(kind, &place, offset, bytes)?
    } else if let Some(raw) = &proto.raw_data {
        if kind == Kind::Text {
            return Err(Error::new("texts cannot stand in raw data"));
        }
        if raw.len() != bytes {
            return Err(mismatch(&shape, kind, bytes, raw.len()));
        }
        context.take(bytes, "a tensor")?;
        let mut data = Typed::new(kind, len);
        data.push(raw);
        data.0
    } else {
        listed(proto, kind, len, context)?
    };
    Tensor::new(shape, data).ok_or_else(|| Error::new("its numbers do not fill its shape"))
}

fn mismatch(shape: &[usize], kind: Kind, expected: usize, found: usize) -> Error {
    Error(format!("shape {shape:?} of {kind} needs {expected} bytes, found {found}"))
}

/// Numbers in the list of their kind.
fn listed(proto: &proto::Tensor, kind: Kind, len: usize, context: &mut Context) -> Result<Data, Error> {
    let found = match kind {
        Kind::F32 => proto.float_data.len(),
        Kind::F64 => proto.double_data.len(),
        Kind::I64 => proto.int64_data.len(),
        Kind::I32 | Kind::Bool => proto.int32_data.len(),
        Kind::Text => proto.string_data.len(),
    };
    if found != len {
        return Err(Error(format!("its shape has {len} elements, found {found}")));
    }
    context.take(len.saturating_mul(kind.bytes()), "a tensor")?;
    Ok(match kind {
        Kind::F32 => Data::F32(proto.float_data.clone()),
        Kind::F64 => Data::F64(proto.double_data.clone()),
        Kind::I64 => Data::I64(proto.int64_data.clone()),
        Kind::I32 => Data::I32(proto.int32_data.clone()),
        Kind::Bool => Data::Bool(proto.int32_data.iter().map(|v| u8::from(*v != 0)).collect()),
        Kind::Text => {
            let code = |text: &Bytes| -> Result<u32, Error> {
                let text = std::str::from_utf8(text).map_err(|_| Error::new("a text that is not UTF-8"))?;
                Ok(context.dictionary.intern(text)?)
            };
            Data::Text(proto.string_data.iter().map(code).collect::<Result<_, _>>()?)
        }
    })
}

/// A buffer that is filled from little-endian bytes.
struct Typed(Data);

impl Typed {
    fn new(kind: Kind, len: usize) -> Self {
        Self(match kind {
            Kind::F32 => Data::F32(Vec::with_capacity(len)),
            Kind::F64 => Data::F64(Vec::with_capacity(len)),
            Kind::I64 => Data::I64(Vec::with_capacity(len)),
            Kind::I32 => Data::I32(Vec::with_capacity(len)),
            Kind::Bool => Data::Bool(Vec::with_capacity(len)),
            Kind::Text => Data::Text(Vec::new()),
        })
    }

    /// Whole elements only.
    fn push(&mut self, raw: &[u8]) {
        match &mut self.0 {
            Data::F32(v) => v.extend(raw.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))),
            Data::F64(v) => v.extend(raw.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b))),
            Data::I64(v) => v.extend(raw.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b))),
            Data::I32(v) => v.extend(raw.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b))),
            Data::Bool(v) => v.extend(raw.iter().map(|b| u8::from(*b != 0))),
            Data::Text(_) => {}
        }
    }
}

/// Where a tensor's numbers lie: the file and the offset in it.
fn external(
    proto: &proto::Tensor,
    beside: External<'_>,
    bytes: usize,
    context: &mut Context,
) -> Result<(Place, u64), Error> {
    let entry = |key: &str| {
        let entry = proto.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
        entry.and_then(|entry| entry.value.as_deref())
    };
    let number = |key: &str| match entry(key).map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| Error(format!("external data: {key} is no number"))),
    };
    let location = entry("location").ok_or_else(|| Error::new("external data without a location"))?;
    let at = format!("external data '{}'", shown(location));
    let (place, file_bytes) = beside.find(location)?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    if length.is_some_and(|length| length != bytes as u64) {
        return Err(Error(format!("{at}: expected {bytes} bytes, it says {}", length.unwrap_or_default())));
    }
    if offset.checked_add(bytes as u64).is_none_or(|end| end > file_bytes) {
        return Err(Error(format!("{at}: {bytes} bytes at {offset} are beyond its end at {file_bytes}")));
    }
    context.opened(plain_name(location));
    Ok((place, offset))
}

fn from_file(kind: Kind, place: &Place, offset: u64, bytes: usize) -> Result<Data, Error> {
    if kind == Kind::Text {
        return Err(Error::new("texts cannot stand in external data"));
    }
    let mut data = Typed::new(kind, bytes / kind.bytes());
    place.read(offset, bytes, CHUNK, |part| data.push(part))?;
    Ok(data.0)
}
