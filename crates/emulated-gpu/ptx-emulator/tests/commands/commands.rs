//! The commands `run` and `profile` of the program `ptx-emulator`. Tests of `check` are in another file.

use std::fs;
use std::process::{Command, Output};

/// `y[i] += a · x[i]` for `i < n`, one element per thread; elements from `n` on are not accessed.
pub(crate) const SAXPY: &str = "\
.version 7.0
.target sm_52
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra end;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f3;
end:
    ret;
}
";

/// Runs the command in a temporary folder with these files (name and text). `FILE` in the arguments is the
/// first file.
pub(crate) fn run_on_files(files: &[(&str, &str)], arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    files.iter().for_each(|(name, text)| fs::write(path(name), text).unwrap());
    let path = path(files[0].0);
    let path = path.to_str().unwrap();
    Command::new(env!("CARGO_BIN_EXE_ptx-emulator"))
        .args(arguments.iter().map(|&argument| if argument == "FILE" { path } else { argument }))
        .output()
        .unwrap()
}

/// Runs the command on a PTX file.
pub(crate) fn emulator(text: &str, arguments: &[&str]) -> Output {
    run_on_files(&[("kernel.ptx", text)], arguments)
}

/// The text on standard output and standard error.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

pub(crate) const LAUNCH: [&str; 12] = [
    "FILE",
    "--grid",
    "2",
    "--block",
    "4",
    "--arg",
    "u32:6",
    "--arg",
    "f32:2",
    "--arg",
    "f32[8]:iota",
    "--arg",
];

