//! The floor: the smallest HTTP server that appends each body to a file and answers after an fdatasync,
//! one for all that waits (group commit). It looks at nothing and remembers nothing.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::mpsc,
};
use tokio::{net::UnixListener, sync::oneshot};

/// Its socket within the directory.
pub const SOCKET: &str = "floor.sock";
const FILE: &str = "floor.log";
/// Bodies joined into one write at most.
const GROUP_MAX: usize = 4096;

type Append = (Bytes, oneshot::Sender<()>);

/// Serves until the process is killed.
///
/// # Errors
/// When socket or file cannot be made.
pub fn run(dir: &Path) -> io::Result<()> {
    let file = OpenOptions::new().append(true).create(true).open(dir.join(FILE))?;
    let (appends, waiting) = mpsc::channel();
    std::thread::spawn(move || {
        if let Err(error) = write(file, &waiting) {
            eprintln!("bench-floor: {error}");
            std::process::exit(74);
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = UnixListener::bind(dir.join(SOCKET))?;
        loop {
            let (stream, _) = listener.accept().await?;
            let appends = appends.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| handle(request, &appends));
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let _ = served.await;
            });
        }
    })
}

async fn handle(
    request: Request<Incoming>,
    appends: &mpsc::Sender<Append>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let (done, durable) = oneshot::channel();
    // Both fail only when the writer is gone, and then the process is going.
    let _ = appends.send((body, done));
    let _ = durable.await;
    Ok(Response::new(Full::default()))
}

fn write(mut file: File, waiting: &mpsc::Receiver<Append>) -> io::Result<()> {
    let mut group = Vec::new();
    let mut bytes = Vec::new();
    while let Ok((body, done)) = waiting.recv() {
        bytes.extend_from_slice(&body);
        group.push(done);
        while let Some((body, done)) = waiting.try_recv().ok().filter(|_| group.len() < GROUP_MAX) {
            bytes.extend_from_slice(&body);
            group.push(done);
        }
        file.write_all(&bytes)?;
        file.sync_data()?;
        bytes.clear();
        for done in group.drain(..) {
            let _ = done.send(());
        }
    }
    Ok(())
}
