//! A network link with weather: a TCP proxy on a free loopback port, in front of a broker.
//!
//! It cuts, refuses, stalls and delays; it leaves connections half open, or a dead one beside its successor. All
//! of it takes effect at once and is under the test's control: nothing happens by chance. Four threads a
//! connection: one reads and one writes in each direction, so that a delay costs no throughput.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes read at a time; with [`CHUNKS_MAX`] what one direction holds back before it stops reading.
const CHUNK_BYTES: usize = 16 << 10;
const CHUNKS_MAX: usize = 1024;

/// The proxy; its connections end when it is dropped.
pub struct Link {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What a link has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections let through.
    pub accepted: u64,
    /// Connections turned away, by [`Link::refuse`] or because the target was not there.
    pub refused: u64,
    /// Connections ended by [`Link::cut`] and its kin.
    pub cut: u64,
    /// Bytes handed on to the target, and back.
    pub bytes_out: u64,
    pub bytes_back: u64,
}

#[derive(Default)]
struct State {
    target: Option<SocketAddr>,
    one_way: Duration,
    stalled: bool,
    refusing: bool,
    closed: bool,
    pairs: HashMap<u64, Pair>,
    next: u64,
}

struct Pair {
    client: TcpStream,
    target: TcpStream,
    /// Nothing more is forwarded, although sockets may be open.
    dead: Arc<AtomicBool>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    accepted: AtomicU64,
    refused: AtomicU64,
    cut: AtomicU64,
    bytes_out: AtomicU64,
    bytes_back: AtomicU64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Link {
    /// A link to `target`, without delay.
    pub fn to(target: SocketAddr) -> Self {
        let link = Self::unconnected();
        link.retarget(target);
        link
    }

    /// A link whose port is known before its target: it refuses until [`Link::retarget`].
    pub fn unconnected() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::<Shared>::default();
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// New connections go to `target`.
    pub fn retarget(&self, target: SocketAddr) {
        self.shared.change(|state| state.target = Some(target));
    }

    /// Delays what is sent from now on by half of `round_trip` in each direction.
    pub fn set_round_trip(&self, round_trip: Duration) {
        self.shared.change(|state| state.one_way = round_trip / 2);
    }

    /// While true, new connections are reset at once.
    pub fn refuse(&self, refusing: bool) {
        self.shared.change(|state| state.refusing = refusing);
    }

    /// While true, bytes are accepted and nothing is forwarded, in either direction: a link that is dead and does
    /// not say so.
    pub fn stall(&self, stalled: bool) {
        self.shared.change(|state| state.stalled = stalled);
    }

    /// Resets every open connection on both sides; what is under way is lost. How many there were.
    pub fn cut(&self) -> usize {
        self.end(|pair| {
            reset(&pair.client);
            reset(&pair.target);
        })
    }

    /// Resets the client's side alone: to the target the connection stays open, so that a client that comes back
    /// is there twice. The dead ones are closed by [`Link::bury`] or with the link.
    pub fn cut_client_side(&self) -> usize {
        self.end(|pair| reset(&pair.client))
    }

    /// Resets the target's side alone: the client keeps a connection on which nothing is answered.
    pub fn cut_target_side(&self) -> usize {
        self.end(|pair| reset(&pair.target))
    }

    /// Closes the sockets that were left half open.
    pub fn bury(&self) {
        self.shared.change(|state| {
            state.pairs.retain(|_, pair| {
                let dead = pair.dead.load(SeqCst);
                if dead {
                    pair.close();
                }
                !dead
            });
        });
    }

    /// Connections that forward.
    pub fn open(&self) -> usize {
        self.shared.lock().pairs.values().filter(|pair| !pair.dead.load(SeqCst)).count()
    }

    pub fn counts(&self) -> Counts {
        let shared = &self.shared;
        Counts {
            accepted: shared.accepted.load(SeqCst),
            refused: shared.refused.load(SeqCst),
            cut: shared.cut.load(SeqCst),
            bytes_out: shared.bytes_out.load(SeqCst),
            bytes_back: shared.bytes_back.load(SeqCst),
        }
    }

    fn end(&self, how: impl Fn(&Pair)) -> usize {
        let mut ended = 0;
        self.shared.change(|state| {
            for pair in state.pairs.values().filter(|pair| !pair.dead.load(SeqCst)) {
                pair.dead.store(true, SeqCst);
                how(pair);
                ended += 1;
            }
        });
        self.shared.cut.fetch_add(ended, SeqCst);
        usize::try_from(ended).expect("a count of connections")
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.closed = true;
            state.pairs.drain().for_each(|(_, pair)| pair.close());
        });
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Pair {
    fn close(&self) {
        self.dead.store(true, SeqCst);
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.target.shutdown(Shutdown::Both);
    }
}

/// Ends a connection with a reset: the peer gets neither what is buffered nor a clean end.
fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = libc::socklen_t::try_from(size_of::<libc::linger>()).expect("a small struct");
    // SAFETY: the descriptor is open as long as `stream` lives, and the pointer is to a `linger` of that size.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            std::ptr::from_ref(&linger).cast::<libc::c_void>(),
            size,
        );
        // Disconnecting an AF_INET socket this way resets it, although other handles to it are open.
        let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC.try_into().unwrap_or(0), sa_data: [0; 14] };
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr>()).expect("a small struct");
        libc::connect(stream.as_raw_fd(), &raw const nowhere, length);
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let Ok(client) = client else { continue };
        let state = shared.lock();
        if state.closed {
            return;
        }
        let (target, refusing) = (state.target, state.refusing);
        drop(state);
        let through = target.filter(|_| !refusing).and_then(|target| TcpStream::connect(target).ok());
        if let Some(target) = through {
            join(shared, client, target);
        } else {
            shared.refused.fetch_add(1, SeqCst);
            reset(&client);
        }
    }
}

