//! `verdictd demo`: the main job, whole, with no broker and no root.
//!
//! The daemon runs as a process of its own on a private directory. Simulated card transactions stream in
//! over its socket, some twice, some malformed, some with a known id and another payload. In mid-stream it
//! is killed with SIGKILL and started again; the senders go on with what was not acknowledged. Then the
//! file sink, the answers and the quarantine are held against each other (`proof.rs`).

mod daemon;
mod plan;
mod proof;
mod report;
mod sender;

use crate::model::shipped;
use crate::service::demo_config;
use daemon::Daemon;
use report::Figures;
use sender::{Progress, send_all};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Events sent unless asked otherwise.
pub const EVENTS_DEFAULT: usize = 60_000;
/// Most events: their answers are kept in memory until the proof.
pub const EVENTS_MAX: usize = 2_000_000;

/// `verdictd demo`
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Keep everything in DIR, which must not exist or be empty; a temporary folder otherwise
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How many transactions
    #[arg(long, value_name = "N", default_value_t = EVENTS_DEFAULT,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1000..=EVENTS_MAX as u64))]
    events: usize,
    /// Seed of the simulated transactions and of the moment of the kill
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Why a demo could not be carried through.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("{what} {}: {error}", path.display())]
    File { what: &'static str, path: PathBuf, error: io::Error },
    #[error("{}: expected a folder that does not exist or is empty", .0.display())]
    NotEmpty(PathBuf),
    #[error("the daemon {what}; its log is {}", log.display())]
    Daemon { what: String, log: PathBuf },
    #[error("a sender ended: {0}")]
    Sender(String),
    #[error("cannot start a runtime: {0}")]
    Runtime(io::Error),
    #[error("{0}")]
    Client(#[from] super::client::ClientError),
}

impl Demo {
    /// Runs the demo and prints its report. True if the proof held.
    ///
    /// # Errors
    /// When it could not be carried through.
    pub fn run(&self, out: &mut impl Write) -> Result<bool, DemoError> {
        let (folder, temporary) = self.folder()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DemoError::Runtime)?;
        let outcome = runtime.block_on(self.carry_out(&folder));
        let held = matches!(&outcome, Ok(figures) if figures.findings.is_empty());
        match &outcome {
            // A demo whose proof failed leaves everything to look at.
            Ok(_) if held && temporary => drop(std::fs::remove_dir_all(&folder)),
            _ => eprintln!("everything is kept in {}", folder.display()),
        }
        report::print(&outcome?, out).map_err(|error| DemoError::File {
            what: "cannot write to",
            path: PathBuf::from("standard output"),
            error,
        })?;
        Ok(held)
    }

    fn folder(&self) -> Result<(PathBuf, bool), DemoError> {
        let (folder, temporary) = match &self.dir {
            Some(dir) => (dir.clone(), false),
            None => (std::env::temp_dir().join(format!("verdictd-demo-{}", std::process::id())), true),
        };
        let fail = |error| DemoError::File { what: "cannot make", path: folder.clone(), error };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(fail)?;
        let folder = folder.canonicalize().map_err(fail)?;
        if std::fs::read_dir(&folder).map_err(fail)?.next().is_some() {
            return Err(DemoError::NotEmpty(folder));
        }
        Ok((folder, temporary))
    }

    async fn carry_out(&self, folder: &Path) -> Result<Figures, DemoError> {
        let config = prepare(folder)?;
        let plan = Arc::new(plan::Plan::new(self.seed, self.events));
        step(&format!("starting the daemon in {}", folder.display()));
        let mut daemon = Daemon::start(folder, &config).await?;
        let progress = Arc::new(Progress::new(plan.events()));
        step("sending transactions, some twice, some malformed, some with a known id and another payload");
        let began = Instant::now();
        let sending = tokio::spawn(send_all(Arc::clone(&plan), folder.join("events.sock"), Arc::clone(&progress)));
        progress.reached(plan.kill_after(), &sending).await;
        let at = progress.acked.load(Relaxed);
        let killed = Instant::now();
        let mut peak = daemon.kill()?;
        step(&format!("killed it with SIGKILL after {at} events were acknowledged; starting it again"));
        let mut daemon = Daemon::start(folder, &config).await?;
        let ready = daemon.ready_after;
        let down = killed.elapsed();
        progress.reached(usize::MAX, &sending).await;
        let answers = sending.await.map_err(|error| DemoError::Daemon {
            what: format!("got no sender: {error}"),
            log: folder.join("daemon.log"),
        })??;
        let took = began.elapsed().saturating_sub(down);
        step("stopping it, and comparing answers, file sink and quarantine");
        peak = peak.max(daemon.peak_memory());
        daemon.stop().await?;
        let quarantine = daemon::quarantine(&config)?;
        let verdicts = folder.join("state/verdicts");
        let proof = proof::prove(&plan, &answers, &verdicts, &quarantine)?;
        Ok(Figures::new(&proof, &answers, took, ready, peak))
    }
}

/// Lays out the private folder: the bundle, the config.
fn prepare(folder: &Path) -> Result<PathBuf, DemoError> {
    let file = |what, path: &Path| {
        let path = path.to_owned();
        move |error| DemoError::File { what, path, error }
    };
    let bundle = folder.join("card-fraud");
    shipped::unpack(&bundle).map_err(file("cannot write", &bundle))?;
    let config = folder.join("verdictd.toml");
    std::fs::write(&config, demo_config(folder, &bundle)).map_err(file("cannot write", &config))?;
    Ok(config)
}

/// One line of what is going on, for people; a script reads the table on standard output.
fn step(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    eprintln!("demo: {text}");
}

/// How often progress is looked at and shown.
const PROGRESS_EVERY: Duration = Duration::from_millis(20);
