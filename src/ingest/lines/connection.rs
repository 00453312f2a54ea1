//! One connection: reads, hands in, and has the answers written beside.

use super::{
    Shared, UNDER_WAY_MAX,
    answers::{self, Pending},
    buffer::{Buffer, Cut},
};
use crate::event::BadKind;
use crate::ingest::{Intake, Problem, ProblemKind, accept::count, limits::EVENT_COST_BYTES, slices};
use bytes::Bytes;
use std::{io, pin::pin, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};

/// Bytes thrown away at most behind the last answer.
const LINGER_BYTES_MAX: usize = 8 << 20;

/// How long a client may take, when the daemon stops, to close his side.
const LINGER_AT_STOP: Duration = Duration::from_millis(500);

/// The first line of a client that has a token.
const AUTH: &[u8] = b"AUTH ";

/// Why nothing more is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client has sent all.
    Closed,
    /// The client is gone or does not keep to the rules.
    Cut,
    /// The daemon stops.
    Stopped,
}

/// Serves a connection to its end.
pub(super) async fn serve<S, I>(stream: S, shared: &Shared<I>, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    I: Intake,
{
    let (mut from, mut to) = tokio::io::split(stream);
    // One is being written, one waits to be sent: the channel holds the rest.
    let (sender, receiver) = mpsc::channel(UNDER_WAY_MAX - 2);
    let end = {
        let mut reading = pin!(read(&mut from, shared, sender, stop));
        let mut writing = pin!(answers::write(&mut to, receiver, &shared.limits));
        tokio::select! {
            end = &mut reading => match writing.await {
                Ok(()) => Ok(end),
                Err(error) => Err(error),
            },
            // Before all is read it ends only by an error.
            wrote = &mut writing => wrote.map(|()| End::Cut),
        }
    };
    match end {
        Ok(End::Closed) => drop(to.shutdown().await),
        Ok(end) => {
            // A socket closed with bytes unread can take the last answers with it. A stop waits for nobody long.
            let _ = to.shutdown().await;
            let limit = if end == End::Stopped { LINGER_AT_STOP } else { shared.limits.head_timeout };
            let _ = timeout(limit, linger(&mut from)).await;
        }
        Err(error) => {
            if error.kind() == io::ErrorKind::TimedOut {
                count(&shared.connections.timed_out);
            }
            tracing::debug!(%error, "connection cut off");
        }
    }
}

async fn linger(from: &mut (impl AsyncRead + Unpin)) {
    let mut bytes = [0; 4096];
    let mut left = LINGER_BYTES_MAX;
    while let Ok(read) = from.read(&mut bytes).await {
        let Some(rest) = left.checked_sub(read.max(1)).filter(|_| read > 0) else { break };
        left = rest;
    }
}

/// Reads and hands in until the end.
async fn read<I: Intake>(
    from: &mut (impl AsyncRead + Unpin),
    shared: &Shared<I>,
    answers: mpsc::Sender<Pending<I::Answer>>,
    mut stop: watch::Receiver<bool>,
) -> End {
    let mut reader =
        Reader { shared, answers, is_known: shared.token.is_none(), buffer: Buffer::new(shared.line_bytes_max) };
    let limits = &shared.limits;
    // Who has a token shows it soon; a line that has begun ends soon.
    let mut deadline = (!reader.is_known).then(|| Instant::now() + limits.head_timeout);
    loop {
        let (bytes, space) = reader.buffer.space();
        let mut part = from.take(space as u64);
        let read = tokio::select! {
            biased;
            () = stopped(&mut stop) => return End::Stopped,
            read = part.read_buf(bytes) => Some(read),
            () = sleep_until(deadline.unwrap_or_else(far)), if deadline.is_some() => None,
        };
        let read = match read {
            Some(Ok(read)) => read,
            Some(Err(_)) => return End::Cut,
            None => {
                count(&shared.connections.timed_out);
                return reader.say(&Problem::new(ProblemKind::Timeout, "expected the end of the line in time")).await;
            }
        };
        let last = read == 0;
        let mut ended = false;
        while let Some(cut) = reader.buffer.cut(last) {
            ended = true;
            if let Some(end) = reader.hand_in(cut).await {
                return end;
            }
        }
        if last {
            return End::Closed;
        }
        reader.buffer.fit(read, &shared.budget);
        if reader.is_known {
            // A read without a line end leaves the line its deadline.
            let before = deadline.filter(|_| !ended);
            let from_now = || Instant::now() + limits.body_timeout;
            deadline = reader.buffer.is_within_line().then(|| before.unwrap_or_else(from_now));
        }
    }
}

/// Also when nobody is left to say so.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

fn far() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

struct Reader<'a, I: Intake> {
    shared: &'a Shared<I>,
    answers: mpsc::Sender<Pending<I::Answer>>,
    /// It has shown the token, or need not.
    is_known: bool,
    buffer: Buffer,
}

