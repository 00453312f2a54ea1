//! File to file.

use super::events::{Events, MAPPING};
use super::meter::{Figures, Place};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a file of events.
pub fn write_events(path: &Path, count: usize) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("a file"));
    let mut events = Events::new();
    let mut line = Vec::new();
    for _ in 0..count {
        line.clear();
        events.write(&mut line);
        line.push(b'\n');
        out.write_all(&line).expect("a write");
    }
    out.into_inner().expect("a flush").sync_all().expect("a sync");
}

/// The table of a source that follows `path`.
pub fn source(path: &Path) -> String {
    format!("[sources.feed]\ntype = \"file\"\npath = {:?}\nevent = {MAPPING}\n", path.display().to_string())
}

pub fn to_file(count: usize) -> Figures {
    let place = Place::new("");
    let path = place.path().join("events.ndjson");
    write_events(&path, count);
    let sink = place.path().join("verdicts.ndjson");
    place.configure(&format!(
        "{}[sinks.out]\ntype = \"file\"\npath = {:?}\n",
        source(&path),
        sink.display().to_string()
    ));
    place.start().carry(count, None)
}
