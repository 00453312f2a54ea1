//! What a shadow model said of an event, kept with its verdict.
//!
//! # Layout (in a record with flag bit 7, after everything else)
//!
//! ```text
//! kind       u8      the score: 0 none, 1 f32, 2 f64
//! model      varint  index of the shadow's model
//! decision   varint  index of the text of what it would have decided
//! score      4 or 8  little-endian   (by the kind)
//! ```

use super::chunk::Texts;
use super::codec::{Malformed, Reader, put_varint};

/// A second opinion: never acted on, in no answer and no sink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowed<'a> {
    /// `name@version`.
    pub model: &'a str,
    pub model_sha256: &'a [u8; 32],
    /// What it would have decided: its fallback where it had no score.
    pub decision: &'a str,
    pub score: Option<f64>,
}

/// The same with its texts as indices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawShadow {
    pub model: u32,
    pub decision: u32,
    pub score: Option<f64>,
}

const NONE: u8 = 0;
const F32: u8 = 1;
const F64: u8 = 2;

pub fn encode(out: &mut Vec<u8>, shadow: RawShadow) {
    // Bit for bit, so that -0.0 and NaN come back as they were.
    #[allow(clippy::cast_possible_truncation)]
    let narrow = shadow.score.map(|score| score as f32);
    let kind = match (shadow.score, narrow) {
        (Some(score), Some(narrow)) if f64::from(narrow).to_bits() == score.to_bits() => F32,
        (Some(_), _) => F64,
        (None, _) => NONE,
    };
    out.push(kind);
    put_varint(out, u64::from(shadow.model));
    put_varint(out, u64::from(shadow.decision));
    match (kind, narrow, shadow.score) {
        (F32, Some(narrow), _) => out.extend_from_slice(&narrow.to_le_bytes()),
        (F64, _, Some(wide)) => out.extend_from_slice(&wide.to_le_bytes()),
        _ => {}
    }
}

pub fn decode(reader: &mut Reader<'_>) -> Result<RawShadow, Malformed> {
    let kind = reader.byte()?;
    let mut index = || u32::try_from(reader.varint()?).map_err(|_| Malformed("the index of a text"));
    let (model, decision) = (index()?, index()?);
    let score = match kind {
        NONE => None,
        F32 => Some(f64::from(f32::from_le_bytes(*reader.array()?))),
        F64 => Some(f64::from_le_bytes(*reader.array()?)),
        _ => return Err(Malformed("a known kind of score")),
    };
    Ok(RawShadow { model, decision, score })
}

impl RawShadow {
    pub fn resolve<'a>(self, texts: &impl Texts<'a>) -> Result<Shadowed<'a>, Malformed> {
        let (model, model_sha256) = texts.model(self.model).ok_or(Malformed("the index of a model"))?;
        let decision = texts.text(self.decision).ok_or(Malformed("the index of a text"))?;
        Ok(Shadowed { model, model_sha256, decision, score: self.score })
    }
}
