//! Every man page renders without a warning, where `man` is there.

use std::process::{Command, Stdio};

#[test]
fn every_man_page_renders_without_a_warning() {
    if Command::new("man").arg("--version").stdout(Stdio::null()).status().is_err() {
        let line = "\n*** NOT TESTED: that man pages render, which needs man-db and groff ***\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        return;
    }
    let mut pages = 0;
    for entry in std::fs::read_dir(super::in_tree("packaging/man")).expect("the pages") {
        let path = entry.expect("an entry").path();
        let rendered = |arguments: &[&str]| {
            let mut command = Command::new("man");
            command.env("LC_ALL", "C.UTF-8").env("MANROFFSEQ", "").env("MANWIDTH", "80").arg("--warnings");
            command.args(["-E", "UTF-8", "-l", "-Tutf8"]).args(arguments).arg(&path).output().expect("man")
        };
        let done = rendered(&["-Z"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() && said.is_empty(), "{}: {said}", path.display());
        let text = String::from_utf8(rendered(&[]).stdout).expect("UTF-8");
        // Bold and underlined letters are struck over.
        for fault in ["\\f", "\\-", "\\(", "&."] {
            assert!(!text.contains(fault), "{}: {fault} came through", path.display());
        }
        pages += 1;
    }
    assert!(pages > 10);
}