impl<I: Intake> Reader<'_, I> {
    /// Hands in what was cut off. Some where nothing more is to be read.
    async fn hand_in(&mut self, cut: Cut) -> Option<End> {
        let mut lines = match cut {
            Cut::Lines(lines) => lines,
            Cut::TooLong { .. } if !self.is_known => return Some(self.unknown().await),
            Cut::TooLong { excerpt, length } => return self.too_long(&excerpt, length).await,
        };
        if !self.is_known {
            let end = memchr::memchr(b'\n', &lines).map_or(lines.len(), |at| at + 1);
            if !self.shows_token(&lines.split_to(end)) {
                return Some(self.unknown().await);
            }
            self.is_known = true;
        }
        while let Some(slice) = slices::next(&mut lines) {
            if slices::events(&slice.body) == 0 {
                continue;
            }
            let Shared { intake, budget, limits, .. } = self.shared;
            let wait = limits.budget_wait;
            let paid = slices::pay(&slice, slice.body.len(), &**intake, budget, wait).await;
            let pending = match paid {
                Ok(permit) => {
                    let batch = intake.decode_lines(slice.body.clone(), None);
                    let answer = Box::pin(intake.hand_in(batch, Some(permit), Vec::new()));
                    Pending::Answer { answer, body: slice.body }
                }
                Err(problem) => Pending::Ready(slices::refused(&slice.body, &problem)),
            };
            if self.answers.send(pending).await.is_err() {
                return Some(End::Cut);
            }
        }
        None
    }

    async fn too_long(&self, excerpt: &Bytes, length: usize) -> Option<End> {
        let Shared { intake, budget, limits, line_bytes_max, .. } = self.shared;
        let Ok(permit) = budget.take(excerpt.len() + EVENT_COST_BYTES, limits.budget_wait).await else {
            intake.refused(1);
            let busy = Pending::problem(&Problem::busy("the memory for requests is in use"));
            return self.answers.send(busy).await.err().map(|_| End::Cut);
        };
        if length <= *line_bytes_max {
            // It would have been taken, had there been memory to hold it.
            intake.refused(1);
            let busy = Pending::problem(&Problem::busy("the memory for requests is in use"));
            return self.answers.send(busy).await.err().map(|_| End::Cut);
        }
        let batch = {
            let mut assembly = intake.assemble();
            let reason = format!("expected an event of at most {line_bytes_max} bytes, found {length}");
            assembly.push_bad(BadKind::Oversized, reason, excerpt, None);
            assembly.finish()
        };
        let answer = Box::pin(intake.hand_in(batch, Some(permit), Vec::new()));
        let pending = Pending::Answer { answer, body: Bytes::from_static(b"-") };
        self.answers.send(pending).await.err().map(|_| End::Cut)
    }

    fn shows_token(&self, line: &[u8]) -> bool {
        let Some(token) = &self.shared.token else { return true };
        let given = line.strip_prefix(AUTH).unwrap_or_default().trim_ascii();
        // Compared in constant time.
        given.len() == token.len() && openssl::memcmp::eq(given, token)
    }

    async fn unknown(&self) -> End {
        self.say(&Problem::new(ProblemKind::Unauthorized, "expected the first line AUTH TOKEN")).await
    }

    /// The last thing that is said.
    async fn say(&self, problem: &Problem<'_>) -> End {
        let _ = self.answers.send(Pending::problem(problem)).await;
        End::Cut
    }
}
