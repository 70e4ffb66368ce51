//! Tests with common mistakes that once had a false explanation or none: each now has the right one.

use tensor::{Dtype, Dump, Loss, TensorName};
use tensor_diff::{PatternKind, compare, judge, judge_run};

use crate::support::{Arithmetic, Start, data, diff, explain};
use TensorName::{A, Da, Db, Dw, Dz, P, W, WNext, Z};

fn values(dump: &Dump, name: TensorName) -> Vec<f64> {
    dump.get(name).unwrap().data.clone()
}

fn start(loss: Loss) -> Start {
    Start::new(&[31, 17, 10], 12, loss, 5)
}

/// The first wrong tensor of a dump that is judged by itself, and its explanation.
fn said(dump: &Dump) -> (TensorName, PatternKind, String) {
    let fault = judge(dump, 1.0).first_fault.expect("a fault");
    let pattern = fault.pattern.expect("an explanation, or `Unexplained`");
    (fault.tensor, pattern.kind, pattern.text)
}

/// With squared error p is z2 itself, so that they are equal whatever z2 holds.
#[test]
fn logits_do_not_equal_an_output_that_is_made_of_them() {
    let mut dump = start(Loss::SquaredError).candidate();
    let wrong: Vec<f64> = values(&dump, Z(2)).iter().map(|z| f64::from(z.sin() as f32)).collect();
    *data(&mut dump, Z(2)) = wrong.clone();
    *data(&mut dump, P) = wrong;
    let (name, kind, text) = said(&dump);
    assert_eq!((name, kind), (Z(2), PatternKind::Unexplained), "{text}");
    // A factor is still explained.
    let scaled: Vec<f64> = values(&start(Loss::SquaredError).candidate(), Z(2))
        .iter()
        .map(|z| f64::from((1.3 * z) as f32))
        .collect();
    *data(&mut dump, Z(2)) = scaled.clone();
    *data(&mut dump, P) = scaled;
    let (_, _, text) = said(&dump);
    assert!(text.contains("1.3"), "{text}");
}

/// With weights so large that p is 0 somewhere, formulas with ln p are infinite, and explain nothing.
#[test]
fn an_infinite_prediction_explains_no_loss() {
    let start = start(Loss::CrossEntropy).scaled(400.0);
    let mut dump = start.candidate();
    assert!(values(&dump, P).contains(&0.0));
    data(&mut dump, TensorName::Loss)[0] *= 1.37;
    let told = judge_run(&[dump.clone(), dump], 1.0);
    let pattern = &told.steps[0].own.first_fault.as_ref().unwrap().pattern;
    assert!(
        pattern.as_ref().is_none_or(
            |pattern| pattern.kind == PatternKind::Unexplained || pattern.text.contains("1.37")
        ),
        "{pattern:?}"
    );
}

/// `dz.sum()` without its axis, or along the other one, as in many copies of one tutorial.
#[test]
fn biases_summed_over_the_wrong_axis() {
    for loss in Loss::ALL {
        for layer in [1, 2] {
            let honest = start(loss).candidate();
            let dz = values(&honest, Dz(layer));
            let units = dz.len() / 12;
            let total: f64 = dz.iter().sum();
            let rows: Vec<f64> = dz.chunks(units).map(|row| row.iter().sum()).collect();
            let zero = layer == 2 && loss == Loss::CrossEntropy;
            for (words, wrong) in [
                ("it is the sum of all of dz", vec![total; units]),
                ("it is the mean of all of dz", vec![total / dz.len() as f64; units]),
                ("over the units, not the samples", (0..units).map(|i| rows[i % 12]).collect()),
            ] {
                let mut dump = honest.clone();
                *data(&mut dump, Db(layer)) = wrong.iter().map(|&v| f64::from(v as f32)).collect();
                let (name, _, text) = said(&dump);
                assert_eq!(name, Db(layer));
                let words = if zero { "which is the sum of dz2 without an axis" } else { words };
                assert!(text.contains(words), "{loss} {name}: {text}");
            }
        }
    }
}

#[test]
fn a_mask_without_its_gradient_is_not_clipped() {
    for (factor, words) in
        [(1.0, "it is [z1 > 0]: the gradient is left out"), (0.5, "it is 0.5 times [z1 > 0]")]
    {
        let mut dump = start(Loss::CrossEntropy).candidate();
        let z = values(&dump, Z(1));
        *data(&mut dump, Dz(1)) = z.iter().map(|&z| if z > 0.0 { factor } else { 0.0 }).collect();
        let (name, _, text) = said(&dump);
        assert_eq!(name, Dz(1));
        assert!(text.contains(words) && text.contains("the gradient is left out"), "{text}");
    }
    // If all elements are the same number, that is the explanation, and not a limit.
    let mut dump = start(Loss::CrossEntropy).candidate();
    data(&mut dump, Dw(1)).fill(0.25);
    assert!(said(&dump).2.contains("every element is 0.25"), "{}", said(&dump).2);
}

/// Long sums whose operands have fewer digits than the header says: hardly an element leaves its bound.
#[test]
fn operands_with_fewer_digits_than_the_header_says() {
    for (short, words) in [(Dtype::Tf32, ["TF32", "half"]), (Dtype::Bf16, ["bfloat16"; 2])] {
        let long = Start::new(&[600, 17, 10], 12, Loss::CrossEntropy, 8);
        let mut dump =
            long.candidate_by(Arithmetic { factors: Some(short), ..Arithmetic::default() });
        dump.header.dtype = Dtype::F32;
        let found = diff(&long.reference(), &dump);
        let text = explain(&found);
        assert!(
            text.contains("x and w1 are rounded to") && words.iter().any(|w| text.contains(w)),
            "{text}"
        );
        assert!(!text.contains("two threads"), "{text}");
    }
}

