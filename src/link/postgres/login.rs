//! From an address to a connection that is logged in and set up.

use super::bounded::Bounded;
use super::stream::Stream;
use super::tls::Handshake;
use super::{Address, Connection, Fault, Place, fault};
use crate::link::{ClientTls, read_secret};
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Error, NoTls};

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
    let mut config = tokio_postgres::Config::new();
    config.user(&address.user).dbname(&address.database).application_name(&options.application);
    config.ssl_mode(if options.tls.is_some() { SslMode::Require } else { SslMode::Disable });
    if let Some(password) = password {
        config.password(password);
    }
    let refused = |error: Error| fault::of_login(&error);
    let (client, driver): (Client, JoinHandle<Result<(), Error>>) =
        match (Stream::open(&address.place).await?, &options.tls) {
            (Stream::Tcp(stream), Some(files)) => {
                let Place::Tcp { host, .. } = &address.place else {
                    return Err(Fault::configuration("tls is for TCP"));
                };
                let handshake = Handshake { files: files.clone(), host: host.clone() };
                let (client, driver) = config.connect_raw(Bounded::new(stream), handshake).await.map_err(refused)?;
                (client, tokio::spawn(driver))
            }
            (Stream::Tcp(stream), None) => {
                let (client, driver) = config.connect_raw(Bounded::new(stream), NoTls).await.map_err(refused)?;
                (client, tokio::spawn(driver))
            }
            (Stream::Unix(stream), _) => {
                // Nobody between here and the server can listen.
                config.ssl_mode(SslMode::Disable);
                let (client, driver) = config.connect_raw(Bounded::new(stream), NoTls).await.map_err(refused)?;
                (client, tokio::spawn(driver))
            }
        };
    let mut connection = Connection::over(client, driver, address.clone());
    for sql in settings(options.patience) {
        connection.query(&sql, &[]).await?;
    }
    Ok(connection)
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
