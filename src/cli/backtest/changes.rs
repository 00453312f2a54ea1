//! A line of JSON for each event whose decision changes.

use crate::{
    cli::Failure,
    event::Timestamp,
    verdict::{Verdict, write_json_string, write_number, write_score},
};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

pub(super) struct Changes {
    path: PathBuf,
    file: BufWriter<File>,
    line: Vec<u8>,
}

impl Changes {
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure::input(&path.display().to_string(), &error))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), line: Vec::new() })
    }

    /// `was`: decision and score.
    pub fn write(&mut self, is: &Verdict<'_>, was: (&str, Option<f64>), label: Option<f64>) -> Result<(), Failure> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"source\":");
        write_json_string(is.source, line);
        line.extend_from_slice(b",\"id\":");
        write_json_string(is.id, line);
        if let Some(key) = is.key {
            line.extend_from_slice(b",\"key\":");
            write_json_string(key, line);
        }
        line.extend_from_slice(b",\"time\":\"");
        Timestamp(is.time_us).write(line);
        line.extend_from_slice(b"\",\"was\":{\"decision\":");
        write_json_string(was.0, line);
        line.extend_from_slice(b",\"score\":");
        write_score(was.1, line);
        line.extend_from_slice(b"},\"is\":{\"decision\":");
        write_json_string(is.decision, line);
        line.extend_from_slice(b",\"score\":");
        write_score(is.score, line);
        line.extend_from_slice(b",\"reasons\":[");
        for (n, reason) in is.reasons.iter().enumerate() {
            if n > 0 {
                line.push(b',');
            }
            write_json_string(reason, line);
        }
        line.extend_from_slice(b"]}");
        if let Some(label) = label {
            line.extend_from_slice(b",\"label\":");
            write_number(label, line);
        }
        line.extend_from_slice(b"}\n");
        self.file.write_all(line).map_err(|error| failed(&self.path, &error))
    }

    /// To be called at the end: what is still buffered would otherwise fail unseen.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(crate::cli::ExitCode::Io, format!("{}: {error}", path.display()))
}
