//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet.
    unsafe {
        let _ = verdictd::names::look_up_in_files_and_dns();
        verdictd::model::keep_candle_single_threaded();
    }
    verdictd::cli::main().into()
}
