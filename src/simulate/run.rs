//! `verdictd simulate`: NDJSON of whole days.

use super::{Options, Simulator};
use std::io::{self, Write};

/// Most days simulated in one run.
pub const DAYS_MAX: u32 = 3_650;
/// Bytes gathered before each write.
const WRITE_BYTES: usize = 64 << 10;

/// What `verdictd simulate` was asked for.
#[derive(Clone, Debug)]
pub struct SimulateOptions {
    pub seed: u64,
    /// Whole days, 1 to [`DAYS_MAX`].
    pub days: u32,
    /// Days left out first.
    pub skip_days: u32,
    /// Adds `TX_FRAUD` and `TX_FRAUD_SCENARIO` to each event.
    pub labels: bool,
    pub options: Options,
}

#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    #[error("expected 1 to {DAYS_MAX} days, found {0}")]
    Days(u64),
    #[error("cannot write the events: {0}")]
    Write(#[from] io::Error),
}

/// Writes the events of the days asked for, a line each; returns how many.
///
/// # Errors
/// When there are no days or too many, or `out` fails. (A closed pipe is an error of kind `BrokenPipe`.)
pub fn simulate(asked: &SimulateOptions, out: &mut impl Write) -> Result<u64, SimulateError> {
    let days = u64::from(asked.days) + u64::from(asked.skip_days);
    if asked.days == 0 || days > u64::from(DAYS_MAX) {
        return Err(SimulateError::Days(days));
    }
    let day = |n: u32| asked.options.start + i64::from(n) * super::DAY;
    let (first, end) = (day(asked.skip_days), day(asked.skip_days + asked.days));
    let mut buffer = Vec::with_capacity(WRITE_BYTES + 1_024);
    let mut count = 0;
    let simulator = Simulator::new(asked.seed, &asked.options);
    for transaction in simulator.skip_while(|t| t.time < first).take_while(|t| t.time < end) {
        if asked.labels {
            transaction.write_json_labelled(&mut buffer);
        } else {
            transaction.write_json(&mut buffer);
        }
        buffer.push(b'\n');
        count += 1;
        if buffer.len() >= WRITE_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(count)
}
