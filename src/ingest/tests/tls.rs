//! TLS with certificates made here.

use super::{
    super::{ListenError, ListenOptions, Listener, TlsFiles},
    listeners::{connect_tcp, start, tcp},
    peer::{Peer, event},
};
use openssl::{
    asn1::Asn1Time,
    bn::BigNum,
    ec::{EcGroup, EcKey},
    hash::MessageDigest,
    nid::Nid,
    pkey::{PKey, Private},
    ssl::{SslConnector, SslMethod},
    x509::{
        X509, X509NameBuilder,
        extension::{BasicConstraints, SubjectAlternativeName},
    },
};
use std::{fs, io, path::Path, pin::Pin};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

/// A certificate and its key; its own authority where none is given.
fn certificate(issuer: Option<&(X509, PKey<Private>)>) -> (X509, PKey<Private>) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", if issuer.is_some() { "localhost" } else { "test authority" }).unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(issuer.map_or(&name, |(x509, _)| x509.subject_name())).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    if issuer.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    }
    let context = builder.x509v3_context(None, None);
    let alternative = SubjectAlternativeName::new().dns("localhost").ip("127.0.0.1").build(&context).unwrap();
    builder.append_extension(alternative).unwrap();
    builder.sign(issuer.map_or(&key, |(_, key)| key), MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

/// Writes authority, server and client files; the server's options.
pub fn files(dir: &Path) -> TlsFiles {
    let authority = certificate(None);
    fs::write(dir.join("ca.pem"), authority.0.to_pem().unwrap()).unwrap();
    for name in ["server", "client"] {
        let (x509, key) = certificate(Some(&authority));
        fs::write(dir.join(format!("{name}.pem")), x509.to_pem().unwrap()).unwrap();
        fs::write(dir.join(format!("{name}.key")), key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    }
    TlsFiles { cert: dir.join("server.pem"), key: dir.join("server.key"), client_ca: None }
}

async fn connect(stream: TcpStream, dir: &Path, client: bool) -> io::Result<Peer<SslStream<TcpStream>>> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    builder.set_ca_file(dir.join("ca.pem"))?;
    if client {
        builder.set_certificate_chain_file(dir.join("client.pem"))?;
        builder.set_private_key_file(dir.join("client.key"), openssl::ssl::SslFiletype::PEM)?;
    }
    let ssl = builder.build().configure()?.into_ssl("localhost")?;
    let mut stream = SslStream::new(ssl, stream)?;
    std::future::poll_fn(|cx| Pin::new(&mut stream).poll_connect(cx)).await.map_err(io::Error::other)?;
    Ok(Peer::new(stream))
}

#[tokio::test]
async fn events_come_over_tls_and_not_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let options = ListenOptions { tls: Some(files(dir.path())), ..tcp() };
    let served = start(&options).unwrap();
    let mut peer = connect(connect_tcp(&served.listen).await, dir.path(), false).await.unwrap();
    for n in 0..3 {
        assert_eq!(peer.ask(&event(&n.to_string())).await.status, 200);
    }
    let mut plain = Peer::new(connect_tcp(&served.listen).await);
    plain.send(&event("9")).await;
    assert!(plain_is_refused(&mut plain).await);
    assert_eq!(peer.ask(&event("10")).await.status, 200);
}

/// The server answers with a TLS alert or nothing, never with HTTP.
async fn plain_is_refused(plain: &mut Peer<TcpStream>) -> bool {
    use tokio::io::AsyncReadExt;
    let mut answer = Vec::new();
    let _ = plain.stream.read_to_end(&mut answer).await;
    !answer.starts_with(b"HTTP")
}

#[tokio::test]
async fn with_a_client_authority_only_its_clients_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let tls = TlsFiles { client_ca: Some(dir.path().join("ca.pem")), ..files(dir.path()) };
    let served = start(&ListenOptions { tls: Some(tls), ..tcp() }).unwrap();
    let mut known = connect(connect_tcp(&served.listen).await, dir.path(), true).await.unwrap();
    assert_eq!(known.ask(&event("1")).await.status, 200);
    // TLS 1.3 tells the client of the refusal only at its first read.
    if let Ok(mut unknown) = connect(connect_tcp(&served.listen).await, dir.path(), false).await {
        use tokio::io::AsyncWriteExt;
        let _ = unknown.stream.write_all(event("2").as_bytes()).await;
        assert!(unknown.ended().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_does_not_come_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let options = ListenOptions { tls: Some(files(dir.path())), ..tcp() };
    let served = start(&options).unwrap();
    let mut silent = Peer::new(connect_tcp(&served.listen).await);
    assert!(silent.ended().await);
}

#[tokio::test]
async fn files_that_do_not_fit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let good = files(dir.path());
    let bind = |tls: TlsFiles| Listener::bind(&ListenOptions { tls: Some(tls), ..tcp() });
    let named = |result: Result<Listener, ListenError>, expected: &str| match result {
        Err(ListenError::Tls { what, .. }) => assert_eq!(what, expected),
        other => panic!("{:?}", other.err()),
    };
    named(bind(TlsFiles { cert: dir.path().join("none"), ..good.clone() }), "cert-file");
    named(bind(TlsFiles { key: dir.path().join("client.key"), ..good.clone() }), "key-file");
    named(bind(TlsFiles { key: dir.path().join("ca.pem"), ..good.clone() }), "key-file");
    named(bind(TlsFiles { client_ca: Some(dir.path().join("server.key")), ..good }), "client-ca-file");
}
