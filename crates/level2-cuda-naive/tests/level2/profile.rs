//! Tests of `--profile` and `--roofline` on the emulated GPU, which show counts and no times.

use std::fs;

use tempfile::TempDir;
use test_support::program::{BENCH, EMULATED, SHORT, fails, json, path, succeeds};

use crate::command_line::level2;

#[test]
fn a_profile_on_the_emulated_gpu_has_counts_and_no_times() {
    let folder = TempDir::new().unwrap();
    let trace = path(&folder, "trace.json");
    let output = level2(&[&BENCH[..], &SHORT, &EMULATED, &["--profile", &trace]].concat());
    let said = succeeds(&output);
    for word in ["instructions of threads on emulated (", "FLOP/", "trace written to"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let table = &said[said.find("instructions of threads").expect("checked above")..];
    assert!(
        !table.contains("GB/s") && !table.contains("GFLOP/s") && !table.contains(" ms"),
        "{said}"
    );
    // The product runs for two layers in each of four batches.
    let row = said.lines().find(|line| line.starts_with("matmul_a_bt ")).expect("a row");
    assert_eq!(row.split_whitespace().nth(1), Some("8"), "{row}");

    let trace = json(&trace);
    assert!(trace["otherData"]["device"].as_str().unwrap().starts_with("emulated ("));
    assert!(trace["otherData"]["times"].as_str().unwrap().contains("not of a GPU"));
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!(named("matmul_at_b"), 8);
    assert_eq!((named("to the device"), named("to the host")), (2 * 4 + 4, 2));
}

/// The multiply-adds of four batches of 784-12-10 follow from the shapes.
#[test]
fn the_counted_multiply_adds_are_those_of_the_shapes() {
    let folder = TempDir::new().unwrap();
    let (trace, svg) = (path(&folder, "trace.json"), path(&folder, "roofline.svg"));
    let files = ["--profile", &trace, "--roofline", &svg, "--card", "a100"];
    let output = level2(&[&BENCH[..], &SHORT, &EMULATED, &files].concat());
    let said = succeeds(&output);
    let heads: Vec<&str> =
        said.lines().skip_while(|line| !line.contains("instr.,")).take(2).collect();
    assert!(heads[0].ends_with("FLOP/  occu-") && heads[1].ends_with("byte  pancy"), "{said}");
    assert!(!heads[0].contains("tensor") && !heads[0].contains("shared"), "{said}");
    let cells = |name: &str| -> Vec<&str> {
        let row = said.lines().find(|line| line.starts_with(name)).expect("a row");
        row.split_whitespace().collect()
    };
    // Four batches of 256 samples, with layers of 12 and 10 units on 784 inputs.
    let millions = format!("{:.1}", 4.0 * 256.0 * (784.0 * 12.0 + 12.0 * 10.0) / 1e6);
    assert_eq!(cells("matmul_a_bt ")[7], millions, "{said}");
    assert_eq!(cells("matmul_a_bt ").last(), Some(&"%"), "{said}");
    assert!(said.contains("roofline of an NVIDIA A100 SXM4 80GB written to"), "{said}");
    assert!(said.contains("not in the roofline: relu "), "{said}");
    let drawn = fs::read_to_string(svg).unwrap();
    for words in ["NVIDIA A100 SXM4 80GB", "19.5 TFLOP/s", "matmul_a_bt", "update"] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    assert!(!drawn.contains("relu") && !drawn.contains("NaN"), "{drawn}");
}

#[test]
fn a_roofline_that_can_not_be_written_is_an_error() {
    let nowhere = ["--roofline", "/nowhere/roofline.svg"];
    let output = level2(&[&SHORT[..], &EMULATED, &nowhere].concat());
    fails(&output, 1, &["can't write /nowhere/roofline.svg"]);
    let output = level2(&[&SHORT[..], &EMULATED, &["--card", "voodoo"]].concat());
    fails(&output, 2, &["h100, a100, rtx-4090"]);
}
