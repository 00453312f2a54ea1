//! Child processes: the test binary running one of its own functions apart, and a watchdog over any child.
//!
//! A part that must live in a process of its own (it works on a file system that this process serves, or it
//! is to be killed) is a test marked `#[ignore]` that reads its task from the environment.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const TASK: &str = "VERDICTD_TEST_TASK";

/// A child that hangs is killed after this and the test fails. No promise about speed: far above any run.
pub const WATCHDOG: Duration = Duration::from_mins(2);

/// This test binary, to run its ignored test `name` with `task`.
pub fn part(name: &str, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test binary's path"));
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1", "--quiet"]).env(TASK, task);
    command
}

/// The task, where this process is such a child; None where someone ran the ignored tests by hand.
pub fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// Killed when dropped, so that no test leaves a process behind.
pub struct Guarded(pub Child);

impl Guarded {
    pub fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}")))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs to the end; None where the watchdog had to kill it.
pub fn run(command: &mut Command) -> Option<Finished> {
    let mut child = Guarded::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let stdout = collect(child.0.stdout.take());
    let stderr = collect(child.0.stderr.take());
    let status = wait(&mut child)?;
    Some(Finished { status, stdout: stdout(), stderr: stderr() })
}

/// Reads a pipe to its end on a thread, so that a full pipe blocks nobody; the text is fetched by the call.
fn collect(pipe: Option<impl Read + Send + 'static>) -> impl FnOnce() -> String {
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    move || reader.join().unwrap_or_default()
}

/// Waits for the child's end; None where the watchdog had to kill it.
pub fn wait(child: &mut Guarded) -> Option<ExitStatus> {
    poll(WATCHDOG, || child.0.try_wait().expect("a child that can be waited for"))
}

/// Asks until there is an answer, or until the watchdog's time is over.
pub fn poll<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() > end {
            return None;
        }
        // Only spares the processor; what is waited for is asked for.
        std::thread::park_timeout(Duration::from_millis(2));
    }
}
