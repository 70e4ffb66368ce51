//! Tests of the fixtures that every level is compared with: complete, in order, in agreement with themselves,
//! and right by themselves.

use std::path::Path;

use tensor::{Dtype, Dump};
use tensor_diff::{Verdict, compare, compare_runs, judge_run};

fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps").join(name)
}

#[test]
fn each_reference_dump_agrees_with_itself_and_is_right_by_itself() {
    for name in [
        "softmax",
        "squared-error",
        "bce",
        "three-layer",
        "wide",
        "single",
        "batch-37",
        "batch-67",
        "one-unit",
        "units-1025",
        "large-logits",
        "saturated",
        "kink",
        "subnormal",
        "zero-gradient",
    ] {
        let dump = Dump::read(&path(&format!("{name}.json"))).unwrap();
        assert_eq!((dump.header.preset.as_str(), dump.header.dtype), (name, Dtype::F64));
        let found = compare(&dump, &dump, 1.0);
        assert!(found.agrees(), "{name}: {:#?}", found.first_divergence);
        assert_eq!(found.rows.count(Verdict::Ok), found.rows.len(), "{name}");
        let recomputed = found.own.rows.iter().filter(|row| !row.name.is_given());
        assert!(recomputed.clone().all(|row| row.verdict == Verdict::Ok), "{name}");
    }
}

#[test]
fn each_reference_run_is_right_by_itself_through_all_of_its_steps() {
    for name in ["softmax", "squared-error", "bce"] {
        let run = Dump::read_run(&path(&format!("{name}-steps.json"))).unwrap();
        assert_eq!(run.len(), 3);
        let batches: Vec<usize> = run.iter().map(|step| step.tensors[0].shape[0]).collect();
        assert_eq!(batches, [8, 8, 4]);
        for found in [judge_run(&run, 1.0), compare_runs(&run, &run, 1.0).unwrap()] {
            assert!(found.agrees(), "{name}: {:#?}", found.first_faulty().unwrap().first_fault());
        }
    }
}
