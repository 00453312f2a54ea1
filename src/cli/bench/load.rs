//! The load generator: one thread, raw HTTP/1.1 over nonblocking Unix sockets.
//!
//! It shares the machine with what it measures, so it does as little as it can: requests are copied from
//! templates, answers only delimited. *Closed* loads keep `depth` requests in flight on each connection.
//! An *open* load sends at fixed times whatever comes back; latency counts from the time at which a request
//! was due, so that a stall shows in every request it delayed.

use super::events::Requests;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    num::NonZeroU64,
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

/// An answer larger than this is not one of ours.
const ANSWER_BYTES_MAX: usize = 4 << 20;
const READ_BYTES: usize = 64 << 10;
/// No answer at all for so long ends the load.
const SILENCE_MAX: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct Plan {
    pub socket: PathBuf,
    /// Events a request.
    pub per_request: usize,
    pub connections: usize,
    /// Requests in flight on a connection, for a closed load.
    pub depth: usize,
    /// Requests a second, for an open load.
    pub rate: Option<f64>,
    pub warm_up: Duration,
    pub measured: Duration,
    /// Answers hold verdicts, and that is checked.
    pub verdicts: bool,
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Events answered within the measured time.
    pub events: u64,
    pub seconds: f64,
    /// Answers 503: not counted as events.
    pub busy: u64,
    /// Of each request, nanoseconds, sorted; of closed loads since it was sent.
    pub latencies_ns: Vec<u64>,
}

impl Load {
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // counts far below 2^52
    pub fn events_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.events as f64 / self.seconds } else { 0.0 }
    }

    /// The latency that `share` (0 to 1) of the requests do not exceed, in milliseconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn latency_ms(&self, share: f64) -> f64 {
        let last = self.latencies_ns.len().saturating_sub(1);
        let at = (share * last as f64).round() as usize;
        self.latencies_ns.get(at.min(last)).map_or(0.0, |ns| *ns as f64 / 1e6)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("connection closed by the server")]
    Closed,
    #[error("no answer within {} s", SILENCE_MAX.as_secs())]
    Silence,
    #[error("not an HTTP answer with a content-length: {0:?}")]
    NotHttp(String),
    #[error("expected status 200 or 503, got {status}: {body}")]
    Status { status: u16, body: String },
    #[error("expected verdicts, got {0}")]
    NoVerdict(String),
}

/// Runs the load; `at_start` is called when the warm-up is over.
///
/// # Errors
/// When a connection fails or an answer is not the expected one.
pub fn run(plan: &Plan, source: &mut Requests, at_start: impl FnOnce()) -> Result<Load, LoadError> {
    // The kernel may delay a timer by 50 µs to save power; that would count as latency.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut connections = Vec::new();
    for _ in 0..plan.connections.max(1) {
        connections.push(Connection::open(&plan.socket)?);
    }
    let mut load = Load::default();
    let started = Instant::now();
    let measure_from = started + plan.warm_up;
    let mut at_start = Some(at_start);
    let mut measured_since = None;
    let mut last_answer = started;
    let mut schedule = plan.rate.map(|rate| Schedule { due: started, every: Duration::from_secs_f64(1.0 / rate) });
    let mut turn = 0;
    let mut scratch = vec![0; READ_BYTES];
    loop {
        let now = Instant::now();
        if now >= measure_from
            && let Some(at_start) = at_start.take()
        {
            at_start();
            measured_since = Some(Instant::now());
        }
        if measured_since.is_some_and(|since| now.saturating_duration_since(since) >= plan.measured) {
            break;
        }
        if now.saturating_duration_since(last_answer) > SILENCE_MAX {
            return Err(LoadError::Silence);
        }
        match &mut schedule {
            None => {
                for connection in &mut connections {
                    while connection.sent.len() < plan.depth.max(1) {
                        connection.queue(source, now);
                    }
                    connection.write()?;
                }
            }
            Some(schedule) => {
                while schedule.due <= now {
                    // The idle connections in turn; where none is, the request waits and its time runs.
                    let (before, after) = connections.split_at_mut(turn.min(plan.connections));
                    let mut in_turn = after.iter_mut().chain(before).enumerate();
                    let Some((n, connection)) = in_turn.find(|(_, c)| c.sent.is_empty()) else { break };
                    connection.queue(source, schedule.due);
                    connection.write()?;
                    turn = (turn + n + 1) % plan.connections.max(1);
                    schedule.due += schedule.every;
                }
            }
        }
        let timeout = schedule.as_ref().map_or(Duration::from_millis(100), |schedule| {
            let wait = schedule.due.saturating_duration_since(Instant::now());
            if wait.is_zero() { Duration::from_millis(100) } else { wait }
        });
        for n in ready(&connections, timeout)? {
            let answered = Instant::now();
            let Some(connection) = connections.get_mut(n) else { continue };
            connection.write()?;
            connection.read(&mut scratch)?;
            while let Some((status, sent)) = connection.answer(plan)? {
                last_answer = answered;
                if measured_since.is_none() {
                    continue;
                }
                if status == 503 {
                    load.busy += 1;
                    continue;
                }
                load.events += plan.per_request as u64;
                let latency = answered.saturating_duration_since(sent).as_nanos();
                load.latencies_ns.push(u64::try_from(latency).unwrap_or(u64::MAX));
            }
        }
    }
    load.seconds = measured_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
    load.latencies_ns.sort_unstable();
    Ok(load)
}

