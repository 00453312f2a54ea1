//! The byte stream under a connection: TCP or a Unix socket.

use super::{Fault, Place};
use std::io;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream, lookup_host};

/// A connection on which nothing is said for so long is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Looks the name up and connects to the first of its addresses that answers.
    pub(super) async fn open(place: &Place) -> Result<Self, Fault> {
        let (host, port) = match place {
            Place::Tcp { host, port } => (host, *port),
            Place::Unix { folder, port } => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                let failed = |error: io::Error| Fault::link(format!("{}: {error}", path.display()));
                return UnixStream::connect(&path).await.map(Self::Unix).map_err(failed);
            }
        };
        let failed = |error: io::Error| Fault::link(format!("{host}: {error}"));
        let addresses = lookup_host((host.as_str(), port)).await.map_err(failed)?;
        let mut last = Fault::link(format!("{host}: it has no address"));
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // A batch is written as a whole.
                    let _ = stream.set_nodelay(true);
                    let keep_alive = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 3);
                    let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keep_alive);
                    return Ok(Self::Tcp(stream));
                }
                Err(error) => last = Fault::link(format!("{address}: {error}")),
            }
        }
        Err(last)
    }
}
