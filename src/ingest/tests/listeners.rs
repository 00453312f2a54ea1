//! Real sockets: binding, modes, limits on connections, drain, the token, the admin pages.

use super::{
    super::{
        Admin, AdminRoutes, Budget, EventRoutes, Health, ListenError, ListenOptions, Listener, Places,
        listen::find_group, serve,
    },
    fake::Fake,
    peer::{Peer, event},
};
use crate::listen::Listen;
use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::Path,
    sync::{Arc, atomic::Ordering},
};
use tokio::{
    net::{TcpStream, UnixStream},
    sync::{Semaphore, watch},
    task::JoinHandle,
};

pub struct Served {
    pub fake: Arc<Fake>,
    pub listen: Listen,
    pub stop: watch::Sender<bool>,
    pub task: JoinHandle<()>,
}

pub fn start(options: &ListenOptions) -> Result<Served, ListenError> {
    let listener = Listener::bind(options)?;
    let fake = Arc::new(Fake::default());
    let limits = options.limits.clone();
    let routes = EventRoutes::new(Arc::clone(&fake), Budget::new(limits.budget_bytes_min()), limits);
    let stop = watch::Sender::new(false);
    let listen = listener.address().clone();
    let task = tokio::spawn(serve(listener, routes, stop.subscribe()));
    Ok(Served { fake, listen, stop, task })
}

fn unix(path: &Path) -> ListenOptions {
    ListenOptions::new(Listen::Unix(path.to_owned()))
}

pub fn tcp() -> ListenOptions {
    ListenOptions::new("127.0.0.1:0".parse().unwrap())
}

pub async fn connect_tcp(listen: &Listen) -> TcpStream {
    let Listen::Tcp(address) = listen else { panic!("{listen}") };
    TcpStream::connect(address).await.unwrap()
}

async fn connect(path: &Path) -> Peer<UnixStream> {
    Peer::new(UnixStream::connect(path).await.unwrap())
}

#[test]
fn outside_loopback_tls_and_knowing_the_client_are_required() {
    let tls = |ca: Option<&str>| {
        Some(super::super::TlsFiles { cert: "c".into(), key: "k".into(), client_ca: ca.map(Into::into) })
    };
    let check = |listen: &str, tls, token: bool| {
        let options =
            ListenOptions { tls, token_file: token.then(|| "t".into()), ..ListenOptions::new(listen.parse().unwrap()) };
        options.check()
    };
    for local in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/a"] {
        assert!(check(local, None, false).is_ok(), "{local}");
    }
    for open in ["0.0.0.0:1", "[::]:1", "192.168.1.1:1"] {
        assert!(matches!(check(open, None, false), Err(ListenError::Open(_))), "{open}");
        assert!(matches!(check(open, None, true), Err(ListenError::Open(_))), "{open}");
        assert!(matches!(check(open, tls(None), false), Err(ListenError::Open(_))), "{open}");
        assert!(check(open, tls(None), true).is_ok() && check(open, tls(Some("ca")), false).is_ok(), "{open}");
    }
    assert!(matches!(check("unix:/a", tls(None), false), Err(ListenError::TlsOnUnix(_))));
}

#[test]
fn groups_are_looked_up_in_the_table() {
    let table = "root:x:0:\nverdictd:x:998:pos,kasse\nbroken\nodd:x:many:\n";
    assert_eq!(find_group(table, "verdictd"), Some(998));
    assert_eq!((find_group(table, "broken"), find_group(table, "odd"), find_group(table, "v")), (None, None, None));
}

#[tokio::test]
async fn a_socket_file_has_its_mode_and_group_and_goes_in_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.sock");
    let gid = fs::metadata(dir.path()).unwrap().gid();
    let options = ListenOptions { socket_mode: 0o666, socket_group: Some(gid.to_string()), ..unix(&path) };
    for (options, mode) in [(unix(&path), 0o660), (options, 0o666)] {
        let served = start(&options).unwrap();
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!((metadata.permissions().mode() & 0o777, metadata.gid()), (mode, gid));
        assert_eq!(connect(&path).await.ask(&event("1")).await.status, 200);
        served.stop.send(true).unwrap();
        served.task.await.unwrap();
        assert!(!path.exists());
    }
    let unknown = ListenOptions { socket_group: Some("no such group".into()), ..unix(&path) };
    assert!(matches!(Listener::bind(&unknown), Err(ListenError::Group(_))));
    let odd = ListenOptions { socket_mode: 0o7777, ..unix(&path) };
    assert!(matches!(Listener::bind(&odd), Err(ListenError::Mode(_))));
}