/// The sign of a gradient, and a one-hot prediction, are whole numbers, but not by rounding.
#[test]
fn numbers_far_from_what_they_should_be_are_not_rounded_ones() {
    for loss in Loss::ALL {
        let mut dump = start(loss).candidate();
        let gradients = values(&dump, Da(1)).into_iter().zip(values(&dump, Z(1)));
        *data(&mut dump, Dz(1)) =
            gradients.map(|(da, z)| if z > 0.0 { da.signum() } else { 0.0 }).collect();
        let (name, _, text) = said(&dump);
        assert_eq!(name, Dz(1));
        assert!(!text.contains("multiple"), "{text}");

        let mut dump = start(loss).candidate();
        let (p, y) = (values(&dump, P), values(&dump, TensorName::Y));
        let most = |row: &[f64]| row.iter().copied().fold(f64::MIN, f64::max);
        let rows = p.chunks(10).zip(y.chunks(10));
        *data(&mut dump, Dz(2)) = rows
            .flat_map(|(p, y)| {
                p.iter().zip(y).map(move |(&v, y)| (f64::from(v == most(p)) - y) / 16.0)
            })
            .collect();
        let (name, _, text) = said(&dump);
        assert_eq!(name, Dz(2));
        assert!(!text.contains("multiple"), "{text}");
    }
    // Numbers that are rounded, or cut, to decimal places still have an explanation.
    for (how, round) in [("rounded", f64::round as fn(f64) -> f64), ("cut", f64::trunc)] {
        let mut dump = start(Loss::CrossEntropy).candidate();
        data(&mut dump, Z(1))
            .iter_mut()
            .for_each(|z| *z = f64::from((round(*z * 100.0) / 100.0) as f32));
        let (_, _, text) = said(&dump);
        assert!(text.contains(&format!("every element is {how} to a multiple of 0.01")), "{text}");
    }
}

/// A factor of 1.25 = 1/0.8 is that of a dropout. It isn't explained by C/B, which is 1.25 here too, or by `lr`.
#[test]
fn short_decimals_are_not_named_after_sizes() {
    let start = Start::new(&[31, 17, 10], 8, Loss::CrossEntropy, 5);
    let mut dump = start.candidate();
    let kept = |i: usize| !(i * 7 + i / 3).is_multiple_of(5);
    for (i, a) in data(&mut dump, A(1)).iter_mut().enumerate() {
        *a = if kept(i) { f64::from((*a * 1.25) as f32) } else { 0.0 };
    }
    let (name, _, text) = said(&dump);
    assert_eq!(name, A(1));
    assert!(text.contains("the others 1.25 times"), "{text}");
    assert!(!text.contains("C/B") && !text.contains("lr"), "{text}");
}

/// 1/B in `dw` and `db` in place of `dz`: the same training step.
#[test]
fn a_factor_that_is_applied_to_the_gradients_of_the_parameters() {
    for loss in Loss::ALL {
        let start = start(loss);
        let mut dump = start.candidate();
        for name in [Dz(2), Da(1), Dz(1)] {
            data(&mut dump, name).iter_mut().for_each(|value| *value *= 12.0);
        }
        let found = diff(&start.reference(), &dump);
        assert!(found.agrees(), "{}", explain(&found));
        assert!(
            found.warnings[0].contains("1/B is applied to the gradients"),
            "{:?}",
            found.warnings
        );
        let own = judge(&dump, 1.0);
        assert!(own.is_clean() && own.warnings.len() == 1);
        // If a bias is wrong, too, it is reported.
        let mut wrong = dump.clone();
        data(&mut wrong, Db(1)).fill(0.5);
        assert_eq!(judge(&wrong, 1.0).first_fault.unwrap().tensor, Db(1));
        // Without any division by B, the factor is missing.
        for name in [Dw(1), Db(1), Dw(2), Db(2)] {
            data(&mut dump, name).iter_mut().for_each(|value| *value *= 12.0);
        }
        let fault = judge(&dump, 1.0).first_fault.unwrap();
        assert_eq!(fault.tensor, Dz(2));
        assert!(fault.pattern.unwrap().text.contains("a 1/B is missing"));
    }
}

/// Two dumps of one level that began with the same bits and differ.
#[test]
fn results_that_vary_from_run_to_run() {
    let one = start(Loss::CrossEntropy).candidate();
    let mut other = one.clone();
    assert!(compare(&one, &other, 1.0).warnings.is_empty());
    data(&mut other, Z(1))[3] += 0.5;
    let warnings = compare(&one, &other, 1.0).warnings;
    assert!(
        warnings[0].contains("differ from z1 on") && warnings[0].contains("race"),
        "{warnings:?}"
    );
    // Other inputs, or another level, explain the difference.
    data(&mut other, W(1))[0] += 1.0;
    assert!(compare(&one, &other, 1.0).warnings.is_empty());
    let mut of_another = one.clone();
    of_another.header.level = "another".into();
    data(&mut of_another, WNext(1))[0] += 1.0;
    assert!(compare(&one, &of_another, 1.0).warnings.is_empty());
}
