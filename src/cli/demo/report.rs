//! The table at the end.

use super::proof::Proof;
use super::sender::Answers;
use std::io::{self, Write};
use std::time::Duration;

/// What a demo found and measured.
pub struct Figures {
    rows: Vec<(&'static str, String)>,
    pub findings: Vec<String>,
}

impl Figures {
    pub fn new(proof: &Proof, answers: &Answers, took: Duration, ready: Duration, peak_bytes: u64) -> Self {
        let mut times = answers.single_times.clone();
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).map_or(0.0, |t| t.as_secs_f64() * 1e3);
        #[allow(clippy::cast_precision_loss)] // shown rounded
        let (rate, peak) = (
            (proof.acked + proof.repeats + proof.conflicts + proof.malformed) as f64 / took.as_secs_f64(),
            peak_bytes as f64 / f64::from(1 << 20),
        );
        let rows = vec![
            ("events acknowledged", proof.acked.to_string()),
            ("verdicts in the sink", proof.delivered.to_string()),
            ("acknowledged and lost", proof.lost.to_string()),
            ("events with two verdicts", proof.doubled.to_string()),
            ("repeats, answered word for word", proof.repeats.to_string()),
            ("conflicts refused, in quarantine", proof.conflicts.to_string()),
            ("malformed refused, in quarantine", proof.malformed.to_string()),
            ("events a second, while it ran", format!("{rate:.0}")),
            ("answer to a single post, p50", format!("{:.2} ms", at(50))),
            ("answer to a single post, p99", format!("{:.2} ms", at(99))),
            ("peak memory of the daemon", format!("{peak:.1} MiB")),
            ("ready again after the kill", format!("{:.0} ms", ready.as_secs_f64() * 1e3)),
        ];
        Self { rows, findings: proof.findings.clone() }
    }
}

/// Prints the table, and the findings where the proof did not hold.
pub fn print(figures: &Figures, out: &mut impl Write) -> io::Result<()> {
    for (name, value) in &figures.rows {
        writeln!(out, "{name:<36}{value:>12}")?;
    }
    for finding in &figures.findings {
        writeln!(out, "NOT HELD: {finding}")?;
    }
    if figures.findings.is_empty() {
        writeln!(out, "held: every acknowledged event has exactly one verdict, the kill notwithstanding")?;
    }
    Ok(())
}
