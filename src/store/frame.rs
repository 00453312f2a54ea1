//! The frame around every stored value: it says what the value is and proves that it is whole.
//!
//! # Layout
//!
//! ```text
//!  0  3  magic  F5 76 64
//!  3  1  kind   'L' log chunk, 'O' source offset, 'C' sink cursor, 'Q' quarantine part, 'M' meta,
//!              'X' observations, 'U' case, 'D' labels, 'B' labels of a store up to format 2, 'E' kept events
//!  4  1  version of this layout and of the body's: 1
//!  5  1  flags  bit 0: the body is an lz4 block after its raw length (u16)
//!  6  2  length of what follows the header, bytes
//!  8  4  CRC-32 of bytes 0..8 and of all from 12 on
//! 12  8  commit number: of two copies of one thing, the higher is the later
//! 20  …  body
//! ```
//!
//! Integers are little-endian. Because a value carries all this itself, whole values can be found by
//! scanning the log engine's file when that file is damaged (see [`super::salvage`]).

use super::codec::Malformed;

pub const HEADER_BYTES: usize = 20;
/// Longest stored value, bytes. Above it the log engine's pages can grow into files of their own, which it
/// never syncs and which break the atomicity of a batch.
pub const STORED_BYTES_MAX: usize = 6 * 1024;
/// Longest body, bytes.
pub const BODY_BYTES_MAX: usize = STORED_BYTES_MAX - HEADER_BYTES;
/// Shorter bodies are not worth compressing.
const COMPRESS_BYTES_MIN: usize = 256;

pub const MAGIC: [u8; 3] = [0xF5, b'v', b'd'];
const VERSION: u8 = 1;
const FLAG_LZ4: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Log,
    Offset,
    Cursor,
    Quarantine,
    Meta,
    Observation,
    Case,
    Label,
    /// Of a store up to format 2.
    OldLabel,
    Kept,
}

impl Kind {
    const fn tag(self) -> u8 {
        match self {
            Self::Log => b'L',
            Self::Offset => b'O',
            Self::Cursor => b'C',
            Self::Quarantine => b'Q',
            Self::Meta => b'M',
            Self::Observation => b'X',
            Self::Case => b'U',
            Self::Label => b'D',
            Self::OldLabel => b'B',
            Self::Kept => b'E',
        }
    }

    fn of(tag: u8) -> Option<Self> {
        const ALL: [Kind; 10] = [
            Kind::Log,
            Kind::Offset,
            Kind::Cursor,
            Kind::Quarantine,
            Kind::Meta,
            Kind::Observation,
            Kind::Case,
            Kind::Label,
            Kind::OldLabel,
            Kind::Kept,
        ];
        ALL.into_iter().find(|kind| kind.tag() == tag)
    }
}

/// A value taken out of its frame.
#[derive(Debug)]
pub struct Framed {
    pub kind: Kind,
    pub commit: u64,
    pub body: Box<[u8]>,
    /// Bytes of the whole value.
    pub stored: usize,
}

/// Puts a body into its frame, compressed where that makes it shorter.
///
/// Bodies are at most [`BODY_BYTES_MAX`] long; the callers split by that.
// So their lengths fit 16 bits.
#[allow(clippy::cast_possible_truncation)]
pub fn wrap(kind: Kind, commit: u64, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + body.len() + 64);
    out.resize(HEADER_BYTES, 0);
    let mut flags = 0;
    if body.len() >= COMPRESS_BYTES_MIN {
        let start = HEADER_BYTES + 2;
        out.resize(start + lz4_flex::block::get_maximum_output_size(body.len()), 0);
        match lz4_flex::block::compress_into(body, &mut out[start..]) {
            Ok(len) if len + 2 < body.len() - body.len() / 16 => {
                out.truncate(start + len);
                out[HEADER_BYTES..start].copy_from_slice(&(body.len() as u16).to_le_bytes());
                flags = FLAG_LZ4;
            }
            _ => out.truncate(HEADER_BYTES),
        }
    }
    if flags == 0 {
        out.extend_from_slice(body);
    }
    debug_assert!(out.len() <= STORED_BYTES_MAX, "a body of {} bytes", body.len());
    out[..3].copy_from_slice(&MAGIC);
    out[3] = kind.tag();
    out[4] = VERSION;
    out[5] = flags;
    let length = (out.len() - HEADER_BYTES) as u16;
    out[6..8].copy_from_slice(&length.to_le_bytes());
    out[12..20].copy_from_slice(&commit.to_le_bytes());
    let crc = checksum(&out);
    out[8..12].copy_from_slice(&crc.to_le_bytes());
    out
}

fn checksum(value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&value[..8]);
    hasher.update(&value[12..]);
    hasher.finalize()
}

/// Takes the value at the start of `bytes` out of its frame; more bytes may follow it.
///
/// # Errors
/// When there is no whole value, or its checksum differs.
pub fn unwrap_prefix(bytes: &[u8]) -> Result<Framed, Malformed> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(Malformed("a header of 20 bytes"))?;
    if header[..3] != MAGIC {
        return Err(Malformed("the magic bytes F5 76 64"));
    }
    let kind = Kind::of(header[3]).ok_or(Malformed("a known kind of value"))?;
    if header[4] != VERSION {
        return Err(Malformed("version 1 of the value layout"));
    }
    let stored = HEADER_BYTES + usize::from(u16::from_le_bytes([header[6], header[7]]));
    if stored > STORED_BYTES_MAX {
        return Err(Malformed("a value of at most 6 KB"));
    }
    let value = bytes.get(..stored).ok_or(Malformed("as many bytes as the header says"))?;
    if checksum(value).to_le_bytes() != header[8..12] {
        return Err(Malformed("the value's checksum"));
    }
    let content = &value[HEADER_BYTES..];
    let body = match header[5] {
        0 => Box::from(content),
        FLAG_LZ4 => decompress(content)?,
        _ => return Err(Malformed("known flags")),
    };
    let commit = u64::from_le_bytes(header[12..20].try_into().map_err(|_| Malformed("a commit number"))?);
    Ok(Framed { kind, commit, body, stored })
}

/// Takes a value of this kind out of its frame.
///
/// # Errors
/// When `bytes` is anything but exactly one whole value of this kind.
pub fn unwrap(kind: Kind, bytes: &[u8]) -> Result<Framed, Malformed> {
    let framed = unwrap_prefix(bytes)?;
    if framed.stored != bytes.len() {
        return Err(Malformed("the value's own length"));
    }
    if framed.kind != kind {
        return Err(Malformed("a value of the kind its key says"));
    }
    Ok(framed)
}

fn decompress(content: &[u8]) -> Result<Box<[u8]>, Malformed> {
    let (length, block) = content.split_first_chunk::<2>().ok_or(Malformed("a raw length"))?;
    let length = usize::from(u16::from_le_bytes(*length));
    if length > BODY_BYTES_MAX {
        return Err(Malformed("a body of at most 6 KB"));
    }
    let mut body = vec![0; length];
    match lz4_flex::block::decompress_into(block, &mut body) {
        Ok(len) if len == length => Ok(body.into_boxed_slice()),
        _ => Err(Malformed("an lz4 block of the length stated")),
    }
}