#[test]
fn run_shows_what_a_kernel_wrote() {
    let output = emulator(SAXPY, &[&["run"], &LAUNCH[..], &["f32[8]:1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    // Six threads execute all 18 instructions, two only execute 11.
    assert_eq!(
        printed(&output),
        "argument 2 (f32) is as before 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0\n\
         argument 3 (f32) is now 1.0 3.0 5.0 7.0 9.0 11.0 1.0 1.0\n\
         saxpy: 2 blocks, 2 warps, 36 warp instructions, 130 thread instructions\n"
    );
}

#[test]
fn profile_counts_each_line() {
    let output =
        emulator(SAXPY, &[&["profile", "--executed"], &LAUNCH[..], &["f32[8]:1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let text = printed(&output);
    let columns = |instruction: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.contains(instruction)).unwrap();
        line.split("    ").next().unwrap();
        line[..41].split_whitespace().map(str::to_owned).collect()
    };
    // Two warps of four lanes. In the second one, two lanes are beyond `n`.
    assert_eq!(columns("setp.ge.u32"), ["2", "4.0"]);
    assert_eq!(columns("st.global.f32"), ["2", "3.0", "50", "%", "1.0"]);
}

#[test]
fn a_fault_is_reported() {
    let output = emulator(SAXPY, &[&["run"], &LAUNCH[..], &["f32[5]:1"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    for part in [
        "error: illegal address: global read of 4 bytes",
        "kernel  saxpy, block (1, 0, 0), thread (1, 0, 0)",
        "kernel.ptx:21:",
        "ld.global.f32 %f3, [%rd5];",
        "0 bytes after the end of the allocation of 20 bytes",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn an_invalid_launch_is_rejected_with_the_reason() {
    let wrong: [(&str, Vec<&str>, &str); 7] = [
        (SAXPY, vec!["run", "FILE"], "saxpy takes 4 arguments (n, a, x, y), but got 0"),
        (
            SAXPY,
            vec!["run", "FILE", "--entry", "daxpy"],
            "unknown entry point daxpy: the file has saxpy",
        ),
        (SAXPY, vec!["run", "FILE", "--block", "x"], "`x` is not a number"),
        (
            SAXPY,
            [&["run"], &LAUNCH[..], &["f32:1"]].concat(),
            "argument 3 of saxpy (y) has 4 bytes, but the parameter has 8; a buffer of 64 elements is \
             written as f32[64]:0",
        ),
        ("add;", vec!["profile", "FILE"], "kernel.ptx:1:"),
        (SAXPY, vec!["run", "/does/not/exist.ptx"], "can't read /does/not/exist.ptx"),
        (SAXPY, vec!["check", "/dev/zero"], "bytes, the limit"),
    ];
    for (text, arguments, reason) in wrong {
        let output = emulator(text, &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
        assert!(printed(&output).contains(reason), "{reason:?} is not in:\n{}", printed(&output));
    }
}

#[test]
fn a_file_of_another_kind_is_rejected() {
    for command in ["check", "run"] {
        let output = run_on_files(&[("README.md", "# A heading\n")], &[command, "FILE"]);
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
        let text = printed(&output);
        assert!(text.contains("README.md is not a .ptx or .cu file"), "{text}");
    }
}

/// A kernel that does nothing.
const NOTHING: &str =
    ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() .maxntid MOST {ret;}\n";

#[test]
fn huge_shapes_are_run_or_rejected_with_the_reason() {
    for most in ["4294967295,4294967295,4294967295", "65536,65536,1"] {
        let text = NOTHING.replace("MOST", most);
        assert_eq!(emulator(&text, &["run", "FILE"]).status.code(), Some(0), "{most}");
        for option in ["--block", "--grid"] {
            let shape = "4294967295,4294967295,4294967295";
            let output = emulator(&text, &["run", "FILE", option, shape]);
            assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
            assert!(printed(&output).contains("invalid launch"), "{}", printed(&output));
        }
    }
}

#[test]
fn huge_buffers_are_allocated_or_rejected() {
    for argument in ["u8[18446744073709551615]:0", "f64[999999999999]:iota"] {
        let output = emulator(SAXPY, &["run", "FILE", "--arg", argument]);
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    }
    let output = emulator(SAXPY, &["run", "FILE", "--arg", "u8[1]:@FILE"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
}

/// Runs the command in a shell, after the commands `before`, with the redirections `redirected`.
#[cfg(target_os = "linux")]
fn run_in_shell(text: &str, before: &str, arguments: &str, redirected: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.ptx");
    fs::write(&path, text).unwrap();
    let script = format!("{before} exec \"$EMULATOR\" {arguments} {redirected}");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script])
        .env("EMULATOR", env!("CARGO_BIN_EXE_ptx-emulator"))
        .env("FILE", &path);
    shell.output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn the_exit_code_is_right_if_standard_error_is_closed_or_full() {
    let trapping = NOTHING.replace("MOST", "1024").replace("ret;", "trap;");
    for (text, arguments, code) in [
        ("nonsense", "check \"$FILE\"", 1),
        ("nonsense", "check /does/not/exist", 2),
        ("nonsense", "run \"$FILE\"", 2),
        (&trapping, "run \"$FILE\"", 1),
        (&trapping, "trace \"$FILE\"", 1),
        (&trapping, "profile \"$FILE\"", 1),
        (&trapping, "run --nonsense \"$FILE\"", 2),
    ] {
        for redirected in ["2>/dev/full", "2>&-"] {
            let output = run_in_shell(text, "", arguments, redirected);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{arguments} {redirected}: {}",
                printed(&output)
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn limits_on_stack_threads_and_memory_are_tolerated_or_reported() {
    let text = NOTHING.replace("MOST", "1024");
    let arguments = "run --grid 64 --block 1024 \"$FILE\"";
    // A small stack still holds megabytes. As root, a shell may exceed the limit on processes.
    for limit in ["ulimit -s 64;", "ulimit -u 1;", "ulimit -v 300000;"] {
        let output = run_in_shell(&text, limit, arguments, "");
        assert_eq!(output.status.code(), Some(0), "{limit} {}", printed(&output));
    }
    // 512 MiB of local memory, in an address space of 300 MB.
    let large = text.replace(
        "{ret;}",
        "{ .local .b8 a[524288]; .reg .b64 %d; mov.u64 %d, a; st.local.u8 [%d], 1; ret; }",
    );
    let output = run_in_shell(&large, "ulimit -v 300000;", arguments, "");
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("out of memory: the host has no memory for 1 resident block of"),
        "{}",
        printed(&output)
    );
    let output = run_in_shell(
        SAXPY,
        "ulimit -v 300000;",
        "run --arg u32:6 --arg f32:2 --arg f32[1]:0 --arg u8[1000000000]:0 \"$FILE\"",
        "",
    );
    assert!(matches!(output.status.code(), Some(1 | 2)), "{}", printed(&output));
    assert!(printed(&output).contains("out of memory: 100000000"), "{}", printed(&output));
}
