//! The program `cuda-c`: its output, messages and exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TWICE: &str = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }\n";

fn cuda_c(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cuda-c")).current_dir(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn ptx_is_written_to_standard_output_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("twice.cu"), TWICE).unwrap();
    let printed = cuda_c(folder.path(), &["twice.cu"]);
    assert_eq!(printed.status.code(), Some(0));
    assert_eq!(text(&printed.stderr), "");
    let written = cuda_c(folder.path(), &["twice.cu", "--out", "twice.ptx"]);
    assert_eq!((written.status.code(), written.stdout.len()), (Some(0), 0));
    assert_eq!(fs::read(folder.path().join("twice.ptx")).unwrap(), printed.stdout);
    assert!(text(&printed.stdout).contains(".visible .entry twice("));
}

#[test]
fn macros_and_include_folders_are_options() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("headers")).unwrap();
    fs::write(folder.path().join("headers/by.h"), "#define BY (FACTOR + 1)\n").unwrap();
    let source = format!("#include <by.h>\n{}", TWICE.replace("2.0f", "BY"));
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let output = cuda_c(folder.path(), &["k.cu", "-I", "headers", "-D", "FACTOR=6"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The constant 7.0f.
    assert!(text(&output.stdout).contains("0f40E00000"), "{}", text(&output.stdout));
}

#[test]
fn exit_codes_of_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("wrong.cu"), TWICE.replace("x[", "y[")).unwrap();
    fs::write(folder.path().join("twice.cu"), TWICE).unwrap();
    for (arguments, code, words) in [
        (&["wrong.cu"][..], 1, "wrong.cu:1:"),
        (&["nowhere.cu"], 2, "error: can't read nowhere.cu: "),
        (&["twice.cu", "--arch", "20"], 2, "it has to be one of 50, 52, 53, "),
        (&["twice.cu", "--arch", "79"], 2, "it has to be one of 50, 52, 53, "),
        (
            &["twice.cu", "--out", "no/such/folder/k.ptx"],
            1,
            "error: can't write no/such/folder/k.ptx: ",
        ),
        (&["wrong.cu", "--out", "wrong.ptx"], 1, "`y`"),
    ] {
        let output = cuda_c(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{words}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("wrong.ptx").exists());
}

/// A closed pipe isn't an error; a full disk is.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_write_to_standard_output_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("twice.cu"), TWICE).unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cuda-c"))
        .arg(folder.path().join("twice.cu"))
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: can't write to standard output: "));
}

#[test]
fn source_lines_are_followed_by_their_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let source = "__global__ void k(int *x)\n{\n    x[threadIdx.x] += 3;\n}\n";
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let shown = text(&cuda_c(folder.path(), &["k.cu", "--beside"]).stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("1 | __global__ void k(int *x)"), "{shown}");
    let third = lines.iter().position(|line| *line == "3 |     x[threadIdx.x] += 3;").unwrap();
    let added = lines.iter().position(|line| line.contains("add.s32")).unwrap();
    let last = lines.iter().position(|line| *line == "4 | }").unwrap();
    assert!(third < added && added < last, "{shown}");
    assert!(!shown.contains(".loc") && !shown.contains(".reg"), "{shown}");
}
