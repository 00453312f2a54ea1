//! Event time: read from what senders write, kept in microseconds, written as RFC 3339 in UTC.

use jiff::{civil, tz::TimeZone};

/// Microseconds since 1970-01-01T00:00:00Z, years -9999 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TimeError {
    #[error("expected a time as in \"2018-05-01T00:20:11Z\" (RFC 3339), got {0:?}")]
    NotRfc3339(String),
    #[error("expected a time in the years -9999 to 9999, got the number {0}")]
    OutOfRange(f64),
}

impl Timestamp {
    /// The wall clock.
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_microsecond())
    }

    /// Reads RFC 3339; a blank may stand for the `T`, and a time without a zone is UTC. Digits past the
    /// microsecond are cut off.
    ///
    /// # Errors
    /// When `text` is no such time.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let error = || TimeError::NotRfc3339(text.chars().take(64).collect());
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Ok(Self(instant.as_microsecond()));
        }
        // Only a full date and time: a bare date would silently mean midnight.
        if text.len() < "2018-05-01T00:20".len() {
            return Err(error());
        }
        let local = text.parse::<civil::DateTime>().map_err(|_| error())?;
        let zoned = local.to_zoned(TimeZone::UTC).map_err(|_| error())?;
        Ok(Self(zoned.timestamp().as_microsecond()))
    }

    /// Reads a number of seconds since 1970, or of milliseconds from 10^11 on, or of microseconds from
    /// 10^14 on: seconds reach 10^11 in the year 5138, milliseconds reached it in 1973.
    ///
    /// # Errors
    /// When the number is no time in the years that can be written.
    pub fn from_number(number: f64) -> Result<Self, TimeError> {
        let micros = match number.abs() {
            n if n < 1e11 => number * 1e6,
            n if n < 1e14 => number * 1e3,
            _ => number,
        };
        // Within ±2^53 the conversion is exact; the limits of the calendar lie far below.
        #[allow(clippy::cast_possible_truncation)]
        let whole = micros.round() as i64;
        match jiff::Timestamp::from_microsecond(whole) {
            Ok(_) if micros.is_finite() => Ok(Self(whole)),
            _ => Err(TimeError::OutOfRange(number)),
        }
    }

    /// Appends RFC 3339 in UTC: `2018-05-01T00:20:11Z`, with as many decimals as are not zero.
    pub fn write(self, out: &mut Vec<u8>) {
        use std::io::Write;
        if let Ok(instant) = jiff::Timestamp::from_microsecond(self.0) {
            let _ = write!(out, "{instant}");
        }
    }
}
