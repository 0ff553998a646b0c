//! The command `dsokr`.

#[global_allocator]
static ALLOCATOR: dsokr::cli::Allocator = dsokr::cli::Allocator;

fn main() -> std::process::ExitCode {
    dsokr::cli::main()
}
