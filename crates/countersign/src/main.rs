//! `countersign`: see the library half.

use std::process::ExitCode;

fn main() -> ExitCode {
    countersign::cli::main().into()
}
