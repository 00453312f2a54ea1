//! The program answers as the library that made the model does: every kind that tests/models/make.py trains, one test a
//! family. The Python libraries come by tests/models/venv; without them this passes with a warning, unless
//! `VERDICTD_TEST_MODELS=required`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

use std::env::{var, var_os};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

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

/// Runs a script of tests/models to its end: whether it ended well, and what it said.
fn script(python: &Path, name: &str, arguments: &[&Path], families: &[&str]) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name);
    let mut command = Command::new(python);
    // Nothing is written beside the scripts.
    command.arg("-B").arg(script).args(arguments).args(families).stdin(Stdio::null());
    let done = command.output().expect("python");
    (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr))
}

/// The folder of all kinds, made once a run; None without the libraries.
fn kinds() -> Option<&'static (PathBuf, PathBuf)> {
    static MADE: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let python = python()?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kinds-of-models");
        let _ = std::fs::remove_dir_all(&folder);
        let (well, said) = script(&python, "make.py", &[&folder], &[]);
        assert!(well, "make.py: {said}");
        Some((python, folder))
    });
    made.as_ref()
}

fn compared(family: &str) {
    let Some((python, folder)) = kinds() else {
        assert_ne!(
            var("VERDICTD_TEST_MODELS").as_deref(),
            Ok("required"),
            "tests/models/venv has not made the libraries"
        );
        let line = format!(
            "\n*** NOT TESTED: {family} against its library, for which tests/models/venv is to run first ***\n"
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
        return;
    };
    let program = Path::new(env!("CARGO_BIN_EXE_verdictd"));
    let (well, table) = script(python, "compare.py", &[folder, program], &[family]);
    let _ = std::io::stderr().write_all(format!("\n{table}").as_bytes());
    assert!(well, "{family} does not hold: the lines with *** above");
}

#[test]
fn a_lightgbm_file_answers_as_lightgbm() {
    compared("lightgbm");
}

#[test]
fn an_xgboost_file_answers_as_xgboost() {
    compared("xgboost");
}

#[test]
fn an_onnx_file_of_scikit_learn_answers_as_scikit_learn() {
    compared("sklearn");
}

#[test]
fn an_onnx_file_of_a_tree_library_answers_as_the_library() {
    compared("export");
}

#[test]
fn a_pytorch_network_answers_as_pytorch() {
    compared("torch");
}
