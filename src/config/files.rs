//! The files that a config names: whether they are there, can be read, and are what they should be.

use super::{Origin, Problem, section::Reader};
use crate::link::{SECRET_BYTES_MAX, SecretError, read_secret};
use openssl::{pkey::PKey, x509::X509};
use std::{
    fs,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Greatest secret, certificate or key file.
pub const SECRET_FILE_BYTES_MAX: u64 = 1 << 20;
/// Shortest key for an HMAC: under it guessing is cheaper than it should be.
pub const HMAC_KEY_BYTES_MIN: usize = 16;

/// Shortest and longest token.
pub const TOKEN_BYTES_MIN: usize = 16;
pub const TOKEN_BYTES_MAX: usize = 4096;

/// A file that a key names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// The key's whole path.
    pub key: String,
    pub path: PathBuf,
    pub origin: Origin,
}

/// Reads the token of a `token-file`: its one line, without the line end.
///
/// # Errors
/// When the file cannot be read or its line is too short, too long, or of characters that no header can carry.
pub fn read_token(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read(path)?).map_err(|_| invalid("a token in ASCII"))?;
    let token = text.trim_end_matches(['\n', '\r']);
    let fits = (TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&token.len());
    if !fits || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(invalid(&format!(
            "one line with a token of {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} visible ASCII characters"
        )));
    }
    Ok(token.to_owned())
}

/// Reads the key of an `hmac-key-file`: all its bytes, without one final line end.
///
/// # Errors
/// When the file cannot be read or has fewer than [`HMAC_KEY_BYTES_MIN`] bytes.
pub fn read_hmac_key(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = read(path)?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.len() < HMAC_KEY_BYTES_MIN {
        return Err(invalid(&format!("a key of at least {HMAC_KEY_BYTES_MIN} bytes")));
    }
    Ok(bytes)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(SECRET_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn invalid(expected: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected {expected}"))
}

/// Notes faults of every file named, and warns of secrets that everyone can read.
pub(super) fn check(reader: &mut Reader) {
    for named in std::mem::take(&mut reader.named) {
        let result = match named.key.rsplit('.').next().unwrap_or_default() {
            "token-file" => read_token(&named.path).map(drop),
            "hmac-key-file" => read_hmac_key(&named.path).map(drop),
            "password-file" => match read_secret(&named.path) {
                Ok(_) => Ok(()),
                Err(SecretError::Io { source, .. }) => Err(source),
                Err(SecretError::Shape { .. }) => {
                    Err(invalid(&format!("one line with a password of 1 to {SECRET_BYTES_MAX} bytes")))
                }
            },
            "cert-file" | "client-ca-file" | "ca-file" => certificates(&named.path),
            "key-file" => private_key(&named.path),
            // The bundle is loaded by who can judge it.
            "bundle" | "shadow" => continue,
            _ => read(&named.path).map(drop),
        };
        let secret =
            ["token-file", "hmac-key-file", "key-file", "password-file"].iter().any(|s| named.key.ends_with(s));
        match result {
            Ok(()) if secret => warn_if_open(reader, &named),
            Ok(()) => {}
            Err(error) => {
                let shown = named.path.display();
                let message = match error.kind() {
                    io::ErrorKind::InvalidData => format!("{}: in {shown}: {error}", named.key),
                    io::ErrorKind::NotFound => format!("{}: there is no file {shown}", named.key),
                    _ => format!("{}: {shown} cannot be read: {error}", named.key),
                };
                let mut problem =
                    Problem::at(&named.origin, &named.key, message).with("a readable file", shown.to_string());
                problem.permission = error.kind() == io::ErrorKind::PermissionDenied;
                reader.problems.push(problem);
            }
        }
    }
}

fn certificates(path: &Path) -> io::Result<()> {
    match X509::stack_from_pem(&read(path)?) {
        Ok(stack) if !stack.is_empty() => Ok(()),
        _ => Err(invalid("a certificate in PEM (-----BEGIN CERTIFICATE-----)")),
    }
}

fn private_key(path: &Path) -> io::Result<()> {
    // The call-back keeps OpenSSL from asking for a passphrase on the terminal.
    match PKey::private_key_from_pem_callback(&read(path)?, |_| Ok(0)) {
        Ok(_) => Ok(()),
        Err(_) => Err(invalid("a private key in PEM without a passphrase (-----BEGIN PRIVATE KEY-----)")),
    }
}

fn warn_if_open(reader: &mut Reader, named: &Named) {
    let Ok(metadata) = fs::metadata(&named.path) else { return };
    if metadata.permissions().mode() & 0o004 != 0 {
        let message = format!("{}: everyone can read {}; expected mode 0640 or less", named.key, named.path.display());
        reader.warnings.push(Problem::at(&named.origin, &named.key, message));
    }
}
