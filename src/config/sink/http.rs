//! Sink `http`: verdicts posted to a receiver that honours their key; or, guarded, each call made once.

use super::{DECISIONS, ENCODING, IN_FLIGHT_SIZE, START, of_type};
use crate::config::{Key, Kind, Period, Preset, Rate, Size, WebUrl, client::read_tls, section::Section};
use crate::link::ClientTls;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSink {
    pub url: WebUrl,
    /// A file with the token that each request brings.
    pub token_file: Option<PathBuf>,
    /// None: the system's authorities are trusted.
    pub tls: Option<ClientTls>,
    /// Verdicts a request.
    pub batch: usize,
    /// Until the answer to a request is there.
    pub timeout: Period,
    /// Requests under way at once.
    pub in_flight: usize,
    /// Bytes of verdicts handed over and not confirmed.
    pub in_flight_size: Size,
    /// Some: the guarded mode.
    pub guarded: Option<GuardedSink>,
}

/// What only the guarded mode has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedSink {
    /// Whether later verdicts wait for an uncertain call.
    pub wait: bool,
    pub uncertain_limit: usize,
    pub rate: Option<Rate>,
    pub calls_per_day: Option<u64>,
    pub probe_url: Option<WebUrl>,
    pub probe_after: Period,
}

const TYPE: Key = of_type("\"http\"");
const URL: Key = Key::new(
    "url",
    Kind::Form("a URL as in \"https://receiver.site/verdicts\", with no user, password or fragment in it"),
    Preset::Required("\"https://receiver.site/verdicts\""),
    "Where verdicts are posted: http://HOST or https://HOST, with a port where it is not 80 or 443, and a path. `status` shows it, so no secret has a place in it.",
);
const TOKEN_FILE: Key = Key::new(
    "token-file",
    Kind::Path,
    Preset::Optional("\"/etc/verdictd/receiver.token\"", "no token"),
    "A file with a token on its one line: each request brings it as `Authorization: Bearer …`.",
);
const TLS: Key = Key::new(
    "tls",
    crate::config::client::TLS.kind,
    Preset::Optional(
        "{ ca-file = \"/etc/verdictd/tls/ca.pem\", cert-file = \"/etc/verdictd/tls/client.pem\", key-file = \"/etc/verdictd/tls/client.key\" }",
        "an https:// receiver is judged by the system's authorities",
    ),
    "Files for TLS; an https:// receiver only.",
);
const BATCH: Key = Key::new(
    "batch",
    Kind::Integer { min: 1, max: 1_000 },
    Preset::Default("1"),
    "Verdicts a request. Over 1 they go as a JSON array (a CloudEvents batch), and the receiver must know repeats by their source and id: after a crash they come in other batches.",
);
const TIMEOUT: Key = Key::new(
    "timeout",
    Kind::Period { min: Period::milliseconds(100), max: Period::seconds(600) },
    Preset::Default("\"10 s\""),
    "How long an answer is waited for.",
);
const IN_FLIGHT: Key = Key::new(
    "in-flight",
    Kind::Integer { min: 1, max: 64 },
    Preset::Default("4"),
    "Requests under way at once, each on a connection of its own; the verdicts of one key never pass each other. The guarded mode makes one call at a time.",
);
const IDEMPOTENT: Key = Key::new(
    "idempotent",
    Kind::Bool,
    Preset::Default("true"),
    "Whether the receiver honours the header Idempotency-Key, so that a repeat does nothing. false: the guarded mode, for calls that must not be made twice: each is made once, and what nobody knows the outcome of is uncertain until it is settled.",
);
const WHEN_UNCERTAIN: Key = Key::new(
    "when-uncertain",
    Kind::OneOf(&["go-on", "wait"]),
    Preset::Optional("\"wait\"", "they go on"),
    "Guarded: whether later calls go on while one is uncertain, or wait until it is settled.",
);
const UNCERTAIN_LIMIT: Key = Key::new(
    "uncertain-limit",
    Kind::Integer { min: 1, max: 10_000 },
    Preset::Optional("100", "1000"),
    "Guarded: with so many open calls no further one is made until some are settled.",
);
const RATE: Key = Key::new(
    "rate",
    Kind::Form("calls in a span of time, as in \"10/s\", \"30/min\" or \"100/h\""),
    Preset::Optional("\"10/s\"", "no limit"),
    "Guarded: the most calls in a span of time (s, min, h, d), evenly spaced.",
);
const CALLS_PER_DAY: Key = Key::new(
    "calls-per-day",
    Kind::Integer { min: 1, max: 1_000_000_000 },
    Preset::Optional("1000", "no limit"),
    "Guarded: the most calls on one day, UTC by the box's clock. Every call that was begun counts, also one that is declined.",
);
const PROBE_URL: Key = Key::new(
    "probe-url",
    Kind::Form("a URL as in \"https://receiver.site/done?id={id}\", with {source} and {id} as its only braces"),
    Preset::Optional("\"https://receiver.site/done/{source}/{id}\"", "a person settles what is uncertain"),
    "Guarded: asked with GET about an uncertain call; {source} and {id} are put in, percent-encoded. 200 says that it was done; 404 that it was not, and it is made again; anything else says nothing, and it is asked for again later.",
);
const PROBE_AFTER: Key = Key::new(
    "probe-after",
    Kind::Period { min: Period::milliseconds(100), max: Period::days(7) },
    Preset::Optional("\"5 min\"", "1 min"),
    "Guarded: how long a call is uncertain before probe-url is asked. Longer than the receiver may still be at work on it: else it says that it was not done, and then does it twice.",
);
pub(in crate::config) const KEYS: &[Key] = &[
    TYPE,
    URL,
    TOKEN_FILE,
    TLS,
    BATCH,
    TIMEOUT,
    IN_FLIGHT,
    IN_FLIGHT_SIZE,
    IDEMPOTENT,
    WHEN_UNCERTAIN,
    UNCERTAIN_LIMIT,
    RATE,
    CALLS_PER_DAY,
    PROBE_URL,
    PROBE_AFTER,
    ENCODING,
    DECISIONS,
    START,
];
/// Where nothing else is configured.
const UNCERTAIN_LIMIT_USUAL: usize = 1000;
const PROBE_AFTER_USUAL: Period = Period::seconds(60);
/// Of no use to a sink that may send again.
const GUARDED_ONLY: [Key; 6] = [WHEN_UNCERTAIN, UNCERTAIN_LIMIT, RATE, CALLS_PER_DAY, PROBE_URL, PROBE_AFTER];

