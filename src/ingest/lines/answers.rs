//! The answers of a connection, in order, written as fast as the client takes them.

use super::super::{Answer, Limits, Problem, reply, slices};
use bytes::Bytes;
use std::{future::Future, io, pin::Pin};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
    time::timeout,
};

/// Answers to one slice.
pub(super) enum Pending<A> {
    /// To come, after the commit; with the slice, for what is said if none comes.
    Answer {
        answer: Answering<A>,
        body: Bytes,
    },
    Ready(Bytes),
}

pub(super) type Answering<A> = Pin<Box<dyn Future<Output = Result<A, Problem<'static>>> + Send>>;

impl<A> Pending<A> {
    pub fn problem(problem: &Problem<'_>) -> Self {
        let mut line = Vec::new();
        problem.write_json(&mut line);
        line.push(b'\n');
        Self::Ready(line.into())
    }
}

/// Writes until no answer is left to come, or the client does not take them.
///
/// # Errors
/// When it is gone, or took nothing for the write time-out ([`io::ErrorKind::TimedOut`]).
pub(super) async fn write<A: Answer>(
    mut to: impl AsyncWrite + Unpin,
    mut answers: mpsc::Receiver<Pending<A>>,
    limits: &Limits,
) -> io::Result<()> {
    while let Some(pending) = answers.recv().await {
        let mut lines = match pending {
            Pending::Ready(lines) => lines,
            Pending::Answer { answer, body } => match answer.await {
                Ok(answer) => reply::lines_of(answer),
                Err(problem) => slices::refused(&body, &problem),
            },
        };
        // By pieces, so that each one taken is a sign of life.
        while !lines.is_empty() {
            let wrote = timeout(limits.write_timeout, to.write(&lines)).await??;
            if wrote == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            let _ = lines.split_to(wrote);
        }
        timeout(limits.write_timeout, to.flush()).await??;
    }
    Ok(())
}
