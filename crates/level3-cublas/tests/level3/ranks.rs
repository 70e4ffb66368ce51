//! Tests of several ranks, as threads and as processes: together they compute the same as a single rank, with
//! the same bits on all ranks and in every run. They run the program on the built-in digits and the emulated
//! GPU.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tensor::Dump;
use test_support::program::{EMULATED, path, text};
use training::{Edge, Preset};

/// The command for the program, with a controlled environment.
pub(crate) fn program(args: &[&str]) -> Command {
    let program = env!("CARGO_BIN_EXE_level3-cublas");
    let args = [args, &EMULATED].concat();
    // A shell that runs tests in the background makes them ignore SIGINT. Some tests send it, so its default is
    // restored.
    let mut command = if cfg!(target_os = "linux") {
        test_support::program::program(
            "env",
            &[&["--default-signal=INT", program], &args[..]].concat(),
        )
    } else {
        test_support::program::program(program, &args)
    };
    command.env("EMULATED_GPU_MEMORY", "256M").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    let output = program(args).output().expect("the program starts");
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    output
}

/// Starts one of several processes.
pub(crate) fn rank(args: &[&str], rank: usize, world_size: usize, port: u16) -> Child {
    let mut command = program(args);
    command.arg("--distributed");
    for (name, value) in [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", world_size)] {
        command.env(name, value.to_string());
    }
    command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
    command.spawn().expect("the program starts")
}

/// A free port. The program also tries the ports that follow it.
pub(crate) fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().min(65_000)
}

