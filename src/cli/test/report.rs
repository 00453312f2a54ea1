//! What the cases gave, for people and for scripts.

use super::run::Outcome;
use serde_json::{Value, json};
use std::{fmt::Write, path::Path};

/// Of all files.
#[derive(Default)]
pub(super) struct Report {
    files: Vec<FileReport>,
}

struct FileReport {
    path: String,
    cases: Vec<Outcome>,
    /// Where it could not be read as cases.
    faults: Vec<String>,
}

/// A style of the terminal, where there is one.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn red(self, text: &str) -> String {
        self.by("31", text)
    }

    fn green(self, text: &str) -> String {
        self.by("32", text)
    }

    fn bold(self, text: &str) -> String {
        self.by("1", text)
    }

    fn by(self, style: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

impl Report {
    pub fn add(&mut self, path: &Path, cases: Vec<Outcome>) {
        self.files.push(FileReport { path: path.display().to_string(), cases, faults: Vec::new() });
    }

    pub fn refuse(&mut self, path: &Path, faults: Vec<String>) {
        self.files.push(FileReport { path: path.display().to_string(), cases: Vec::new(), faults });
    }

    fn cases(&self) -> impl Iterator<Item = &Outcome> {
        self.files.iter().flat_map(|file| &file.cases)
    }

    fn failed(&self) -> usize {
        self.cases().filter(|case| !case.differences.is_empty()).count()
    }

    fn refused(&self) -> usize {
        self.files.iter().filter(|file| !file.faults.is_empty()).count()
    }

    /// Whether all is as expected.
    pub fn holds(&self) -> bool {
        self.failed() == 0 && self.refused() == 0
    }

    /// A line a case, and below one that does not hold what differs.
    pub fn text(&self, coloured: bool) -> String {
        let paint = Paint(coloured);
        let mut text = String::new();
        for file in &self.files {
            let _ = writeln!(text, "{}", paint.bold(&file.path));
            if !file.faults.is_empty() {
                let _ = writeln!(text, "  {} it could not be read", paint.red("FAIL"));
            }
            for case in &file.cases {
                if case.differences.is_empty() {
                    let _ = writeln!(text, "  {}   {}", paint.green("ok"), case.name);
                    continue;
                }
                let _ = writeln!(text, "  {} {}", paint.red("FAIL"), case.name);
                for (step, difference) in &case.differences {
                    let _ = writeln!(text, "       step {step}: {}", difference.what);
                    let _ = writeln!(text, "       {}", paint.red(&format!("- {}", difference.expected)));
                    let _ = writeln!(text, "       {}", paint.green(&format!("+ {}", difference.found)));
                }
            }
        }
        let all = self.cases().count();
        let held = all - self.failed();
        let _ = match self.refused() {
            0 => writeln!(text, "{held} of {all} cases hold"),
            n => writeln!(text, "{held} of {all} cases hold; {n} files could not be read"),
        };
        text
    }

    pub fn json(&self) -> Value {
        let files = self.files.iter().map(|file| {
            let cases = file.cases.iter().map(|case| {
                let differences = case.differences.iter().map(|(step, difference)| {
                    json!({
                        "step": step,
                        "what": difference.what,
                        "expected": difference.expected,
                        "found": difference.found,
                    })
                });
                json!({
                    "name": case.name,
                    "ok": case.differences.is_empty(),
                    "steps": case.steps,
                    "differences": differences.collect::<Vec<_>>(),
                })
            });
            json!({ "file": file.path, "faults": file.faults, "cases": cases.collect::<Vec<_>>() })
        });
        json!({
            "ok": self.holds(),
            "cases": self.cases().count(),
            "failed": self.failed(),
            "files": files.collect::<Vec<_>>(),
        })
    }
}
