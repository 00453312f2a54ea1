//! The senders: each posts its bodies in order, each body until it is answered.

use super::plan::{Line, Plan, SINGLE_SENDERS};
use super::{DemoError, PROGRESS_EVERY};
use crate::cli::client::{Address, Client, ClientOptions};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// What a line was answered.
#[derive(Clone, Debug)]
pub struct Answered {
    pub line: Line,
    /// The verdict or problem, without a line end.
    pub text: Vec<u8>,
}

/// All answers, and how long single posts took that got through at once.
#[derive(Debug, Default)]
pub struct Answers {
    pub answered: Vec<Answered>,
    pub single_times: Vec<Duration>,
    /// Lines of bodies that were sent more than once, because the daemon was away: each may have been taken
    /// each time, and a bad one may then stand in quarantine as often.
    pub resent: usize,
}

/// How far the senders are.
pub struct Progress {
    /// First arrivals that are acknowledged.
    pub acked: AtomicUsize,
    total: usize,
}

impl Progress {
    pub fn new(total: usize) -> Self {
        Self { acked: AtomicUsize::new(0), total }
    }

    /// Waits until so many are acknowledged or the senders are done; shows progress on a terminal.
    pub async fn reached<T>(&self, count: usize, sending: &JoinHandle<T>) {
        let terminal = io::stderr().is_terminal();
        while !sending.is_finished() && self.acked.load(Relaxed) < count {
            if terminal {
                eprint!("\r  {:>9} of {} acknowledged ", self.acked.load(Relaxed), self.total);
            }
            tokio::time::sleep(PROGRESS_EVERY).await;
        }
        if terminal {
            eprint!("\r\x1b[K");
        }
    }
}

/// Sends the whole plan.
pub async fn send_all(plan: Arc<Plan>, socket: PathBuf, progress: Arc<Progress>) -> Result<Answers, DemoError> {
    let senders: Vec<_> = (0..plan.senders().len())
        .map(|n| tokio::spawn(send(Arc::clone(&plan), n, socket.clone(), Arc::clone(&progress))))
        .collect();
    let mut all = Answers::default();
    for sender in senders {
        let mut answers = sender.await.map_err(|error| DemoError::Sender(error.to_string()))??;
        all.answered.append(&mut answers.answered);
        all.single_times.append(&mut answers.single_times);
        all.resent += answers.resent;
    }
    Ok(all)
}

async fn send(plan: Arc<Plan>, n: usize, socket: PathBuf, progress: Arc<Progress>) -> Result<Answers, DemoError> {
    let mut client = Client::new(ClientOptions::new(Address::Unix(socket)))?;
    let single = n < SINGLE_SENDERS;
    let content_type = if single { "application/json" } else { "application/x-ndjson" };
    let mut answers = Answers::default();
    for lines in plan.senders().get(n).into_iter().flatten() {
        let texts: Vec<Vec<u8>> = lines.iter().map(|line| plan.text(line)).collect();
        let body: bytes::Bytes = texts.join(&b'\n').into();
        let mut tries = 0;
        let answer = loop {
            let begin = Instant::now();
            match client.post("/v1/events", content_type, body.clone()).await {
                Ok(answer) if answer.status < 500 => {
                    if single && tries == 0 {
                        answers.single_times.push(begin.elapsed());
                    }
                    break answer;
                }
                Err(error) if !error.is_transient() => return Err(error.into()),
                // The daemon is away, or knows no better just now.
                _ => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        };
        if tries > 0 {
            answers.resent += lines.len() * tries;
        }
        let mut texts = answer.body.split(|byte| *byte == b'\n');
        for line in lines {
            let text = texts.next().unwrap_or_default().to_vec();
            answers.answered.push(Answered { line: line.clone(), text });
            if let Line::First(_) = line {
                progress.acked.fetch_add(1, Relaxed);
            }
        }
    }
    Ok(answers)
}
