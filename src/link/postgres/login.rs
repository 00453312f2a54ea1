//! From an address to a connection that is logged in and set up.

use super::scram::{MECHANISM, Scram, ScramError};
use super::stream::Stream;
use super::wire::{self, Frame};
use super::{Address, Connection, Fault, fault};
use crate::link::{ClientTls, read_secret};
use bytes::{Buf, BufMut, Bytes};
use std::path::PathBuf;
use std::time::Duration;

/// How a client connects.
#[derive(Clone, Debug)]
pub struct Options {
    pub address: Address,
    pub password_file: Option<PathBuf>,
    /// None: nothing is encrypted.
    pub tls: Option<ClientTls>,
    /// What the server's own list of connections shows.
    pub application: String,
    /// How long connecting may take, and how long a statement.
    pub patience: Duration,
}

/// Connects, logs in and sets the session up.
///
/// # Errors
/// When any of it fails, or is not done within the time.
pub async fn connect(options: &Options) -> Result<Connection, Fault> {
    let address = &options.address;
    let named = |fault: Fault| Fault { text: format!("{address}: {}", fault.text), ..fault };
    let late = |_| Fault::link(format!("{address}: no connection within {:?}", options.patience));
    tokio::time::timeout(options.patience, open(options)).await.map_err(late)?.map_err(named)
}

async fn open(options: &Options) -> Result<Connection, Fault> {
    let password = options.password_file.as_deref().map(read_secret).transpose();
    let password = password.map_err(|error| Fault::configuration(format!("password-file: {error}")))?;
    let address = &options.address;
    let mut connection = Connection::over(Stream::open(options).await?, address.clone());
    let parameters = [
        ("user", address.user.as_str()),
        ("database", &address.database),
        ("client_encoding", "UTF8"),
        ("application_name", &options.application),
    ];
    wire::put_startup(connection.out(), &parameters);
    let mut scram = None;
    // Whatever the server asks for, one after the other, until it says that it is content.
    loop {
        let frame = said(&mut connection).await?;
        if frame.kind != b'R' {
            return Err(Fault::link("something else than a PostgreSQL server answers"));
        }
        if answer(&mut connection, frame.body, password.as_deref(), &mut scram)? {
            break;
        }
    }
    // What cancels a statement (K), until it is ready (Z).
    while said(&mut connection).await?.kind != b'Z' {}
    for sql in settings(options.patience) {
        connection.query(&sql, &[]).await?;
    }
    Ok(connection)
}

async fn said(connection: &mut Connection) -> Result<Frame, Fault> {
    let frame = connection.frame().await?;
    if frame.kind == b'E' { Err(fault::of_server(&frame.body)) } else { Ok(frame) }
}

/// Answers a question of the log-in; true where there is none more.
fn answer(
    connection: &mut Connection,
    mut body: Bytes,
    password: Option<&str>,
    scram: &mut Option<Scram>,
) -> Result<bool, Fault> {
    let asked = body.try_get_u32().unwrap_or(u32::MAX);
    let missing = || Fault::configuration("the server asks for a password, and no password-file is set");
    let failed = |error: ScramError| Fault::configuration(error.to_string());
    let text = || std::str::from_utf8(&body).unwrap_or_default();
    match (asked, scram) {
        // A log-in that was begun ends with the server's proof.
        (0, Some(_)) => Err(failed(ScramError::Proof)),
        (0, None) => Ok(true),
        (3, _) => {
            if !connection.is_private() {
                let why = "the server asks for the password in the clear, and there is no TLS; set tls, or have the \
                           server use scram-sha-256";
                return Err(Fault::configuration(why));
            }
            let password = password.ok_or_else(missing)?;
            wire::put(connection.out(), b'p', |out| wire::put_text(out, password));
            Ok(false)
        }
        (5, _) => {
            let why =
                "the server asks for an MD5 of the password, which protects it no more; have it use scram-sha-256";
            Err(Fault::configuration(why))
        }
        (10, scram) if text().split('\0').any(|offered| offered == MECHANISM) => {
            let begun = Scram::new(password.ok_or_else(missing)?).map_err(failed)?;
            let first = begun.first();
            *scram = Some(begun);
            wire::put(connection.out(), b'p', |out| {
                wire::put_text(out, MECHANISM);
                wire::put_value(&first, out);
            });
            Ok(false)
        }
        (11, Some(scram)) => {
            let last = scram.last(text()).map_err(failed)?;
            wire::put(connection.out(), b'p', |out| out.put_slice(last.as_bytes()));
            Ok(false)
        }
        (12, scram @ Some(_)) => {
            let proven = scram.take().map_or(Err(ScramError::Form), |mut scram| scram.finish(text()));
            proven.map(|()| false).map_err(failed)
        }
        (other, _) => {
            Err(Fault::configuration(format!("the server asks for a log-in of a kind unknown here ({other})")))
        }
    }
}

/// A confirmed row is to be a durable one, so that `off` is not left; whatever waits longer, for standbys, stays.
fn settings(patience: Duration) -> [String; 3] {
    [
        format!("SET statement_timeout = {}", patience.as_millis()),
        "SET client_min_messages = error".to_owned(),
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
            .to_owned(),
    ]
}
