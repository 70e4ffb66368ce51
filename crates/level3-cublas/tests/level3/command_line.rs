//! Tests of level 3's command line: its options, and runs under the sanitizer. They run the program, without
//! network, MNIST or an NVIDIA GPU.

use std::process::{Command, Output};

use tempfile::TempDir;
use tensor::Dump;
use test_support::kernels::with_a_fault;
use test_support::program::{BENCH, EMULATED, SHORT, fails, json, path, succeeds, text};
use test_support::sanitizer::{assert_caught, assert_clean, assert_transfers_clean};

const PROGRAM: &str = env!("CARGO_BIN_EXE_level3-cublas");

test_support::gpu_options!(PROGRAM);

/// Runs the program on the built-in digits and the emulated GPU, regardless of the environment.
fn level3(args: &[&str]) -> Output {
    program(args).output().expect("the program starts")
}

fn program(args: &[&str]) -> Command {
    test_support::program::program(PROGRAM, args)
}

#[test]
fn training_is_the_same_with_every_option() {
    let folder = TempDir::new().unwrap();
    let report = path(&folder, "report.json");
    let losses = |options: &[&str]| {
        let output = level3(&[&SHORT[..], &EMULATED, &["--json", &report], options].concat());
        succeeds(&output);
        assert_eq!(text(&output.stderr), "", "{options:?}");
        let report = json(&report);
        let losses = report["losses"].as_array().unwrap();
        losses.iter().map(|at| at["loss"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let cublaslt = losses(&[]);
    assert_eq!(cublaslt.len(), 2);
    assert_eq!(cublaslt, losses(&["--gemm", "cublaslt", "--graph"]));
    assert_eq!(cublaslt, losses(&["--transfer", "resident"]));
    let cublas = losses(&["--gemm", "cublas"]);
    let tf32 = losses(&["--tf32"]);
    for (a, (b, c)) in cublaslt.iter().zip(cublas.iter().zip(&tf32)) {
        assert!((a - b).abs() < 1e-6 && (a - c).abs() < 1e-3, "{a} {b} {c}");
    }
    assert_ne!(cublaslt, tf32);
}

#[test]
fn dumps_name_their_arithmetic_and_missing_tensors() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    let dump = |options: &[&str]| {
        let args = [&["dump", "--preset", "softmax", "--out", &out], &EMULATED[..], options];
        let output = level3(&args.concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        json(&out)
    };
    let found = dump(&[]);
    assert_eq!(found["dtype"], "f32");
    assert_eq!(found["not_materialised"], serde_json::json!(["z1", "da1"]));
    let found = dump(&["--tf32", "--gemm", "cublas", "--graph"]);
    assert_eq!(found["dtype"], "tf32");
    assert!(found.get("not_materialised").is_none());
}

#[test]
fn autotune_prints_measurements_and_the_best_candidate() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    let dump = |options: &[&str]| {
        let args = [&["dump", "--preset", "softmax", "--out", &out], &EMULATED[..], options];
        level3(&args.concat())
    };
    let output = dump(&["--autotune"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    // Five products are counted, not timed: z and dw of two layers, and da of the second.
    assert_eq!(said.matches("counted, not timed").count(), 5, "{said}");
    assert_eq!(said.matches("<- kept").count(), 5, "{said}");
    // The best candidate splits the sums, which have 784 terms, and has a small tile, because there are only eight
    // rows.
    let first = said
        .lines()
        .take_while(|line| !line.contains("matmul_a_bt+BIAS"))
        .find(|line| line.contains("kept"));
    let first = first.unwrap_or_else(|| panic!("{said}"));
    assert!(first.contains("tile 16 x 16") && first.contains("split-K 4"), "{first}");
    let output = dump(&["--autotune", "--gemm", "cublas"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("leave out --gemm cublas"));
}

#[test]
fn the_options_of_the_level_are_checked() {
    for (args, word) in [
        (&["--gemm", "mkl"][..], "cublaslt"),
        (&["--transfer", "mail"], "double-buffered"),
        (&["--graph", "--profile", "trace.json"], "cannot be used with"),
    ] {
        fails(&level3(args), 2, &[word]);
    }
}

/// Older versions of the library lack an epilogue. Then kernels replace it, and training gives the same network.
#[test]
fn a_missing_epilogue_is_reported_once_and_replaced_by_kernels() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    let reference = test_support::reference("softmax");
    for (missing, product) in [
        ("BIAS", "matmul_a_bt+BIAS of [8, 30] and [10, 30]"),
        ("RELU_AUX_BIAS", "matmul_a_bt+RELU_AUX_BIAS of [8, 784] and [30, 784]"),
        ("DRELU_BGRAD", "matmul_a_b+DRELU_BGRAD of [8, 10] and [10, 30]"),
        ("BGRADB", "matmul_at_b+BGRADB of [8, 10] and [8, 30]"),
    ] {
        let args = [&["dump", "--preset", "softmax", "--out", &out], &EMULATED[..]].concat();
        let output = program(&args).env("EMULATED_GPU_CUBLASLT_WITHOUT", missing).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note: ")).collect();
        assert_eq!(notes.len(), 1, "{said}");
        assert!(notes[0].contains(product), "{said}");
        let comparison = tensor_diff::compare(&reference, &Dump::read(out.as_ref()).unwrap(), 1.0);
        assert!(comparison.agrees(), "{missing}: {comparison:?}");
    }
}

#[test]
fn a_profile_names_products_with_their_epilogues() {
    let folder = TempDir::new().unwrap();
    let trace = path(&folder, "trace.json");
    let output = level3(&[&BENCH[..], &SHORT, &EMULATED, &["--profile", &trace]].concat());
    let said = succeeds(&output);
    // The row has four launches, one per step, and ends with the bytes, because the instructions of a library's product
    // aren't counted.
    let row = said.lines().find(|line| line.starts_with("matmul_a_b+DRELU_BGRAD ")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells.len(), cells[1]), (3, "4"), "{row}");
    let trace = json(&trace);
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!((named("matmul_a_bt+RELU_AUX_BIAS"), named("matmul_at_b+BGRADB")), (4, 4));
}

/// With either library, the plan has a row for each tensor, in the order of computation.
#[test]
fn the_plan_names_what_makes_each_tensor() {
    let rows = |options: &[&str]| {
        let args = [&["plan", "--batch-size", "8", "--sizes", "784-5-3-10"], &EMULATED[..]];
        let said = succeeds(&level3(&[&args.concat(), options].concat()));
        let mut lines = said.lines().map(str::to_owned);
        assert_eq!(lines.next().unwrap(), "784-5-3-10, bce, batches of 8: what makes each tensor");
        let row = |line: String| {
            line.split_once(' ').map(|(name, made)| (name.to_owned(), made.trim().to_owned()))
        };
        lines.map(|line| row(line).unwrap()).collect::<Vec<_>>()
    };
    let (fused, plain) = (rows(&[]), rows(&["--gemm", "cublas"]));
    let names = "z1 a1 z2 a2 z3 p dz3 dw3 db3 da2 dz2 dw2 db2 da1 dz1 dw1 db1";
    for rows in [&fused, &plain] {
        assert!(rows.iter().map(|(name, _)| name.as_str()).eq(names.split(' ')), "{rows:?}");
    }
    let of = |rows: &[(String, String)], name: &str| {
        rows.iter().find(|row| row.0 == name).unwrap().1.clone()
    };
    for (name, made, without) in [
        ("z1", "never written", "matmul_a_bt of [8, 784] and [5, 784], then kernel add_bias"),
        ("a1", "matmul_a_bt+RELU_AUX_BIAS of [8, 784] and [5, 784]", "kernel relu"),
        (
            "z3",
            "matmul_a_bt+BIAS of [8, 3] and [10, 3]",
            "matmul_a_bt of [8, 3] and [10, 3], then kernel add_bias",
        ),
        ("p", "kernel sigmoid", "kernel sigmoid"),
        ("dw3", "matmul_at_b+BGRADB of [8, 10] and [8, 3]", "matmul_at_b of [8, 10] and [8, 3]"),
        ("db3", "matmul_at_b+BGRADB of [8, 10] and [8, 3]", "kernel sum_batch"),
        ("da2", "never written", "matmul_a_b of [8, 10] and [10, 3]"),
        ("dz2", "matmul_a_b+DRELU_BGRAD of [8, 10] and [10, 3]", "kernel relu_backward"),
        ("db2", "matmul_a_b+DRELU_BGRAD of [8, 10] and [10, 3]", "kernel sum_batch"),
        ("dw1", "matmul_at_b of [8, 5] and [8, 784]", "matmul_at_b of [8, 5] and [8, 784]"),
    ] {
        assert_eq!(
            (of(&fused, name).as_str(), of(&plain, name).as_str()),
            (made, without),
            "{name}"
        );
    }
}

/// Runs every kernel and product on every fixture's shapes, with all of the sanitizer's checks.
#[test]
fn the_sanitizer_finds_nothing() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    for preset in ["softmax", "squared-error", "bce", "three-layer", "wide", "single"] {
        for options in [&["--gemm", "cublas"][..], &["--graph", "--fused"], &["--tf32"]] {
            let args = ["dump", "--preset", preset, "--out", &out];
            assert_clean(&mut program(&[&args[..], &EMULATED, options].concat()));
        }
    }
}

/// Runs every transfer both with separate launches and with a replayed graph.
#[test]
fn the_sanitizer_finds_nothing_in_any_transfer() {
    assert_transfers_clean(PROGRAM, &[]);
    assert_transfers_clean(PROGRAM, &["--graph"]);
}

/// A kernel that writes outside of its buffer ends the program with an error that names the kernel, although cuBLAS's
/// objects are destroyed afterwards on a GPU that no longer works.
#[test]
fn a_fault_is_reported_without_a_panic() {
    // Removes the bounds check from the update kernel.
    let source = ["if (i >= elements)\n        return;", ""];
    let folder = with_a_fault("update", source, ["@%p1 bra", "// @%p1 bra"]);
    for options in [&["--gemm", "cublas"][..], &[], &["--graph", "--fused"]] {
        assert_caught(PROGRAM, options, &folder, "memory", &["update", "outside of every"]);
    }
}
