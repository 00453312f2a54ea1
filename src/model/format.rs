//! The formats of model files.

use std::path::Path;

/// `format` in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Safetensors,
    Onnx,
    LightGbm,
    Xgboost,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Safetensors, Self::Onnx, Self::LightGbm, Self::Xgboost];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Onnx => "onnx",
            Self::LightGbm => "lightgbm",
            Self::Xgboost => "xgboost",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == text)
    }

    /// By the name's ending and, where that fits two, by the file's first bytes.
    #[must_use]
    pub fn of_file(file: &Path, start: &[u8]) -> Option<Self> {
        let ending = file.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "safetensors" => Some(Self::Safetensors),
            "onnx" | "ort" | "pb" => Some(Self::Onnx),
            "json" | "ubj" => Some(Self::Xgboost),
            "txt" | "lgb" | "lgbm" | "model" if start.starts_with(b"tree") => Some(Self::LightGbm),
            "txt" | "lgb" | "lgbm" => Some(Self::LightGbm),
            "model" | "xgb" | "bin" if matches!(start.first(), Some(b'{')) => Some(Self::Xgboost),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_ending_and_its_start() {
        let of = |name: &str, start: &[u8]| Format::of_file(Path::new(name), start);
        assert_eq!(of("m.ONNX", b""), Some(Format::Onnx));
        assert_eq!(of("m.ubj", b"{L"), Some(Format::Xgboost));
        assert_eq!(of("m.txt", b"tree\n"), Some(Format::LightGbm));
        assert_eq!(of("m.model", b"tree\n"), Some(Format::LightGbm));
        assert_eq!(of("m.model", b"{\"learner\""), Some(Format::Xgboost));
        assert_eq!(of("m.pkl", b"\x80"), None);
        for format in Format::ALL {
            assert_eq!(Format::parse(format.name()), Some(format));
        }
    }
}
