//! A receiver of webhooks: an HTTP/1.1 server that does what a test's script says, and remembers each request.

use super::support::certificates;
use super::support::child::{WATCHDOG, poll};
use openssl::ssl::{SslAcceptor, SslFiletype, SslMethod};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub target: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("expected JSON ({e}), got {self:?}"))
    }

    /// The id of the verdict in it.
    pub fn id(&self) -> String {
        self.json()["id"].as_str().expect("an id").to_owned()
    }
}

/// What the receiver does with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Status(u16),
    /// With headers and a body.
    Full(u16, Vec<(&'static str, String)>, String),
    /// The connection ends without an answer.
    Close,
    /// No answer comes, ever.
    Hang,
}

type Script = Box<dyn FnMut(&Request) -> Reply + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    open: Mutex<Vec<TcpStream>>,
    closed: AtomicBool,
    tls: Option<SslAcceptor>,
}

/// Its connections end when it is dropped.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Receiver {
    pub fn start(script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::listen(0, Box::new(script), None)
    }

    /// On a port that was another's before.
    pub fn start_at(port: u16, script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::listen(port, Box::new(script), None)
    }

    /// Over TLS, with a certificate for `localhost` by an authority in the folder.
    pub fn start_tls(folder: &Path, script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        certificates::write(folder, certificates::Validity::Valid);
        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).expect("TLS");
        let file = folder.join("server.pem");
        acceptor.set_certificate_chain_file(&file).expect("a certificate");
        acceptor.set_private_key_file(&file, SslFiletype::PEM).expect("a key");
        Self::listen(0, Box::new(script), Some(acceptor.build()))
    }

    fn listen(port: u16, script: Script, tls: Option<SslAcceptor>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            open: Mutex::default(),
            closed: AtomicBool::new(false),
            tls,
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.closed.load(SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                lock(&accepting.open).push(stream.try_clone().expect("a second handle"));
                let serving = Arc::clone(&accepting);
                thread::spawn(move || serving.serve(stream));
            }
        });
        Self { address, shared }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// From now on it does this.
    pub fn set(&self, script: impl FnMut(&Request) -> Reply + Send + 'static) {
        *lock(&self.shared.script) = Box::new(script);
    }

    /// All that came, in order.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// Waits until the calls are these, in this order.
    pub fn await_ids(&self, expected: &[String]) {
        let same = poll(WATCHDOG, || (self.ids() == expected).then_some(()));
        assert!(same.is_some(), "{:?} instead of {expected:?}", self.ids());
    }

    /// The ids of the verdicts that came, in order.
    pub fn ids(&self) -> Vec<String> {
        self.requests().iter().filter(|request| request.method == "POST").map(Request::id).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.closed.store(true, SeqCst);
        for stream in lock(&self.shared.open).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the thread that accepts, which lets the port go.
        let _ = TcpStream::connect(self.address);
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let end = stream.try_clone().expect("a second handle");
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(stream),
            Some(acceptor) => match acceptor.accept(stream) {
                Ok(stream) => Box::new(stream),
                Err(_) => return,
            },
        };
        let mut stream = BufReader::new(stream);
        while let Ok(Some(request)) = read(&mut stream) {
            // Under one lock: what the script notes and what is remembered have one order.
            let mut script = lock(&self.script);
            lock(&self.requests).push(request.clone());
            let reply = script(&request);
            drop(script);
            let (status, headers, body) = match reply {
                Reply::Status(status) => (status, Vec::new(), String::new()),
                Reply::Full(status, headers, body) => (status, headers, body),
                Reply::Close => break,
                // The peer's end of the connection, or the receiver's.
                Reply::Hang => {
                    let _ = stream.read(&mut [0; 1]);
                    break;
                }
            };
            let mut answer = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                answer += name;
                answer += ": ";
                answer += &value;
                answer += "\r\n";
            }
            let answer = answer + "\r\n" + &body;
            if stream.get_mut().write_all(answer.as_bytes()).and_then(|()| stream.get_mut().flush()).is_err() {
                break;
            }
        }
        let _ = end.shutdown(Shutdown::Both);
    }
}

fn read(stream: &mut BufReader<Box<dyn Stream>>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, headers, body: Vec::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().expect("a length"));
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body)?;
    Ok(Some(request))
}
