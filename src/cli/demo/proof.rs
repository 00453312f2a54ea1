//! The proof: answers, file sink and quarantine held against each other.

use super::DemoError;
use super::plan::{Line, Plan};
use super::sender::Answers;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What was counted, and whatever does not hold.
#[derive(Debug, Default)]
pub struct Proof {
    pub acked: usize,
    pub repeats: usize,
    pub conflicts: usize,
    pub malformed: usize,
    /// Acknowledged events without a verdict in the file.
    pub lost: usize,
    /// Events with more than one.
    pub doubled: usize,
    /// Verdicts in the file.
    pub delivered: usize,
    /// A line for each thing that does not hold; empty: the proof held.
    pub findings: Vec<String>,
}

/// Findings listed in full; more are only counted.
const FINDINGS_MAX: usize = 20;

/// Reads the sink's files and compares.
pub fn prove(
    plan: &Plan,
    answers: &Answers,
    folder: &Path,
    quarantine: &[(String, Vec<u8>)],
) -> Result<Proof, DemoError> {
    let lines = delivered(folder)?;
    Ok(compare(plan, answers, &lines, quarantine))
}

fn compare(plan: &Plan, answers: &Answers, lines: &[Vec<u8>], quarantine: &[(String, Vec<u8>)]) -> Proof {
    let mut proof = Proof { delivered: lines.len(), ..Proof::default() };
    let mut by_id: HashMap<String, Vec<&[u8]>> = HashMap::new();
    for line in lines {
        match id_of(line) {
            Some(id) => by_id.entry(id).or_default().push(line),
            None => proof.find(format!("a line of the sink is no verdict: {}", shown(line))),
        }
    }
    proof.doubled = by_id.values().filter(|lines| lines.len() > 1).count();
    if proof.doubled > 0 {
        proof.find(format!("{} events have more than one verdict", proof.doubled));
    }
    let mut known = HashSet::new();
    for answer in &answers.answered {
        let id = id_of(&plan.text(&answer.line));
        let line = id.as_ref().and_then(|id| by_id.get(id)).and_then(|lines| lines.first());
        match &answer.line {
            Line::First(_) | Line::Repeat(_) => {
                match &answer.line {
                    Line::First(_) => proof.acked += 1,
                    _ => proof.repeats += 1,
                }
                match line {
                    None => proof.lost += 1,
                    Some(line) if *line != answer.text => {
                        proof.find(format!("the answer {} is not the verdict {}", shown(&answer.text), shown(line)));
                    }
                    Some(_) => {}
                }
                known.extend(id);
            }
            Line::Conflict(_) => {
                proof.conflicts += 1;
                if status_of(&answer.text) != Some(409) {
                    proof.find(format!("a conflict was answered {}", shown(&answer.text)));
                }
            }
            Line::Malformed(_) => {
                proof.malformed += 1;
                if status_of(&answer.text) != Some(400) {
                    proof.find(format!("a malformed event was answered {}", shown(&answer.text)));
                }
            }
        }
    }
    if proof.lost > 0 {
        proof.find(format!("{} acknowledged events have no verdict in the sink", proof.lost));
    }
    for id in by_id.keys().filter(|id| !known.contains(*id)) {
        proof.find(format!("the sink has a verdict for {id}, which was never sent"));
    }
    if proof.acked != plan.events() {
        proof.find(format!("{} events sent, but {} acknowledged", plan.events(), proof.acked));
    }
    proof.quarantine(plan, answers, quarantine);
    proof
}

impl Proof {
    /// Each bad event stands in quarantine, once for each time it arrived.
    fn quarantine(&mut self, plan: &Plan, answers: &Answers, quarantine: &[(String, Vec<u8>)]) {
        let kept =
            |kind: &'static str| quarantine.iter().filter(move |(k, _)| k == kind).map(|(_, bytes)| bytes.as_slice());
        let known: HashSet<&[u8]> = kept("malformed").collect();
        let missing = plan.malformed().filter(|bytes| !known.contains(bytes)).count();
        if missing > 0 {
            self.find(format!("{missing} malformed events are not in quarantine"));
        }
        for (kind, sent) in [("malformed", self.malformed), ("conflict", self.conflicts)] {
            let found = kept(kind).count();
            if !(sent..=sent + answers.resent).contains(&found) {
                self.find(format!("{sent} events are {kind}, but {found} stand in quarantine"));
            }
        }
    }

    fn find(&mut self, finding: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

/// All lines of the sink's files.
fn delivered(folder: &Path) -> Result<Vec<Vec<u8>>, DemoError> {
    let fail = |error| DemoError::File { what: "cannot read", path: folder.to_owned(), error };
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let text = std::fs::read(entry.map_err(fail)?.path()).map_err(fail)?;
        let mut parts = text.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            // Behind the last line end there is nothing, or half a line, which is no verdict.
            if parts.peek().is_some() || !part.is_empty() {
                lines.push(part.to_vec());
            }
        }
    }
    Ok(lines)
}

fn id_of(line: &[u8]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(line).ok()?;
    let id = json.get("id").or_else(|| json.get("TRANSACTION_ID"))?;
    id.as_str().map(str::to_owned).or_else(|| id.as_u64().map(|id| id.to_string()))
}

fn status_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<serde_json::Value>(line).ok()?.get("status")?.as_u64()
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line.get(..200).unwrap_or(line)).into_owned()
}
