//! `countersign`: see the library half.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests make and drop many small things on all threads; with the C library's allocator that was a seventh of what a
/// request costs.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    countersign::cli::main().into()
}
