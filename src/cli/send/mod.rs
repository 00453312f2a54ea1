//! `verdictd send`: posts events until each is acked, and prints what came back, in the order of the input.
//!
//! Repeating is safe, because the daemon knows an event by its id: whatever has no answer yet, for a lost
//! connection, a restart or a 503, is sent again. With one connection (the default) order is kept, except
//! that an event put off by the daemon comes after its neighbours of the same batch.

mod input;
mod post;

#[cfg(test)]
mod tests;

use super::client::{Address, Client, ClientError, ClientOptions};
use clap::Args;
use input::Batch;
pub use input::{Format, InputError};
use post::{Posted, post};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot};

/// Events a request.
pub const BATCH_MAX: usize = 10_000;
/// Connections at once.
pub const CONNECTIONS_MAX: usize = 64;

#[derive(Args, Clone, Debug)]
pub struct SendArgs {
    #[arg(long, value_name = "ADDR", help = "The daemon: unix:/path, host:port or https://host:port")]
    pub to: Address,
    /// Events, one JSON object a line, or CSV with a header row; standard input where not given or "-"
    pub file: Option<PathBuf>,
    /// Where the name of FILE does not say it
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Events a request
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,
    /// Requests in flight at once, each on a connection of its own; more than 1 does not keep the order
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub connections: u32,
    /// Give up when an event has no answer after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// A file with the bearer token
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The authorities to trust for https, PEM
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// A client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "key_file")]
    pub cert_file: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    pub key_file: Option<PathBuf>,
}

/// How to send.
#[derive(Clone, Debug)]
pub struct SendOptions {
    pub to: ClientOptions,
    /// Events a request, 1 to [`BATCH_MAX`].
    pub batch: usize,
    /// Connections, 1 to [`CONNECTIONS_MAX`].
    pub connections: usize,
    /// When to give up on an event without an answer; None: never.
    pub timeout: Option<Duration>,
}

