//! The command `dsokr`.

fn main() -> std::process::ExitCode {
    dsokr::cli::main()
}
