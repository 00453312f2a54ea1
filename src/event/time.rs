//! Event time: read from what senders write, kept in microseconds, written as RFC 3339 in UTC.

use jiff::{civil, fmt::strtime, tz::TimeZone};

/// Microseconds since 1970-01-01T00:00:00Z, years -9999 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TimeError {
    #[error("expected a time as in \"2018-05-01T00:20:11Z\" (RFC 3339), got {0:?}")]
    NotRfc3339(String),
    #[error("expected a time in the years -9999 to 9999, got the number {0}")]
    OutOfRange(f64),
    #[error("expected a number of {0} since 1970, got {1:?}")]
    NotEpoch(&'static str, String),
    #[error("expected a time as {0:?} has it, got {1:?}")]
    NotPattern(String, String),
}

/// How an event's time is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// RFC 3339, or a number since 1970 whose unit its size tells ([`Timestamp::from_number`]).
    #[default]
    Any,
    /// RFC 3339 alone.
    Rfc3339,
    /// A number since 1970, or a text of one.
    Epoch(EpochUnit),
    /// A pattern of `strftime`; the zone is for times that name none themselves.
    Pattern { pattern: String, zone: TimeZone },
}

/// The unit of a number since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl EpochUnit {
    fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
        }
    }

    fn micros(self) -> f64 {
        match self {
            Self::Seconds => 1e6,
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1.0,
        }
    }
}

impl TimeForm {
    /// The form that a config names: `rfc3339`, `epoch-s`, `epoch-ms`, `epoch-us`, or a pattern, which holds
    /// a `%`. The zone, an IANA name, is for patterns alone; without one it is UTC.
    ///
    /// # Errors
    /// Says what was expected instead.
    pub fn parse(format: &str, zone: Option<&str>) -> Result<Self, String> {
        let form = match format {
            "rfc3339" => Self::Rfc3339,
            "epoch-s" => Self::Epoch(EpochUnit::Seconds),
            "epoch-ms" => Self::Epoch(EpochUnit::Milliseconds),
            "epoch-us" => Self::Epoch(EpochUnit::Microseconds),
            pattern if pattern.contains('%') => {
                let named =
                    |name| super::zone(name).ok_or_else(|| "a zone as in \"Europe/Berlin\" or \"UTC\"".to_owned());
                let zone = zone.map_or(Ok(TimeZone::UTC), named)?;
                // What it writes it must be able to read.
                let sample = jiff::Timestamp::UNIX_EPOCH.to_zoned(zone.clone());
                let written = strtime::format(pattern, &sample);
                let form = Self::Pattern { pattern: pattern.to_owned(), zone };
                return match written {
                    Ok(text) if form.read_text(&text).is_ok() => Ok(form),
                    _ => Err("a pattern that gives a date, as in \"%Y-%m-%d %H:%M:%S\"".to_owned()),
                };
            }
            _ => {
                return Err(
                    "\"rfc3339\", \"epoch-s\", \"epoch-ms\", \"epoch-us\" or a pattern as in \"%Y-%m-%d %H:%M:%S\""
                        .to_owned(),
                );
            }
        };
        if zone.is_some() {
            return Err("a zone only beside a pattern".to_owned());
        }
        Ok(form)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is no time of this form.
    pub fn read_text(&self, text: &str) -> Result<Timestamp, TimeError> {
        let shown = || text.chars().take(64).collect::<String>();
        match self {
            Self::Any | Self::Rfc3339 => Timestamp::parse(text),
            Self::Epoch(unit) => {
                let number = text.trim().parse().map_err(|_| TimeError::NotEpoch(unit.name(), shown()))?;
                Timestamp::scaled(number, unit.micros())
            }
            Self::Pattern { pattern, zone } => Timestamp::by_pattern(pattern, zone, text)
                .ok_or_else(|| TimeError::NotPattern(pattern.clone(), shown())),
        }
    }

    /// Reads a number, spelled `text`.
    ///
    /// # Errors
    /// When it is no time of this form.
    pub fn read_number(&self, text: &str) -> Result<Timestamp, TimeError> {
        match self {
            Self::Any => Timestamp::from_number(text.parse().unwrap_or(f64::NAN)),
            Self::Rfc3339 => Err(TimeError::NotRfc3339(text.chars().take(64).collect())),
            // `%Y%m%d` and the like come as numbers, too.
            Self::Epoch(_) | Self::Pattern { .. } => self.read_text(text),
        }
    }
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
        let scale = match number.abs() {
            n if n < 1e11 => 1e6,
            n if n < 1e14 => 1e3,
            _ => 1.0,
        };
        Self::scaled(number, scale)
    }

