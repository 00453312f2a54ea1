//! The time of day, somewhere: a fixed offset from UTC or a zone with its summer time.

use super::{Problems, Reader, found};
use crate::event::zone;
use jiff::tz::TimeZone;
use toml::Value;

/// Largest offset from UTC, in minutes; no zone lies farther.
const OFFSET_MINUTES_MAX: i64 = 18 * 60;
const MINUTE_US: i64 = 60_000_000;

/// Where a time of day is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Zone {
    /// Microseconds east of UTC.
    Fixed(i64),
    Named(TimeZone),
}

impl Zone {
    /// `UTC`, an offset as in `+03:00`, or an IANA name.
    pub fn parse(text: &str) -> Option<Self> {
        offset_of(text).map(Self::Fixed).or_else(|| zone(text).map(Self::Named))
    }

    /// An instant's local time, both in microseconds since 1970.
    pub fn local_us(&self, time_us: i64) -> i64 {
        let offset_us = match self {
            Self::Fixed(offset_us) => *offset_us,
            Self::Named(zone) => {
                // Every time that was read is one that the calendar has.
                let instant = jiff::Timestamp::from_microsecond(time_us).unwrap_or_default();
                i64::from(zone.to_offset(instant).seconds()) * 1_000_000
            }
        };
        time_us.saturating_add(offset_us)
    }
}

/// A zone that a manifest names under `key`.
pub(super) fn read_zone(reader: &Reader<'_>, key: &str, value: &Value, problems: &mut Problems) -> Option<Zone> {
    let zone = value.as_str().and_then(Zone::parse);
    if zone.is_none() {
        let what = "expected \"UTC\", an offset as in \"+03:00\" or a zone as in \"Europe/Berlin\"";
        problems.add(reader.key(key), format!("{what}, found {}", found(value)));
    }
    zone
}

/// `{ zone, from, to }`: the zone, and when the night begins and ends there, in microseconds since midnight.
pub(super) fn read_night(mut reader: Reader<'_>, problems: &mut Problems) -> Option<(Zone, i64, i64)> {
    let named = reader.value("zone");
    let zone = named.and_then(|value| read_zone(&reader, "zone", value, problems));
    if named.is_none() {
        problems.add(reader.key("zone"), "expected a zone, found nothing");
    }
    let mut hour = |key| {
        let text = reader.required_text(key, problems)?;
        let us = time_of_day(text);
        if us.is_none() {
            problems.add(reader.key(key), format!("expected a time of day as in \"22:00\", found {:?}", short(text)));
        }
        us
    };
    let (from, to) = (hour("from"), hour("to"));
    if from.is_some() && from == to {
        problems.add(reader.key("to"), "expected another time than from: no night begins and ends at once");
    }
    reader.finish(problems);
    Some((zone?, from?, to?))
}

fn short(text: &str) -> String {
    text.chars().take(64).collect()
}

/// A zone's offset from UTC in microseconds.
fn offset_of(zone: &str) -> Option<i64> {
    if zone == "UTC" || zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let minutes = minutes_of(rest)?;
    (minutes <= OFFSET_MINUTES_MAX).then_some(sign * minutes * MINUTE_US)
}

/// `00:00` to `24:00` as microseconds since midnight.
fn time_of_day(text: &str) -> Option<i64> {
    minutes_of(text).filter(|minutes| *minutes <= 24 * 60).map(|minutes| minutes * MINUTE_US)
}

fn minutes_of(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let two = |text: &str| -> Option<i64> {
        (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
    };
    Some(two(hours)? * 60 + two(minutes).filter(|minutes| *minutes < 60)?)
}