/// Waits for a process, and returns its output. A process that hangs is killed, and the test fails.
pub(crate) fn wait_for_end(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("it hangs: {}{}", text(&output.stdout), text(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Combines the dumps of all ranks; shared tensors have to be equal.
fn combined(out: &str, ranks: usize) -> Dump {
    let stem = out.strip_suffix(".json").unwrap();
    let files: Vec<PathBuf> = match ranks {
        1 => return Dump::read(Path::new(out)).unwrap(),
        _ => (0..ranks).map(|rank| format!("{stem}.rank{rank}.json").into()).collect(),
    };
    let dumps: Vec<Dump> = files.iter().map(|file| Dump::read(file).unwrap()).collect();
    let found = Dump::of_ranks(&dumps.iter().collect::<Vec<_>>()).unwrap();
    assert!(found.differences.is_empty(), "{}", found.differences[0]);
    found.dump
}

fn agrees(reference: &Dump, found: &Dump, what: &str) {
    let comparison = tensor_diff::compare(reference, found, 1.0);
    let first = comparison.first_divergence.as_ref();
    assert!(comparison.agrees(), "{what}: {first:?}");
}

fn reference(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference").join(folder)
}

/// Every fixture on 1 to 4 ranks: batches with equal shares, with different shares, and with empty shares.
#[test]
fn any_number_of_ranks_agrees_with_the_references() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    let ways: [&[&str]; 4] = [
        &[],
        &["--graph", "--fused"],
        &["--gemm", "cublas", "--bucket", "4096"],
        &["--fused", "--transfer", "double-buffered"],
    ];
    // The fixture with z exactly 0 is left out, because cuBLASLt's mask counts such a z as positive.
    let held_to = |preset: &Preset| preset.edge != Some(Edge::Kink);
    for (i, preset) in Preset::fixtures().into_iter().filter(held_to).enumerate() {
        let name = &preset.name;
        let wanted = Dump::read(&reference("dumps").join(format!("{name}.json"))).unwrap();
        for ranks in 1..=4 {
            let gpus = ranks.to_string();
            let way = ways[(i + ranks) % ways.len()];
            run(&[&["dump", "--preset", name, "--gpus", &gpus, "--out", &out], way].concat());
            agrees(&wanted, &combined(&out, ranks), &format!("{name}, {ranks} ranks, {way:?}"));
        }
    }
}

/// The references are dumps of PyTorch's DistributedDataParallel on 2 and on 4 ranks.
#[test]
fn any_number_of_ranks_agrees_with_distributed_data_parallel() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    let mut files: Vec<_> =
        fs::read_dir(reference("ddp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 8);
    for file in files {
        let wanted = Dump::read(&file).unwrap();
        assert!(wanted.header.world_size.is_some() && wanted.header.level.ends_with("ddp"));
        let inputs = file.to_str().unwrap();
        for ranks in 1..=4 {
            let gpus = ranks.to_string();
            run(&["dump", "--inputs", inputs, "--gpus", &gpus, "--out", &out]);
            agrees(&wanted, &combined(&out, ranks), &format!("{inputs}, {ranks} ranks"));
        }
    }
}

/// Options for three epochs of shuffled batches of 50 samples with a last batch of 20, none of which three ranks can
/// share equally.
pub(crate) const ODD: [&str; 13] = [
    "--data",
    "digits",
    "--samples",
    "220",
    "--sizes",
    "784-17-10",
    "--batch-size",
    "50",
    "--epochs",
    "3",
    "--shuffle",
    "--drop-last",
    "false",
];

fn losses(report: &str) -> serde_json::Value {
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    serde_json::json!([report["losses"], report["tested"], report["batches"], report["samples"]])
}

/// Losses and saved parameters have the same bits with all transfers, with launches or graphs, with threads or
/// processes, and in repeated runs.
#[test]
fn every_way_to_train_gives_the_same_bits() {
    let folder = TempDir::new().unwrap();
    let (report, saved) = (path(&folder, "report.json"), path(&folder, "saved"));
    let files = ["--report-every", "1", "--json", &report, "--save", &saved];
    let of_threads = |way: &[&str]| {
        run(&[&ODD[..], &files, &["--gpus", "3"], way].concat());
        (losses(&report), fs::read(&saved).unwrap())
    };
    let expected = of_threads(&[]);
    assert_eq!(expected.0[0].as_array().unwrap().len(), 15);
    let ways: [&[&str]; 6] = [
        &[],
        &["--graph"],
        &["--transfer", "double-buffered"],
        &["--transfer", "resident", "--graph"],
        &["--transfer", "unified"],
        &["--bucket", "100000"],
    ];
    for way in ways {
        assert!(of_threads(way) == expected, "{way:?}");
    }
    let port = port();
    let args = [&ODD[..], &files].concat();
    let ranks: Vec<Child> = (0..3).map(|one| rank(&args, one, 3, port)).collect();
    for (one, child) in ranks.into_iter().enumerate() {
        let output = wait_for_end(child);
        assert!(output.status.success(), "{}", text(&output.stderr));
        // Only rank 0 prints.
        assert_eq!(one == 0, !output.stdout.is_empty(), "{}", text(&output.stdout));
    }
    assert!((losses(&report), fs::read(&saved).unwrap()) == expected, "processes");
}

/// Trains the default preset on four emulated GPUs and on one.
#[test]
fn four_gpus_learn_what_one_learns() {
    let folder = TempDir::new().unwrap();
    let report = path(&folder, "report.json");
    let of = |gpus: &str| {
        run(&["--data", "digits", "--gpus", gpus, "--json", &report]);
        let report: serde_json::Value =
            serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        report
    };
    let (alone, four) = (of("1"), of("4"));
    assert_eq!((alone.get("world_size"), &four["world_size"]), (None, &4.into()));
    let list = |report: &serde_json::Value| report["losses"].as_array().unwrap().clone();
    assert_eq!(list(&alone).len(), list(&four).len());
    for (a, b) in list(&alone).iter().zip(list(&four)) {
        let (a, b) = (a["loss"].as_f64().unwrap(), b["loss"].as_f64().unwrap());
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
    // Rounding over 234 steps changes the prediction of a few images.
    let correct = |report: &serde_json::Value| report["tested"]["correct"].as_i64().unwrap();
    assert!(
        (correct(&alone) - correct(&four)).abs() <= 10,
        "{} {}",
        correct(&alone),
        correct(&four)
    );
    assert!(four["test_accuracy"].as_f64().unwrap() > 0.9);
}

/// Only rank 0 measures the accuracy at which training stops.
#[test]
fn all_ranks_stop_at_the_accuracy_of_the_first() {
    let stop = ["--evaluate-every", "2", "--stop-at-accuracy", "0.0"];
    let output = run(&[&ODD[..], &stop, &["--gpus", "3"]].concat());
    assert!(text(&output.stdout).contains("stopped: the test accuracy passed the mark"));
}

/// All ranks benchmark the same number of steps, and each rank's profile lists the collectives.
#[test]
fn benchmark_and_profile_work_with_ranks() {
    let folder = TempDir::new().unwrap();
    let trace = path(&folder, "trace.json");
    let few = ["--data", "digits", "--samples", "512", "--sizes", "784-12-10"];
    let output = run(&[&["bench", "--runs", "1"][..], &few, &["--gpus", "2"]].concat());
    assert!(text(&output.stdout).contains(", 2 ranks"), "{}", text(&output.stdout));
    let steps = ["bench", "--runs", "1", "--steps", "2", "--gpus", "2", "--profile", &trace];
    // With a bucket size of 0, each layer is a separate bucket.
    let output = run(&[&steps[..], &few, &["--bucket", "0"]].concat());
    // Four steps with two buckets each make eight all-reduces.
    let said = text(&output.stdout);
    let row = said.lines().find(|line| line.starts_with("all_reduce ")).expect("a row");
    assert_eq!(row.split_whitespace().nth(1), Some("8"), "{said}");
    assert!(said.contains(" collectives ran while a kernel did"), "{said}");
    for rank in 0..2 {
        let trace = fs::read(path(&folder, &format!("trace.rank{rank}.json"))).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let sent = events.iter().filter(|event| event["name"] == "all_reduce" && event["tid"] == 3);
        assert_eq!(sent.count(), 8);
    }
}

/// Runs three ranks with all of the sanitizer's checks.
#[test]
fn the_sanitizer_finds_nothing() {
    for way in [&[][..], &["--graph"], &["--transfer", "resident"]] {
        let mut command = program(&[&ODD[..], &["--gpus", "3"], way].concat());
        let output = command.env("EMULATED_GPU_CHECKS", "all").output().unwrap();
        assert_eq!(text(&output.stderr), "", "{way:?}");
        assert!(output.status.success());
    }
}
