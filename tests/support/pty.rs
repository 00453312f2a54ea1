//! A pseudo-terminal: the device's end here, the other end a path that a source opens.

// Each test uses a part of this.
#![allow(dead_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// No promise about speed: far above any run.
const WATCHDOG: Duration = Duration::from_mins(1);

pub struct Pty {
    master: File,
    /// What the source opens.
    pub path: PathBuf,
    /// Held open, so that the master does not fail while nobody has it open.
    slave: File,
    bytes: Option<Receiver<Vec<u8>>>,
    read: Vec<u8>,
    deaf: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

/// As an adapter that is pulled.
impl Drop for Pty {
    fn drop(&mut self) {
        self.deaf.store(true, Relaxed);
        let Some(reader) = self.reader.take() else { return };
        // It waits for a byte.
        if !reader.is_finished() {
            let _ = self.slave.write(b"\0");
        }
        let _ = reader.join();
    }
}

impl Pty {
    pub fn open() -> Self {
        let mut name = [0; 128];
        // SAFETY: plain calls on a descriptor that is checked, and into a buffer of the length given.
        let master = unsafe {
            let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
            assert!(fd >= 0, "no pseudo-terminal: {}", std::io::Error::last_os_error());
            assert_eq!(libc::grantpt(fd), 0);
            assert_eq!(libc::unlockpt(fd), 0);
            assert_eq!(libc::ptsname_r(fd, name.as_mut_ptr(), name.len()), 0);
            File::from_raw_fd(fd)
        };
        // SAFETY: the call above ended it by a zero.
        let path = unsafe { CStr::from_ptr(name.as_ptr()) }.to_str().unwrap();
        let slave = File::options().read(true).write(true).open(path).unwrap();
        // SAFETY: an open descriptor, and a structure that the first call fills.
        unsafe {
            let mut raw = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(slave.as_raw_fd(), &raw mut raw), 0);
            libc::cfmakeraw(&raw mut raw);
            assert_eq!(libc::tcsetattr(slave.as_raw_fd(), libc::TCSANOW, &raw const raw), 0);
        }
        let (sender, bytes) = channel();
        let mut from = master.try_clone().unwrap();
        let deaf = Arc::new(AtomicBool::new(false));
        let is_deaf = Arc::clone(&deaf);
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read) = from.read(&mut part) {
                if read == 0 || is_deaf.load(Relaxed) || sender.send(part[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { master, path: path.into(), slave, bytes: Some(bytes), read: Vec::new(), deaf, reader: Some(reader) }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.master.write_all(bytes.as_ref()).unwrap();
    }

    /// A second handle, to send from another thread.
    pub fn sender(&self) -> File {
        self.master.try_clone().unwrap()
    }

    /// Nothing is read from now on but one more piece.
    pub fn deaf(&self) {
        self.deaf.store(true, Relaxed);
    }

    /// What comes up to `end`, without it.
    pub fn until(&mut self, end: u8) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.iter().position(|byte| *byte == end) {
                let rest = self.read.split_off(at + 1);
                let mut whole = std::mem::replace(&mut self.read, rest);
                whole.pop();
                return whole;
            }
            assert!(self.more(WATCHDOG), "no answer; so far {:?}", String::from_utf8_lossy(&self.read));
        }
    }

    /// A line, if it comes in time.
    pub fn line_within(&mut self, wait: Duration) -> Option<String> {
        while !self.read.contains(&b'\n') {
            if !self.more(wait) {
                return None;
            }
        }
        Some(self.line())
    }

    /// All that comes from now on; nothing else is to be asked for then.
    pub fn take_bytes(&mut self) -> Receiver<Vec<u8>> {
        self.bytes.take().expect("taken once")
    }

    fn more(&mut self, wait: Duration) -> bool {
        let more = self.bytes.as_ref().and_then(|bytes| bytes.recv_timeout(wait).ok());
        more.map(|more| self.read.extend(more)).is_some()
    }

    pub fn line(&mut self) -> String {
        String::from_utf8(self.until(b'\n')).unwrap()
    }
}
