//! Tests of the inputs and steps of dumps, and of the number of steps of `bench`.

use std::path::Path;

use data::Dataset;
use tensor::{Dump, Header, Loss, Network, TensorName};
use training::bench::{BenchPlan, bench};
use training::dump::{Inputs, Steps, header, inputs_into, run, run_into};
use training::{Error, Level, Multi, Parameters, Preset, Result, Runner, Single, Terms};

use crate::fake::Fake;

/// A runner for one of several copies of a level, of which the slowest determines the number of steps.
struct CopyRunner {
    level: Fake,
    terms: Vec<String>,
    /// The numbers that were passed to `largest`, which are this copy's measurements.
    said: Vec<f32>,
}

impl Runner for CopyRunner {
    fn level(&mut self) -> &mut dyn Level {
        &mut self.level
    }

    fn tester(&mut self) -> Option<&mut dyn Level> {
        None
    }

    fn check_terms(&mut self, terms: &Terms<'_>) -> Result<()> {
        self.terms.push(terms.command.into());
        Ok(())
    }

    /// Pretends that another copy needs 0.4 seconds for 32 steps.
    fn largest(&mut self, here: f32) -> Result<f32> {
        self.said.push(here);
        Ok(if self.said.len() == 2 { 0.4 } else { 0.2 })
    }
}

/// A preset with 4 inputs, 3 classes, and batches of 2 samples in order.
fn preset() -> Preset {
    let mut preset = Preset::find("small").unwrap();
    preset.network = Network { sizes: vec![4, 3], loss: Loss::CrossEntropy };
    preset.batch_size = 2;
    preset.drop_last = false;
    preset
}

/// A data set of 5 samples, with the labels 0, 1, 2, 0, 1.
fn samples() -> Dataset {
    Dataset::from_rows(vec![0.5; 4 * 5], vec![0, 1, 2, 0, 1], 4, 3).unwrap()
}

/// A training run from random parameters, and the header of its dumps, the first of which is the dump of this step.
fn training(step: u64) -> (Preset, Inputs, Header) {
    let preset = preset();
    let start = Parameters::new(&preset.network, preset.initialisation, 1);
    let header = header("witness", "none", &preset, step);
    (preset, Inputs::of_training(samples(), start), header)
}

/// A dump of two samples with this JSON for `y`, as a program in another language may write it.
fn dump(y: &str) -> Dump {
    let text = format!(
        r#"{{"format": "four-levels-dump", "version": 1, "level": "other", "device": "cpu",
        "preset": "none", "dtype": "f64", "seed": 7, "step": 0, "learning_rate": 0.5, "tensors": [
        {{"name": "x", "shape": [2, 4], "data": [1, 2, 3, 4, 5, 6, 7, 8]}}, {y},
        {{"name": "w1", "shape": [3, 4], "data": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}},
        {{"name": "b1", "shape": [3], "data": [0, 0, 1]}}]}}"#
    );
    Dump::from_json(text.as_bytes(), Path::new("dump.json")).unwrap()
}

