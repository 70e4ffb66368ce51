//! Tests of explanations that are searched for: numbers, thresholds and parts that no list of mistakes has, in tensors
//! that a wrong operation made.

use std::path::Path;

use tensor::{Dump, Loss, TensorName};
use tensor_diff::{PatternKind, judge_run};

use crate::operations::wrong_operation;
use crate::support::{Start, data};

/// The explanation of a tensor that a wrong operation made.
fn reading(start: &Start, name: TensorName, wrong: impl Fn(&Dump) -> Vec<f64>) -> String {
    let (kind, text) = wrong_operation(start, name, wrong);
    assert_eq!(kind, PatternKind::Explained, "{text}");
    text
}

/// The number between two parts of a sentence.
fn number_between(text: &str, before: &str, after: &str) -> f64 {
    let rest = text.strip_prefix(before).unwrap_or_else(|| panic!("{text}"));
    let number = rest.split_once(after).unwrap_or_else(|| panic!("{text}")).0;
    number.parse().unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn an_output_function_of_a_multiple_of_z() {
    for (loss, before) in
        [(Loss::CrossEntropy, "it is softmax of "), (Loss::Bce, "it is sigmoid of ")]
    {
        let start = Start::new(&[31, 17, 10], 10, loss, 31);
        let text = reading(&start, TensorName::P, |dump| {
            let z = &dump.get(TensorName::Z(2)).unwrap().data;
            let of_row = |row: &[f64]| -> Vec<f64> {
                let powers: Vec<f64> = row.iter().map(|z| (2.5 * z).exp()).collect();
                let sum: f64 = powers.iter().sum();
                let output = |power: &f64| match loss {
                    Loss::CrossEntropy => power / sum,
                    _ => power / (1.0 + power),
                };
                powers.iter().map(output).collect()
            };
            z.chunks(10).flat_map(of_row).collect()
        });
        let factor = number_between(&text, before, " times z");
        assert!((factor - 2.5).abs() < 1e-3, "{text}");
    }
}

#[test]
fn a_gradient_that_another_number_lets_through() {
    let start = Start::new(&[31, 17, 10], 10, Loss::CrossEntropy, 32);
    let z1 = start.candidate().get(TensorName::Z(1)).unwrap().data.clone();
    let text = reading(&start, TensorName::Dz(1), |dump| {
        let da = &dump.get(TensorName::Da(1)).unwrap().data;
        da.iter().zip(&z1).map(|(da, z)| if z.abs() > 0.25 { *da } else { 0.0 }).collect()
    });
    let edge =
        number_between(&text, "it is da1 where the magnitude of z1 is above ", ", and 0 elsewhere");
    // Any threshold between the elements that were set to 0 and those that passed is right.
    assert!(z1.iter().all(|z| (z.abs() > edge) == (z.abs() > 0.25)), "{text}");
}

#[test]
fn a_sum_that_ends_too_early() {
    let start = Start::new(&[31, 17, 10], 10, Loss::CrossEntropy, 33);
    let text = reading(&start, TensorName::Dw(1), |dump| {
        let [dz, x] = [TensorName::Dz(1), TensorName::X].map(|name| &dump.get(name).unwrap().data);
        let element = |at: usize| (0..7).map(|k| dz[k * 17 + at / 31] * x[k * 31 + at % 31]).sum();
        (0..17 * 31).map(element).collect()
    });
    assert!(text.contains("are left out, from 7 on"), "{text}");
}

/// A single wrong loss fits many formulas; the losses of several steps fit only one.
#[test]
fn a_loss_with_a_term_more() {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let mut run = Dump::read_run(&dumps.join("softmax-steps.json")).unwrap();
    let honest: Vec<f64> =
        run.iter().map(|step| step.get(TensorName::Loss).unwrap().data[0]).collect();
    let found = judge_run(&run, 1.0);
    let told: Vec<f64> = found.steps.iter().map(|step| step.loss.unwrap()).collect();
    assert_eq!(told, honest, "the losses of a run are the dumps'");
    for step in &mut run {
        let weights: f64 =
            step.get(TensorName::W(1)).unwrap().data.iter().map(|weight| weight * weight).sum();
        data(step, TensorName::Loss)[0] += 0.01 * weights;
    }
    let found = judge_run(&run, 1.0);
    let fault = found.steps[0].first_fault().unwrap();
    assert_eq!(fault.tensor, TensorName::Loss);
    let text = &fault.pattern.as_ref().unwrap().text;
    assert!(text.contains("the sum of w1²"), "{text}");
    assert!(text.ends_with("as the losses of 3 steps show"), "{text}");
}