pub(super) fn read(section: &mut Section<'_>) -> Option<HttpSink> {
    section.one_of(&TYPE, super::SINK_TYPES);
    let url = section.text_as(&URL, |text| WebUrl::parse(text, &[]));
    let token_file = section.path(&TOKEN_FILE);
    let tls = read_tls(section, &TLS);
    let batch = usize::try_from(section.integer(&BATCH)).unwrap_or_default();
    let (timeout, in_flight) = (section.period(&TIMEOUT), section.integer(&IN_FLIGHT));
    let in_flight_size = section.size(&IN_FLIGHT_SIZE);
    let idempotent = section.bool(&IDEMPOTENT);
    let wait = section.one_of(&WHEN_UNCERTAIN, &[false, true]).unwrap_or_default();
    // Where it is missing the number is 0.
    let uncertain_limit = usize::try_from(section.integer(&UNCERTAIN_LIMIT)).ok().filter(|limit| *limit > 0);
    let rate = section.text_as(&RATE, str::parse::<Rate>);
    let is_limited = section.entry(CALLS_PER_DAY.name).is_some();
    let calls_per_day = Some(section.integer(&CALLS_PER_DAY)).filter(|_| is_limited);
    let probe_url = section.text_as(&PROBE_URL, |text| WebUrl::parse(text, &["source", "id"]));
    let probe_after = section.period(&PROBE_AFTER).unwrap_or(PROBE_AFTER_USUAL);
    if idempotent {
        for key in &GUARDED_ONLY {
            if section.entry(key.name).is_some() {
                section.fault(key, "only for the guarded mode; expected idempotent = false with it");
            }
        }
    } else if batch > 1 {
        section.fault(&BATCH, "in the guarded mode (idempotent = false) a call is of one verdict; expected 1");
    }
    if section.entry(TLS.name).is_some() && url.as_ref().is_some_and(|url| !url.tls) {
        section.fault(&TLS, "TLS is for an https:// receiver, and url is http://");
    }
    let guarded = GuardedSink {
        wait,
        uncertain_limit: uncertain_limit.unwrap_or(UNCERTAIN_LIMIT_USUAL),
        rate,
        calls_per_day: calls_per_day.and_then(|calls| u64::try_from(calls).ok()),
        probe_url,
        probe_after,
    };
    Some(HttpSink {
        url: url?,
        token_file,
        tls,
        batch,
        timeout: timeout?,
        in_flight: usize::try_from(in_flight).unwrap_or_default(),
        in_flight_size,
        guarded: (!idempotent).then_some(guarded),
    })
}
