//! Tests of the level that the book builds: each stage computes exactly its part, and the last one passes
//! the whole suite.

#[path = "../../examples/own_level/own/mod.rs"]
mod own;

// ANCHOR: uses
use std::path::{Path, PathBuf};

use conformance::{Check, Report, Variant, run, table};

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps")
}
// ANCHOR_END: uses

#[test]
fn only_the_last_stage_is_a_whole_step() {
    let case = Check::References.cases(&dumps()).unwrap().remove(0);
    let outcome = |stage: &str| {
        let variant = Variant::on_cpu::<own::Program>(&format!("--stage {stage}"));
        run(&variant, Check::References, &case).remove(0)
    };
    for (stage, lacks) in
        [("batch", "no forward pass yet"), ("forward", "w1_next"), ("backward", "w1_next")]
    {
        let outcome = outcome(stage);
        let reason = outcome.reason.unwrap_or_default();
        assert!(!outcome.agrees && reason.contains(lacks), "{stage}: {reason}");
    }
    let outcome = outcome("update");
    assert!(outcome.agrees, "{:?}", outcome.reason);
}

// ANCHOR: suite
#[test]
fn the_finished_level_passes_the_suite() {
    let variant = Variant::on_cpu::<own::Program>("");
    let mut outcomes = Vec::new();
    for check in Check::ALL {
        for case in check.cases(&dumps()).unwrap() {
            outcomes.extend(run(&variant, check, &case));
        }
    }
    let report = Report::new(None, outcomes);
    assert!(report.agrees(), "\n{}", table(&report));
}
// ANCHOR_END: suite
