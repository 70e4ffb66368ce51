//! Runs checks, and collects the outcome of each case.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use serde::Serialize;
use tensor::{Dump, TensorName};
use tensor_diff::Divergence;
use training::dump::{self, Steps, dump, header};
use training::{Error, Result};

use crate::check::{Case, Check, Expected};
use crate::{Variant, steps};

/// The outcome of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The level.
    pub level: &'static str,
    /// The options of the level.
    pub options: String,
    /// The check.
    pub check: Check,
    /// The network, and the other details of the case.
    pub case: String,
    /// Whether the step ran as in training, where phases may be fused, rather than phase by phase.
    pub fused: bool,
    /// Whether the case passed.
    pub agrees: bool,
    /// The reason if the case failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tensors that were not compared because the level never has them in memory.
    pub not_materialised: Vec<TensorName>,
    /// The duration, including the loading of kernels.
    pub seconds: f64,
}

/// The outcomes of a run of the suite, in the form that is written as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the format, `four-levels-conformance`.
    pub format: &'static str,
    /// The version of the format, 1.
    pub version: u32,
    /// The GPU that ran levels 2 to 4.
    pub device: Option<String>,
    /// The number of cases that passed.
    pub passed: usize,
    /// The number of cases that failed.
    pub failed: usize,
    /// Every case.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// The report of these outcomes.
    #[must_use]
    pub fn new(device: Option<String>, outcomes: Vec<Outcome>) -> Self {
        let passed = outcomes.iter().filter(|outcome| outcome.agrees).count();
        let failed = outcomes.len() - passed;
        Self { format: "four-levels-conformance", version: 1, device, passed, failed, outcomes }
    }

    /// Whether there were cases, and all of them passed.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

/// Runs a case of a check on a variant. If the check is about the arithmetic of a step, runs the step once phase by
/// phase and once as in training; if it is about sizes, only as in training. Runs nothing if the variant doesn't have
/// to pass the check.
#[must_use]
pub fn run(variant: &Variant, check: Check, case: &Case) -> Vec<Outcome> {
    run_and_keep(variant, check, case, &mut Vec::new())
}

/// The tensors that a variant computed in a case.
#[derive(Clone, Debug)]
pub struct RunTensors {
    /// A title: the variant, and whether its step was fused.
    pub title: String,
    /// Every tensor of each step.
    pub run: Vec<Dump>,
}

/// Like [`run`], and also keeps the tensors of the first run of a case, and of each run that disagrees with the
/// expected results.
pub fn run_and_keep(
    variant: &Variant,
    check: Check,
    case: &Case,
    keep: &mut Vec<RunTensors>,
) -> Vec<Outcome> {
    if !variant.checks.contains(&check) || variant.without.contains(&case.name.as_str()) {
        return Vec::new();
    }
    let mut first = true;
    let mut once = |fused: bool| {
        let clock = Instant::now();
        let mut found = Vec::new();
        let mut attempt = || match &case.expected {
            Expected::Step(expected) => step(variant, case, expected, fused, &mut found),
            Expected::Run(expected) => run_steps(variant, case, expected, fused, &mut found),
            Expected::Trained(expected) => {
                let (preset, inputs) = (&case.preset, &case.inputs);
                let found =
                    variant.run(&preset.network, |runner| steps::train(runner, preset, inputs))?;
                Ok(steps::difference_beyond_tolerance(
                    expected,
                    &found,
                    &case.inputs.parameters,
                    variant.dtype()?,
                ))
            }
        };
        // cudarc panics if a library lacks a function. The panic is caught, so that only this case fails.
        let reason = match catch_unwind(AssertUnwindSafe(&mut attempt)) {
            Ok(Ok(reason)) => reason,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the level panicked; the message is on standard error".into()),
        };
        let not_materialised =
            found.first().map_or_else(Vec::new, |dump: &Dump| dump.header.not_materialised.clone());
        if (first || reason.is_some()) && !found.is_empty() {
            let how = if fused { ", as trained" } else { "" };
            keep.push(RunTensors { title: format!("{variant}{how}"), run: found });
        }
        first = false;
        Outcome {
            level: variant.level,
            options: variant.options.clone(),
            check,
            case: case.name.clone(),
            fused,
            agrees: reason.is_none(),
            reason,
            not_materialised,
            seconds: clock.elapsed().as_secs_f64(),
        }
    };
    match check {
        Check::References | Check::Steps | Check::OddShapes => vec![once(false), once(true)],
        Check::Presets | Check::BatchOfOne | Check::TenSteps => vec![once(true)],
    }
}

/// Runs and keeps one step, and compares it tensor by tensor; returns the first difference.
fn step(
    variant: &Variant,
    case: &Case,
    expected: &Dump,
    fused: bool,
    kept: &mut Vec<Dump>,
) -> Result<Option<String>> {
    let mut level = variant.open(&case.preset.network)?;
    let mut header = header(variant.level, &variant.device_name()?, &case.preset, 0);
    header.dtype = variant.dtype()?;
    kept.push(dump(level.as_mut(), header, &case.preset, &case.inputs, fused)?);
    let comparison = tensor_diff::compare(expected, &kept[0], 1.0);
    if comparison.agrees() {
        return Ok(None);
    }
    Ok(Some(describe_divergence(comparison.first_divergence.as_ref())))
}

/// Runs several steps, and compares them tensor by tensor; returns the first difference.
fn run_steps(
    variant: &Variant,
    case: &Case,
    expected: &[Dump],
    fused: bool,
    kept: &mut Vec<Dump>,
) -> Result<Option<String>> {
    let mut header = header(variant.level, &variant.device_name()?, &case.preset, 0);
    header.dtype = variant.dtype()?;
    let steps = Steps { before: 0, dumped: expected.len(), fused };
    *kept = variant.run(&case.preset.network, |runner| {
        dump::run(runner, &header, &case.preset, &case.inputs, steps)
    })?;
    let compared = tensor_diff::compare_runs(expected, kept, 1.0).map_err(Error::Usage)?;
    if compared.agrees() {
        return Ok(None);
    }
    Ok(Some(compared.first_faulty().map_or_else(
        || "nothing could be compared".into(),
        |step| format!("step {}: {}", step.step, describe_divergence(step.first_fault())),
    )))
}

fn describe_divergence(first: Option<&Divergence>) -> String {
    first.map_or_else(
        || "nothing could be compared".into(),
        |first| format!("{} {}: {}", first.tensor, first.verdict.label(), first.reading),
    )
}
