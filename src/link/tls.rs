//! A client's TLS, and reading a secret. Secrets stand in files of their own (a systemd credential is one): never in
//! the config, never in a log.
//!
//! TLS is OpenSSL's, 1.2 and 1.3; the other side's certificate and name are always verified. Files are read anew for
//! each connection, so that renewed certificates need no restart.

use openssl::ssl::{ErrorCode, SslConnector, SslFiletype, SslMethod, SslVerifyMode};
use openssl::x509::X509VerifyResult;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

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

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{what} {path}: {reason}", path = path.display())]
    File { what: &'static str, path: PathBuf, reason: String },
    /// The certificates or the versions do not fit, on either side.
    #[error("TLS: {0}")]
    Refused(String),
    #[error("the other side closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Io(io::Error),
}

/// Where systems keep the authorities they trust: the library is built in and knows no system's place.
const SYSTEM_CA_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A client as these files have it.
///
/// # Errors
/// When a file cannot be used.
pub fn connector(files: &ClientTls) -> Result<SslConnector, TlsError> {
    let failed =
        |what: &'static str, path: &Path, reason: String| TlsError::File { what, path: path.to_owned(), reason };
    let at = |what, path: &Path| {
        let path = path.to_owned();
        move |error: openssl::error::ErrorStack| failed(what, &path, error.to_string())
    };
    let nowhere = Path::new("");
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(at("TLS", nowhere))?;
    builder.set_verify(SslVerifyMode::PEER);
    let of_system = || SYSTEM_CA_FILES.into_iter().map(Path::new).find(|path| path.exists());
    let path = files.ca_file.as_deref().or_else(of_system);
    let path = path.ok_or_else(|| failed("ca-file", nowhere, "the system has none; give one".to_owned()))?;
    builder.set_ca_file(path).map_err(at("ca-file", path))?;
    if let Some(path) = &files.cert_file {
        builder.set_certificate_chain_file(path).map_err(at("cert-file", path))?;
        let key = files.key_file.as_ref().unwrap_or(path);
        builder.set_private_key_file(key, SslFiletype::PEM).map_err(at("key-file", key))?;
        builder.check_private_key().map_err(at("key-file", key))?;
    }
    Ok(builder.build())
}

/// The client's handshake with the server of that name.
///
/// # Errors
/// When the files cannot be used, the certificate is not accepted, or the connection breaks.
pub async fn connect(files: &ClientTls, host: &str, stream: TcpStream) -> Result<SslStream<TcpStream>, TlsError> {
    let refused = |error: openssl::error::ErrorStack| TlsError::Refused(error.to_string());
    let ssl = connector(files)?.configure().and_then(|configured| configured.into_ssl(host));
    let mut stream = ssl.and_then(|ssl| SslStream::new(ssl, stream)).map_err(refused)?;
    let Err(error) = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_connect(cx)).await else {
        return Ok(stream);
    };
    let verified = stream.ssl().verify_result();
    if verified != X509VerifyResult::OK {
        return Err(TlsError::Refused(format!("its certificate is not accepted: {}", verified.error_string())));
    }
    Err(match error.code() {
        ErrorCode::SSL => TlsError::Refused(error.to_string()),
        ErrorCode::ZERO_RETURN => TlsError::Closed,
        _ => TlsError::Io(error.into_io_error().unwrap_or_else(|_| io::ErrorKind::UnexpectedEof.into())),
    })
}

/// Whether a failed read or write was TLS's doing, such as the other side's word that our certificate is none it
/// knows, which with TLS 1.3 comes after the handshake.
#[must_use]
pub fn refused_later(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<openssl::ssl::Error>()?;
    inner.ssl_error().map(ToString::to_string)
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
