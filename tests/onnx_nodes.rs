//! Every operator does what ONNX says: the node cases of the `onnx` package, each with all inputs known when the model
//! is compiled, and again with the first one coming with a row. `tests/models/node_cases.py` writes them, so the Python
//! libraries of tests/models/venv must be there; without them this passes with a warning, unless
//! `VERDICTD_TEST_MODELS=required`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

use bytes::Bytes;
use std::collections::BTreeSet;
use std::env::{var, var_os};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use verdictd::model::onnx::tensor::Tensor;
use verdictd::model::onnx::{Known, evaluate};

/// Cases that agree, of onnx 1.23.2 (tests/models/requirements.txt): with all inputs known, and with all but the first.
const AGREE: [usize; 2] = [898, 884];

/// Where the libraries are, as tests/models/venv has it; None where they have not been installed.
fn python() -> Option<PathBuf> {
    let cache =
        || var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(Path::new(&var_os("HOME")?).join(".cache")));
    let venv = match var_os("VERDICTD_TEST_VENV") {
        Some(path) => PathBuf::from(path),
        None => cache()?.join("verdictd-models/venv"),
    };
    // Written when everything else is there.
    venv.join("made-from").exists().then(|| venv.join("bin/python"))
}

fn cases(python: &Path) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("onnx-nodes");
    let _ = std::fs::remove_dir_all(&folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/node_cases.py");
    let done = Command::new(python).arg("-B").arg(script).arg(&folder).stdin(Stdio::null()).output().expect("python");
    assert!(done.status.success(), "node_cases.py: {}", String::from_utf8_lossy(&done.stderr));
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("the cases").map(|entry| entry.expect("an entry").path()).collect();
    cases.sort();
    cases
}

/// What is known to be refused: a part of what the refusal says.
fn refusals() -> Vec<&'static str> {
    let lines = include_str!("models/node_cases.txt").lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(" | ").expect("a refusal and why").0).collect()
}

fn tensors(set: &Path, what: &str) -> Vec<Bytes> {
    let files = (0..).map(|n| set.join(format!("{what}_{n}.pb"))).take_while(|path| path.exists());
    files.map(|path| std::fs::read(path).expect("a tensor").into()).collect()
}

/// What differs; None where nothing does.
fn difference(found: &Tensor, expected: &Tensor, relative: f64, absolute: f64) -> Option<String> {
    if found.of() != expected.of() {
        return Some(format!("{}, expected {}", found.of(), expected.of()));
    }
    (0..found.data.len()).find_map(|n| {
        let (found_number, expected_number) = (found.view().number(n), expected.view().number(n));
        let close = (found_number - expected_number).abs() <= absolute + relative * expected_number.abs();
        // Also infinities, which have no difference.
        let equal =
            found_number.to_bits() == expected_number.to_bits() || (found_number.is_nan() && expected_number.is_nan());
        let fits = equal || (close && (found.of().kind.is_float() || (found_number - expected_number).abs() < 0.5));
        (!fits).then(|| format!("[{n}] {found_number}, expected {expected_number}"))
    })
}

/// Whether a case agrees: Err with the refusal, Ok(Some) with what differs.
fn run(case: &Path, known: Known) -> Result<Option<String>, String> {
    let model = Bytes::from(std::fs::read(case.join("model.onnx")).expect("a model"));
    let tolerance = std::fs::read_to_string(case.join("tolerance")).expect("a tolerance");
    let (relative, absolute) = tolerance.trim().split_once(' ').expect("two numbers");
    let (relative, absolute) = (relative.parse().expect("a number"), absolute.parse().expect("a number"));
    for set in (0..).map(|n| case.join(n.to_string())).take_while(|set| set.exists()) {
        let done = evaluate(&model, &tensors(&set, "input"), &tensors(&set, "output"), known);
        let done = done.map_err(|error| error.to_string())?;
        if done.outputs.len() != done.expected.len() || done.outputs.is_empty() {
            return Ok(Some(format!("{} outputs, expected {}", done.outputs.len(), done.expected.len())));
        }
        for (found, expected) in done.outputs.iter().zip(&done.expected) {
            if let Some(what) = difference(found, expected, relative, absolute) {
                return Ok(Some(what));
            }
        }
    }
    Ok(None)
}

#[test]
fn every_operator_gives_what_onnx_says() {
    let Some(python) = python() else {
        assert_ne!(
            var("VERDICTD_TEST_MODELS").as_deref(),
            Ok("required"),
            "tests/models/venv has not made the libraries"
        );
        let line = "\n*** NOT TESTED: ONNX operators against ONNX's cases, for which tests/models/venv is to run ***\n";
        let _ = std::io::stderr().write_all(line.as_bytes());
        return;
    };
    let refusals = refusals();
    let mut met: BTreeSet<&str> = BTreeSet::new();
    let mut agree = [0, 0];
    let mut report = String::new();
    for case in cases(&python) {
        let name = case.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        // Sequences and optionals, or a case of chance, which has no data.
        if case.join("sequences").exists() || !case.join("0").exists() {
            continue;
        }
        for (known, agree) in [Known::All, Known::ButFirst].into_iter().zip(&mut agree) {
            match run(&case, known) {
                Ok(None) => *agree += 1,
                Ok(Some(what)) => writeln!(report, "{name} ({known:?}): {what}").expect("a line"),
                Err(refusal) => match refusals.iter().find(|part| refusal.contains(**part)) {
                    Some(part) => {
                        met.insert(part);
                    }
                    None => writeln!(report, "{name} ({known:?}): refused: {refusal}").expect("a line"),
                },
            }
        }
    }
    let rotten: Vec<_> = refusals.iter().filter(|part| !met.contains(**part)).collect();
    assert!(report.is_empty(), "\n{report}");
    assert!(rotten.is_empty(), "lines of node_cases.txt that no case meets: {rotten:#?}");
    assert_eq!(agree, AGREE, "cases that agree");
}