#[tokio::test]
async fn only_a_socket_on_which_nobody_answers_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.sock");
    let first = start(&unix(&path)).unwrap();
    assert!(matches!(Listener::bind(&unix(&path)), Err(ListenError::InUse(_))));
    assert_eq!(connect(&path).await.ask(&event("1")).await.status, 200);
    // A process that was killed leaves its file behind.
    let stale = dir.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    assert!(stale.exists());
    let second = start(&unix(&stale)).unwrap();
    assert_eq!(connect(&stale).await.ask(&event("1")).await.status, 200);
    let file = dir.path().join("file");
    fs::write(&file, "precious").unwrap();
    assert!(matches!(Listener::bind(&unix(&file)), Err(ListenError::NotASocket(_))));
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    // A file that is not ours any more is left alone.
    fs::remove_file(&stale).unwrap();
    fs::write(&stale, "another's").unwrap();
    second.stop.send(true).unwrap();
    second.task.await.unwrap();
    assert!(stale.exists());
    drop(first);
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_the_next_is_served() {
    let mut options = tcp();
    options.limits.connections_max = 2;
    let served = start(&options).unwrap();
    let mut open = Vec::new();
    for n in 0..2 {
        let mut peer = Peer::new(connect_tcp(&served.listen).await);
        assert_eq!(peer.ask(&event(&n.to_string())).await.status, 200);
        open.push(peer);
    }
    let mut third = Peer::new(connect_tcp(&served.listen).await);
    let answer = third.answer().await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert_eq!(answer.json()["status"], 503);
    assert!(third.ended().await);
    open.pop();
    loop {
        use tokio::io::AsyncWriteExt;
        let mut peer = Peer::new(connect_tcp(&served.listen).await);
        // The refusal may come before, or instead of, what is written.
        let _ = peer.stream.write_all(event("4").as_bytes()).await;
        if peer.stream.readable().await.is_ok() && peer.answer().await.status == 200 {
            break;
        }
    }
    assert_eq!(open[0].ask(&event("5")).await.status, 200);
}

#[tokio::test]
async fn listeners_share_their_places() {
    let places = Places::new(1);
    let stop = watch::Sender::new(false);
    let serve = || {
        let listener = Listener::bind(&tcp()).unwrap().sharing(&places);
        let listen = listener.address().clone();
        tokio::spawn(serve(listener, AdminRoutes { admin: Arc::new(Pages), may_reload: false }, stop.subscribe()));
        listen
    };
    let (one, other) = (serve(), serve());
    let mut open = Peer::new(connect_tcp(&one).await);
    assert_eq!(open.ask("GET /version HTTP/1.1\r\nhost: x\r\n\r\n").await.status, 200);
    assert_eq!(Peer::new(connect_tcp(&other).await).answer().await.status, 503);
}

#[tokio::test]
async fn a_drain_finishes_what_is_in_flight_and_closes_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.sock");
    let served = start(&unix(&path)).unwrap();
    let mut idle = connect(&path).await;
    assert_eq!(idle.ask(&event("1")).await.status, 200);
    served.fake.gate.forget_permits(Semaphore::MAX_PERMITS);
    let mut busy = connect(&path).await;
    busy.send(&event("2")).await;
    while served.fake.entered.load(Ordering::Relaxed) < 2 {
        tokio::task::yield_now().await;
    }
    served.stop.send(true).unwrap();
    assert!(idle.ended().await);
    while path.exists() {
        tokio::task::yield_now().await;
    }
    assert!(UnixStream::connect(&path).await.is_err());
    assert!(!served.task.is_finished());
    served.fake.gate.add_permits(1);
    let answer = busy.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert!(busy.ended().await);
    served.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_takes_too_long_is_ended() {
    let served = start(&tcp()).unwrap();
    served.fake.gate.forget_permits(Semaphore::MAX_PERMITS);
    let mut peer = Peer::new(connect_tcp(&served.listen).await);
    peer.send(&event("1")).await;
    served.stop.send(true).unwrap();
    served.task.await.unwrap();
}

