//! TLS of a listener: OpenSSL, TLS 1.2 and 1.3, client certificates where an authority for them is given.

use super::{ListenError, TlsFiles};
use openssl::{
    error::ErrorStack,
    ssl::{AlpnError, Ssl, SslAcceptor, SslFiletype, SslMethod, SslVerifyMode, select_next_proto},
};
use std::{io, path::Path, pin::Pin};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

pub(super) fn acceptor(files: &TlsFiles) -> Result<SslAcceptor, ListenError> {
    let cert = failed("cert-file", &files.cert);
    let mut builder = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).map_err(&cert)?;
    builder.set_certificate_chain_file(&files.cert).map_err(&cert)?;
    let key = failed("key-file", &files.key);
    builder.set_private_key_file(&files.key, SslFiletype::PEM).map_err(&key)?;
    builder.check_private_key().map_err(&key)?;
    if let Some(path) = &files.client_ca {
        let ca = failed("client-ca-file", path);
        builder.set_ca_file(path).map_err(&ca)?;
        let names = openssl::x509::X509Name::load_client_ca_file(path).map_err(&ca)?;
        builder.set_client_ca_list(names);
        builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        // Without a session id context OpenSSL refuses to resume sessions that carry a client certificate.
        builder.set_session_id_context(b"verdictd").map_err(&ca)?;
    }
    builder.set_alpn_select_callback(|_, offered| select_next_proto(b"\x08http/1.1", offered).ok_or(AlpnError::NOACK));
    Ok(builder.build())
}

fn failed(what: &'static str, path: &Path) -> impl Fn(ErrorStack) -> ListenError {
    move |error| ListenError::Tls { what, path: path.to_owned(), error }
}

/// The server's handshake.
pub(super) async fn accept(acceptor: &SslAcceptor, stream: TcpStream) -> io::Result<SslStream<TcpStream>> {
    let ssl = Ssl::new(acceptor.context())?;
    let mut stream = SslStream::new(ssl, stream)?;
    std::future::poll_fn(|cx| Pin::new(&mut stream).poll_accept(cx)).await.map_err(io::Error::other)?;
    Ok(stream)
}
