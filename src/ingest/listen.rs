//! Where a listener listens, who may reach it, and binding it.
//!
//! - `unix:/path`: a socket file, 0660 by default. A file left behind is replaced only when it is a socket
//!   on which nobody answers; at the end the file is removed if it is still ours.
//! - `address:port`: TCP. Outside loopback it needs TLS, and a token or client certificates on top
//!   ([`ListenOptions::check`]).

use super::{
    Limits,
    accept::{Connections, Places},
    tls,
};
use crate::listen::Listen;
use openssl::ssl::SslAcceptor;
use std::{
    fs, io,
    net::SocketAddr,
    os::fd::OwnedFd,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixSocket};

/// The backlog of connections not yet accepted.
const BACKLOG: u32 = 1024;
/// A token is read from a file of at most this.
const TOKEN_BYTES_MAX: u64 = 4096;
/// And it has at least so many characters.
const TOKEN_BYTES_MIN: usize = 16;

/// The files that TLS needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and its chain, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// With it, only clients with a certificate of one of these authorities are served.
    pub client_ca: Option<PathBuf>,
}

/// All that a listener is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    pub listen: Listen,
    /// Mode of the socket file, 0o660 as a rule.
    pub socket_mode: u32,
    /// Group of the socket file: a name of `/etc/group`, or a number.
    pub socket_group: Option<String>,
    pub tls: Option<TlsFiles>,
    /// A file with the bearer token that each request must carry.
    pub token_file: Option<PathBuf>,
    pub limits: Limits,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "{0} is reachable from outside this machine: it needs tls, and token-file or tls.client-ca-file with it; \
         or listen on loopback or a Unix socket"
    )]
    Open(Listen),
    #[error("tls is for TCP, {0} is a Unix socket")]
    TlsOnUnix(Listen),
    #[error("socket-mode is within 0o600 to 0o777, as 0o660, not {0:#o}")]
    Mode(u32),
    #[error("socket-group: expected a group of /etc/group or a number, not {0:?}")]
    Group(String),
    #[error("expected a listening stream socket, on a path or an address, from the supervisor")]
    NotListening,
    #[error("{0} is in use by another process")]
    InUse(Listen),
    #[error("{0} exists and is not a socket: remove it, or listen elsewhere")]
    NotASocket(PathBuf),
    #[error("cannot listen on {listen}: {error}")]
    Io { listen: Listen, error: io::Error },
    #[error("token-file {path}: {error}")]
    TokenFile { path: PathBuf, error: io::Error },
    #[error("token-file {path}: expected one line of {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} visible ASCII characters")]
    Token { path: PathBuf },
    #[error("tls: {what} {path}: {error}")]
    Tls { what: &'static str, path: PathBuf, error: openssl::error::ErrorStack },
}

impl ListenOptions {
    /// The defaults for an address.
    #[must_use]
    pub fn new(listen: Listen) -> Self {
        Self { listen, socket_mode: 0o660, socket_group: None, tls: None, token_file: None, limits: Limits::default() }
    }

    /// The rules that need no look at the machine.
    ///
    /// # Errors
    /// When the listener would be open to whoever reaches it, or the options contradict each other.
    pub fn check(&self) -> Result<(), ListenError> {
        let unix = matches!(self.listen, Listen::Unix(_));
        if unix && self.tls.is_some() {
            return Err(ListenError::TlsOnUnix(self.listen.clone()));
        }
        if unix && (self.socket_mode & !0o777 != 0 || self.socket_mode & 0o600 != 0o600) {
            return Err(ListenError::Mode(self.socket_mode));
        }
        let knows_clients = self.token_file.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        if !self.listen.is_local() && (self.tls.is_none() || !knows_clients) {
            return Err(ListenError::Open(self.listen.clone()));
        }
        Ok(())
    }
}

pub(super) enum Bound {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// A bound listener, ready for [`serve`](super::serve).
pub struct Listener {
    pub(super) bound: Bound,
    pub(super) tls: Option<SslAcceptor>,
    pub(super) token: Option<Box<[u8]>>,
    pub(super) limits: Limits,
    pub(super) connections: Arc<Connections>,
    pub(super) places: Places,
    pub(super) address: Listen,
    /// Removes the socket file when it falls.
    _file: Option<SocketFile>,
}

impl Listener {
    /// Binds, within a tokio runtime.
    ///
    /// # Errors
    /// When the rules of [`ListenOptions::check`] or the machine do not allow it.
    pub fn bind(options: &ListenOptions) -> Result<Self, ListenError> {
        options.check()?;
        let token = options.token_file.as_deref().map(read_token).transpose()?;
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let (bound, address, file) = match &options.listen {
            Listen::Unix(path) => {
                let (listener, file) = bind_unix(path, options)?;
                (Bound::Unix(listener), options.listen.clone(), Some(file))
            }
            Listen::Tcp(address) => {
                let (listener, at) = bind_tcp(*address).map_err(|error| io_error(&options.listen, error))?;
                (Bound::Tcp(listener), Listen::Tcp(at), None)
            }
        };
        let connections = Arc::default();
        let limits = options.limits.clone();
        let places = Places::new(limits.connections_max);
        Ok(Self { bound, tls, token, limits, connections, places, address, _file: file })
    }

