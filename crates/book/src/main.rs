//! `cargo run -p book`: builds the book with `scripts/book.sh`, serves it on this machine, and prints its address.
//!
//! mdBook is no dependency, because everyone who tests the workspace would have to compile it. If its programs are missing,
//! `cargo install` puts them into `target/book-tools`.

use std::env;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;

/// The tools that build the book (mdBook, and the renderer of formulas): name, version, and options for `cargo
/// install`.
const TOOLS: [(&str, &str, &[&str]); 2] = [
    ("mdbook", "0.5.4", &["--no-default-features", "--features", "search"]),
    ("mdbook-katex", "0.10.0", &[]),
];

/// Build the book, serve it on this machine, and print its address.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The port; if it is taken, any free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Only build the book, in book/html.
    #[arg(long)]
    build_only: bool,
}

fn main() -> ExitCode {
    host::main(|| {
        let arguments: Arguments = match host::parse(|command| command) {
            Ok(arguments) => arguments,
            Err(code) => return code,
        };
        match run(&arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                host::complain(format_args!("error: {error}"));
                ExitCode::FAILURE
            }
        }
    })
}

/// Builds the book and serves it until the program is interrupted. Returns only after an error, or with
/// `--build-only` after the build.
///
/// # Errors
/// If a program can't be installed, the book can't be built, or no port is free.
fn run(arguments: &Arguments) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = root.join("target/book-tools");
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = [tools.join("bin")].into_iter().chain(env::split_paths(&inherited));
    let path = env::join_paths(folders.collect::<Vec<PathBuf>>()).map_err(|e| e.to_string())?;
    for (name, version, options) in TOOLS {
        let found = Command::new(name).arg("--version").env("PATH", &path).output();
        let is_there = found
            .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(version));
        if !is_there {
            host::complain(format_args!(
                "installing {name} {version} in target/book-tools, which takes some minutes"
            ));
            let mut install = Command::new("cargo");
            install
                .args(["install", "--locked", "--quiet", &format!("{name}@{version}")])
                .args(options)
                .arg("--root")
                .arg(&tools)
                .env("CARGO_TARGET_DIR", tools.join("build"));
            succeed(&mut install, name)?;
        }
    }
    let mut build = Command::new("bash");
    build.arg("scripts/book.sh").current_dir(&root).env("PATH", &path).stdout(Stdio::null());
    succeed(&mut build, "scripts/book.sh")?;
    if arguments.build_only {
        host::println!("the book is in book/html");
        return Ok(());
    }
    let listener = TcpListener::bind(("127.0.0.1", arguments.port))
        .or_else(|_| TcpListener::bind(("127.0.0.1", 0)))
        .map_err(|error| format!("no port is free: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    host::println!("the book is at http://{address}/ (Ctrl-C ends this program)");
    book::serve(&listener, &root.join("book/html"));
    Ok(())
}

/// Runs a command.
///
/// # Errors
/// If it can't be started, or fails.
fn succeed(command: &mut Command, name: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("can't start {name}: {error}"))?;
    status.success().then_some(()).ok_or_else(|| format!("{name} failed, see above"))
}