#[test]
fn a_dump_contains_the_preset_of_its_steps() {
    let mut preset = preset();
    let y = r#"{"name": "y", "shape": [2, 3], "data": [0, 0, 1, 1, 0, 0]}"#;
    let inputs = Inputs::from_dump(&dump(y), &mut preset).unwrap();
    assert_eq!(inputs.set.labels(), [2, 0]);
    assert_eq!(inputs.set.x(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(inputs.parameters.layers[0].b.data(), [0.0, 0.0, 1.0]);
    assert_eq!(preset.network.sizes, [4, 3]);
    assert_eq!((preset.batch_size, preset.samples, preset.seed), (2, 2, 7));
    assert_eq!(preset.learning_rate, 0.5);
    assert_eq!(preset.network.loss, Loss::CrossEntropy, "the dump tells none");
}

#[test]
fn labels_that_are_not_one_hot_are_refused() {
    for (y, reason) in [
        (r#""shape": [2, 4], "data": [0, 0, 1, 0, 1, 0, 0, 0]"#, "[2, 4], not [2, 3]"),
        (r#""shape": [3, 3], "data": [0, 0, 1, 1, 0, 0, 1, 0, 0]"#, "[3, 3], not [2, 3]"),
        (r#""shape": [6], "data": [0, 0, 1, 1, 0, 0]"#, "[6], not [2, 3]"),
        (r#""shape": [2, 3], "data": [0, 0, 1, 0, 0, 0]"#, "row 1 of y is not one-hot"),
        (r#""shape": [2, 3], "data": [0, 1, 1, 1, 0, 0]"#, "row 0 of y is not one-hot"),
        (r#""shape": [2, 3], "data": [0, 0, 1, 1, 0, 0.5]"#, "row 1 of y is not one-hot"),
        (r#""shape": [2, 3], "data": [0, 0, 2, 1, 0, 0]"#, "row 0 of y is not one-hot"),
    ] {
        let y = format!(r#"{{"name": "y", {y}}}"#);
        let error = Inputs::from_dump(&dump(&y), &mut preset()).err().expect(reason);
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}

/// Each call of `load` also gets the next batch, except for the last batch of an epoch.
#[test]
fn steps_of_a_dump_load_batches_as_training_does() {
    let (preset, inputs, header) = training(2);
    let steps = Steps { before: 2, dumped: 3, fused: true };
    let mut level = Fake::new(&preset);
    let dumps = run(&mut Multi(&mut level), &header, &preset, &inputs, steps).unwrap();
    let expected: [(Vec<u8>, Option<Vec<u8>>); 5] = [
        (vec![0, 1], Some(vec![2, 0])),
        (vec![2, 0], Some(vec![1])),
        (vec![1], None),
        (vec![0, 1], Some(vec![2, 0])),
        (vec![2, 0], Some(vec![1])),
    ];
    assert_eq!(level.loaded, expected);
    assert_eq!((level.steps, level.updates), (5, 0));
    assert_eq!(dumps.iter().map(|dump| dump.header.step).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(dumps.iter().all(|dump| dump.get(TensorName::W(1)).is_some()));
    assert!(dumps.iter().all(|dump| dump.header.not_materialised.contains(&TensorName::X)));

    // Without `fused`, the dumped steps run phase by phase.
    let mut level = Fake::new(&preset);
    let steps = Steps { fused: false, ..steps };
    let dumps = run(&mut Multi(&mut level), &header, &preset, &inputs, steps).unwrap();
    assert_eq!((level.steps, level.updates, dumps.len()), (2, 3, 3));

    // Dumps only the inputs of the steps.
    let mut level = Fake::new(&preset);
    let mut given = Vec::new();
    let mut sink = |dump: Dump| {
        given.push(dump);
        Ok(())
    };
    inputs_into(&mut Multi(&mut level), &header, &preset, &inputs, steps, &mut sink).unwrap();
    assert_eq!((level.steps, given.len()), (5, 3));
    assert!(given.iter().all(|dump| dump.get(TensorName::Loss).is_none()));
}

/// The level trains on two batches per call, and an epoch has three. To dump a step, the call is repeated from its
/// start up to that step.
#[test]
fn a_fused_step_is_dumped_after_the_earlier_steps_of_its_call() {
    let (preset, inputs, header) = training(0);
    let steps = Steps { before: 2, dumped: 3, fused: true };
    let mut level = Fake { at_once: 2, ..Fake::new(&preset) };
    let dumps = run(&mut Multi(&mut level), &header, &preset, &inputs, steps).unwrap();
    // Two calls have several batches: the call with the two steps before the dumps, and the call for the second step of
    // the next epoch's first call.
    assert_eq!(level.launches, [2, 2]);
    let first = |dump: &Dump, name| dump.get(name).unwrap().data[0];
    let drawn = f64::from(inputs.parameters.layers[0].b.data()[0]);
    let (b, next) = (TensorName::B(1), TensorName::BNext(1));
    let found: Vec<_> = dumps.iter().map(|dump| (first(dump, b), first(dump, next))).collect();
    // The call before the dumps runs two steps and makes the mistake, which sets the bias to 7, so every dump begins
    // with that bias. Later calls make the same mistake.
    assert_eq!(found, [(7.0, 7.0); 3]);
    assert_eq!(dumps.iter().map(|dump| dump.header.step).collect::<Vec<_>>(), [0, 1, 2]);

    // Without steps before the dumps, the mistake is in the second step, and not in the first.
    let steps = Steps { before: 0, dumped: 2, fused: true };
    let mut level = Fake { at_once: 2, ..Fake::new(&preset) };
    let dumps = run(&mut Multi(&mut level), &header, &preset, &inputs, steps).unwrap();
    let found: Vec<_> = dumps.iter().map(|dump| (first(dump, b), first(dump, next))).collect();
    assert_eq!(found, [(drawn, drawn), (drawn, 7.0)]);

    // If phases are run one at a time, no call takes several batches.
    let steps = Steps { fused: false, ..steps };
    let mut level = Fake { at_once: 2, ..Fake::new(&preset) };
    run(&mut Multi(&mut level), &header, &preset, &inputs, steps).unwrap();
    assert!(level.launches.is_empty());
}

/// Each dump is passed to the sink before the next step runs, so that a run may be larger than memory.
#[test]
fn a_run_ends_when_the_sink_fails() {
    let (preset, inputs, header) = training(0);
    let steps = Steps { before: 0, dumped: usize::MAX, fused: true };
    let mut level = Fake::new(&preset);
    let mut taken = 0;
    let mut full = |dump: Dump| {
        assert_eq!(dump.header.step, taken);
        taken += 1;
        if taken < 3 { Ok(()) } else { Err(Error::Usage("the disk is full".into())) }
    };
    let error =
        run_into(&mut Multi(&mut level), &header, &preset, &inputs, steps, &mut full).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
    assert_eq!((level.steps, taken), (3, 3));
}

/// All copies run the number of steps that the slowest copy's time determines. Otherwise the copies would run different
/// numbers of steps, and wait for each other forever.
#[test]
fn all_copies_measure_the_steps_that_fill_half_a_second_on_the_slowest_copy() {
    let preset = preset();
    let start = Parameters::new(&preset.network, preset.initialisation, 1);
    let plan = BenchPlan { runs: 2, steps: None };
    let mut copy = CopyRunner { level: Fake::new(&preset), terms: Vec::new(), said: Vec::new() };
    let measured = bench(&mut copy, &preset, &samples(), &start, plan, &|| Ok(None)).unwrap();
    // There are trial runs of 16 and of 32 steps, of which the second takes 0.4 s, so a run of half a second has 40
    // steps.
    assert_eq!(measured.steps, 40);
    assert_eq!(copy.level.steps, 16 + 32 + 2 * 40);
    assert!(copy.said.len() == 2 && copy.said.iter().all(|&said| said < 0.2), "{:?}", copy.said);
    assert_eq!(copy.terms, ["bench"]);
    assert_eq!((measured.rates.len(), measured.last_loss, measured.baseline), (2, 0.25, None));

    // A single level runs the requested number of steps.
    let mut level = Fake::new(&preset);
    let plan = BenchPlan { runs: 1, steps: Some(3) };
    let (single, beside) = (&mut Single(&mut level), || Ok(Some(5.0)));
    let measured = bench(single, &preset, &samples(), &start, plan, &beside).unwrap();
    // The first run is the warm-up.
    assert_eq!((measured.steps, level.steps, measured.baseline), (3, 2 * 3, Some(5.0)));
}
