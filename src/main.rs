//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet.
    unsafe { verdictd::model::keep_candle_single_threaded() };
    verdictd::cli::main().into()
}