impl SendOptions {
    #[must_use]
    pub fn new(to: ClientOptions) -> Self {
        Self { to, batch: 100, connections: 1, timeout: None }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Events with a verdict.
    pub acked: u64,
    /// Events refused for what they are: each has its problem line.
    pub refused: u64,
    /// Requests that were repeated, in whole or in part.
    pub retries: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("cannot write the answers: {0}")]
    Output(io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the daemon answered {status}: {body}")]
    Refused { status: u16, body: String },
    #[error("expected {expected} lines of answer, got {got}")]
    Protocol { expected: usize, got: usize },
    #[error("gave up after {0:?} without an answer; the last try: {1}")]
    TimedOut(Duration, String),
    #[error("a part of send ended early")]
    Broken,
}

/// Runs the command; its exit code.
#[must_use]
pub fn run(args: &SendArgs) -> u8 {
    let started = Instant::now();
    match start(args) {
        Ok(summary) => {
            let Summary { acked, refused, retries } = summary;
            let seconds = started.elapsed().as_secs_f64();
            eprintln!("send: {acked} acked, {refused} refused, {retries} retries in {seconds:.1} s");
            u8::from(refused > 0)
        }
        Err(error) => {
            eprintln!("send: {error}");
            match error {
                SendError::Input(InputError::Open { error, .. }) => match error.kind() {
                    io::ErrorKind::PermissionDenied => 77,
                    io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => 64,
                    _ => 74,
                },
                SendError::Input(InputError::Read { .. }) | SendError::Output(_) => 74,
                SendError::Client(ClientError::Setup(_)) => 78,
                SendError::Refused { status: 401 | 403, .. } => 77,
                SendError::Broken => 70,
                _ => 1,
            }
        }
    }
}

fn start(args: &SendArgs) -> Result<Summary, SendError> {
    let mut to = ClientOptions::new(args.to.clone());
    if let Some(path) = &args.token_file {
        let text = std::fs::read_to_string(path);
        to.token = Some(text.map_err(|error| ClientError::Setup(format!("{}: {error}", path.display())))?);
    }
    to.ca_file.clone_from(&args.ca_file);
    to.certificate = args.cert_file.clone().zip(args.key_file.clone());
    let options = SendOptions {
        to,
        batch: args.batch as usize,
        connections: args.connections as usize,
        timeout: args.timeout.map(Duration::from_secs),
    };
    let file = args.file.as_deref().filter(|path| path.as_os_str() != "-");
    let is_csv = || file.and_then(|path| path.extension()).is_some_and(|ext| ext.eq_ignore_ascii_case("csv"));
    let format = args.format.unwrap_or_else(|| if is_csv() { Format::Csv } else { Format::Ndjson });
    let input: Box<dyn BufRead + Send> = match file {
        Some(path) => {
            let opened = File::open(path);
            Box::new(BufReader::new(opened.map_err(|error| InputError::Open { path: path.to_owned(), error })?))
        }
        None => Box::new(BufReader::new(io::stdin())),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ClientError::Setup(format!("cannot start: {error}")))?;
    let mut out = io::BufWriter::new(io::stdout());
    let sent = runtime.block_on(send(options, input, format, &mut out));
    out.flush().map_err(SendError::Output)?;
    // A reader blocked on standard input must not hold the end up.
    runtime.shutdown_background();
    sent
}

type Work = (Batch, oneshot::Sender<Result<Posted, SendError>>);

/// Sends all events of `input` and writes their answers, a line each, in order.
///
/// # Errors
/// When input or output fail, the daemon refuses to talk, or the time is up. What is refused for what it
/// is, is no error: it is counted, and its problem line written.
pub async fn send(
    options: SendOptions,
    input: Box<dyn BufRead + Send>,
    format: Format,
    out: &mut (dyn Write + Send),
) -> Result<Summary, SendError> {
    let connections = options.connections.clamp(1, CONNECTIONS_MAX);
    let batch = options.batch.clamp(1, BATCH_MAX);
    let (batches_in, mut batches) = mpsc::channel(2);
    // Dropping `batches` ends the reader at its next batch.
    tokio::task::spawn_blocking(move || input::read(input, format, batch, &batches_in));
    let (work_in, work) = async_queue(connections);
    let mut workers = tokio::task::JoinSet::new();
    for receiver in work {
        workers.spawn(worker(Client::new(options.to.clone())?, options.timeout, receiver));
    }
    let mut summary = Summary::default();
    let mut waiting: VecDeque<oneshot::Receiver<_>> = VecDeque::new();
    let mut turn = 0;
    loop {
        let next = batches.recv().await;
        let ended = next.is_none();
        if let Some(batch) = next {
            let (answer_in, answer) = oneshot::channel();
            let worker = work_in.get(turn % connections).ok_or(SendError::Broken)?;
            worker.send((batch?, answer_in)).await.map_err(|_| SendError::Broken)?;
            turn += 1;
            waiting.push_back(answer);
        }
        // Each worker has one batch in hand; the oldest is the next to print.
        while waiting.len() >= if ended { 1 } else { connections } {
            let Some(answer) = waiting.pop_front() else { break };
            let posted = answer.await.map_err(|_| SendError::Broken)??;
            posted.lines.iter().try_for_each(|line| out.write_all(line)).map_err(SendError::Output)?;
            summary.acked += posted.acked;
            summary.refused += posted.refused;
            summary.retries += posted.retries;
        }
        if ended {
            out.flush().map_err(SendError::Output)?;
            return Ok(summary);
        }
    }
}

fn async_queue(connections: usize) -> (Vec<mpsc::Sender<Work>>, Vec<mpsc::Receiver<Work>>) {
    (0..connections).map(|_| mpsc::channel(1)).unzip()
}

async fn worker(mut client: Client, timeout: Option<Duration>, mut work: mpsc::Receiver<Work>) {
    while let Some((batch, answer)) = work.recv().await {
        let posted = post(&mut client, &batch, timeout).await;
        let _ = answer.send(posted);
    }
}
