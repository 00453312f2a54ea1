//! How a command ends: what is said, and the exit code. The one place that maps outcomes to codes.

use crate::{config::Problems, ingest::ListenError, service::DaemonError, store::StoreError};
use std::io;

/// The codes that `verdictd` ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    Good = 0,
    /// The thing checked does not hold.
    DoesNotHold = 1,
    Usage = 64,
    Bug = 70,
    /// I/O of the state directory.
    Io = 74,
    Permission = 77,
    Config = 78,
}

impl ExitCode {
    pub const ALL: [Self; 7] =
        [Self::Good, Self::DoesNotHold, Self::Usage, Self::Bug, Self::Io, Self::Permission, Self::Config];

    /// What it means, for the manual.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Good => "Good.",
            Self::DoesNotHold => {
                "The thing checked does not hold: a damaged store, refused events, no daemon to ask, a bundle that is \
                 refused."
            }
            Self::Usage => "The command line, or a file named on it that is not there.",
            Self::Bug => "A bug of verdictd.",
            Self::Io => "Reading or writing failed: the state directory above all.",
            Self::Permission => "Permission denied.",
            Self::Config => {
                "The config; or another daemon holds the state directory, or its store is of a later release."
            }
        }
    }

    /// What to do about it, for the manual; empty where there is nothing to do.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Good => "",
            Self::DoesNotHold => "Look at what was printed.",
            Self::Usage => "See --help of the command.",
            Self::Bug => "Please report it with the log. What was answered before is durable.",
            Self::Io => {
                "The restart is the retry, and the packaged service does it. If it comes again, look at the disk \
                 (dmesg, df), or at the address to listen on."
            }
            Self::Permission => "Run it as the daemon's user, or give that user the right to the file that is named.",
            Self::Config => {
                "Run verdictd check, mend every line that it names, and start it; the packaged service is not started \
                 again by itself. Where another daemon holds the state directory, end that one."
            }
        }
    }
}

/// Of a command that has counted for itself; a code that is not ours is a bug.
impl From<u8> for ExitCode {
    fn from(code: u8) -> Self {
        Self::ALL.into_iter().find(|known| *known as u8 == code).unwrap_or(Self::Bug)
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

/// Why a command did not end well: the code, and what to say on stderr.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: ExitCode,
    /// Empty where everything has been said.
    pub message: String,
}

impl Failure {
    #[must_use]
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Everything has been said.
    #[must_use]
    pub fn said(code: ExitCode) -> Self {
        Self::new(code, "")
    }

    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    #[must_use]
    pub fn does_not_hold(message: impl Into<String>) -> Self {
        Self::new(ExitCode::DoesNotHold, message)
    }

    #[must_use]
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Config, message)
    }

    /// Writing a result failed. That nobody reads on (`| head`) is no failure.
    #[must_use]
    pub fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::said(ExitCode::Good),
            _ => Self::new(ExitCode::Io, format!("cannot write the result: {error}")),
        }
    }

    /// A file named on the command line cannot be read.
    #[must_use]
    pub fn input(what: &str, error: &io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::PermissionDenied => ExitCode::Permission,
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => ExitCode::Usage,
            _ => ExitCode::Io,
        };
        Self::new(code, format!("{what}: {error}"))
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let denied = |kind: io::ErrorKind| kind == io::ErrorKind::PermissionDenied;
        let code = match &error {
            DaemonError::Store(store) => code_of_store(store),
            DaemonError::Listen(ListenError::Io { error, .. }) | DaemonError::Secret { error, .. }
                if denied(error.kind()) =>
            {
                ExitCode::Permission
            }
            // What may be otherwise at the next start: an address that is not there yet, or not free yet.
            DaemonError::Listen(ListenError::Io { .. } | ListenError::InUse(_)) => ExitCode::Io,
            DaemonError::Build(_) | DaemonError::Listen(_) | DaemonError::Secret { .. } => ExitCode::Config,
            DaemonError::Activation(_) | DaemonError::Threads(_) | DaemonError::Bug(_) => ExitCode::Bug,
        };
        Self::new(code, error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(code_of_store(&error), error.to_string())
    }
}

fn code_of_store(error: &StoreError) -> ExitCode {
    match error {
        StoreError::Io { kind: io::ErrorKind::PermissionDenied, .. } => ExitCode::Permission,
        error if error.is_medium() => ExitCode::Io,
        // Another daemon has the directory, or it is of a later release.
        StoreError::Held { .. } | StoreError::NewerFormat { .. } => ExitCode::Config,
        _ => ExitCode::Bug,
    }
}

/// One line a fault.
impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::new(code_of(&problems), problems.to_string())
    }
}

/// 77 where permission is all that is missing, else 78.
pub(super) fn code_of(problems: &Problems) -> ExitCode {
    let permission = !problems.0.is_empty() && problems.0.iter().all(|problem| problem.permission);
    if permission { ExitCode::Permission } else { ExitCode::Config }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Problem;

    #[test]
    fn a_closed_pipe_ends_quietly_and_a_full_disk_does_not() {
        let closed = Failure::output(&io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.code, closed.message.as_str()), (ExitCode::Good, ""));
        assert_eq!(Failure::output(&io::ErrorKind::StorageFull.into()).code, ExitCode::Io);
    }

    #[test]
    fn permission_has_a_code_of_its_own_unless_more_is_wrong() {
        let denied = Problem { permission: true, ..Problem::of_file("/x", "cannot be read") };
        assert_eq!(Failure::from(Problems(vec![denied.clone()])).code, ExitCode::Permission);
        let other = Problem::of_file("/x", "not TOML");
        assert_eq!(Failure::from(Problems(vec![denied, other])).code, ExitCode::Config);
    }
}