#[tokio::test]
async fn a_token_is_required_where_one_is_set() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    let token = "0123456789abcdefXYZ";
    fs::write(&file, format!("{token}\n")).unwrap();
    let options = ListenOptions { token_file: Some(file.clone()), ..tcp() };
    let served = start(&options).unwrap();
    let with = |header: &str| event("1").replacen("\r\n", &format!("\r\n{header}\r\n"), 1);
    for header in [
        "x: y".to_owned(),
        "authorization: Bearer 0123456789abcdefXYz".to_owned(),
        format!("authorization: Bearer {token}x"),
        format!("authorization: Basic {token}"),
        "authorization: Bearer ".to_owned(),
        "authorization: B".to_owned(),
    ] {
        let answer = Peer::new(connect_tcp(&served.listen).await).ask(&with(&header)).await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{header}");
    }
    let mut peer = Peer::new(connect_tcp(&served.listen).await);
    assert_eq!(peer.ask(&with(&format!("Authorization: bearer  {token}"))).await.status, 200);
    for text in ["", "short", "with blanks in it, and long", "umlauts_äöü_äöü_äöü"] {
        fs::write(&file, text).unwrap();
        assert!(matches!(Listener::bind(&options), Err(ListenError::Token { .. })), "{text:?}");
    }
    fs::remove_file(&file).unwrap();
    assert!(matches!(Listener::bind(&options), Err(ListenError::TokenFile { .. })));
}

struct Pages;

impl Admin for Pages {
    async fn reload(&self, _: Option<String>) -> Option<crate::ingest::Reloaded> {
        Some(crate::ingest::Reloaded { taken: true, body: b"{}".to_vec() })
    }

    fn metrics(&self) -> Vec<u8> {
        b"# EOF\n".to_vec()
    }
    fn health(&self) -> Health {
        Health { well: true, line: "ok".into() }
    }
    fn ready(&self) -> Health {
        Health { well: false, line: "the disk budget is reached".into() }
    }
    fn status(&self) -> Vec<u8> {
        b"{\"instance\":\"x\"}".to_vec()
    }
    fn uncertain(&self) -> Vec<u8> {
        b"{\"calls\":[]}".to_vec()
    }
    async fn resolve(&self, resolve: crate::ingest::Resolve) -> crate::ingest::Resolved {
        match resolve {
            crate::ingest::Resolve { sequence: 7, resend: true, sink } if sink.as_deref() == Some("x") => {
                crate::ingest::Resolved::Done(b"{}".to_vec())
            }
            _ => crate::ingest::Resolved::Refused("none".to_owned()),
        }
    }
    fn version(&self) -> Vec<u8> {
        b"{}".to_vec()
    }
}

#[tokio::test]
async fn the_admin_pages_are_served() {
    let listener = Listener::bind(&tcp()).unwrap();
    let (listen, connections) = (listener.address().clone(), listener.connections());
    let stop = watch::Sender::new(false);
    let task =
        tokio::spawn(serve(listener, AdminRoutes { admin: Arc::new(Pages), may_reload: false }, stop.subscribe()));
    let mut peer = Peer::new(connect_tcp(&listen).await);
    for (path, status, body) in [
        ("/metrics", 200, "# EOF\n"),
        ("/healthz", 200, "ok\n"),
        ("/readyz", 503, "the disk budget is reached\n"),
        ("/v1/status", 200, "{\"instance\":\"x\"}"),
        ("/version", 200, "{}"),
    ] {
        let answer = peer.ask(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        assert_eq!((answer.status, answer.body.as_str()), (status, body), "{path}");
    }
    let metrics = peer.ask("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    assert_eq!(peer.ask("GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n").await.status, 404);
    let wrong = peer.ask("POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(connections.open.load(Ordering::Relaxed), 1);
    stop.send(true).unwrap();
    task.await.unwrap();
    assert_eq!(connections.open.load(Ordering::Relaxed), 0);
}
