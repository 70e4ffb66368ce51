//! The commands on CUDA C files, which they compile.

use std::process::Output;

use crate::commands::{printed, run_on_files};

/// Runs the command on a file of CUDA C, next to a header.
fn of_cuda_c(text: &str, arguments: &[&str]) -> Output {
    let header = "#define TWICE(x) ((x) + (x))\n";
    run_on_files(&[("kernel.cu", text), ("twice.h", header)], arguments)
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
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("argument 0 (f32) is now 0.0 2.0 4.0 3.0\n"), "{text}");
    // The kernel is also found by its mangled name.
    let mangled = [&["run"], &launch[..], &["--entry", "_Z7doubledPfj"]].concat();
    assert_eq!(printed(&of_cuda_c(DOUBLED, &mangled)), text);
    let output = of_cuda_c(DOUBLED, &[&["run"], &launch[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(printed(&output).contains("_Z7doubledPfj, _Z5otherPf"), "{}", printed(&output));
}

#[test]
fn a_fault_names_the_line_of_cuda_c() {
    let beyond = DOUBLED.replace("if (i < n) ", "");
    let launch = ["run", "FILE", "--entry", "doubled", "--arg", "f32[4]:iota", "--arg", "u32:3"];
    let output = of_cuda_c(&beyond, &launch);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("kernel.cu:4"), "{}", printed(&output));
}

#[test]
fn cuda_c_that_does_not_compile_is_shown() {
    let wrong = DOUBLED.replace("TWICE(x[i])", "TWICE(y[i])");
    let output = of_cuda_c(&wrong, &["run", "FILE"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    for part in ["error: the file does not compile:\n", "kernel.cu:4:", "`y`"] {
        assert!(printed(&output).contains(part), "{part:?} is not in:\n{}", printed(&output));
    }
    let output = of_cuda_c(&wrong, &["check", "FILE"]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("kernel.cu: 1 error\n"), "{}", printed(&output));
    let output = of_cuda_c(DOUBLED, &["check", "FILE"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(printed(&output).contains("_Z7doubledPfj(.u64 "), "{}", printed(&output));
}
