//! A connection that is logged in: statements go out, their answers come back in the same order.

use super::stream::Stream;
use super::wire::{self, Frame, TEXT_ARRAY_OID, TextArray};
use super::{Address, Fault, fault};
use bytes::{Buf, BytesMut};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The name under which a connection keeps its one prepared statement.
const PREPARED: &str = "verdicts";
/// Bytes read at a time.
const READ_BYTES: usize = 8 << 10;
/// Most rows that an answer may have: a table has at most 1,600 columns.
const ROWS_MAX: usize = 4096;

/// A connection; dropping it ends it. What the server has begun it may still finish.
pub struct Connection {
    stream: Stream,
    address: Address,
    inbox: BytesMut,
    out: BytesMut,
    /// Of the statement whose answer comes now.
    answer: Answer,
    refusal: Option<Fault>,
    done: VecDeque<Result<Answer, Fault>>,
}

/// What a statement did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows that it gives, each with its columns as text; None is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// How many rows it changed or gave.
    pub affected: u64,
}

impl Connection {
    pub(super) fn over(stream: Stream, address: Address) -> Self {
        Self {
            stream,
            address,
            inbox: BytesMut::new(),
            out: BytesMut::new(),
            answer: Answer::default(),
            refusal: None,
            done: VecDeque::new(),
        }
    }

    /// Whether nobody between here and the server can listen.
    pub(super) fn is_private(&self) -> bool {
        !matches!(self.stream, Stream::Tcp(_))
    }

    /// Where messages to the server are appended; they go out while an answer is waited for.
    pub(super) fn out(&mut self) -> &mut BytesMut {
        &mut self.out
    }

    /// Runs a statement whose parameters are texts, and nothing else at the same time.
    ///
    /// # Errors
    /// When the server refuses it, or the connection ends.
    pub async fn query(&mut self, sql: &str, parameters: &[&str]) -> Result<Answer, Fault> {
        wire::put_parse(&mut self.out, "", sql, &[]);
        wire::put_bind(&mut self.out, "", false, parameters, |text, out| wire::put_value(text, out));
        wire::put_execute(&mut self.out);
        self.answer().await
    }

    /// Prepares the statement that [`Connection::begin`] runs; its parameters are arrays of texts.
    ///
    /// # Errors
    /// When the server refuses it, or the connection ends.
    pub async fn prepare(&mut self, sql: &str, parameters: usize) -> Result<(), Fault> {
        wire::put_parse(&mut self.out, PREPARED, sql, &vec![TEXT_ARRAY_OID; parameters]);
        wire::put(&mut self.out, b'S', |_| {});
        self.answer().await.map(drop)
    }

    /// Hands the prepared statement over with these parameters: a transaction of its own. Several may be under way.
    pub fn begin(&mut self, parameters: &[TextArray]) {
        wire::put_bind(&mut self.out, PREPARED, true, parameters, TextArray::put);
        wire::put_execute(&mut self.out);
    }

    /// Bytes handed over that the server's end has not taken yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.out.len()
    }

    /// Waits for the answer to the oldest statement under way. It may be given up at any time and asked for again.
    ///
    /// # Errors
    /// What the server says against the statement; or that the connection has ended, with the server's reason where it
    /// gave one.
    pub async fn answer(&mut self) -> Result<Answer, Fault> {
        loop {
            if let Some(done) = self.done.pop_front() {
                return done;
            }
            let frame = self.frame().await?;
            self.take(&frame)?;
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<(), Fault> {
        match frame.kind {
            b'D' if self.answer.rows.len() < ROWS_MAX => {
                let row = wire::row(frame.body.clone()).ok_or_else(|| Fault::link("a row came that is not whole"))?;
                self.answer.rows.push(row);
            }
            b'C' => self.answer.affected = wire::affected(&frame.body),
            b'E' => {
                self.refusal.get_or_insert(fault::of_server(&frame.body));
            }
            // Ready for the next: this one is over.
            b'Z' => {
                let answer = std::mem::take(&mut self.answer);
                self.done.push_back(self.refusal.take().map_or(Ok(answer), Err));
            }
            // Parsed, bound, described, without rows, empty.
            b'1' | b'2' | b'3' | b'T' | b't' | b'n' | b'I' => {}
            other => {
                return Err(Fault::link(format!("a message {:?} came that was not asked for", char::from(other))));
            }
        }
        Ok(())
    }

    /// The next message that is for somebody.
    pub(super) async fn frame(&mut self) -> Result<Frame, Fault> {
        loop {
            match wire::take(&mut self.inbox)? {
                // Notices, settings, notifications.
                Some(Frame { kind: b'N' | b'S' | b'A', .. }) => {}
                Some(frame) => return Ok(frame),
                None => self.turn().await?,
            }
        }
    }

    /// Writes what is to be written and reads what comes, until something came.
    async fn turn(&mut self) -> Result<(), Fault> {
        let Self { stream, inbox, out, .. } = self;
        let came = poll_fn(|cx| {
            while !out.is_empty() {
                match Pin::new(&mut *stream).poll_write(cx, out) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(count)) => out.advance(count),
                    // The server may have said why before it closed.
                    Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => out.clear(),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => break,
                }
            }
            let mut bytes = [0; READ_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) => {
                    inbox.extend_from_slice(buffer.filled());
                    Poll::Ready(Ok(buffer.filled().len()))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        });
        let closed = match came.await {
            Ok(1..) => return Ok(()),
            Ok(0) => Fault::link("the server closed the connection"),
            Err(error) => fault::of_io(&error),
        };
        let fault = self.refusal.take().unwrap_or(closed);
        Err(Fault { text: format!("{}: {}", self.address, fault.text), ..fault })
    }

    /// Says farewell, as far as it goes at once.
    pub async fn close(mut self) {
        wire::put(&mut self.out, b'X', |_| {});
        let Self { stream, out, .. } = &mut self;
        poll_fn(|cx| {
            while !out.is_empty() {
                match Pin::new(&mut *stream).poll_write(cx, out) {
                    Poll::Ready(Ok(count @ 1..)) => out.advance(count),
                    _ => break,
                }
            }
            Poll::Ready(())
        })
        .await;
    }
}
