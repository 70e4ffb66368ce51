//! Tests of level 2's command line: its options, edited kernels and their compilers, and the sanitizer's
//! reports. They run the program, without network, MNIST and NVIDIA's GPUs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use test_support::kernels::with_a_fault;
use test_support::program::{BENCH, EMULATED, SHORT, fails, json, path, text};
use test_support::sanitizer::{assert_caught, assert_clean, assert_transfers_clean};

const PROGRAM: &str = env!("CARGO_BIN_EXE_level2-cuda-naive");

test_support::gpu_options!(PROGRAM);

/// Runs the program on the built-in digits and the emulated GPU, without environment variables that change its
/// behaviour.
pub(crate) fn level2(args: &[&str]) -> Output {
    program(args).output().expect("the program starts")
}

pub(crate) fn program(args: &[&str]) -> Command {
    test_support::program::program(PROGRAM, args)
}

#[test]
fn the_options_of_the_level_are_checked() {
    for (args, word) in [
        (["--transfer", "mail"], "double-buffered"),
        (["--kernels", "fused"], "per-sample"),
        (["--compiler", "gcc"], "built-in"),
    ] {
        fails(&level2(&args), 2, &[word]);
    }
}

/// Runs every kernel on every fixture's shapes with every check.
#[test]
fn the_sanitizer_finds_nothing() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    for preset in ["softmax", "squared-error", "bce", "three-layer", "wide", "single"] {
        for kernels in ["per-operation", "per-sample"] {
            let args = ["dump", "--preset", preset, "--kernels", kernels, "--out", &out];
            assert_clean(&mut program(&[&args[..], &EMULATED].concat()));
        }
    }
}

#[test]
fn the_sanitizer_finds_nothing_in_any_transfer() {
    assert_transfers_clean(PROGRAM, &[]);
}

#[test]
fn an_off_by_one_is_reported() {
    let kernels = with_a_fault(
        "add_bias",
        ["j >= n", "j > n"],
        ["setp.ge.u64 \t%p2, %rd1, %rd", "setp.gt.u64 \t%p2, %rd1, %rd"],
    );
    assert_caught(
        PROGRAM,
        &[],
        &kernels,
        "memory",
        &["add_bias", "kernels/add_bias.cu:9", "outside of every"],
    );
}

#[test]
fn a_missing_bounds_check_is_reported() {
    let kernels = with_a_fault(
        "relu",
        ["if (i >= elements)\n        return;", ""],
        ["@%p1 bra", "// @%p1 bra"],
    );
    assert_caught(
        PROGRAM,
        &[],
        &kernels,
        "memory",
        &["relu", "kernels/relu.cu:8", "outside of every"],
    );
}

/// Runs the program on a machine without NVIDIA's compiler.
fn without_nvidia(args: &[&str], kernels: &TempDir) -> Output {
    let mut command = without_named_folders(args, kernels);
    command.env("FOUR_LEVELS_NVRTC", "/nowhere/libnvrtc.so").output().unwrap()
}

/// The program's command, without environment variables that name a folder of NVIDIA's.
fn without_named_folders(args: &[&str], kernels: &TempDir) -> Command {
    let mut command = program(&[args, &EMULATED].concat());
    command.env("FOUR_LEVELS_KERNELS", kernels.path()).env("PATH", "");
    for variable in [
        "FOUR_LEVELS_NVRTC",
        "CUDA_PATH",
        "CUDA_HOME",
        "CUDA_ROOT",
        "CUDA_TOOLKIT_ROOT_DIR",
        "CONDA_PREFIX",
        "VIRTUAL_ENV",
    ] {
        command.env_remove(variable);
    }
    command
}

#[test]
fn a_missing_compiler_is_an_error_if_it_was_requested() {
    let kernels = with_a_fault("relu", ["One thread", "A thread"], ["// source", "// of"]);
    let output = without_nvidia(&[&SHORT[..], &["--compiler", "nvrtc"]].concat(), &kernels);
    if output.status.success() {
        skipped::skip("there is an nvcc, in a folder where everyone looks");
        return;
    }
    let said = fails(&output, 1, &[]);
    for word in [
        "relu.cu was edited",
        "/nowhere/libnvrtc.so",
        "--compiler built-in",
        "pip install nvidia-cuda-nvrtc-cu12",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn the_error_for_a_missing_kernel_names_it() {
    let folder = TempDir::new().unwrap();
    let mut command = program(&[&SHORT[..], &EMULATED].concat());
    let output = command.env("FOUR_LEVELS_KERNELS", folder.path()).output().unwrap();
    fails(&output, 1, &["can't read ", "matmul_a_bt.cu"]);
}

/// With the emulated driver on the library path, a program must not mistake it for a real one.
#[cfg(target_os = "linux")]
#[test]
fn an_emulated_driver_in_place_of_the_real_one_is_recognised() {
    let folder = TempDir::new().unwrap();
    let program_folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let library = program_folder.join("libemulated_cuda.so");
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(&library, folder.path().join(name)).unwrap();
    }
    let run = |device: &str| {
        let mut command = program(&[&BENCH[..], &SHORT, &["--device", device]].concat());
        command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap()
    };
    let output = run("cuda");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("the driver on the library path is the emulated one"), "{said}");
    for (device, note) in
        [("auto", "the driver on the library path is the emulated one"), ("emulated", "")]
    {
        let output = run(device);
        let said = text(&output.stderr);
        assert!(output.status.success() && said.contains(note), "{said}");
        assert!(text(&output.stdout).starts_with("level2-cuda-naive on emulated ("));
    }
}

