//! One opened device, until it is lost: what it sends is handed in, what became of it is told, neither waits for the
//! other.

use super::{Options, Piece, Reply, Splitter, WRITE_WAIT, port::Counts, reply};
use crate::event::{BadKind, Beside, EventBatch, Form, Permit};
use crate::ingest::{Budget, Intake, Problem, SourceStatus, limits::EVENT_COST_BYTES, until_taken};
use std::{
    future::Future,
    io,
    os::fd::{AsRawFd, BorrowedFd},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf},
    sync::{mpsc, watch},
    time::{interval, timeout},
};
use tokio_serial::SerialStream;

/// Batches that wait for their commit or their answers to be written.
const UNDER_WAY_MAX: usize = 8;
/// What a terminal gives at once.
const READ_BYTES_MAX: usize = 4 << 10;
/// How long a write is tried at a device that has not taken the one before.
const STALLED_WAIT: Duration = Duration::from_millis(20);
/// How often the driver's counts are looked at.
const COUNTS_EVERY: Duration = Duration::from_secs(1);
const BUDGET_WAIT: Duration = Duration::from_secs(1);

pub(super) struct Session<I> {
    pub options: Options,
    pub intake: Arc<I>,
    pub budget: Budget,
    pub status: Arc<SourceStatus>,
}

/// How a session ended.
pub(super) struct End {
    /// None where it was stopped.
    pub error: Option<io::Error>,
    /// Whether anything came.
    pub received: bool,
}

/// A batch under way.
enum Pending<A> {
    /// Handed in: the device is told, and repeats what is refused.
    Told(Pin<Box<dyn Future<Output = Result<A, Problem<'static>>> + Send>>, usize),
    /// To be handed in until it is taken: nobody would repeat it.
    Silent(EventBatch, Permit),
}

impl<I: Intake> Session<I> {
    pub async fn run(&self, port: SerialStream, stop: &mut watch::Receiver<bool>) -> End {
        let fd = port.as_raw_fd();
        // SAFETY: the halves of the port live until the end of this call, and so does the descriptor.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let mut stop_reading = stop.clone();
        let (from, to) = tokio::io::split(port);
        let (sender, queue) = mpsc::channel(UNDER_WAY_MAX);
        let received = AtomicBool::new(false);
        let mut reading = pin!(self.read(from, fd, sender, &mut stop_reading, &received));
        let mut writing = pin!(self.answer(to, queue, stop));
        let error = tokio::select! {
            read = &mut reading => {
                // What was read is taken; telling it may fail on a lost device.
                let wrote = writing.await;
                read.err().or(wrote.err())
            }
            wrote = &mut writing => wrote.err(),
        };
        End { error, received: received.load(Relaxed) }
    }

    /// Reads until the device is lost (an error) or the source stopped.
    async fn read(
        &self,
        mut from: ReadHalf<SerialStream>,
        fd: BorrowedFd<'_>,
        to: mpsc::Sender<Pending<I::Answer>>,
        stop: &mut watch::Receiver<bool>,
        received: &AtomicBool,
    ) -> io::Result<()> {
        let mut splitter = Splitter::new(self.options.framing, self.options.event_bytes_max);
        let mut bytes = [0; READ_BYTES_MAX];
        let mut pieces = Vec::new();
        let mut counts = Counts::of(fd);
        let mut look = interval(COUNTS_EVERY);
        loop {
            let read = tokio::select! {
                biased;
                () = stopped(stop) => return Ok(()),
                read = from.read(&mut bytes) => Some(read),
                _ = look.tick(), if counts.is_some() => None,
            };
            let Some(read) = read else {
                counts = self.count(counts, fd);
                continue;
            };
            let read = match read {
                Ok(0) => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                other => other,
            };
            if read.is_err() {
                self.count(counts, fd);
            }
            let read = read?;
            received.store(true, Relaxed);
            splitter.push(bytes.get(..read).unwrap_or_default(), &mut pieces);
            match splitter.take_garbage() {
                0 => {}
                garbage => self.status.add("garbage-bytes", garbage),
            }
            if !pieces.is_empty() && !self.hand_in(&mut pieces, &to).await {
                return Ok(());
            }
        }
    }

    /// False where nobody takes anything any more.
    async fn hand_in(&self, pieces: &mut Vec<Piece>, to: &mpsc::Sender<Pending<I::Answer>>) -> bool {
        let bytes = pieces.iter().map(|piece| match piece {
            Piece::Record(record) => record.len(),
            Piece::TooLong { excerpt, .. } => excerpt.len(),
        });
        let cost = bytes.sum::<usize>() + pieces.len() * EVENT_COST_BYTES;
        // Meanwhile the device is not read: that is all that holds it up.
        let permit = loop {
            match self.budget.take(cost.min(self.budget.bytes()), BUDGET_WAIT).await {
                Ok(permit) => break permit,
                Err(_) => self.status.add("memory-waits", 1),
            }
        };
        let batch = self.batch(pieces);
        let events = batch.items.len();
        let pending = if self.options.reply == Reply::None {
            Pending::Silent(batch, permit)
        } else {
            Pending::Told(Box::pin(self.intake.hand_in(batch, Some(permit), Vec::new())), events)
        };
        to.send(pending).await.is_ok()
    }

    fn batch(&self, pieces: &mut Vec<Piece>) -> EventBatch {
        let limit = self.options.event_bytes_max;
        let mut assembly = self.intake.assemble();
        for piece in pieces.drain(..) {
            match piece {
                Piece::Record(record) => assembly.push(&Form::Record, &record, Beside::default()),
                Piece::TooLong { excerpt, length } => {
                    self.status.add("too-long", 1);
                    let reason = format!("expected an event of at most {limit} bytes, found {length} as it came");
                    assembly.push_bad(BadKind::Oversized, reason, &excerpt, None);
                }
            }
        }
        assembly.finish()
    }

    fn count(&self, before: Option<Counts>, fd: BorrowedFd<'_>) -> Option<Counts> {
        let now = Counts::of(fd)?;
        for (name, more) in now.since(before?).into_iter().filter(|(_, more)| *more > 0) {
            self.status.add(name, more);
        }
        Some(now)
    }

    /// Waits for the commits and tells the device of them, in order.
    async fn answer(
        &self,
        mut to: WriteHalf<SerialStream>,
        mut pending: mpsc::Receiver<Pending<I::Answer>>,
        stop: &mut watch::Receiver<bool>,
    ) -> io::Result<()> {
        let (kind, framing) = (self.options.reply, self.options.framing);
        let mut stalled = false;
        while let Some(batch) = pending.recv().await {
            let mut text = match batch {
                Pending::Silent(batch, permit) => {
                    if until_taken(&*self.intake, batch, Some(permit), Vec::new(), stop).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
                Pending::Told(answer, events) => match answer.await {
                    Ok(answer) => reply::render(answer, kind, framing),
                    Err(_) => reply::busy(events, kind, framing),
                },
            };
            if stalled {
                text.insert(0, reply::end(framing));
            }
            let wait = if stalled { STALLED_WAIT } else { WRITE_WAIT };
            let wrote = timeout(wait, to.write_all(&text)).await;
            stalled = wrote.is_err();
            if let Ok(wrote) = wrote {
                wrote?;
            } else {
                let lost = memchr::memchr_iter(reply::end(framing), &text).count();
                self.status.add("replies-lost", lost as u64);
            }
        }
        Ok(())
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
