//! The log: structured messages to the journal, or on stderr as text or JSON lines. Levels say what an operator must
//! do, kinds what a message means ([`crate::notice`]).
//!
//! | level | means |
//! |---|---|
//! | error | something was lost, or someone must intervene |
//! | warn | a promise is shortened or a part is away; it goes on by itself |
//! | info | starts, stops, changes |
//! | debug | single events |
//!
//! Repeats are summarised at the levels error, warn and info (`throttle.rs`); not while the level is debug or trace:
//! who sets it wants to see everything. Values are cut at [`VALUE_BYTES_MAX`].

mod journal;
mod layer;
mod lines;
mod message;
mod throttle;

pub use message::VALUE_BYTES_MAX;
pub use throttle::{KEYS_MAX, PASSED_MAX, SLICE};

use crate::config::{Log, LogFormat, LogLevel};
use crate::notice;
use layer::{Output, Recorder};
use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, reload};

/// What was started, for changes at run time.
struct Started {
    level: reload::Handle<LevelFilter, Registry>,
    recorder: Arc<Recorder>,
}

static STARTED: OnceLock<Started> = OnceLock::new();

/// Starts logging for the process; the first call counts.
///
/// Where the journal is asked for and cannot be reached, JSON lines on stderr stand in for it, and say so.
pub fn start(log: &Log) {
    let (output, missing) = match form(log.format) {
        LogFormat::Journal => match journal::connect() {
            Ok(journal) => (Output::Journal(Box::new(journal)), None),
            Err(error) => (Output::Json, Some(error)),
        },
        LogFormat::Text => (Output::Text { colour: is_coloured() }, None),
        LogFormat::Json | LogFormat::Auto => (Output::Json, None),
    };
    let (filter, level) = reload::Layer::new(filter(log.level));
    let recorder = Arc::new(Recorder::new(output, is_throttled(log.level)));
    // A second start, as in tests, keeps the first.
    let layer = layer::Layer(Arc::clone(&recorder));
    if tracing_subscriber::registry().with(filter).with(layer).try_init().is_err() {
        return;
    }
    Recorder::watch(&recorder);
    let _ = STARTED.set(Started { level, recorder });
    if let Some(error) = missing {
        tracing::warn!(kind = notice::JOURNAL_UNREACHABLE.kind, %error, "the journal cannot be reached: JSON instead");
    }
}

/// Changes the least level that is written, from now on.
pub fn set_level(level: LogLevel) {
    if let Some(started) = STARTED.get() {
        started.recorder.set_throttled(is_throttled(level));
        // It fails only where the subscriber is gone, and with it the log.
        let _ = started.level.reload(filter(level));
    }
}

/// Writes what summaries are due, to be called before the process ends.
pub fn flush() {
    if let Some(started) = STARTED.get() {
        started.recorder.flush();
    }
}

/// What `auto` means here.
fn form(format: LogFormat) -> LogFormat {
    match format {
        LogFormat::Auto if systemd_journal_logger::connected_to_journal() => LogFormat::Journal,
        LogFormat::Auto if std::io::stderr().is_terminal() => LogFormat::Text,
        LogFormat::Auto => LogFormat::Json,
        set => set,
    }
}

fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn is_throttled(level: LogLevel) -> bool {
    !matches!(level, LogLevel::Debug | LogLevel::Trace)
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
