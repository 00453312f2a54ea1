//! `model use` and a daemon that gives no answer: the link goes back only where the daemon does not run the new bundle.

use crate::support::bundle;
use crate::support::daemon::configured;
use crate::support::site::Site;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::{fs::symlink, net::UnixListener};
use std::path::{Path, PathBuf};

/// A site whose `model.bundle` is a link, and a second bundle.
fn site() -> (Site, PathBuf, PathBuf) {
    let mut site = Site::new();
    let (link, next) = (site.path().join("current"), site.path().join("next"));
    symlink(site.bundle(), &link).unwrap();
    bundle::write(&next, "test", "2");
    site.set("model.bundle", &format!("{:?}", link.display().to_string()));
    (site, link, next.canonicalize().unwrap())
}

/// An admin listener that hangs up on a reload, and shows these statuses, the last one for ever. Ends with the test.
fn silent(socket: &Path, mut statuses: Vec<Value>) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut request = String::new();
            while stream.read_line(&mut request).unwrap() > 2 {}
            if request.starts_with("GET /v1/status") {
                let body = if statuses.len() > 1 { statuses.remove(0) } else { statuses[0].clone() }.to_string();
                let length = body.len();
                write!(
                    stream.get_mut(),
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )
                .unwrap();
            }
        }
    });
}

fn status(folder: &Path, reloading: bool) -> Value {
    json!({ "model": { "history": [{ "to": { "folder": folder } }] }, "reloading": reloading })
}

#[test]
fn what_the_daemon_took_without_an_answer_stays() {
    let (site, link, next) = site();
    silent(
        &site.admin_socket(),
        vec![status(&site.bundle(), true), status(&site.bundle(), true), status(&next, false)],
    );
    let used = configured(&site, &["model", "use", next.to_str().unwrap()]);
    assert!(used.status.success() && used.stdout.contains("runs"), "{used:?}");
    assert!(used.stderr.contains("no answer"), "{used:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), next);
}

#[test]
fn what_the_daemon_does_not_run_is_put_back() {
    let (site, link, next) = site();
    silent(&site.admin_socket(), vec![status(&site.bundle(), false)]);
    let used = configured(&site, &["model", "use", next.to_str().unwrap()]);
    assert_eq!(used.status.code(), Some(1), "{used:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), site.bundle());
    // The same where nobody listens.
    std::fs::remove_file(site.admin_socket()).unwrap();
    let used = configured(&site, &["model", "use", next.to_str().unwrap()]);
    assert_eq!(used.status.code(), Some(1), "{used:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), site.bundle());
}
