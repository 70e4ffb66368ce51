//! `--entry` and `--arg`: instances of templates, types, structures by value.

use crate::commands::{emulator, printed, run_on_files};

const KERNELS: &str = "\
template <typename T> __global__ void reverse(T *x, int n) {
    int i = threadIdx.x;
    if (i < n / 2) { T t = x[i]; x[i] = x[n - 1 - i]; x[n - 1 - i] = t; }
}
template __global__ void reverse<float>(float *, int);
extern \"C\" __global__ void scale(int n, float *to, const float *from, float f) {
    int i = threadIdx.x;
    if (i < n) to[i] = from[i] * 2 + f;
}
struct Pair { unsigned long long a; float b; };
__global__ void read(char first, Pair p, float *out) { out[0] = p.a; out[1] = p.b; out[2] = first; }
";

fn run(text: &str, arguments: &[&str]) -> (i32, String) {
    let output = run_on_files(&[("kernel.cu", text)], &[&["run", "FILE"], arguments].concat());
    (output.status.code().unwrap(), printed(&output))
}

#[test]
fn entry_accepts_the_name_of_a_template_instance() {
    // The second instance only exists because `--entry` names it.
    for (entry, argument, expected) in [
        ("reverse<float>", "f32[4]:iota", "argument 0 (f32) is now 3.0 2.0 1.0 0.0"),
        ("reverse<double>", "f64[4]:iota", "argument 0 (f64) is now 3.0 2.0 1.0 0.0"),
        ("reverse< unsigned >", "u32[4]:iota", "argument 0 (u32) is now 3 2 1 0"),
    ] {
        let without =
            KERNELS.replace("template __global__ void reverse<float>(float *, int);\n", "");
        let (code, text) = run(&without, &["--entry", entry, "--arg", argument, "--arg", "s32:4"]);
        assert_eq!(code, 0, "{entry}: {text}");
        assert!(text.starts_with(expected), "{entry}: {text}");
    }
    let ptx = "\
.version 7.0\n.target sm_52\n.address_size 64\n\
.visible .entry _Z4rowsILi8EEvPf(.param .u64 x) { ret; }\n\
.visible .entry _Z4rowsILi2EEvPf(.param .u64 x) { ret; }\n";
    let launch = |entry| emulator(ptx, &["run", "FILE", "--entry", entry, "--arg", "u64:0"]);
    for entry in ["rows<8>", "rows< 2 >", "_Z4rowsILi8EEvPf"] {
        assert_eq!(launch(entry).status.code(), Some(0), "{entry}: {}", printed(&launch(entry)));
    }
    for (entry, reason) in [
        (
            "rows<3>",
            "unknown entry point rows<3>: the file has _Z4rowsILi8EEvPf (rows<8>), _Z4rows",
        ),
        ("rows", "2 entries are called rows: name one of _Z4rowsILi8EEvPf (rows<8>), "),
    ] {
        assert_eq!(launch(entry).status.code(), Some(2), "{entry}");
        assert!(printed(&launch(entry)).contains(reason), "{entry}: {}", printed(&launch(entry)));
    }
}

#[test]
fn an_argument_of_the_wrong_type_is_rejected() {
    let scale = |n: &str, to: &str, f: &str| {
        let list = ["--entry", "scale", "--arg", n, "--arg", to, "--arg", "f32[4]:1", "--arg", f];
        run(KERNELS, &list)
    };
    let (code, text) = scale("s32:4", "f32[4]:0", "f32:20");
    assert_eq!(code, 0, "{text}");
    for (n, to, f, reason) in [
        ("s32:4", "f32[4]:0", "s32:20", "argument 3 of scale is s32, but the parameter is f32"),
        ("s32:4", "f32[4]:0", "u32:20", "argument 3 of scale is u32, but the parameter is f32"),
        ("s32:4", "f32[4]:0", "f64:20", "argument 3 of scale has 8 bytes, but the parameter has 4"),
        (
            "f32:4",
            "f32[4]:0",
            "f32:20",
            "argument 0 of scale is f32, but the parameter is an integer",
        ),
        ("s32:4", "f64:0", "f32:20", "argument 1 of scale is f64, but the parameter is an integer"),
    ] {
        let (code, text) = scale(n, to, f);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(reason), "{reason}: {text}");
    }
    // In PTX, `.b32` accepts any type, and `.u32` may be read as a float. `.f32` only accepts floats.
    let ptx = ".version 7.0\n.target sm_52\n.address_size 64\n\
               .visible .entry k(.param .b32 a, .param .u32 b, .param .f32 c) { ret; }\n";
    let launch = |c| {
        let list = ["run", "FILE", "--arg", "f32:1", "--arg", "f32:1", "--arg", c];
        emulator(ptx, &list).status.code()
    };
    assert_eq!([launch("f32:1"), launch("s32:1")], [Some(0), Some(2)]);
}

#[test]
fn a_structure_is_passed_by_value() {
    let read = |pair: &str| {
        run(KERNELS, &["--entry", "read", "--arg", "u8:7", "--arg", pair, "--arg", "f32[3]:0"])
    };
    let (code, text) = read("struct:u64:11,f32:0.5");
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("argument 2 (f32) is now 11.0 0.5 7.0\n"), "{text}");
    for (pair, reason) in [
        (
            "table:u64:11,f32:0.5",
            "has 8 bytes, but the parameter has 16; struct:FIELD,… passes a structure",
        ),
        ("u64:11", "has 8 bytes, but the parameter has 16; struct:FIELD,… passes a structure"),
        ("struct:u64:11", "is a structure of 8 bytes, but the parameter has 16"),
    ] {
        let (code, text) = read(pair);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(reason), "{reason}: {text}");
    }
}

#[test]
fn half_precision_arguments_are_accepted() {
    let text = "#include <cuda_fp16.h>\n\
                __global__ void add(__half *x, __half y) { x[threadIdx.x] = __hadd(x[threadIdx.x], y); }\n";
    let (code, text) = run(text, &["--block", "2", "--arg", "f16[2]:1,2.5", "--arg", "f16:0.25"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("argument 0 (f16) is now 1.25 2.75\n"), "{text}");
}

#[test]
fn a_wrong_number_of_arguments_is_reported_before_buffers_are_allocated() {
    // Request a buffer of 2 GiB in a process whose address space is limited to 1.5 GB.
    let file = tempfile::NamedTempFile::with_suffix(".cu").unwrap();
    std::fs::write(file.path(), KERNELS).unwrap();
    let command = format!(
        "ulimit -v 1500000; exec {} run {} --entry scale --arg s32:4 --arg f32[536870912]:0",
        env!("CARGO_BIN_EXE_ptx-emulator"),
        file.path().display()
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(
        printed(&output).contains("scale takes 4 arguments, but got 2"),
        "{}",
        printed(&output)
    );
}

#[test]
fn a_write_past_a_local_array_is_a_fault() {
    let two = "__global__ void two(float *c, int n) {
        float a[2] = {0, 0}, b[2] = {10, 20};
        for (int m = 0; m < n; m++) a[m] += 1;
        c[0] = a[0]; c[1] = a[1]; c[2] = b[n & 1]; c[3] = b[(n + 1) & 1];
    }\n";
    let launch = |n| run(two, &["--block", "1", "--arg", "f32[4]:0", "--arg", n]);
    let (code, text) = launch("s32:2");
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("argument 0 (f32) is now 1.0 1.0 10.0 20.0\n"), "{text}");
    let (code, text) = launch("s32:3");
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("outside of the variable `__local_") && text.contains("kernel.cu:3"),
        "{text}"
    );
}
