//! Tests with hostile input, and on failing machines: full disks, closed pipes, too little memory or too few threads.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tensor::Dump;

fn tensor_diff(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tensor-diff")).args(arguments).output().unwrap()
}

/// A dump that PyTorch made.
fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps").join(name)
}

/// Two dumps without a single number have nothing that could agree.
#[test]
fn tensors_without_elements_do_not_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.json");
    let mut dump = Dump::read(&reference("softmax.json")).unwrap();
    for batch_only in [true, false] {
        for tensor in &mut dump.tensors {
            tensor.data.clear();
            if batch_only && !tensor.shape.is_empty() {
                tensor.shape[0] = 0;
            } else {
                tensor.shape = vec![0];
            }
        }
        dump.write(&path).unwrap();
        let output = tensor_diff(&[path.to_str().unwrap(), path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("differs from"), "{output:?}");
    }
}

/// Gradients of a layer that the network doesn't have, alone and with all tensors that they would be made of.
#[test]
fn tensors_of_absent_layers_are_judged_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layers.json");
    let name = path.to_str().unwrap();
    let json = std::fs::read_to_string(reference("softmax.json")).unwrap();
    let renamed = |json: &str, stem: &str, from: usize, to: usize| {
        json.replace(&format!("\"{stem}{from}\""), &format!("\"{stem}{to}\""))
    };
    let stems = ["z", "a", "dz", "dw", "db", "da"];
    let mut cases = Vec::new();
    let mut all = json.clone();
    for from in [2, 1] {
        for stem in stems {
            cases.push(renamed(&json, stem, from, 3));
            all = renamed(&all, stem, from, from + 1);
        }
    }
    cases.extend([renamed(&json, "da", 1, 2), all]);
    cases.retain(|case| *case != json);
    let unharmed = reference("softmax.json");
    for case in cases {
        std::fs::write(&path, case).unwrap();
        for arguments in [vec![name], vec![unharmed.to_str().unwrap(), name]] {
            let output = tensor_diff(&arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            // A dump without a reference may agree, because tensors of layers that it doesn't have can't be judged.
            let agrees = output.status.code() == Some(0) && arguments.len() == 1;
            assert!(agrees || matches!(output.status.code(), Some(1 | 2)), "{output:?}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
}

/// A tensor of an absurd layer, control characters in the header, and standard output and standard
/// error that can't be written.
#[test]
fn texts_of_a_hostile_dump_stay_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.json");
    let name = path.to_str().unwrap();
    let json = std::fs::read_to_string(reference("softmax.json")).unwrap();
    for layer in ["18446744073709551615", "9223372036854775808", "1048577"] {
        for stem in ["w", "b", "z", "a", "dz", "dw", "db", "da"] {
            std::fs::write(&path, json.replace("\"dw1\"", &format!("\"{stem}{layer}\""))).unwrap();
            let output = tensor_diff(&[name, name]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(&format!("{stem}{layer}")), "{said}");
        }
    }
    let hostile = r#""preset":"\u001b[2J\u001b]0;title\u0007\u009b2J\u202e\nverdict: all is well""#;
    let preset = json.find("\"preset\"").unwrap();
    let end = preset + json[preset..].find(',').unwrap();
    std::fs::write(&path, format!("{}{hostile}{}", &json[..preset], &json[end..])).unwrap();
    let unharmed = reference("softmax.json");
    for arguments in [&[name][..], &[name, "--json"]] {
        let output = tensor_diff(&[&[unharmed.to_str().unwrap()][..], arguments].concat());
        let said = String::from_utf8(output.stdout).unwrap();
        let commands = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!said.contains(commands), "{said:?}");
        assert!(!said.contains("\nverdict: all is well"), "{said}");
        assert!(said.contains(r"\u001b[2J"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn lost_output_is_an_error() {
    let dump = reference("softmax.json");
    let run = |rest: &str| {
        Command::new("sh")
            .args(["-c", &format!("\"$0\" {rest}"), env!("CARGO_BIN_EXE_tensor-diff")])
            .arg(&dump)
            .output()
            .unwrap()
    };
    if Path::new("/dev/full").exists() {
        for arguments in ["\"$1\" \"$1\"", "\"$1\" \"$1\" --json", "--help", "--version"] {
            let output = run(&format!("{arguments} > /dev/full"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{arguments}");
            assert!(said.starts_with("error: can't write to standard output"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        // Bad usage and bad input, if standard error is closed or full.
        for arguments in ["", "--nosuch", "absent absent", "\"$1\" /"] {
            let output = run(&format!("{arguments} 2> /dev/full"));
            assert_eq!(output.status.code(), Some(2), "{arguments}");
            let output = run(&format!("{arguments} 2>&-"));
            assert_eq!(output.status.code(), Some(2), "{arguments}");
        }
    }
    // A closed pipe is not reported; the exit code is the shell's for SIGPIPE.
    for arguments in [&[dump.to_str().unwrap(); 2][..], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensor-diff"));
        let output = command.args(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(141), &b""[..]));
    }
    let report = tempfile::NamedTempFile::new().unwrap();
    // A report to a redirected standard output doesn't replace that output's file.
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        if Path::new(name).exists() {
            let path = report.path().display();
            let output = run(&format!("\"$1\" \"$1\" --json {name} >> {path}"));
            assert!(output.status.success(), "{output:?}");
        }
    }
    let text = std::fs::read_to_string(report.path()).unwrap();
    let tables = text.matches("agrees with").count();
    assert!(tables > 0 && text.matches("\"first_divergence\"").count() == tables, "{text}");
}

/// Files that may not grow, as on a full disk: an error, the old report, and nothing unfinished.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_report() {
    let dump = reference("softmax.json");
    let folder = tempfile::tempdir().unwrap();
    for (option, name) in [("--json", "report.json"), ("--html", "report.html")] {
        let report = folder.path().join(name);
        std::fs::write(&report, "old").unwrap();
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -f 0; \"$0\" \"$1\" \"$1\" {option} \"$2\"")])
            .arg(env!("CARGO_BIN_EXE_tensor-diff"))
            .args([&dump, &report])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {said}");
        assert!(said.contains(name) && said.contains("File too large"), "{option}: {said}");
        assert_eq!(std::fs::read(&report).unwrap(), b"old", "{option}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// With hardly any stack, memory or threads it works, or says in a sentence why it doesn't.
#[cfg(unix)]
#[test]
fn little_memory_is_an_error_and_no_panic() {
    use std::os::unix::process::CommandExt;
    let dump = reference("softmax.json");
    let run = |limit: &str, user: Option<u32>| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit}; exec \"$0\" \"$1\" \"$1\"")]);
        command.arg(env!("CARGO_BIN_EXE_tensor-diff")).arg(&dump);
        // Nothing limits root's threads.
        if let Some(user) = user {
            command.uid(user);
        }
        let output = command.output()?;
        // The shell's exit code if the user may not enter the program's folder.
        if user.is_some() && output.status.code() == Some(126) {
            return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
        }
        Ok(output)
    };
    let users: &[Option<u32>] = if is_root() { &[None, Some(61_234)] } else { &[None] };
    for user in users {
        for limit in ["ulimit -s 64", "ulimit -u 1", "ulimit -s 64; ulimit -u 1"] {
            match run(limit, *user) {
                Ok(output) => assert_eq!(output.status.code(), Some(0), "{limit}: {output:?}"),
                Err(error) => skipped::note(format!("another user can't do it: {error}")),
            }
        }
        for kilobytes in [30_000, 50_000, 100_000, 300_000] {
            let Ok(output) = run(&format!("ulimit -v {kilobytes}"), *user) else { continue };
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 2)), "{kilobytes}: {output:?}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // A file that this process makes belongs to its user.
    tempfile::NamedTempFile::new().unwrap().as_file().metadata().unwrap().uid() == 0
}
