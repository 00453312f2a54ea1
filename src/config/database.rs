//! Where a PostgreSQL database is: `postgres://user@host:5432/database`, or by a Unix socket's folder
//! `postgres://user@/database?host=/run/postgresql`.
//!
//! A password has no place in it, because `check` and `status` show it.

use super::broker::HostPort;
use crate::link::postgres::{Address, Place};
use percent_encoding::percent_decode_str;

/// PostgreSQL's usual port, also in the name of its Unix socket.
const PORT: u16 = 5432;
/// Longest folder: a socket's path has 107 bytes, its name among them.
const FOLDER_BYTES_MAX: usize = 90;

#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum UrlError {
    #[error(
        "\"postgres://USER@HOST/DATABASE\", with a port after a colon where it is not 5432, or \
         \"postgres://USER@/DATABASE?host=/FOLDER/OF/THE/SOCKET\""
    )]
    Url,
    #[error("no password in it: it is taken only from a file (password-file)")]
    Password,
    #[error(
        "nothing after the database but host (a folder, where no host is before it) and port; tls is a key of its own"
    )]
    Parameter,
    #[error("the absolute path of the folder where the server's Unix socket is, of at most {FOLDER_BYTES_MAX} bytes")]
    Folder,
    #[error("{0}")]
    Host(String),
}

/// Reads the URL.
///
/// # Errors
/// With what was expected.
pub(super) fn postgres_url(text: &str) -> Result<Address, UrlError> {
    let (scheme, rest) = text.split_once("://").ok_or(UrlError::Url)?;
    if !["postgres", "postgresql"].contains(&scheme) {
        return Err(UrlError::Url);
    }
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').ok_or(UrlError::Url)?;
    let (user, host) = authority.rsplit_once('@').ok_or(UrlError::Url)?;
    if user.contains(':') {
        return Err(UrlError::Password);
    }
    let (user, database) = (decoded(user)?, decoded(database)?);
    let (mut folder, mut port) = (None, None);
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("host", value)) if host.is_empty() && folder.is_none() => folder = Some(decoded(value)?),
            Some(("port", value)) if host.is_empty() && port.is_none() => {
                port = Some(value.parse::<u16>().ok().filter(|port| *port > 0).ok_or(UrlError::Parameter)?);
            }
            Some(("password", _)) => return Err(UrlError::Password),
            _ => return Err(UrlError::Parameter),
        }
    }
    let place = if host.is_empty() {
        let folder = folder.filter(|folder| folder.starts_with('/') && folder.len() <= FOLDER_BYTES_MAX);
        Place::Unix { folder: folder.ok_or(UrlError::Folder)?.into(), port: port.unwrap_or(PORT) }
    } else {
        let HostPort { host, port } = HostPort::parse(host, Some(PORT))
            .map_err(|error| UrlError::Host(error.to_string().replace("9092", "5432")))?;
        Place::Tcp { host, port }
    };
    Ok(Address { place, user, database })
}

/// A part without its percents; it must hold something, and no NUL.
fn decoded(text: &str) -> Result<String, UrlError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| UrlError::Url)?;
    if decoded.is_empty() || decoded.contains('\0') { Err(UrlError::Url) } else { Ok(decoded.into_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_or_the_folder_of_a_socket_is_read() {
        let address = |text| {
            let address = postgres_url(text).unwrap();
            (address.to_string(), address.user)
        };
        let of = |place: &str, user: &str| (place.to_owned(), user.to_owned());
        assert_eq!(address("postgres://verdictd@db.site/bank"), of("db.site:5432/bank", "verdictd"));
        assert_eq!(address("postgresql://v%40x@[::1]:5433/a%2Fb"), of("[::1]:5433/a/b", "v@x"));
        assert_eq!(address("postgres://v@/bank?host=/run/postgresql"), of("/run/postgresql:5432/bank", "v"));
        assert_eq!(address("postgres://v@/bank?port=5433&host=%2Frun"), of("/run:5433/bank", "v"));
    }

    #[test]
    fn what_is_no_place_is_refused_with_what_was_expected() {
        use UrlError::{Folder, Parameter, Password, Url};
        let cases = [
            (Url, "mysql://v@h/d postgres:v@h/d postgres://h/d postgres://v@h postgres://v@h/ postgres://@h/d"),
            (Url, "postgres://v%00@h/d postgres://v@h/%ff"),
            (Password, "postgres://v:secret@h/d postgres://v@h/d?password=x"),
            (Parameter, "postgres://v@h/d?sslmode=require postgres://v@h/d?host=/run postgres://v@/d?host=/run&port=0"),
            (Folder, "postgres://v@/d postgres://v@/d?host=run"),
        ];
        for (expected, texts) in cases {
            for text in texts.split(' ') {
                assert_eq!(postgres_url(text), Err(expected.clone()), "{text}");
            }
        }
        assert!(matches!(postgres_url("postgres://v@h:99999/d"), Err(UrlError::Host(_))));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "(postgres://)?[\\[\\]:@a-z0-9./?&=%é-]*") {
            let _ = postgres_url(&text);
        }
    }
}
