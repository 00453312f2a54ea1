//! TLS to a broker: OpenSSL, 1.2 and 1.3, the broker's certificate and name always verified.

use super::MqttError;
use crate::link::ClientTls;
use openssl::ssl::{ErrorCode, SslConnector, SslFiletype, SslMethod, SslVerifyMode};
use openssl::x509::X509VerifyResult;
use std::io;
use std::path::Path;
use std::pin::Pin;
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

/// Where systems keep the authorities they trust: the library is built in and knows no system's place.
const SYSTEM_CA_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Reads the files anew, so that renewed certificates need no restart.
fn connector(files: &ClientTls) -> Result<SslConnector, MqttError> {
    let failed =
        |what: &'static str, path: &Path, reason: String| MqttError::TlsFile { what, path: path.to_owned(), reason };
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

/// The client's handshake.
pub(super) async fn connect(
    files: &ClientTls,
    host: &str,
    address: &str,
    stream: TcpStream,
) -> Result<SslStream<TcpStream>, MqttError> {
    let tls = |reason: String| MqttError::Tls { address: address.to_owned(), reason };
    let ssl = connector(files)?.configure().and_then(|configured| configured.into_ssl(host));
    let mut stream = ssl.and_then(|ssl| SslStream::new(ssl, stream)).map_err(|error| tls(error.to_string()))?;
    let shaken = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_connect(cx)).await;
    match shaken {
        Ok(()) => Ok(stream),
        Err(error) => {
            let verified = stream.ssl().verify_result();
            if verified != X509VerifyResult::OK {
                return Err(tls(format!("the broker's certificate is not accepted: {}", verified.error_string())));
            }
            Err(match error.code() {
                ErrorCode::SSL => tls(error.to_string()),
                ErrorCode::ZERO_RETURN => MqttError::Closed,
                _ => MqttError::Io(error.into_io_error().unwrap_or_else(|_| io::ErrorKind::UnexpectedEof.into())),
            })
        }
    }
}

/// Whether a failed read or write was TLS's doing, such as the broker's word that our certificate is none it
/// knows, which with TLS 1.3 comes after the handshake.
pub(super) fn of_tls(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<openssl::ssl::Error>()?;
    inner.ssl_error().map(ToString::to_string)
}
