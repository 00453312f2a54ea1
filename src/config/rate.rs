//! So many in a span of time: `"10/s"`, `"100/h"`.

use std::fmt;
use std::str::FromStr;

/// Units in milliseconds.
const UNITS: [(&str, u64); 4] = [("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
/// Most in a span of any length.
const COUNT_MAX: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: u64,
    unit: &'static str,
    unit_ms: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a number from 1 to {COUNT_MAX} and a span, as in \"10/s\" or \"100/h\" (s, min, h, d)")]
pub struct RateError;

impl Rate {
    /// From one to the next, milliseconds, rounded up.
    #[must_use]
    pub fn spacing_ms(self) -> u64 {
        self.unit_ms.div_ceil(self.count)
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (count, unit) = text.split_once('/').ok_or(RateError)?;
        let (count, unit) = (count.trim(), unit.trim());
        let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
        let count = count.parse().ok().filter(|count| is_number && (1..=COUNT_MAX).contains(count));
        let (unit, unit_ms) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or(RateError)?;
        Ok(Self { count: count.ok_or(RateError)?, unit, unit_ms })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_span() {
        let spacing = |text: &str| text.parse::<Rate>().map(Rate::spacing_ms);
        assert_eq!(spacing("10/s"), Ok(100));
        assert_eq!(spacing("7 / min"), Ok(8_572));
        assert_eq!(spacing("1/d"), Ok(86_400_000));
        assert_eq!("30/h".parse::<Rate>().map(|rate| rate.to_string()), Ok("30/h".to_owned()));
        for bad in ["", "10", "0/s", "-1/s", "+1/s", "1.5/s", "10/ms", "10/", "/s", "2000000/s"] {
            assert_eq!(spacing(bad), Err(RateError), "{bad}");
        }
    }
}
