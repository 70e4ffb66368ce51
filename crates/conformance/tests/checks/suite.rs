//! Tests that every way to run a level passes every check: on the emulated GPU, or on the device that
//! `FOUR_LEVELS_DEVICE` names.

use std::path::Path;

use conformance::{Check, Outcome, Report, run, table, variants};
use test_support::device_choice;

/// Runs a check on all its cases and variants, asserts that each passes, and returns the outcomes.
fn expect_pass(check: Check) -> Vec<Outcome> {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let mut outcomes = Vec::new();
    for case in check.cases(&dumps).unwrap() {
        for variant in variants(device_choice()) {
            outcomes.extend(run(&variant, check, &case));
        }
    }
    let report = Report::new(None, outcomes);
    assert!(report.agrees(), "\n{}", table(&report));
    report.outcomes
}

#[test]
fn steps_agree_with_the_references() {
    let outcomes = expect_pass(Check::References);
    // With these options, the levels run phase by phase and keep every tensor, so all tensors are compared.
    for (level, options) in [
        ("level1-cpu", "--form textbook"),
        ("level2-cuda-naive", "--kernels per-operation --transfer explicit"),
        ("level4-ptx", "--kernels thread-per-sample"),
    ] {
        let mut of = outcomes.iter().filter(|outcome| {
            (outcome.level, outcome.options.as_str()) == (level, options) && !outcome.fused
        });
        assert!(of.clone().count() > 0, "{level} {options} is gone");
        assert!(of.all(|outcome| outcome.not_materialised.is_empty()), "{level} {options}");
    }
    // Of the rungs of level 4, only `thread-per-sample` has all tensors in memory.
    for outcome in outcomes.iter().filter(|outcome| outcome.level == "level4-ptx") {
        let plain = outcome.options == "--kernels thread-per-sample";
        assert_eq!(outcome.not_materialised.is_empty(), plain, "{}", outcome.options);
    }
    // The only tensors that other variants may lack are pre-activations, and gradients of activations and parameters.
    for outcome in &outcomes {
        for name in &outcome.not_materialised {
            let name = name.to_string();
            let inner = ["da", "dw", "db", "z"].iter().any(|start| name.starts_with(start));
            assert!(inner, "{} {} lacks {name}", outcome.level, outcome.options);
        }
    }
}

/// The level keeps its buffers from step to step, so the test finds values that remain from the previous step by
/// mistake.
#[test]
fn three_steps_agree_with_the_references() {
    expect_pass(Check::Steps);
}

#[test]
fn every_preset_s_network_agrees_with_level_1() {
    expect_pass(Check::Presets);
}

#[test]
fn odd_shapes_agree_with_level_1() {
    expect_pass(Check::OddShapes);
}

#[test]
fn a_batch_of_one_agrees_with_level_1() {
    expect_pass(Check::BatchOfOne);
}

#[test]
fn ten_training_steps_stay_together() {
    expect_pass(Check::TenSteps);
}