struct Schedule {
    due: Instant,
    every: Duration,
}

/// The connections on which something can be read, or written where that is wanted.
fn ready(connections: &[Connection], timeout: Duration) -> Result<Vec<usize>, LoadError> {
    let mut fds: Vec<PollFd<'_>> = connections
        .iter()
        .map(|connection| {
            let write = if connection.out.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            PollFd::new(&connection.stream, PollFlags::IN | write)
        })
        .collect();
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(LoadError::Io(error.into())),
    }
    Ok(fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()).map(|(n, _)| n).collect())
}

struct Connection {
    stream: UnixStream,
    /// What is still to be written.
    out: Vec<u8>,
    /// What was read and belongs to no answer yet.
    input: Vec<u8>,
    /// When each request in flight was due.
    sent: VecDeque<Instant>,
}

impl Connection {
    fn open(socket: &PathBuf) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, out: Vec::new(), input: Vec::new(), sent: VecDeque::new() })
    }

    fn queue(&mut self, source: &mut Requests, due: Instant) {
        source.write(&mut self.out);
        self.sent.push_back(due);
    }

    fn write(&mut self) -> Result<(), LoadError> {
        let mut written = 0;
        while let Some(rest) = self.out.get(written..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.drain(..written);
        Ok(())
    }

    fn read(&mut self, scratch: &mut [u8]) -> Result<(), LoadError> {
        match self.stream.read(scratch) {
            Ok(0) => Err(LoadError::Closed),
            Ok(count) => {
                self.input.extend_from_slice(scratch.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes one whole answer off the input: its status, and when its request was due.
    fn answer(&mut self, plan: &Plan) -> Result<Option<(u16, Instant)>, LoadError> {
        let Some(answer) = delimit(&self.input)? else { return Ok(None) };
        let body = self.input.get(answer.body..answer.end).unwrap_or_default();
        let text = || String::from_utf8_lossy(body.get(..body.len().min(500)).unwrap_or_default()).into_owned();
        match answer.status {
            200 => {
                // The first line tells, and the number of lines.
                let first = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
                #[allow(clippy::naive_bytecount)] // a crate for this one count would be too much
                let lines = body.iter().filter(|byte| **byte == b'\n').count();
                let as_many = plan.per_request == 1 || lines == plan.per_request;
                if plan.verdicts && !(as_many && first.windows(10).any(|window| window == b"\"decision\"")) {
                    return Err(LoadError::NoVerdict(text()));
                }
            }
            503 => {}
            status => return Err(LoadError::Status { status, body: text() }),
        }
        self.input.drain(..answer.end);
        let due = self.sent.pop_front().ok_or_else(|| LoadError::NotHttp("an answer to nothing".to_owned()))?;
        Ok(Some((answer.status, due)))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Delimited {
    status: u16,
    /// Where the body starts and ends.
    body: usize,
    end: usize,
}

/// Finds the first answer in `input`; None while it is not whole.
fn delimit(input: &[u8]) -> Result<Option<Delimited>, LoadError> {
    let not_http = || {
        LoadError::NotHttp(String::from_utf8_lossy(input.get(..input.len().min(200)).unwrap_or_default()).into_owned())
    };
    let Some(body) = input.windows(4).take(8192).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
        return if input.len() > 8192 { Err(not_http()) } else { Ok(None) };
    };
    let head = std::str::from_utf8(input.get(..body).unwrap_or_default()).map_err(|_| not_http())?;
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).ok_or_else(not_http)?;
    let length: usize = head
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .filter(|length| *length <= ANSWER_BYTES_MAX)
        .ok_or_else(not_http)?;
    let end = body + length;
    Ok((input.len() >= end).then_some(Delimited { status, body, end }))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // figures made of whole numbers
mod tests {
    use super::*;

    #[test]
    fn answers_are_delimited_by_their_content_length() {
        let one = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let two = [one.as_slice(), b"HTTP/1.1 503 No\r\n"].concat();
        assert_eq!(delimit(&two).unwrap(), Some(Delimited { status: 200, body: 38, end: 43 }));
        for cut in 0..one.len() {
            assert_eq!(delimit(&one[..cut]).unwrap(), None, "cut at {cut}");
        }
        assert!(delimit(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(delimit(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").is_err());
    }

    #[test]
    fn percentiles_are_of_the_sorted_latencies() {
        let load = Load { latencies_ns: (1..=101).map(|n| n * 1_000_000).collect(), ..Load::default() };
        assert_eq!((load.latency_ms(0.5), load.latency_ms(0.99), load.latency_ms(1.0)), (51.0, 100.0, 101.0));
        assert_eq!(Load::default().latency_ms(0.5), 0.0);
    }
}
