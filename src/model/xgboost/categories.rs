//! Categories of data frames: the values behind the numbers that the trees have.

use super::super::trees::Kind;
use super::file::{Encoding, Learner, Model};

/// What each column's cells are.
pub fn columns(learner: &Learner, model: &Model, width: usize) -> Result<Vec<Kind>, String> {
    let mut columns: Vec<Kind> = (0..width)
        .map(|at| match learner.feature_types.get(at).map(String::as_str) {
            Some("c") => Kind::Category,
            _ => Kind::Number,
        })
        .collect();
    let Some(cats) = &model.cats else { return Ok(columns) };
    if !cats.enc.is_empty() && cats.enc.len() != width {
        return Err(format!("cats.enc has {} columns, the model {width}", cats.enc.len()));
    }
    for (at, (encoding, column)) in cats.enc.iter().zip(&mut columns).enumerate() {
        if !encoding.values.is_empty() {
            *column = encoding.kind().map_err(|what| format!("cats.enc of column {at}: {what}"))?;
        }
    }
    Ok(columns)
}

impl Encoding {
    fn kind(&self) -> Result<Kind, String> {
        let Some(offsets) = &self.offsets else {
            return Ok(Kind::Numbers(self.values.clone()));
        };
        // Bytes, of a signed type.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bytes: Vec<u8> = self.values.iter().map(|value| *value as i64 as u8).collect();
        let texts = offsets.windows(2).map(|pair| {
            let text = bytes.get(pair[0]..pair[1]).ok_or_else(|| "its offsets do not fit its bytes".to_owned())?;
            String::from_utf8(text.to_vec()).map_err(|_| "expected UTF-8".to_owned())
        });
        texts.collect::<Result<Vec<String>, String>>().map(Kind::Texts)
    }
}
