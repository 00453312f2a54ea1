//! The `serial` source: events of a device on a serial line, as lines or as frames with a checksum.
//!
//! `packaging/serial-protocol.md` tells a device's maker what to send and what comes back. Here is what is done about
//! the line:
//!
//! | what happens | what is done |
//! |---|---|
//! | bytes that are no line or frame (noise, the rest of one begun before) | passed over to the next one, counted as `garbage-bytes`; no answer, so that the device repeats |
//! | a line or frame over the limit of an event | passed over, set aside, counted as `too-long`; `NAK -` |
//! | the adapter is pulled | the device is opened again by its path, with waits up to 30 s |
//! | the device does not take its answers | what is left of them after [`WRITE_WAIT`] is dropped, counted as `replies-lost`; it repeats what it has no answer to |
//! | break, overrun, parity or framing errors | counted, where the driver counts them |
//! | no memory, no disk | with answers: `BUSY`; without, nothing more is read until there is |
//!
//! Without answers (`reply = "none"`) what comes while verdictd is down is lost, and nobody knows: a warning.

mod cobs;
mod port;
mod reply;
mod session;
mod splitter;

#[cfg(test)]
mod tests;

pub use cobs::{decode_frame, encode_frame};
pub use splitter::{Piece, Splitter};

use super::files::blocking;
use super::{Budget, Intake, SourceStatus};
use crate::link::{Backoff, Trouble};
use crate::notice;
use session::Session;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::watch;

/// How long an answer may take to be written, before it is dropped.
pub const WRITE_WAIT: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parity {
    #[default]
    None,
    Even,
    Odd,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowControl {
    #[default]
    None,
    /// RTS and CTS.
    Hardware,
    /// XON and XOFF.
    Software,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// A JSON object a line.
    #[default]
    Lines,
    /// COBS, ended by a zero byte, of a JSON object and its CRC-32.
    Frames,
}

/// What the device hears of an event, after the commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// `ACK id`, `NAK id reason`, `BUSY id`.
    #[default]
    Ack,
    /// The verdict or the problem.
    Verdict,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The source's name.
    pub name: String,
    pub device: PathBuf,
    /// Bits a second.
    pub baud: u32,
    /// 5 to 8.
    pub data_bits: u8,
    pub parity: Parity,
    /// 1 or 2.
    pub stop_bits: u8,
    pub flow_control: FlowControl,
    pub framing: Framing,
    pub reply: Reply,
    /// Bytes of one event.
    pub event_bytes_max: usize,
}

impl Options {
    /// 115,200 bits a second, 8N1, lines that are acknowledged.
    #[must_use]
    pub fn new(name: &str, device: PathBuf, event_bytes_max: usize) -> Self {
        Self {
            name: name.to_owned(),
            device,
            baud: 115_200,
            data_bits: 8,
            parity: Parity::default(),
            stop_bits: 1,
            flow_control: FlowControl::default(),
            framing: Framing::default(),
            reply: Reply::default(),
            event_bytes_max,
        }
    }
}

/// Serves the device until `stop` holds true or the engine ends.
pub async fn run<I: Intake>(
    options: Options,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    mut stop: watch::Receiver<bool>,
) {
    if options.reply == Reply::None {
        let warning = "reply = \"none\": what the device sends while verdictd is down or restarts is lost";
        tracing::warn!(kind = notice::SOURCE_LOSSY.kind, source = options.name, "{warning}");
        status.warn("reply", Some(warning.to_owned()));
    }
    let session = Session { options: options.clone(), intake, budget, status: Arc::clone(&status) };
    let mut backoff = Backoff::default();
    while !*stop.borrow() {
        let opening = options.clone();
        let Some(opened) = blocking(move || port::open(&opening)).await else { return };
        match opened {
            Ok(port) => {
                status.recovered();
                let end = session.run(port, &mut stop).await;
                let Some(error) = end.error else { return };
                // A device that is opened and lost at once is not tried faster and faster.
                if end.received {
                    backoff.reset();
                }
                status.failed(Trouble::Transient, &format!("{}: {error}", options.device.display()));
            }
            Err((trouble, error)) => status.failed(trouble, &format!("{}: {error}", options.device.display())),
        }
        let wait = backoff.next(&mut rand::rng());
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}