    /// Takes over a socket that somebody listens on for us: bound, with its mode and group, by a supervisor that keeps
    /// it open, so that callers wait while nobody serves it. `options.listen` gives way to where it really listens.
    ///
    /// # Errors
    /// When it is no listening stream socket, or the rules of [`ListenOptions::check`] forbid it.
    pub fn adopt(options: &ListenOptions, descriptor: OwnedFd) -> Result<Self, ListenError> {
        let failed = |error| io_error(&options.listen, error);
        let socket = socket2::Socket::from(descriptor);
        let listen = listening(&socket).map_err(failed)?.ok_or(ListenError::NotListening)?;
        let options = ListenOptions { listen, ..options.clone() };
        options.check()?;
        let token = options.token_file.as_deref().map(read_token).transpose()?;
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        socket.set_nonblocking(true).map_err(failed)?;
        let bound = match &options.listen {
            Listen::Unix(_) => Bound::Unix(UnixListener::from_std(OwnedFd::from(socket).into()).map_err(failed)?),
            Listen::Tcp(_) => Bound::Tcp(TcpListener::from_std(OwnedFd::from(socket).into()).map_err(failed)?),
        };
        let places = Places::new(options.limits.connections_max);
        let (address, limits) = (options.listen, options.limits);
        Ok(Self { bound, tls, token, limits, connections: Arc::default(), places, address, _file: None })
    }

    /// The same, with its connections among those of all listeners that share `places`.
    #[must_use]
    pub fn sharing(self, places: &Places) -> Self {
        Self { places: places.clone(), ..self }
    }

    /// Where it listens; for TCP the address and port that the system gave.
    #[must_use]
    pub fn address(&self) -> &Listen {
        &self.address
    }

    /// Its counters.
    #[must_use]
    pub fn connections(&self) -> Arc<Connections> {
        Arc::clone(&self.connections)
    }
}

/// Where a socket listens; none where it does not, or for other than streams.
///
/// # Errors
/// When the system does not say.
pub fn listening(socket: &socket2::Socket) -> io::Result<Option<Listen>> {
    if socket.r#type()? != socket2::Type::STREAM || !socket.is_listener()? {
        return Ok(None);
    }
    let address = socket.local_addr()?;
    let path = address.as_pathname().map(|path| Listen::Unix(path.to_owned()));
    Ok(path.or_else(|| address.as_socket().map(Listen::Tcp)))
}

fn io_error(listen: &Listen, error: io::Error) -> ListenError {
    match error.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse(listen.clone()),
        _ => ListenError::Io { listen: listen.clone(), error },
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let at = listener.local_addr()?;
    Ok((listener, at))
}

fn bind_unix(path: &Path, options: &ListenOptions) -> Result<(UnixListener, SocketFile), ListenError> {
    let failed = |error| io_error(&options.listen, error);
    let group = options.socket_group.as_deref().map(group_id).transpose()?;
    remove_stale(path, &options.listen)?;
    let socket = UnixSocket::new_stream().map_err(failed)?;
    // The file gets its mode from the socket at bind: so it is closed to others from its first moment,
    // whatever the umask, and opened when its group is right.
    rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600)).map_err(|e| failed(e.into()))?;
    socket.bind(path).map_err(failed)?;
    let file = SocketFile::new(path).map_err(failed)?;
    let listener = socket.listen(BACKLOG).map_err(failed)?;
    if group.is_some() {
        std::os::unix::fs::chown(path, None, group).map_err(failed)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(options.socket_mode)).map_err(failed)?;
    Ok((listener, file))
}

fn remove_stale(path: &Path, listen: &Listen) -> Result<(), ListenError> {
    let failed = |error| io_error(listen, error);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => return Err(ListenError::NotASocket(path.to_owned())),
        Ok(_) => {}
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A full backlog is somebody, too.
        Ok(_) => Err(ListenError::InUse(listen.clone())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(ListenError::InUse(listen.clone())),
        Err(error) => Err(failed(error)),
    }
}

/// A socket file of ours, known by device and inode.
struct SocketFile {
    path: PathBuf,
    known_by: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), known_by: (metadata.dev(), metadata.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|m| (m.dev(), m.ino()) == self.known_by);
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A group's number. `/etc/group` is read here: the C library's look-up does not work in a static binary.
fn group_id(group: &str) -> Result<u32, ListenError> {
    let error = || ListenError::Group(group.to_owned());
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let table = fs::read_to_string("/etc/group").map_err(|_| error())?;
    find_group(&table, group).ok_or_else(error)
}

pub(super) fn find_group(table: &str, group: &str) -> Option<u32> {
    table.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        let number = parts.nth(1)?;
        (name == group).then(|| number.parse().ok())?
    })
}

fn read_token(path: &Path) -> Result<Box<[u8]>, ListenError> {
    use std::io::Read;
    let read = || {
        let mut text = Vec::new();
        fs::File::open(path)?.take(TOKEN_BYTES_MAX + 2).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| ListenError::TokenFile { path: path.to_owned(), error })?;
    let token = text.trim_ascii();
    let fits = (TOKEN_BYTES_MIN as u64..=TOKEN_BYTES_MAX).contains(&(token.len() as u64));
    if !fits || !token.iter().all(u8::is_ascii_graphic) {
        return Err(ListenError::Token { path: path.to_owned() });
    }
    Ok(token.into())
}