/// Forwards both ways until one side ends.
fn join(shared: &Arc<Shared>, client: TcpStream, target: TcpStream) {
    let dead = Arc::<AtomicBool>::default();
    let _ = client.set_nodelay(true);
    let _ = target.set_nodelay(true);
    let handle = |stream: &TcpStream| stream.try_clone().expect("a second handle");
    let ways = [(handle(&client), handle(&target), true), (handle(&target), handle(&client), false)];
    let mut id = 0;
    shared.change(|state| {
        id = state.next;
        state.next += 1;
        state.pairs.insert(id, Pair { client, target, dead: Arc::clone(&dead) });
    });
    shared.accepted.fetch_add(1, SeqCst);
    for (from, to, is_out) in ways {
        let (sender, receiver) = sync_channel(CHUNKS_MAX);
        let (reading, writing) = (Arc::clone(shared), Arc::clone(shared));
        let dead = Arc::clone(&dead);
        thread::spawn(move || read(&reading, from, &sender));
        thread::spawn(move || {
            write(&writing, to, &receiver, is_out, &dead);
            // A side that ended by itself ends the other too; what was cut stays as it was left.
            if !dead.load(SeqCst) {
                writing.change(|state| {
                    if let Some(pair) = state.pairs.remove(&id) {
                        pair.close();
                    }
                });
            }
        });
    }
}

/// A piece of the stream and when it was read.
type Piece = (Instant, Vec<u8>);

fn read(shared: &Shared, mut from: TcpStream, sender: &SyncSender<Piece>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count) = from.read(&mut chunk) {
        let one_way = shared.lock().one_way;
        if count == 0 || sender.send((Instant::now() + one_way, chunk[..count].to_vec())).is_err() {
            return;
        }
    }
}

fn write(shared: &Shared, mut to: TcpStream, receiver: &Receiver<Piece>, is_out: bool, dead: &AtomicBool) {
    let counter = if is_out { &shared.bytes_out } else { &shared.bytes_back };
    for (due, piece) in receiver {
        let mut state = shared.lock();
        loop {
            if dead.load(SeqCst) || state.closed {
                return;
            }
            let left = due.saturating_duration_since(Instant::now());
            if !state.stalled && left.is_zero() {
                break;
            }
            let wait = if state.stalled { Duration::from_hours(1) } else { left };
            state = shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        // Counted first: whoever has read them looks at the count next.
        counter.fetch_add(piece.len() as u64, SeqCst);
        if to.write_all(&piece).is_err() {
            return;
        }
    }
}
