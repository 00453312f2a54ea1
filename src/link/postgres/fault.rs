//! What a server's refusal means, by its SQLSTATE.

use crate::link::Trouble;
use crate::link::tls::TlsError;
use std::io;
use tokio_postgres::Error;
use tokio_postgres::error::DbError;

/// Of a server's words so many bytes are kept.
pub const TEXT_BYTES_MAX: usize = 1024;

/// Why there is no connection, or why a statement did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub trouble: Trouble,
    pub text: String,
}

impl Fault {
    /// The weather of a link or a server.
    #[must_use]
    pub fn link(text: impl Into<String>) -> Self {
        Self { trouble: Trouble::Transient, text: short(&text.into()) }
    }

    /// What only a person can mend.
    #[must_use]
    pub fn configuration(text: impl Into<String>) -> Self {
        Self { trouble: Trouble::Configuration, text: short(&text.into()) }
    }
}

/// Why a statement was not done, or its connection ended.
pub(super) fn of(error: &Error) -> Fault {
    of_causes(error).unwrap_or_else(|| Fault::link(told(error)))
}

/// Why a log-in did not end well: what neither the server said nor the link did is of what both were told.
pub(super) fn of_login(error: &Error) -> Fault {
    let closed = || Fault::link("the server closed the connection");
    of_causes(error).unwrap_or_else(|| if error.is_closed() { closed() } else { Fault::configuration(told(error)) })
}

fn of_causes(error: &Error) -> Option<Fault> {
    if let Some(said) = error.as_db_error() {
        return Some(of_server(said));
    }
    causes(error).find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return Some(of_io(error));
        }
        match cause.downcast_ref::<TlsError>()? {
            TlsError::Io(error) => Some(of_io(error)),
            TlsError::Closed => Some(Fault::link(cause.to_string())),
            other => Some(Fault::configuration(other.to_string())),
        }
    })
}

fn causes(error: &Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |cause| cause.source())
}

/// The error with what lies below it.
fn told(error: &Error) -> String {
    causes(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// What a server says against a statement or a log-in. Its details are left out: they quote rows.
fn of_server(said: &DbError) -> Fault {
    let column = said.column().map(|name| format!(", column {name}"));
    let constraint = said.constraint().map(|name| format!(", constraint {name}"));
    let place = column.or(constraint).unwrap_or_default();
    let code = said.code().code();
    // A row for which a partitioned table has no partition: of the table, and so of every row to come.
    let no_place = code == "23514" && said.constraint().is_none();
    Fault {
        trouble: if no_place { Trouble::Configuration } else { trouble(code) },
        text: format!("{} (SQLSTATE {}{})", short(said.message()), short(code), short(&place)),
    }
}

/// Why the connection broke.
fn of_io(error: &io::Error) -> Fault {
    match crate::link::tls::refused_later(error) {
        Some(reason) => Fault::configuration(format!("TLS: {reason}")),
        None => Fault::link(error.to_string()),
    }
}

/// What is to be done about a SQLSTATE. Whatever is not known is tried again: nothing is lost by that.
fn trouble(code: &str) -> Trouble {
    let class = code.get(..2).unwrap_or_default();
    match (class, code) {
        // A value that the column cannot hold, a constraint against it, a trigger that refuses it, too large for an
        // index: of this row, as long as others pass.
        ("22" | "23" | "54" | "P0", _) => Trouble::Poison,
        // Log-in, database, names, types, rights, what this server cannot do; a function of the site's own that fails;
        // syntax and names of the mapping (42); a key that is looked at only at the end of a transaction (55000).
        ("28" | "3D" | "3F" | "0A" | "0L" | "0P" | "2F" | "38" | "39" | "42", _) | (_, "55000") => {
            Trouble::Configuration
        }
        _ => Trouble::Transient,
    }
}

/// The first bytes, whole characters, on one line.
fn short(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let kept = text.get(..end).unwrap_or_default();
    let line = kept.replace(char::is_control, " ");
    if end < text.len() { line + " …" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlstate_says_who_can_mend_it() {
        use Trouble::{Configuration, Poison, Transient};
        let cases = [
            // Connection broken, shut down, starting up, too many clients, disk full, out of memory.
            (Transient, "08006 08001 08P01 57P01 57P02 57P03 53300 53100 53200 58030"),
            // Serialisation, deadlock, a lock not had in time, cancelled, read-only after a failover.
            (Transient, "40001 40P01 55P03 57014 25006 XX000 99999"),
            (Configuration, "55000 28P01 28000 3D000 3F000 42P01 42501 42703 42P10 42804 0A000"),
            (Poison, "22P02 22021 22P05 22003 23502 23503 23505 23514 54000 P0001"),
        ];
        for (expected, codes) in cases {
            for code in codes.split(' ') {
                assert_eq!(trouble(code), expected, "{code}");
            }
        }
        assert_eq!(trouble(""), Transient);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_has_one_line() {
        assert_eq!(short("a\nb"), "a b");
        let text = short(&"é".repeat(TEXT_BYTES_MAX));
        assert!(text.len() <= TEXT_BYTES_MAX + 4 && text.ends_with("é …"), "{text}");
    }
}
