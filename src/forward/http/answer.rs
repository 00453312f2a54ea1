//! What an answer says: decisions alone, no I/O.
//!
//! | status | a receiver that honours the key | a guarded call |
//! |---|---|---|
//! | 2xx | taken | done |
//! | 425, 429; 503 with `Retry-After` | later | not done, later |
//! | 401, 402, 403, 404, 405, 406, 407, 410, 411, 415, 421, 426, 431, 307, 308 | a person must mend it | not done; the same |
//! | other 3xx | a person must mend it: no redirect is followed | not known |
//! | 408, 5xx, anything else | later | not known |
//! | other 4xx, 409 and 413 among them | set aside | not done; set aside |

use super::guarded::Outcome;
use crate::link::Trouble;
use jiff::Timestamp;
use std::time::Duration;

/// The longest wait that a receiver may ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);
/// How much of an answer's text is shown, bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// What is to become of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Taken,
    /// It is sent again.
    Later,
    /// It is sent again when someone has mended it.
    Person,
    /// It is set aside.
    Refused,
}

impl Said {
    /// By the status alone.
    #[must_use]
    pub fn by(status: u16) -> Self {
        match status {
            200..=299 => Self::Taken,
            300..=399 | 401..=407 | 410 | 411 | 415 | 421 | 426 | 431 => Self::Person,
            408 | 425 | 429 => Self::Later,
            400..=499 => Self::Refused,
            _ => Self::Later,
        }
    }

    /// None where there is none.
    #[must_use]
    pub fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Taken => None,
            Self::Later => Some(Trouble::Transient),
            Self::Person => Some(Trouble::Configuration),
            Self::Refused => Some(Trouble::Poison),
        }
    }
}

/// What came of a guarded call.
#[must_use]
pub fn outcome(status: u16, has_retry_after: bool) -> Outcome {
    match (Said::by(status), status) {
        (Said::Taken, _) => Outcome::Delivered,
        (Said::Refused, _) => Outcome::Refused,
        (_, 425 | 429 | 307 | 308) | (Said::Person, 400..) => Outcome::Declined,
        (_, 503) if has_retry_after => Outcome::Declined,
        _ => Outcome::Unknown,
    }
}

/// A `Retry-After`: seconds, or a date; at most [`RETRY_AFTER_MAX`].
#[must_use]
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let at = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
        Duration::try_from(at.duration_since(now)).unwrap_or_default()
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

/// An answer for people: the status, and how its text begins.
#[must_use]
pub fn shown(status: u16, text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.get(..SHOWN_BYTES_MAX).unwrap_or(text));
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER).trim();
    if text.is_empty() {
        return format!("the receiver answers {status}");
    }
    format!("the receiver answers {status}: {}", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_meaning_and_only_a_certain_no_is_one() {
        for status in 0..1000 {
            let (said, outcome) = (Said::by(status), outcome(status, false));
            match outcome {
                Outcome::Delivered => assert_eq!(said, Said::Taken, "{status}"),
                Outcome::Refused => assert_eq!(said, Said::Refused, "{status}"),
                Outcome::Declined => assert!(matches!(status, 307 | 308 | 401..=499), "{status}"),
                Outcome::Unknown => assert!(!matches!(status, 200..=299 | 409..=499), "{status}"),
                Outcome::NotMade => panic!("{status}"),
            }
        }
        for status in [500, 502, 503, 504, 408, 302, 303, 199, 600] {
            assert_eq!(outcome(status, false), Outcome::Unknown, "{status}");
        }
        assert_eq!(outcome(503, true), Outcome::Declined);
        assert_eq!((outcome(500, true), outcome(408, true)), (Outcome::Unknown, Outcome::Unknown));
        assert_eq!((Said::by(409), Said::by(413), Said::by(422)), (Said::Refused, Said::Refused, Said::Refused));
    }

    #[test]
    fn a_wait_is_read_as_seconds_or_a_date_and_is_bounded() {
        let now = Timestamp::from_second(784_111_777).unwrap();
        let read = |value: &str| retry_after(value, now).map(|wait| wait.as_secs());
        assert_eq!(read("120"), Some(120));
        assert_eq!(read(" 0 "), Some(0));
        assert_eq!(read("99999999999999999999"), Some(3_600));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:07 GMT"), Some(0));
        assert_eq!(read("Thu, 31 Dec 2099 23:59:59 GMT"), Some(3_600));
        for bad in ["", "soon", "-1", "1.5", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_answer_is_shown_short_and_without_control_characters() {
        assert_eq!(shown(400, b" "), "the receiver answers 400");
        assert_eq!(shown(409, b"no\x1b[2J"), "the receiver answers 409: no\\u{1b}[2J");
        assert!(shown(400, "é".repeat(500).as_bytes()).len() < 300);
    }
}
