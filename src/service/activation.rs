//! Sockets that the supervisor listens on for us (`sd_listen_fds(3)`).
//!
//! A descriptor belongs to the listener whose configured address it has; of two there the one that bears the listener's
//! name (a source's, or [`ADMIN`]). So what the config says holds, with a supervisor or without. The supervisor keeps the
//! socket open: callers wait in the kernel's queue while no daemon runs. Mode and group of its file are the
//! supervisor's.

use crate::ingest::{ListenError, ListenOptions, Listener, listening};
use crate::listen::Listen;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The name that a descriptor of the admin listener bears.
pub const ADMIN: &str = "admin";

struct Passed {
    name: String,
    /// None where it is no listening socket.
    listen: Option<Listen>,
    descriptor: OwnedFd,
}

/// What was passed and is not taken yet.
#[derive(Default)]
pub struct Activation(Mutex<Vec<Passed>>);

impl Activation {
    /// What the process was started with. To be called once: the descriptors are owned from then on.
    ///
    /// # Errors
    /// When the environment's account of them is no such.
    pub fn of_process() -> io::Result<Self> {
        let passed = sd_notify::listen_fds_with_names(false)?.map(|(number, name)| {
            // SAFETY: the supervisor opened it for this process alone, and nothing else here owns it: this is called
            // once, before anything else looks at inherited descriptors.
            let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
            Self::passed(name, descriptor)
        });
        Ok(Self(Mutex::new(passed.collect())))
    }

    fn passed(name: String, descriptor: OwnedFd) -> Passed {
        let socket = socket2::Socket::from(descriptor);
        let listen = listening(&socket).ok().flatten();
        Passed { name, listen, descriptor: socket.into() }
    }

    /// A listener on the descriptor that has this address, or, where there is none, one that is bound anew.
    ///
    /// # Errors
    /// As those of [`Listener::bind`] and [`Listener::adopt`].
    pub fn listener(&self, name: &str, options: &ListenOptions) -> Result<Listener, ListenError> {
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_here = |one: &Passed| one.listen.as_ref().is_some_and(|there| is_same(there, &options.listen));
        let by_name = passed.iter().position(|one| one.name == name && is_here(one));
        match by_name.or_else(|| passed.iter().position(is_here)) {
            Some(at) => Listener::adopt(options, passed.swap_remove(at).descriptor),
            None => Listener::bind(options),
        }
    }

    /// Name and place of each that nobody wants; they are closed here, and the supervisor's callers wait in vain.
    pub fn unwanted(&self) -> Vec<(String, String)> {
        let passed = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let place =
            |one: &Passed| one.listen.as_ref().map_or_else(|| "no listening socket".to_owned(), Listen::to_string);
        passed.iter().map(|one| (one.name.clone(), place(one))).collect()
    }
}

/// Whether both are one place: a path may lead there by links.
fn is_same(a: &Listen, b: &Listen) -> bool {
    match (a, b) {
        (Listen::Unix(a), Listen::Unix(b)) => a == b || real(a).is_some_and(|a| real(b) == Some(a)),
        _ => a == b,
    }
}

/// A socket's path with its folder's links followed.
fn real(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    fn activation(name: &str, descriptor: OwnedFd) -> Activation {
        Activation(Mutex::new(vec![Activation::passed(name.to_owned(), descriptor)]))
    }

    fn options(listen: &str) -> ListenOptions {
        ListenOptions::new(listen.parse().unwrap())
    }

    #[tokio::test]
    async fn a_passed_socket_is_found_by_its_address_whatever_its_name_and_its_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.sock");
        let here = format!("unix:{}", path.display());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let by_link = format!("unix:{}", link.join("s.sock").display());
        let kept = UnixListener::bind(&path).unwrap();
        for (name, listen) in [("pos", here.as_str()), ("another", here.as_str()), ("pos", by_link.as_str())] {
            let passed = activation(name, kept.try_clone().unwrap().into());
            let listener = passed.listener("pos", &options(listen)).unwrap();
            assert_eq!(listener.address().to_string(), here);
            assert_eq!(passed.unwanted(), []);
            drop(listener);
            assert!(path.exists());
        }
        // Whoever connects while nobody serves it waits; he is not refused.
        let mut early = UnixStream::connect(&path).unwrap();
        early.write_all(b"x").unwrap();
        kept.set_nonblocking(false).unwrap();
        let mut late = kept.accept().unwrap().0;
        let mut byte = [0];
        late.read_exact(&mut byte).unwrap();
    }

    #[tokio::test]
    async fn what_is_passed_is_held_to_the_same_rules_and_what_nobody_wants_is_named() {
        let open = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let address = open.local_addr().unwrap().to_string();
        let refused = activation("pos", open.try_clone().unwrap().into()).listener("pos", &options(&address));
        assert!(matches!(refused.err().unwrap(), ListenError::Open(_)));
        // The config says where it listens, not the supervisor.
        let elsewhere = activation("pos", open.try_clone().unwrap().into());
        let bound = elsewhere.listener("pos", &options("127.0.0.1:0")).unwrap();
        assert_ne!(bound.address().to_string(), address);
        assert_eq!(elsewhere.unwanted().len(), 1);
        let unwanted = activation("other", open.into()).unwanted();
        assert!(unwanted[0].0 == "other" && unwanted[0].1.starts_with("0.0.0.0:"), "{unwanted:?}");
        let file = activation("pos", tempfile::tempfile().unwrap().into());
        assert_eq!(file.unwanted(), [("pos".to_owned(), "no listening socket".to_owned())]);
    }
}
