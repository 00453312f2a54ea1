//! A span of time, written with its unit: `"7 d"`, `"100 ms"`, `"5 min"`.

use super::size::{scale, split_unit};
use std::{fmt, time::Duration};

/// A span of time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(u64);

/// Units in milliseconds, greatest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected a duration with its unit, as in \"7 d\" or \"100 ms\" (ms, s, min, h, d)")]
pub struct PeriodError;

impl Period {
    #[must_use]
    pub const fn milliseconds(n: u64) -> Self {
        Self(n)
    }

    #[must_use]
    pub const fn seconds(n: u64) -> Self {
        Self(n * 1_000)
    }

    #[must_use]
    pub const fn days(n: u64) -> Self {
        Self(n * 86_400_000)
    }

    #[must_use]
    pub const fn as_milliseconds(self) -> u64 {
        self.0
    }

    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }

    /// Reads a number, an optional blank and a unit. Parts of a millisecond are cut off.
    ///
    /// # Errors
    /// When `text` is no such duration or does not fit in 64 bits of milliseconds.
    pub fn parse(text: &str) -> Result<Self, PeriodError> {
        let (number, unit) = split_unit(text).ok_or(PeriodError)?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(PeriodError)?;
        scale(number, *factor).map(Self).ok_or(PeriodError)
    }
}

/// Exact: in the greatest unit that divides it, so that it reads back as the same period.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 s");
        }
        let (name, factor) =
            UNITS.iter().find(|(_, factor)| self.0.is_multiple_of(*factor)).copied().unwrap_or(("ms", 1));
        write!(f, "{} {name}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_write_is_read() {
        for (text, ms) in [
            ("7 d", 604_800_000),
            ("100 ms", 100),
            ("5 min", 300_000),
            ("1.5h", 5_400_000),
            ("0 s", 0),
            ("30s", 30_000),
        ] {
            assert_eq!(Period::parse(text), Ok(Period::milliseconds(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "7", "d", "7 days", "5 m", "-1 s", "1 w", "7 D", "99999999999999999999 ms"] {
            assert_eq!(Period::parse(text), Err(PeriodError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_period_reads_back_as_written(ms: u64) {
            let period = Period::milliseconds(ms);
            prop_assert_eq!(Period::parse(&period.to_string()), Ok(period));
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            let _ = Period::parse(&text);
        }
    }
}