/// Makes a dump with a kernel for ReLU that was edited to return 7 instead of 0.
fn dump_of_an_edited_relu(kernels: &TempDir, compiler: &[&str]) -> (Output, String) {
    let out = path(kernels, "dump.json");
    let args = ["dump", "--preset", "softmax", "--out", &out];
    (without_nvidia(&[&args[..], compiler].concat(), kernels), out)
}

fn assert_made_by_the_edited_relu(dump: &str) {
    let dump = json(dump);
    let tensors = dump["tensors"].as_array().unwrap();
    let of = |name: &str| tensors.iter().find(|tensor| tensor["name"] == name).unwrap();
    let (z, a) = (of("z1")["data"].as_array().unwrap(), of("a1")["data"].as_array().unwrap());
    for (z, a) in z.iter().zip(a) {
        let (z, a) = (z.as_f64().unwrap(), a.as_f64().unwrap());
        assert_eq!(a, if z < 0.0 { 7.0 } else { z });
    }
}

#[test]
fn an_edited_kernel_is_compiled_and_run() {
    let kernels = with_a_fault("relu", ["0.0f : z[i]", "7.0f : z[i]"], ["// source", "// of"]);
    let (output, dump) = dump_of_an_edited_relu(&kernels, &["--compiler", "built-in"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "it was asked for, so there is nothing to note");
    assert_made_by_the_edited_relu(&dump);

    let (output, dump) = dump_of_an_edited_relu(&kernels, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_made_by_the_edited_relu(&dump);
    let note = "note: kernels/relu.cu was edited, and NVIDIA's compiler is not found; compiled by \
                the built-in one\n";
    match text(&output.stderr).as_str() {
        "" => skipped::skip("there is an nvcc, in a folder where everyone looks"),
        said => assert_eq!(said, note),
    }
}

/// Any user can write to the folder of temporary files, so its files must not be loaded.
#[test]
fn a_compiler_in_a_parent_folder_is_reported_and_not_loaded() {
    let folder = TempDir::new().unwrap();
    let lib = folder.path().join(".venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    let below = folder.path().join("project");
    fs::create_dir_all(&lib).unwrap();
    fs::create_dir_all(&below).unwrap();
    let library = lib.join("libnvrtc.so.12");
    fs::write(&library, "no library").unwrap();
    let kernels = with_a_fault("relu", ["0.0f : z[i]", "7.0f : z[i]"], ["// source", "// of"]);
    let said = |environment: Option<&Path>| {
        let out = path(&folder, "dump.json");
        let args = ["dump", "--preset", "softmax", "--out", &out, "--compiler", "nvrtc"];
        let mut command = without_named_folders(&args, &kernels);
        command.envs(environment.map(|environment| ("VIRTUAL_ENV", environment)));
        text(&command.current_dir(&below).output().unwrap().stderr)
    };
    let nothing_named = said(None);
    if nothing_named.is_empty() {
        skipped::skip("there is an NVRTC, in a folder where everyone looks");
        return;
    }
    let note = format!("{} is not loaded, because nothing names it", library.display());
    assert!(nothing_named.contains(&note), "{nothing_named}");
    assert!(!nothing_named.contains("too short"), "the loader saw it: {nothing_named}");
    // If `VIRTUAL_ENV` names the same environment, the user has activated it, so its library is loaded.
    let active = said(Some(&folder.path().join(".venv")));
    assert!(active.contains("too short"), "{active}");
}

#[test]
fn the_error_for_an_invalid_edited_kernel_has_the_messages() {
    let kernels = with_a_fault("relu", ["0.0f : z[i]", "0.0f : z[k]"], ["// source", "// of"]);
    let (output, _) = dump_of_an_edited_relu(&kernels, &["--compiler", "built-in"]);
    let said = fails(&output, 1, &[]);
    for word in ["error: kernels/relu.cu does not compile (cuda-c)", "kernels/relu.cu:", "`k`"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

/// Needs NVRTC; skipped without it.
#[test]
fn an_edited_kernel_is_compiled_by_nvrtc() {
    if matches!(
        gpu::compile::with_compiler(gpu::Compiler::Nvrtc, "nothing.cu", "// nothing"),
        Err(gpu::GpuError::NoCompiler(_))
    ) {
        skipped::skip("NVIDIA's compiler is not found; pip install nvidia-cuda-nvrtc-cu12");
        return;
    }
    let kernels = with_a_fault("relu", ["0.0f : z[i]", "7.0f : z[i]"], ["// source", "// of"]);
    let out = path(&kernels, "dump.json");
    let args = ["dump", "--preset", "softmax", "--out", &out, "--compiler", "nvrtc"];
    let mut command = program(&[&args[..], &EMULATED].concat());
    let output = command.env("FOUR_LEVELS_KERNELS", kernels.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_made_by_the_edited_relu(&out);
}

/// Every thread sums one column and writes it to the first element: a race, because the order of the writes
/// is undefined.
#[test]
fn a_missing_synchronisation_is_reported() {
    let kernels = with_a_fault(
        "sum_batch",
        ["db[j] = sum;", "db[0] = sum;"],
        ["add.s64 \t%rd36, %rd34, %rd35;", "mov.u64 \t%rd36, %rd34;"],
    );
    assert_caught(
        PROGRAM,
        &[],
        &kernels,
        "races",
        &["sum_batch", "kernels/sum_batch.cu:11", "race"],
    );
}
