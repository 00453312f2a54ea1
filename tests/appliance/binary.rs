//! The packaged binary needs nothing of the system it runs on.

use super::host::{self, run, run_well};
use super::packages::{self, Unpacked};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const BYTES_MAX: u64 = 20 * 1024 * 1024;

/// The binary alone in a folder, to be run by chroot.
fn alone() -> Option<TempDir> {
    if !host::is_root() {
        host::skip("chroot needs root");
        return None;
    }
    let unpacked = Unpacked::new(&packages::own()?);
    let folder = tempfile::Builder::new().prefix("verdictd-alone-").tempdir().expect("a temporary folder");
    fs::copy(unpacked.path("usr/bin/verdictd"), folder.path().join("verdictd")).expect("the binary");
    Some(folder)
}

fn chroot(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("chroot");
    command.arg(folder).arg("/verdictd").args(arguments).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

#[test]
fn binaries_are_static_stripped_and_small() {
    for arch in ["amd64", "arm64"] {
        let Some(package) = packages::package(arch) else { continue };
        let unpacked = Unpacked::new(&package);
        let binary = unpacked.path("usr/bin/verdictd");
        let kind = run_well(Command::new("file").arg("--brief").arg(&binary));
        assert!(kind.contains("static-pie linked") && kind.contains(", stripped"), "{arch}: {kind}");
        let bytes = fs::metadata(&binary).expect("the binary").len();
        assert!(bytes <= BYTES_MAX, "{arch}: {bytes} bytes");
    }
}

#[test]
fn a_folder_with_nothing_else_is_system_enough() {
    let Some(folder) = alone() else { return };
    let version = run_well(&mut chroot(folder.path(), &["--version"]));
    assert_eq!(version.trim(), format!("verdictd {}", env!("CARGO_PKG_VERSION")));

    let starter = run_well(&mut chroot(folder.path(), &["init"]));
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/models/card-fraud");
    run_well(Command::new("cp").args(["-r", bundle]).arg(folder.path().join("model")));
    let config = starter.replace("/var/lib/verdictd/models/card-fraud", "/model");
    fs::write(folder.path().join("verdictd.toml"), config).expect("the config");
    run_well(&mut chroot(folder.path(), &["check", "--config", "/verdictd.toml"]));

    fs::create_dir(folder.path().join("tmp")).expect("a folder for temporary files");
    run_well(&mut chroot(folder.path(), &["demo", "--events", "2000"]));
}

/// A static binary that asks for modules it does not have gets none, or crashes in one built for another C library.
#[test]
fn names_are_found_whatever_the_machine_says_of_modules() {
    let Some(folder) = alone() else { return };
    fs::create_dir(folder.path().join("etc")).expect("a folder");
    fs::write(folder.path().join("etc/hosts"), "127.0.0.1 till.site\n").expect("the hosts");
    fs::write(folder.path().join("etc/nsswitch.conf"), "hosts: mymachines resolve [!UNAVAIL=return] nosuch\n")
        .expect("the services");
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
    let port = server.local_addr().expect("its address").port();
    let mut child = crate::support::child::Guarded::spawn(
        chroot(folder.path(), &["send", "--to", &format!("http://till.site:{port}")])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null()),
    );
    let mut input = child.0.stdin.take().expect("its stdin");
    let _ = std::io::Write::write_all(&mut input, b"{\"id\":\"1\",\"key\":\"k\"}\n");
    drop(input);
    server.set_nonblocking(true).expect("a server that can be asked");
    let came = crate::support::child::poll(crate::support::child::WATCHDOG, || server.accept().ok());
    assert!(came.is_some(), "it never came to the address in /etc/hosts");
}

/// Registers the emulator for programs of its architecture, since the demo starts itself anew as the daemon; in a user
/// namespace of its own, so that nothing outside changes.
const EMULATED: &str = "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc \
    && cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register && exec \"$@\"";

#[test]
fn the_arm64_binary_does_the_whole_job() {
    if cfg!(target_arch = "aarch64") || host::lacks(&["qemu-aarch64-static", "unshare"]) {
        return;
    }
    let Some(package) = packages::package("arm64") else { return };
    let unpacked = Unpacked::new(&package);
    let in_namespace = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", EMULATED, "sh"]).args(arguments);
        command
    };
    if !run(&mut in_namespace(&["true"])).status.success() {
        host::skip("the kernel takes no program formats (binfmt_misc) in a user namespace");
        return;
    }
    let binary = unpacked.path("usr/bin/verdictd").display().to_string();
    let finished = run(&mut in_namespace(&[&binary, "demo", "--events", "1000"]));
    assert!(finished.status.success(), "{finished:#?}");
}
