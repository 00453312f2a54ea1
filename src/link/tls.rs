//! What a client shows and trusts, and reading a secret. Secrets stand in files of their own (a systemd
//! credential is one): never in the config, never in a log.

use std::io::Read;
use std::path::{Path, PathBuf};

/// A password or token is read from a file of at most this.
pub const SECRET_BYTES_MAX: usize = 4096;

/// The files of a TLS client. The other side's certificate is always verified, its name too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// Authorities that are trusted, PEM; without it the system's.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate and chain, PEM.
    pub cert_file: Option<PathBuf>,
    /// Its private key, PEM.
    pub key_file: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: expected one line of 1 to {SECRET_BYTES_MAX} bytes of UTF-8")]
    Shape { path: PathBuf },
}

/// A secret: the file's one line, without its end.
///
/// # Errors
/// When the file cannot be read or holds something else.
pub fn read_secret(path: &Path) -> Result<String, SecretError> {
    let fail = |source| SecretError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(SECRET_BYTES_MAX as u64 + 3).read_to_end(&mut bytes).map_err(fail)?;
    let text = String::from_utf8(bytes).map_err(|_| SecretError::Shape { path: path.to_owned() })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.len() > SECRET_BYTES_MAX || line.contains(['\n', '\r', '\0']) {
        return Err(SecretError::Shape { path: path.to_owned() });
    }
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_line_and_an_error_never_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let read = |content: &str| {
            std::fs::write(&path, content).unwrap();
            read_secret(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read("hunter2\n").unwrap(), "hunter2");
        assert_eq!(read(" with blanks \r\n").unwrap(), " with blanks ");
        for bad in ["", "\n", "two\nlines\n", &"x".repeat(SECRET_BYTES_MAX + 1)] {
            let error = read(bad).unwrap_err();
            assert!(error.contains("expected one line") && !error.contains("two"), "{error}");
        }
        assert!(read_secret(&dir.path().join("none")).is_err());
    }
}
