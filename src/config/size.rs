//! A size in bytes, written with its unit: `"64 MiB"`, `"256 KiB"`, `"4 GB"`, `"1.5 GiB"`.

use std::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Units, greatest first; binary before decimal where both could say it.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected a size with its unit, as in \"64 MiB\" (B, kB, KiB, MB, MiB, GB, GiB, TB, TiB)")]
pub struct SizeError;

impl Size {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    #[must_use]
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The same as an index or a capacity; what does not fit the machine's words is cut to the greatest.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Reads a number, an optional blank and a unit. `KB` is taken as `kB`. Parts of a byte are cut off.
    ///
    /// # Errors
    /// When `text` is no such size or does not fit in 64 bits.
    pub fn parse(text: &str) -> Result<Self, SizeError> {
        let (number, unit) = split_unit(text).ok_or(SizeError)?;
        let unit = if unit == "KB" { "kB" } else { unit };
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(SizeError)?;
        scale(number, *factor).map(Self).ok_or(SizeError)
    }

    /// For people: one decimal at most, in the greatest binary unit that is reached, as in `13.2 MiB`.
    #[must_use]
    pub fn rounded(self) -> String {
        for (name, factor) in UNITS.iter().filter(|(name, _)| name.ends_with("iB")) {
            if self.0 >= *factor {
                let tenths = (u128::from(self.0) * 10 + u128::from(factor / 2)) / u128::from(*factor);
                return if tenths.is_multiple_of(10) {
                    format!("{} {name}", tenths / 10)
                } else {
                    format!("{}.{} {name}", tenths / 10, tenths % 10)
                };
            }
        }
        format!("{} B", self.0)
    }
}

/// Exact: in the unit that needs the smallest whole number, so that it reads back as the same size.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 B");
        }
        let best =
            UNITS.iter().filter(|(_, factor)| self.0.is_multiple_of(*factor)).min_by_key(|(_, factor)| self.0 / factor);
        let (name, factor) = best.copied().unwrap_or(("B", 1));
        write!(f, "{} {name}", self.0 / factor)
    }
}

/// Splits `"7 d"` and `"7d"` into number and unit. None where either is missing.
pub(super) fn split_unit(text: &str) -> Option<(&str, &str)> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(at);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    (!number.is_empty() && !unit.is_empty()).then_some((number, unit))
}

/// `number` (digits, perhaps with decimals) times `factor`, cut to a whole. None on overflow or bad digits.
pub(super) fn scale(number: &str, factor: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits_only = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits_only(whole) || !digits_only(decimals) || decimals.len() > 9 {
        return None;
    }
    let power = 10u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let whole = whole.parse::<u64>().ok()?;
    let mantissa = u128::from(whole) * power + decimals.parse::<u128>().ok()?;
    u64::try_from(mantissa.checked_mul(u128::from(factor))? / power).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_write_is_read() {
        for (text, bytes) in [
            ("64 MiB", 64 << 20),
            ("64MiB", 64 << 20),
            ("256 KiB", 256 << 10),
            ("4 GB", 4_000_000_000),
            ("1.5 GiB", 3 << 29),
            ("10 kB", 10_000),
            ("10 KB", 10_000),
            ("0 B", 0),
        ] {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "",
            "64",
            "MiB",
            "64 mib",
            "64  MiB",
            "-1 B",
            "1e3 B",
            "1. MiB",
            ".5 MiB",
            "64 MiB ",
            "99999999 TiB",
            "1 Mb",
        ] {
            assert_eq!(Size::parse(text), Err(SizeError), "{text}");
        }
    }

    #[test]
    fn people_get_one_decimal() {
        assert_eq!(Size(0).rounded(), "0 B");
        assert_eq!(Size::mib(64).rounded(), "64 MiB");
        assert_eq!(Size(13_841_203).rounded(), "13.2 MiB");
    }

    proptest! {
        #[test]
        fn every_size_reads_back_as_written(bytes: u64) {
            prop_assert_eq!(Size::parse(&Size(bytes).to_string()), Ok(Size(bytes)));
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            let _ = Size::parse(&text);
        }
    }
}
