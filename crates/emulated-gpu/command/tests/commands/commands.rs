//! The command `ptx-emulator` as a person uses it: `run`, `trace` and `profile`. (`check` has its own
//! tests.)

use std::fs;
use std::process::{Command, Output};

/// `y[i] += a · x[i]` for `i < n`, one element a thread; what lies beyond `n` is not touched.
const SAXPY: &str = "\
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

/// Runs the command with `FILE` standing for a file of this text.
fn emulator(text: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.ptx");
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    Command::new(env!("CARGO_BIN_EXE_ptx-emulator"))
        .args(arguments.iter().map(|&argument| if argument == "FILE" { path } else { argument }))
        .output()
        .unwrap()
}

/// The same for a file of CUDA C.
fn of_cuda_c(text: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.cu");
    fs::write(&path, text).unwrap();
    fs::write(folder.path().join("twice.h"), "#define TWICE(x) ((x) + (x))\n").unwrap();
    let path = path.to_str().unwrap();
    Command::new(env!("CARGO_BIN_EXE_ptx-emulator"))
        .args(arguments.iter().map(|&argument| if argument == "FILE" { path } else { argument }))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

const LAUNCH: [&str; 12] = [
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
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // Six threads execute all 18 instructions, two of them 11.
    assert_eq!(
        said(&output),
        "argument 2 (f32) is as before 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0\n\
         argument 3 (f32) is now 1.0 3.0 5.0 7.0 9.0 11.0 1.0 1.0\n\
         saxpy: 2 blocks, 2 warps, 36 warp instructions, 130 thread instructions\n"
    );
}

#[test]
fn profile_counts_each_line() {
    let output =
        emulator(SAXPY, &[&["profile", "--executed"], &LAUNCH[..], &["f32[8]:1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = said(&output);
    let columns = |instruction: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.contains(instruction)).unwrap();
        line.split("    ").next().unwrap();
        line[..41].split_whitespace().map(str::to_owned).collect()
    };
    // Two warps of four lanes; the second one has two lanes that are beyond `n`.
    assert_eq!(columns("setp.ge.u32"), ["2", "4.0"]);
    assert_eq!(columns("st.global.f32"), ["2", "3.0", "50", "%", "1.0"]);
}

#[test]
fn a_kernel_that_breaks_a_rule_is_reported() {
    let output = emulator(SAXPY, &[&["run"], &LAUNCH[..], &["f32[5]:1"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
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
fn what_can_not_be_launched_is_refused_with_the_reason() {
    let wrong: [(&str, Vec<&str>, &str); 7] = [
        (SAXPY, vec!["run", "FILE"], "saxpy takes 4 arguments, and 0 --arg were given"),
        (SAXPY, vec!["run", "FILE", "--entry", "daxpy"], "there is no entry daxpy, only saxpy"),
        (SAXPY, vec!["run", "FILE", "--block", "x"], "`x` is not a number"),
        (
            SAXPY,
            [&["run"], &LAUNCH[..], &["f32:1"]].concat(),
            "argument 3 has 4 bytes, and the parameter of saxpy has 8",
        ),
        ("add;", vec!["profile", "FILE"], "the file can't be run"),
        (SAXPY, vec!["run", "/does/not/exist.ptx"], "can't read /does/not/exist.ptx"),
        (SAXPY, vec!["check", "/dev/zero"], "as much as is read"),
    ];
    for (text, arguments, reason) in wrong {
        let output = emulator(text, &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(reason), "{reason:?} is not in:\n{}", said(&output));
    }
}

#[test]
fn trace_shows_what_one_thread_did() {
    let more = ["f32[8]:1", "--thread", "1", "--in-block", "1"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(
        said(&output),
        "\
saxpy: block (1, 0, 0), thread (1, 0, 0), which is lane 1 of warp 0
   7  ld.param.u32 %r1, [n]          [n] → %r1 = 6
   8  ld.param.f32 %f1, [a]          [a] → %f1 = 2.0
   9  ld.param.u64 %rd1, [x]         [x] → %rd1 = &x
  10  ld.param.u64 %rd2, [y]         [y] → %rd2 = &y
  11  mov.u32 %r2, %ctaid.x          %ctaid.x = 1 → %r2 = 1
  12  mov.u32 %r3, %ntid.x           %ntid.x = 4 → %r3 = 4
  13  mov.u32 %r4, %tid.x            %tid.x = 1 → %r4 = 1
  14  mad.lo.u32 %r5, %r2, %r3, %r4  %r2 = 1, %r3 = 4, %r4 = 1 → %r5 = 5
  15  setp.ge.u32 %p, %r5, %r1       %r5 = 5, %r1 = 6 → %p = false
  16  @%p bra end                    %p = false: not executed
  17  mul.wide.u32 %rd3, %r5, 4      %r5 = 5 → %rd3 = 20
  18  add.u64 %rd4, %rd1, %rd3       %rd1 = &x, %rd3 = 20 → %rd4 = &x+20
  19  add.u64 %rd5, %rd2, %rd3       %rd2 = &y, %rd3 = 20 → %rd5 = &y+20
  20  ld.global.f32 %f2, [%rd4]      %rd4 = &x+20, [x+20] → %f2 = 5.0
  21  ld.global.f32 %f3, [%rd5]      %rd5 = &y+20, [y+20] → %f3 = 1.0
  22  fma.rn.f32 %f3, %f1, %f2, %f3  %f1 = 2.0, %f2 = 5.0, %f3 = 1.0 → %f3 = 11.0
  23  st.global.f32 [%rd5], %f3      %rd5 = &y+20, %f3 = 11.0 → [y+20]
  25  ret                            → the thread ends
"
    );
}

#[test]
fn a_trace_ends_where_it_is_told_to_and_where_the_kernel_stops() {
    let short = ["f32[8]:1", "--thread", "3", "--in-block", "1,0,0", "--lines", "9"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &short].concat());
    let text = said(&output);
    assert_eq!(text.lines().count(), 11);
    let last = "      … and 2 more instructions of this thread: --lines 11 shows them all\n";
    assert!(text.ends_with(last), "{text}");
    // Thread 1 of block 1 reads behind the end of y.
    let faulty = ["f32[5]:1", "--thread", "1", "--in-block", "1"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &faulty].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    let reads = "  21  ld.global.f32 %f3, [%rd5]      %rd5 = &y+20, [y+20]\nerror: illegal address";
    assert!(text.contains(reads), "{text}");
    let nobody = ["f32[8]:1", "--thread", "4"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &nobody].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("there is no thread [4, 0, 0]: the shape is [4, 1, 1]"));
}

/// Lanes that go another way, a function, shared memory, a barrier, a shuffle, values of many types.
const SCENES: &str = "\
.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 count = 7;
.func (.reg .b32 %out) twice(.reg .b32 %in)
{
    add.u32 %out, %in, %in;
}
.visible .entry scenes(.param .u64 kernel_param_0)
{
    .shared .align 4 .b32 box[64];
    .local .align 4 .b8 own[8];
    .reg .pred %p, %q; .reg .b16 %h; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p|%q, %r1, 1;
    @%p bra FEW;
    mov.b32 %r2, 0xff;
    bra JOIN;
FEW:
    mov.u32 %r2, 3;
JOIN:
    mov.u32 %r3, box;
    mad.lo.u32 %r3, %r1, 4, %r3;
    st.shared.u32 [%r3], %r2;
    bar.sync 0;
    ld.shared.s8 %r4, [box+4];
    call (%r5), twice, (%r4);
    shfl.sync.idx.b32 %r6|%p, %r1, 2, 31, -1;
    mov.f32 %f1, 0f7FC00000;
    cvt.rn.f16.f32 %h, -0.5;
    neg.f16 %h, %h;
    cvt.f64.f32 %g, 0f3F800000;
    mov.b64 %d1, {%r1, %r2};
    mov.u64 %d2, own;
    st.local.u32 [%d2+4], %r5;
    cvta.local.u64 %d3, %d2;
    ld.u32 %r7, [%d3+4];
    ld.param.u64 %d4, [kernel_param_0];
    atom.global.add.u32 %r8, [%d4], %r7;
    red.global.add.u32 [count], 1;
    mov.v2.u32 {%r7, %r8}, {%r8, %r7};
    @!%q exit;
}
";

#[test]
fn a_trace_tells_what_others_did_and_where_memory_is() {
    let arguments =
        ["trace", "FILE", "--block", "64", "--arg", "u32[1]:5", "--thread", "1", "--lines", "40"];
    let output = emulator(SCENES, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(
        said(&output),
        "\
scenes: block (0, 0, 0), thread (1, 0, 0), which is lane 1 of warp 0
  14  mov.u32 %r1, %tid.x                       %tid.x = 1 → %r1 = 1
  15  setp.lt.u32 %p|%q, %r1, 1                 %r1 = 1 → %p = false, %q = true
  16  @%p bra FEW                               %p = false: not executed
  17  mov.b32 %r2, 0xff                         → %r2 = 0xff
  18  bra JOIN                                  → goes to JOIN, line 22
      … 1 instruction of other lanes of the warp
  22  mov.u32 %r3, box                          → %r3 = 0
  23  mad.lo.u32 %r3, %r1, 4, %r3               %r1 = 1, %r3 = 0 → %r3 = 4
  24  st.shared.u32 [%r3], %r2                  %r3 = 4, %r2 = 255 → [box+4]
  25  bar.sync 0                                → waits until every thread has come
      … 9 instructions of other warps
  26  ld.shared.s8 %r4, [box+4]                 [box+4] → %r4 = -1
  27  call (%r5), twice, (%r4)                  %r4 = 0xffffffff → calls twice
   7    add.u32 %out, %in, %in                  %in = 4294967295 → %out = 4294967294
  27  call (%r5), twice, (%r4)                  returned → %r5 = 0xfffffffe
  28  shfl.sync.idx.b32 %r6|%p, %r1, 2, 31, -1  %r1 = 1 → %r6 = 2, %p = true
  29  mov.f32 %f1, 0f7FC00000                   → %f1 = NaN (0x7fc00000)
  30  cvt.rn.f16.f32 %h, -0.5                   → %h = -0.5
  31  neg.f16 %h, %h                            %h = -0.5 → %h = 0.5
  32  cvt.f64.f32 %g, 0f3F800000                → %g = 1.0
  33  mov.b64 %d1, {%r1, %r2}                   %r1 = 1, %r2 = 0xff → %d1 = 0xff00000001
  34  mov.u64 %d2, own                          → %d2 = 0
  35  st.local.u32 [%d2+4], %r5                 %d2 = 0, %r5 = 4294967294 → [own+4]
  36  cvta.local.u64 %d3, %d2                   %d2 = 0 → %d3 = &own
  37  ld.u32 %r7, [%d3+4]                       %d3 = &own, [own+4] → %r7 = 4294967294
  38  ld.param.u64 %d4, [kernel_param_0]        [param_0] → %d4 = &param_0
  39  atom.global.add.u32 %r8, [%d4], %r7       %d4 = &param_0, %r7 = 4294967294, [param_0] → %r8 = 3
  40  red.global.add.u32 [count], 1             → [count]
  41  mov.v2.u32 {%r7, %r8}, {%r8, %r7}         %r8 = 3, %r7 = 4294967294 → %r7 = 3, %r8 = 4294967294
  42  @!%q exit                                 %q = true: not executed
"
    );
}

/// What a kernel that is left alone ends with.
const NOTHING: &str =
    ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() .maxntid MOST {ret;}\n";

#[test]
fn shapes_of_any_size_are_run_or_refused_with_the_reason() {
    for most in ["4294967295,4294967295,4294967295", "65536,65536,1"] {
        let text = NOTHING.replace("MOST", most);
        assert_eq!(emulator(&text, &["run", "FILE"]).status.code(), Some(0), "{most}");
        for option in ["--block", "--grid"] {
            let shape = "4294967295,4294967295,4294967295";
            let output = emulator(&text, &["run", "FILE", option, shape]);
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(said(&output).contains("invalid launch"), "{}", said(&output));
        }
    }
}

#[test]
fn buffers_of_any_size_are_made_or_refused() {
    for argument in ["u8[18446744073709551615]:0", "f64[999999999999]:iota"] {
        let output = emulator(SAXPY, &["run", "FILE", "--arg", argument]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    }
    let output = emulator(SAXPY, &["run", "FILE", "--arg", "u8[1]:@FILE"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

/// Runs the command in a shell, after `before`, with `redirected` behind it.
#[cfg(target_os = "linux")]
fn in_shell(text: &str, before: &str, arguments: &str, redirected: &str) -> Output {
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
fn an_error_that_nobody_can_be_told_of_is_still_an_exit_code() {
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
            let output = in_shell(text, "", arguments, redirected);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{arguments} {redirected}: {}",
                said(&output)
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn little_stack_few_threads_and_little_memory_are_enough_or_said_to_be_too_little() {
    let text = NOTHING.replace("MOST", "1024");
    let arguments = "run --grid 64 --block 1024 \"$FILE\"";
    // Megabytes of stack; as root, a shell may have more processes than it is told.
    for limit in ["ulimit -s 64;", "ulimit -u 1;", "ulimit -v 300000;"] {
        let output = in_shell(&text, limit, arguments, "");
        assert_eq!(output.status.code(), Some(0), "{limit} {}", said(&output));
    }
    // 512 MiB of local memory, and 300 in all.
    let large = text.replace(
        "{ret;}",
        "{ .local .b8 a[524288]; .reg .b64 %d; mov.u64 %d, a; st.local.u8 [%d], 1; ret; }",
    );
    let output = in_shell(&large, "ulimit -v 300000;", arguments, "");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("out of memory: there is no room for 1 block"),
        "{}",
        said(&output)
    );
    let output = in_shell(
        SAXPY,
        "ulimit -v 300000;",
        "run --arg u32:6 --arg f32:2 --arg f32[1]:0 --arg u8[1000000000]:0 \"$FILE\"",
        "",
    );
    assert!(matches!(output.status.code(), Some(1 | 2)), "{}", said(&output));
    assert!(said(&output).contains("out of memory: 100000000"), "{}", said(&output));
}

const DOUBLED: &str = "#include \"twice.h\"
__global__ void doubled(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = TWICE(x[i]);
}
__global__ void other(float *x) { x[0] = 1.0f; }
";

#[test]
fn cuda_c_is_compiled_and_run() {
    let launch = ["FILE", "--block", "4", "--arg", "f32[4]:iota", "--arg", "u32:3"];
    let output = of_cuda_c(DOUBLED, &[&["run"], &launch[..], &["--entry", "doubled"]].concat());
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("argument 0 (f32) is now 0.0 2.0 4.0 3.0\n"), "{text}");
    // The same by the name that C++'s rules make of it.
    let mangled = [&["run"], &launch[..], &["--entry", "_Z7doubledPfj"]].concat();
    assert_eq!(said(&of_cuda_c(DOUBLED, &mangled)), text);
    let output = of_cuda_c(DOUBLED, &[&["run"], &launch[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("_Z7doubledPfj, _Z5otherPf"), "{}", said(&output));
}

#[test]
fn a_fault_names_the_line_of_cuda_c() {
    let beyond = DOUBLED.replace("if (i < n) ", "");
    let launch = ["run", "FILE", "--entry", "doubled", "--arg", "f32[4]:iota", "--arg", "u32:3"];
    let output = of_cuda_c(&beyond, &launch);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("kernel.cu:4"), "{}", said(&output));
}

#[test]
fn cuda_c_that_does_not_compile_is_shown() {
    let wrong = DOUBLED.replace("TWICE(x[i])", "TWICE(y[i])");
    let output = of_cuda_c(&wrong, &["run", "FILE"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    for part in ["error: the file does not compile:\n", "kernel.cu:4:", "`y`"] {
        assert!(said(&output).contains(part), "{part:?} is not in:\n{}", said(&output));
    }
    let output = of_cuda_c(&wrong, &["check", "FILE"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("kernel.cu: 1 error\n"), "{}", said(&output));
    let output = of_cuda_c(DOUBLED, &["check", "FILE"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("_Z7doubledPfj(.u64 "), "{}", said(&output));
}
