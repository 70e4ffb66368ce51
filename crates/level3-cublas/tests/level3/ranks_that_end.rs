//! Tests of several ranks, as processes and as threads, one of which fails, is killed, never connects or was
//! started with other settings: all ranks end, and report the reason. They run the program on the built-in
//! digits and the emulated GPU.

use std::fs;
use std::io::Read;
use std::process::{Child, Command};

use tempfile::TempDir;
use test_support::program::{fails, path, text};

use super::ranks::{ODD, port, program, rank, wait_for_end};

/// Options for a run that is long enough to be interrupted.
const LONG: [&str; 8] =
    ["--data", "digits", "--sizes", "784-12-10", "--epochs", "100000", "--report-every", "10"];

/// Waits until a rank has reported a loss.
fn reported(child: &mut Child) {
    let mut said = String::new();
    let out = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while !said.contains("loss 0.") {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "it ended: {said}");
        said.push(char::from(byte[0]));
    }
}

#[test]
fn a_rank_that_is_killed_ends_all() {
    let port = port();
    let mut ranks: Vec<Child> = (0..3).map(|one| rank(&LONG, one, 3, port)).collect();
    reported(&mut ranks[0]);
    let mut killed = ranks.remove(1);
    // `kill` sends SIGKILL, which a process can't handle.
    killed.kill().unwrap();
    killed.wait().unwrap();
    for child in ranks {
        let output = wait_for_end(child);
        fails(&output, 1, &["error: rank 1 is gone: its process has ended"]);
    }
}

#[test]
fn a_rank_that_never_connects_ends_all() {
    let port = port();
    let args = [&LONG[..], &["--wait", "2"]].concat();
    let [first, last] = [0, 2].map(|one| rank(&args, one, 3, port)).map(wait_for_end);
    // The list of missing ranks begins with 1; on a busy machine, the last rank may also be too late and be listed.
    fails(&first, 1, &["of 3 ranks, 1", "did not connect within 2 s"]);
    let late = text(&last.stderr).contains("rank 0 was not found within 2 s");
    fails(&last, 1, if late { &[] } else { &["of 3 ranks, 1", "did not connect within 2 s"] });
    let output = wait_for_end(rank(&args, 1, 2, port));
    let said = text(&output.stderr);
    assert!(said.contains("rank 0 was not found within 2 s"), "{said}");
}

/// If sizes, presets, data or numbers of ranks differ, every rank reports the difference, with both values.
#[test]
fn ranks_with_different_settings_end_all() {
    let preset = ["--data", "digits", "--preset", "medium", "--sizes", "784-12-10"];
    let cases: [(&[&str], usize, &str); 4] = [
        (
            &["--data", "digits", "--sizes", "784-13-10"],
            2,
            "rank 0 has `network: 784-12-10, bce`, and rank 1 `network: 784-13-10, bce`",
        ),
        (&preset, 2, "rank 0 has `preset: small`, and rank 1 `preset: medium`"),
        (
            &["--data", "digits", "--sizes", "784-12-10", "--samples", "3000"],
            2,
            "training data: 3000 samples",
        ),
        (&LONG, 3, "rank 1 was started as one of 3 ranks, and rank 0 as one of 2"),
    ];
    for (args, world_size, words) in cases {
        let port = port();
        let first = ["--data", "digits", "--sizes", "784-12-10"];
        let first = if args == LONG { rank(&LONG, 0, 2, port) } else { rank(&first, 0, 2, port) };
        for child in [first, rank(args, 1, world_size, port)] {
            let output = wait_for_end(child);
            fails(&output, 1, &[words]);
        }
    }
}

/// A rank that can't write its file ends early, and the others report it.
#[test]
fn a_rank_that_ends_early_ends_all() {
    let folder = TempDir::new().unwrap();
    let (port, out) = (port(), path(&folder, "dump.json"));
    fs::create_dir(path(&folder, "dump.rank1.json")).unwrap();
    let args = ["dump", "--preset", "softmax", "--out", &out];
    let ranks: Vec<Child> = (0..3).map(|one| rank(&args, one, 3, port)).collect();
    for (one, child) in ranks.into_iter().enumerate() {
        let output = wait_for_end(child);
        let said = fails(&output, 1, &[]);
        let words = if one == 1 { "can't write" } else { "rank 1 is gone" };
        assert!(said.contains(words), "{said}");
    }
}

/// A failure of all ranks of a process is reported once; a failure of one rank is reported with its number.
#[test]
fn a_failure_of_all_threads_is_reported_once() {
    let output = program(&[&ODD[..], &["--gpus", "3", "--learning-rate", "1e30"]].concat());
    let output = { output }.output().unwrap();
    let said = fails(&output, 1, &[]);
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{said}");
    assert!(errors[0].contains("training diverged"), "{said}");
    // Requests more devices than the driver has.
    let mut command = program(&[&ODD[..], &["--gpus", "3"]].concat());
    let output = command.env("EMULATED_GPU_DEVICES", "2").output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("3 GPUs were requested, but the driver has 2"), "{said}");
    fails(&program(&["--gpus", "100"]).output().unwrap(), 2, &["it has to be from 1 to 64"]);
    let mut alone = program(&["--distributed"]);
    let output = alone.env_remove("RANK").env_remove("SLURM_PROCID").output().unwrap();
    fails(&output, 2, &["start it with torchrun or srun"]);
    let output = program(&["predict", "--gpus", "2", "--load", "nothing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Ctrl-C ends all ranks after the same batch, and the report is written; also if only one process receives the signal.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_all_ranks_and_the_report_is_written() {
    let folder = TempDir::new().unwrap();
    let report = path(&folder, "report.json");
    let files = ["--json", &report];
    let reason = || {
        let report: serde_json::Value =
            serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        report["stop_reason"].clone()
    };
    let mut child = program(&[&LONG[..], &files, &["--gpus", "3"]].concat()).spawn().unwrap();
    reported(&mut child);
    interrupt(&child);
    let output = wait_for_end(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("stopped by Ctrl-C"));
    assert_eq!(reason(), "interrupted");

    fs::remove_file(&report).unwrap();
    let port = port();
    let args = [&LONG[..], &files].concat();
    let mut ranks: Vec<Child> = (0..3).map(|one| rank(&args, one, 3, port)).collect();
    reported(&mut ranks[0]);
    interrupt(&ranks[2]);
    let codes: Vec<_> = ranks.into_iter().map(|child| wait_for_end(child).status.code()).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(130)]);
    assert_eq!(reason(), "interrupted");
}
