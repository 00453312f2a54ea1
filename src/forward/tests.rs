//! Reading the log for a sink, over a real store.

use super::{Feed, Filter};
use crate::store::{self, BatchBuilder, Commit, NewRecord, SinkDecl, SinkStart};
use std::ops::ControlFlow;
use std::sync::Arc;

#[test]
fn a_feed_gives_each_wanted_verdict_once_in_order_also_after_a_break() {
    let dir = tempfile::tempdir().unwrap();
    let sinks = vec![SinkDecl { name: "bank".to_owned(), start: SinkStart::Oldest }];
    let options = store::Options { sinks, ..store::Options::new(dir.path().join("state")) };
    let opened = store::open(&options).unwrap();
    let (store, mut writer) = (opened.store, opened.writer);
    let mut builder = BatchBuilder::new(writer.next_sequence());
    let mut expected = Vec::new();
    for commit in 0..40u64 {
        for n in 0..=commit {
            let id = format!("{commit}-{n}");
            let decision = if n % 3 == 0 { "block" } else { "allow" };
            let sequence = builder.append(&record(&id, decision)).unwrap();
            if decision == "block" {
                expected.push((sequence, id));
            }
        }
        writer.commit(&Commit { chunks: builder.seal(), ..Commit::default() }).unwrap();
    }
    let filter = Filter(Some(vec!["block".to_owned()]));
    let mut feed = Feed::new(Arc::clone(&store), filter, store.cursor("bank").unwrap());
    let mut found = Vec::new();
    while !feed.is_at_end() {
        let mut room = 7;
        feed.read(|sequence, verdict| {
            if room == 0 {
                return ControlFlow::Break(());
            }
            room -= 1;
            found.push((sequence, verdict.id.to_owned()));
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    assert_eq!(found, expected);
    assert_eq!(feed.next(), store.committed());
    // Back to where a failure left off.
    let (sequence, id) = expected[20].clone();
    feed.seek(sequence);
    feed.read(|at, verdict| {
        assert_eq!((at, verdict.id), (sequence, id.as_str()));
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(feed.next(), sequence);
    writer.close().unwrap();
}

/// A feed took what was committed between its look at the log and its look at the log's end for read: a sink never
/// sent it, and moved its cursor past it.
#[test]
fn a_feed_that_reads_while_commits_come_misses_none() {
    let dir = tempfile::tempdir().unwrap();
    let sinks = vec![SinkDecl { name: "bank".to_owned(), start: SinkStart::Oldest }];
    let options = store::Options { sinks, ..store::Options::new(dir.path().join("state")) };
    let opened = store::open(&options).unwrap();
    let (store, mut writer) = (opened.store, opened.writer);
    let mut builder = BatchBuilder::new(writer.next_sequence());
    let commits = std::thread::spawn(move || {
        for n in 0..2000 {
            builder.append(&record(&n.to_string(), "allow")).unwrap();
            writer.commit(&Commit { chunks: builder.seal(), ..Commit::default() }).unwrap();
        }
        writer.close().unwrap();
    });
    let mut feed = Feed::new(Arc::clone(&store), Filter::default(), 1);
    let mut next = 1;
    while next <= 2000 {
        feed.read(|sequence, _| {
            assert_eq!(sequence, next);
            next += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    commits.join().unwrap();
}

fn record<'a>(id: &'a str, decision: &'a str) -> NewRecord<'a> {
    NewRecord {
        source: "pos",
        id,
        key: Some("k"),
        time_us: 0,
        payload: 1,
        decision,
        score: None,
        reasons: &[],
        model: "m@1",
        model_sha256: &[0; 32],
        decided_ms: 0,
        log_ms: 0,
        shadow: None,
    }
}
