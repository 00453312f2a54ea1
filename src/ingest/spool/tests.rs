//! Real folders, files renamed into them, stops in between, under a real engine.

use super::*;
use crate::event::CsvForm;
use crate::ingest::tests::rig::{EVENT_BYTES_MAX, Rig, event, events, names, poll};
use std::fs;
use std::os::unix::fs::PermissionsExt;

struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("in").join(name)
    }

    fn options(&self) -> Options {
        let poll_interval = Duration::from_millis(1);
        Options { poll_interval, ..Options::new("spool", self.path(""), EVENT_BYTES_MAX) }
    }

    fn start(&self, options: Options) -> Rig {
        let mut rig = Rig::open(self.dir.path());
        rig.run(|intake, budget, status, stop| run(options, intake, budget, status, stop));
        rig
    }

    /// As a sender should: written apart, renamed in.
    fn drop_in(&self, name: &str, text: impl AsRef<[u8]>) {
        let apart = self.path(&format!("{name}.tmp"));
        fs::write(&apart, text).unwrap();
        fs::rename(apart, self.path(name)).unwrap();
    }

    fn wait_gone(&self, name: &str) {
        poll(name, || (!self.path(name).exists()).then_some(()));
    }
}

#[test]
fn files_are_taken_in_the_order_of_their_names_and_moved_when_all_of_them_is_durable() {
    let site = Site::new();
    site.drop_in("b", events(5000..5010));
    site.drop_in("a", events(0..5000).trim_end());
    fs::write(site.path(".hidden"), event("hidden")).unwrap();
    fs::write(site.path("c.part"), event("part")).unwrap();
    fs::write(site.path("c.tmp"), event("tmp")).unwrap();
    fs::create_dir(site.path("folder")).unwrap();
    std::os::unix::fs::symlink(site.path("c.tmp"), site.path("link")).unwrap();
    let rig = site.start(site.options());
    assert_eq!(rig.wait_ids(5010), names(0..5010));
    site.wait_gone("b");
    assert_eq!(fs::read_to_string(site.path("done/a")).unwrap(), events(0..5000).trim_end());
    assert!(site.path("done/b").exists() && site.path("link").exists());
    rig.close();
}

#[test]
fn a_file_may_be_deleted_instead() {
    let site = Site::new();
    let rig = site.start(Options { after: After::Delete, ..site.options() });
    site.drop_in("a", events(0..3));
    rig.wait_ids(3);
    site.wait_gone("a");
    assert!(!site.path("done").exists());
    rig.close();
}

#[test]
fn a_name_that_comes_again_with_another_content_is_another_file() {
    let site = Site::new();
    let rig = site.start(site.options());
    let line = "{\"TX_AMOUNT\":1,\"TX_DATETIME\":\"2026-01-01T12:00:00Z\"}\n";
    site.drop_in("a", line);
    site.wait_gone("a");
    site.drop_in("a", line.replace(":1,", ":22,"));
    rig.wait_ids(2);
    site.wait_gone("a");
    // The very same once more: a repeat.
    site.drop_in("a", line);
    site.wait_gone("a");
    poll("the third", || site.path("done/a.2").exists().then_some(()));
    assert!(site.path("done/a").exists() && site.path("done/a.1").exists());
    assert_eq!(rig.ids().len(), 2);
    assert!(rig.aside().is_empty());
    rig.close();
}

#[test]
fn a_file_that_cannot_be_taken_goes_to_failed_with_its_reason_and_the_rest_flow_on() {
    let site = Site::new();
    site.drop_in("a", b"\xff\xfe{\0}\0");
    site.drop_in("b", "\n");
    site.drop_in("c", "id,id\n1,2\n");
    site.drop_in("d", "id,TX_AMOUNT,TX_DATETIME\n1,5,2026-01-01T12:00:00Z\nbad\n2,5,2026-01-01T12:00:00Z");
    site.drop_in("e", "id,\"TX\n1,2\n");
    let rig = site.start(Options { format: Format::Csv(CsvForm::default()), ..site.options() });
    assert_eq!(rig.wait_ids(2), ["1", "2"]);
    site.wait_gone("e");
    let reason = |name: &str| fs::read_to_string(site.path(&format!("failed/{name}.reason"))).unwrap();
    assert_eq!(reason("a"), "expected UTF-8 text, found UTF-16\n");
    assert_eq!(reason("b"), "header: expected a first row, with its quotes closed\n");
    assert_eq!(reason("c"), "header: expected each column once, found \"id\" twice\n");
    assert_eq!(reason("e"), reason("b"));
    assert!(site.path("failed/a").exists() && site.path("done/d").exists());
    // A single bad record is set aside, and its file goes on.
    assert_eq!(rig.aside(), [("malformed".to_owned(), "bad\n".to_owned())]);
    assert_eq!(rig.count("failed-files"), 4);
    rig.close();
}

#[test]
fn a_file_left_in_the_middle_goes_on_there_and_one_that_was_only_to_be_moved_is_not_taken_again() {
    let site = Site::new();
    let line = "{\"TX_AMOUNT\":1,\"TX_DATETIME\":\"2026-01-01T12:00:00Z\"}\n";
    let count = 3 * super::super::BLOCK_EVENTS_MAX;
    site.drop_in("a", line.repeat(count));
    let rig = site.start(site.options());
    // Wherever it is then.
    rig.wait_ids(1);
    rig.close();
    let rig = site.start(site.options());
    rig.wait_ids(count);
    site.wait_gone("a");
    // As a crash between the commit and the move leaves it. Ids are made of the place, so a second reading shows.
    fs::rename(site.path("done/a"), site.path("a")).unwrap();
    rig.close();
    let rig = site.start(site.options());
    site.wait_gone("a");
    assert_eq!(rig.ids().len(), count);
    assert_eq!(rig.intake.origin.duplicate.load(std::sync::atomic::Ordering::Relaxed), 0);
    rig.close();
}

#[test]
fn while_a_file_cannot_be_moved_nothing_else_is_taken_and_it_is_told() {
    let site = Site::new();
    fs::write(site.path("done"), "no folder").unwrap();
    let options = Options { done: site.path(".done"), ..site.options() };
    fs::write(site.path(".done"), "no folder").unwrap();
    fs::remove_file(site.path("done")).unwrap();
    site.drop_in("a", event(0));
    site.drop_in("b", event(1));
    let rig = site.start(options);
    poll("the error", || rig.status.link.last_error());
    assert_eq!(rig.ids(), ["0"]);
    fs::remove_file(site.path(".done")).unwrap();
    rig.wait_ids(2);
    site.wait_gone("b");
    poll("the recovery", || rig.status.link.is_up().then_some(()));
    rig.close();
}

#[test]
fn an_absent_folder_is_told_and_waited_for() {
    let site = Site::new();
    fs::remove_dir(site.path("")).unwrap();
    let rig = site.start(site.options());
    poll("the error", || rig.status.link.last_error());
    fs::create_dir(site.path("")).unwrap();
    site.drop_in("a", event(0));
    rig.wait_ids(1);
    rig.close();
}

#[test]
fn a_file_that_may_not_be_read_goes_to_failed() {
    let site = Site::new();
    site.drop_in("a", event(0));
    fs::set_permissions(site.path("a"), fs::Permissions::from_mode(0o000)).unwrap();
    let may_all_the_same = fs::File::open(site.path("a")).is_ok();
    let rig = site.start(site.options());
    site.wait_gone("a");
    // Root may read everything.
    assert!(may_all_the_same || site.path("failed/a.reason").exists());
    rig.close();
}
