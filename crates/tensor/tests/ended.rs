//! Tests of a process that ends while it writes a file: killed, terminated, or stopped by a limit. Afterwards, the
//! file is completely the old one or completely the new one. No temporary file is left, unless the process was killed.
#![cfg(unix)]

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use host::file::write_atomically;

/// The environment variables of the writing process: the file, the signal that ends it (or `abort`), and the number of
/// pieces after which it ends.
const FILE_VARIABLE: &str = "TENSOR_TEST_FILE";
const END_VARIABLE: &str = "TENSOR_TEST_END";
const AFTER_VARIABLE: &str = "TENSOR_TEST_AFTER";

const OLD: &[u8] = b"the old file";
/// The size of a piece in bytes. It exceeds a writer's buffer, so that the pieces are written to disk one by one.
const PIECE: usize = 20_000;
const PIECES: usize = 4;
/// A number of pieces that the writer never reaches, so that the writer isn't ended early.
const NEVER: usize = PIECES + 2;

fn new() -> Vec<u8> {
    (0..PIECES * PIECE).map(|i| (i % 251) as u8).collect()
}

/// The writing process; run as an ordinary test, without the variables, it does nothing.
#[test]
fn writer() {
    if env::var_os(FILE_VARIABLE).is_some() {
        let code = host::main(write);
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
}

fn write() -> ExitCode {
    let variable = |name| env::var(name).expect("the test sets the variable");
    let (path, end) = (variable(FILE_VARIABLE), variable(END_VARIABLE));
    let after: usize = variable(AFTER_VARIABLE).parse().expect("a number");
    let after_pieces = |pieces: usize| {
        if pieces != after {
            return;
        }
        if end == "abort" {
            std::process::abort();
        }
        let kill = Command::new("kill").args([&end, &std::process::id().to_string()]).status();
        assert!(kill.expect("kill is there").success());
        // Waits, because the signal may arrive later.
        std::thread::sleep(Duration::from_secs(60));
    };
    let written = write_atomically::<io::Error>(Path::new(&path), |writer| {
        after_pieces(0);
        for (piece, so_many) in new().chunks(PIECE).zip(1..) {
            writer.write_all(piece)?;
            after_pieces(so_many);
        }
        Ok(())
    });
    after_pieces(PIECES + 1);
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            host::complain(error);
            ExitCode::FAILURE
        }
    }
}

/// The exit status of the process, and the state of its folder.
struct Outcome {
    status: ExitStatus,
    said: String,
    content: Vec<u8>,
    names: Vec<String>,
}

/// Starts a process that writes a file and ends by the signal `end` after `after` pieces. The shell runs the commands
/// in `shell` first.
fn run(shell: &str, end: &str, after: usize) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, OLD).unwrap();
    // Resets SIGHUP by another program, because tests that run under `nohup` ignore it, and a shell can't undo that.
    let (program, first) = if cfg!(target_os = "linux") {
        ("env", &["--default-signal=HUP,INT,TERM", "sh"][..])
    } else {
        ("sh", &[][..])
    };
    let output = Command::new(program)
        .args(first)
        .args(["-c", &format!("{shell} exec \"$0\" --exact writer --nocapture")])
        .arg(env::current_exe().unwrap())
        .envs([
            (FILE_VARIABLE, path.to_str().unwrap()),
            (END_VARIABLE, end),
            (AFTER_VARIABLE, &after.to_string()),
        ])
        .output()
        .unwrap();
    let names = fs::read_dir(folder.path()).unwrap();
    Outcome {
        status: output.status,
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
        content: fs::read(&path).unwrap(),
        names: names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect(),
    }
}

#[test]
fn killed_at_each_write_the_file_is_the_old_or_the_new_one() {
    for end in ["abort", "-KILL"] {
        for after in 0..=PIECES + 1 {
            let Outcome { status, said, content, .. } = run("ulimit -c 0;", end, after);
            assert!(status.signal().is_some(), "{status}: {said}");
            let expected = if after > PIECES { new() } else { OLD.to_vec() };
            assert!(content == expected, "{end} after {after} pieces: {} bytes", content.len());
        }
    }
}

#[test]
fn asked_to_end_at_each_write_nothing_unfinished_is_left() {
    for (end, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        for after in 0..=PIECES + 1 {
            let Outcome { status, said, content, names } = run("", end, after);
            // The exit status shows that the signal ended the process.
            assert_eq!(status.signal(), Some(number), "{status}: {said}");
            let expected = if after > PIECES { new() } else { OLD.to_vec() };
            assert!(content == expected, "{end} after {after} pieces: {} bytes", content.len());
            assert_eq!(names, ["file"], "{end} after {after} pieces");
        }
    }
}

/// If a process ignores a signal, as `nohup` makes it ignore SIGHUP, that signal does nothing, and the next one ends
/// the process.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let Outcome { status, said, content, names } =
        run("trap '' HUP; (sleep 3; kill -TERM $$) &", "-HUP", 1);
    assert_eq!(status.signal(), Some(15), "{status}: {said}");
    assert_eq!((content, names), (OLD.to_vec(), vec!["file".to_owned()]));
}

/// If a file reaches the limit on its size, wherever in the file that is, writing fails with an error, whether or not
/// SIGXFSZ is ignored.
#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    // The limit is in blocks, which have 512 or 1024 bytes, depending on the shell.
    for blocks in [0, 1, 19, 20, 39, 40, PIECES * PIECE / 1024] {
        for trap in ["", "trap '' XFSZ;"] {
            let shell = format!("{trap} ulimit -f {blocks};");
            let Outcome { status, said, content, names } = run(&shell, "none", NEVER);
            assert_eq!(status.code(), Some(1), "{blocks} blocks: {status}: {said}");
            assert!(said.contains("File too large"), "{said}");
            assert_eq!((content, names), (OLD.to_vec(), vec!["file".to_owned()]));
        }
    }
    let Outcome { status, said, content, names } = run("ulimit -f 1000;", "none", NEVER);
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!((content, names), (new(), vec!["file".to_owned()]));
}