    fn scaled(number: f64, scale: f64) -> Result<Self, TimeError> {
        let micros = number * scale;
        // Within ±2^53 the conversion is exact; the limits of the calendar lie far below.
        #[allow(clippy::cast_possible_truncation)]
        let whole = micros.round() as i64;
        match jiff::Timestamp::from_microsecond(whole) {
            Ok(_) if micros.is_finite() => Ok(Self(whole)),
            _ => Err(TimeError::OutOfRange(number)),
        }
    }

    /// A time by a pattern; one without a zone is in `zone`, one without a time of day at midnight.
    fn by_pattern(pattern: &str, zone: &TimeZone, text: &str) -> Option<Self> {
        let read = strtime::parse(pattern, text).ok()?;
        if let Ok(instant) = read.to_timestamp() {
            return Some(Self(instant.as_microsecond()));
        }
        let local = read.to_datetime().or_else(|_| read.to_date().map(civil::Date::into)).ok()?;
        Some(Self(local.to_zoned(zone.clone()).ok()?.timestamp().as_microsecond()))
    }

    /// Appends RFC 3339 in UTC: `2018-05-01T00:20:11Z`, with as many decimals as are not zero.
    pub fn write(self, out: &mut Vec<u8>) {
        use std::io::Write;
        if let Ok(instant) = jiff::Timestamp::from_microsecond(self.0) {
            let _ = write!(out, "{instant}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, zone: Option<&str>, text: &str) -> String {
        let mut out = Vec::new();
        TimeForm::parse(format, zone).unwrap().read_text(text).unwrap().write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_time_is_read_as_the_config_says() {
        assert_eq!(read("epoch-s", None, "1525134011.25"), "2018-05-01T00:20:11.25Z");
        assert_eq!(read("epoch-ms", None, "1525134011250"), "2018-05-01T00:20:11.25Z");
        assert_eq!(read("epoch-us", None, "5"), "1970-01-01T00:00:00.000005Z");
        assert_eq!(read("%d.%m.%Y %H:%M:%S", Some("Europe/Berlin"), "01.05.2018 02:20:11"), "2018-05-01T00:20:11Z");
        assert_eq!(read("%d.%m.%Y %H:%M:%S", None, "01.05.2018 00:20:11"), "2018-05-01T00:20:11Z");
        // Its own offset counts, not the zone.
        assert_eq!(read("%Y-%m-%d %H:%M %z", Some("Europe/Berlin"), "2018-05-01 00:20 +0000"), "2018-05-01T00:20:00Z");
        assert_eq!(read("%Y%m%d", None, "20180501"), "2018-05-01T00:00:00Z");
        assert!(TimeForm::parse("epoch-ms", None).unwrap().read_number("1e400").is_err());
        assert!(TimeForm::parse("epoch-ms", None).unwrap().read_text("yesterday").is_err());
        assert!(TimeForm::Rfc3339.read_number("1525134011").is_err());
    }

    #[test]
    fn a_form_that_cannot_give_a_time_is_refused() {
        for (format, zone) in [
            ("epoch", None),
            ("%H:%M", None),
            ("%Q", None),
            ("%Y-%m-%d", Some("Mars/Olympus")),
            ("epoch-s", Some("UTC")),
            ("", None),
        ] {
            assert!(TimeForm::parse(format, zone).is_err(), "{format} {zone:?}");
        }
    }
}
