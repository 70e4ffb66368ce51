//! Tests with hostile input and failing machines: full disks, closed pipes, too little memory or too few
//! threads. All levels share this code, so the tests of level 1's program are enough.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use test_support::program::{path, text};

use crate::command_line::level1;

const PROGRAM: &str = env!("CARGO_BIN_EXE_level1-cpu");

/// Ten steps of a small network on the built-in digits.
const SHORT: [&str; 8] =
    ["--data", "digits", "--samples", "640", "--batch-size", "64", "--sizes", "784-8-10"];

/// Runs a shell script that calls the program as `"$0" ARGUMENTS`, with names of files as `$1`, `$2`.
pub(crate) fn shell(script: &str, files: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script, PROGRAM]).args(files).env_remove("MNIST_DIR");
    command.output().unwrap()
}

/// Expects an exit code and a line with these words on standard error.
#[track_caller]
pub(crate) fn fails(output: &Output, code: i32, words: &[&str]) {
    let said = test_support::program::fails(output, code, words);
    assert_eq!(said.lines().filter(|line| line.starts_with("error")).count(), 1, "{said}");
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn save_model(folder: &TempDir) -> String {
    let model = path(folder, "model.safetensors");
    let output = level1(&[&SHORT[..], &["--save", &model]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    model
}

#[test]
fn lost_output_is_a_failure() {
    let folder = TempDir::new().unwrap();
    let model = save_model(&folder);
    let short = SHORT.join(" ");
    let commands = [
        format!("train {short}"),
        format!("bench {short} --runs 1 --steps 2"),
        "predict --data digits --load \"$1\"".into(),
        "--help".into(),
        "train --help".into(),
        "--version".into(),
    ];
    for command in commands {
        let arguments = command.replace("\"$1\"", &model);
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(PROGRAM).args(&arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{command}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{command}");
        if Path::new("/dev/full").exists() {
            let output = shell(&format!("\"$0\" {command} > /dev/full"), &[&model]);
            fails(&output, 1, &["error: can't write to standard output: No space left"]);
        }
    }
}

/// The trained parameters are saved even if standard output is closed.
#[test]
fn files_are_written_even_if_standard_output_is_lost() {
    let folder = TempDir::new().unwrap();
    let (model, report) = (path(&folder, "m.safetensors"), path(&folder, "r.json"));
    let arguments = [&SHORT[..], &["--save", &model, "--json", &report]].concat();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(PROGRAM).args(&arguments).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["batches"], 10, "{report}");
    assert!(level1(&["predict", "--data", "digits", "--load", &model]).status.success());

    // Conversely: if the report can't be written, the model still is.
    if Path::new("/dev/full").exists() {
        fs::remove_file(&model).unwrap();
        let output = level1(&[&SHORT[..], &["--save", &model, "--json", "/dev/full"]].concat());
        fails(&output, 1, &["can't write /dev/full: No space left"]);
        assert!(level1(&["predict", "--data", "digits", "--load", &model]).status.success());
    }
}

#[test]
fn lost_standard_error_changes_nothing() {
    for (arguments, code) in [
        ("--preset nosuch", 2),
        ("--load /absent", 2),
        ("--data-dir /absent", 2),
        ("--json /absent/file", 1),
        ("dump --preset softmax --out /", 1),
        ("--nosuch", 2),
    ] {
        for redirection in ["2> /dev/full", "2>&-", "2>&- >&- <&-"] {
            let output = shell(&format!("\"$0\" {arguments} {redirection}"), &[]);
            assert_eq!(output.status.code(), Some(code), "{arguments} {redirection}");
        }
    }
}

#[test]
fn the_largest_numbers_cause_no_panic() {
    const LARGEST: &str = "18446744073709551615";
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "d.json");
    let few = [&SHORT[..], &["--max-batches", "3"]].concat();
    for option in ["--epochs", "--seed", "--report-every", "--evaluate-every"] {
        let output = level1(&[&few[..], &[option, LARGEST]].concat());
        assert_eq!(output.status.code(), Some(0), "{option}: {}", text(&output.stderr));
    }
    for option in ["--samples", "--count"] {
        let command = if option == "--count" { "predict" } else { "train" };
        let output = level1(&[command, option, LARGEST, "--load", "/absent"]);
        fails(&output, 2, &["/absent"]);
    }
    // No batch of that size can be filled; with --drop-last false it is the whole set.
    fails(&level1(&["--data", "digits", "--batch-size", LARGEST]), 2, &["--drop-last false"]);
    let all = ["--batch-size", LARGEST, "--drop-last", "false"];
    let output = level1(&[&SHORT[..4], &["--sizes", "784-8-10"], &all].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // A fixture draws any number of samples.
    let output = level1(&["dump", "--preset", "softmax", "--batch-size", LARGEST, "--out", &out]);
    fails(&output, 1, &["of memory", "--batch-size"]);
    assert!(names_in(folder.path()).is_empty());
}

/// The largest allowed layer on a batch of all images would need 290 GB.
#[test]
fn too_large_a_batch_is_an_error_before_allocation() {
    let large = ["--sizes", "784-300000-10", "--batch-size", "60000", "--data", "digits"];
    let output = level1(&[&large[..], &["--epochs", "1"]].concat());
    fails(&output, 1, &["needs", "GB of memory", "--batch-size", "--sizes"]);
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "d.json");
    let output = level1(&[&["dump", "--out", &out][..], &large].concat());
    fails(&output, 1, &["needs", "GB of memory", "--batch-size"]);
    assert!(names_in(folder.path()).is_empty());
}

/// With very little stack, memory or threads the program works, or prints a one-line error.
#[test]
fn scarce_resources_cause_no_panic() {
    let limited = |limit: &str, user: Option<u32>| {
        let mut command = Command::new("sh");
        let script = format!("{limit}; exec \"$0\" {}", SHORT.join(" "));
        command.args(["-c", &script, PROGRAM]).env_remove("MNIST_DIR");
        // The limit of threads doesn't apply to root.
        if let Some(user) = user {
            command.uid(user);
        }
        let output = command.output()?;
        // The shell's message if the user may not enter the program's folder.
        if user.is_some() && output.status.code() == Some(126) {
            return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
        }
        Ok(output)
    };
    let root = tempfile::tempfile().unwrap().metadata().unwrap().uid() == 0;
    let users: &[Option<u32>] = if root { &[None, Some(61_235)] } else { &[None] };
    for user in users {
        for limit in ["ulimit -s 64", "ulimit -u 1", "ulimit -s 64; ulimit -u 1"] {
            match limited(limit, *user) {
                Ok(output) => assert_eq!(output.status.code(), Some(0), "{limit}: {output:?}"),
                Err(error) => skipped::note(format!("another user can't do it: {error}")),
            }
        }
        for kilobytes in [40_000, 300_000] {
            let Ok(output) = limited(&format!("ulimit -v {kilobytes}"), *user) else { continue };
            let said = text(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{kilobytes}: {output:?}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
    // All images, as numbers, are 220 MB.
    let output = shell("ulimit -v 300000; exec \"$0\" --data digits --epochs 1", &[]);
    fails(&output, 1, &["of memory, but this process may not allocate that much: use"]);
}

#[test]
fn two_options_never_write_the_same_file() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let (file, again) = (path(&folder, "x"), path(&folder, "sub/../x"));
    let refused = |arguments: &[&str]| {
        let output = level1(&[&SHORT[..], arguments].concat());
        fails(&output, 2, &["would both write", "name another file"]);
    };
    refused(&["--json", &file, "--save", &file]);
    refused(&["--json", &file, "--save", &again]);
    symlink("x", folder.path().join("link")).unwrap();
    refused(&["--json", &file, "--save", &path(&folder, "link")]);
    assert_eq!(names_in(folder.path()), ["link", "sub"], "nothing was written");
    fs::write(&file, "old").unwrap();
    fs::hard_link(&file, folder.path().join("hard")).unwrap();
    refused(&["--json", &file, "--save", &path(&folder, "hard")]);
    let pictures = path(&folder, "pictures");
    refused(&["--plot", &pictures, "--json", &format!("{pictures}/./curve.svg")]);
    assert_eq!(fs::read(&file).unwrap(), b"old");
}

#[test]
fn a_report_can_be_written_to_standard_output() {
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        if !Path::new(name).exists() {
            continue;
        }
        let folder = TempDir::new().unwrap();
        let file = path(&folder, "out");
        let script = format!("\"$0\" {} --json {name} > \"$1\"", SHORT.join(" "));
        let output = shell(&script, &[&file]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = fs::read_to_string(&file).unwrap();
        assert!(said.starts_with("level1-cpu on cpu") && said.contains("\"level1-cpu\""), "{said}");
        assert_eq!(names_in(folder.path()), ["out"]);
    }
}

/// If a file can't grow further, the old one stays, and no partial file is left.
#[test]
fn a_full_disk_damages_no_file() {
    let folder = TempDir::new().unwrap();
    let (model, dump) = (path(&folder, "m.safetensors"), path(&folder, "d.json"));
    let report = path(&folder, "r.json");
    let all = [&model, &dump, &report];
    all.iter().for_each(|file| fs::write(file, "old").unwrap());
    fs::set_permissions(&model, fs::Permissions::from_mode(0o600)).unwrap();
    for blocks in [0, 1, 20] {
        let script = format!("ulimit -f {blocks}; \"$0\" {} --save \"$1\"", SHORT.join(" "));
        fails(&shell(&script, &[&model]), 1, &["can't write", "m.safetensors: File too large"]);
        let script = format!("ulimit -f {blocks}; \"$0\" dump --preset softmax --out \"$1\"");
        fails(&shell(&script, &[&dump]), 1, &["can't write the dump", "d.json: File too large"]);
        // The report is smaller than the other two.
        if blocks == 0 {
            let script = format!("ulimit -f 0; \"$0\" {} --json \"$1\"", SHORT.join(" "));
            fails(&shell(&script, &[&report]), 1, &["can't write", "r.json: File too large"]);
        }
        assert_eq!(names_in(folder.path()), ["d.json", "m.safetensors", "r.json"]);
        assert!(all.iter().all(|file| fs::read(file).unwrap() == b"old"));
    }
    save_model(&folder);
    let output = level1(&[&SHORT[..], &["--save", &model]].concat());
    assert!(output.status.success());
    assert_eq!(fs::metadata(&model).unwrap().permissions().mode() & 0o777, 0o600);
}

/// After a signal, the program ends after the batch, writes its files, and its exit code shows the signal.
#[test]
fn each_signal_ends_the_program_cleanly_with_its_exit_code() {
    for (signal, number, said) in
        [("-INT", 2, "Ctrl-C"), ("-TERM", 15, "SIGTERM"), ("-HUP", 1, "SIGHUP")]
    {
        let folder = TempDir::new().unwrap();
        let (model, report) = (path(&folder, "m.safetensors"), path(&folder, "r.json"));
        let endless = ["--epochs", "18446744073709551615", "--save", &model, "--json", &report];
        // Under `nohup`, the tests ignore SIGHUP.
        let defaults: &[&str] =
            if cfg!(target_os = "linux") { &["--default-signal=HUP,INT,TERM"] } else { &[] };
        let mut child = Command::new("env")
            .args(defaults)
            .arg(PROGRAM)
            .args([&SHORT[..], &endless].concat())
            .env_remove("MNIST_DIR")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("batch") {
            line.clear();
            assert_ne!(std::io::BufRead::read_line(&mut output, &mut line).unwrap(), 0);
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{rest}");
        assert!(rest.contains(&format!("stopped by {said}")), "{rest}");
        assert!(rest.contains("test accuracy") && rest.contains("parameters saved"), "{rest}");
        assert_eq!(names_in(folder.path()), ["m.safetensors", "r.json"]);
        let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        assert_eq!(report["stop_reason"], "interrupted");
    }
}

/// Passes missing files, folders and devices to each option that takes a file.
#[test]
fn options_for_files_reject_everything_else() {
    let folder = TempDir::new().unwrap();
    let (file, out) = (path(&folder, "file"), path(&folder, "out"));
    fs::write(&file, "").unwrap();
    let directory = folder.path().to_str().unwrap();
    let absent = path(&folder, "absent/file");
    let dump = ["dump", "--preset", "softmax", "--out", &out];
    let readers: [&[&str]; 4] = [
        &["--load"],
        &["predict", "--load"],
        &[&dump[..], &["--inputs"]].concat(),
        &[&dump[..], &["--load"]].concat(),
    ];
    for reader in readers {
        let read = |name: &str| level1(&[reader, &[name]].concat());
        fails(&read(directory), 2, &["can't read", "it is a folder, not a file"]);
        fails(&read(&absent), 2, &["can't read", "No such file"]);
        fails(&read(&path(&folder, "file/within")), 2, &["can't read", "Not a directory"]);
        fails(&read(&file), 2, &["file"]);
        fails(&read("/dev/null"), 2, &["/dev/null"]);
    }
    fails(&level1(&["--data-dir", &file]), 2, &["is not a folder"]);
    fails(&level1(&["--data-dir", &absent]), 2, &["does not exist"]);
    for writer in [&["--json"][..], &["--save"], &["bench", "--json"], &dump[..4]] {
        let write = |name: &str| level1(&[writer, &[name]].concat());
        fails(&write(directory), 1, &["can't write", "it is a folder"]);
        fails(&write(&absent), 1, &["can't write", "absent does not exist"]);
        fails(&write(&path(&folder, "file/within")), 1, &["can't write", "Not a directory"]);
    }
    // Immutable: not even root can replace it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    fails(&level1(&["--save", &file]), 1, &["read-only"]);
    assert_eq!(names_in(folder.path()), ["file"]);
}

/// Names that aren't valid text, or that contain control sequences of a terminal.
#[test]
fn hostile_names_are_handled_as_names() {
    use std::os::unix::ffi::OsStrExt;
    let folder = TempDir::new().unwrap();
    for name in [&b"two\nlines"[..], b"esc\x1b[2J", b"caf\xe9", b" blank ", b"-dash", b"'quote\""] {
        let name = folder.path().join(std::ffi::OsStr::from_bytes(name));
        let run = |arguments: &[&str], option: &str| {
            let mut option = std::ffi::OsString::from(option);
            option.push(&name);
            Command::new(PROGRAM).args(arguments).arg(option).output().unwrap()
        };
        let output = run(&["predict"], "--load=");
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said:?}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
        let output = run(&SHORT, "--save=");
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!said.contains('\u{1b}') && said.contains("parameters saved to"), "{said:?}");
        let output = run(&["predict", "--data", "digits"], "--load=");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}
