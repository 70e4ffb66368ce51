//! Tests of faults that the tensor diff finds, by itself or together with the sanitizer.

use ptx_emulator::{Fault, RunOptions};
use tensor::TensorName;
use tensor_diff::PatternKind;

use crate::replaced::{COMPARED, Replaced};
use crate::run::{in_order, launch, new_bench};
use crate::support::{Arg, checked};
use crate::{expect, without_addresses};

/// The first finding of the diff; `None` if the step agrees with PyTorch's.
fn diff(step: &Replaced) -> Option<String> {
    let comparison = tensor_diff::compare(&step.reference, &step.dump, 1.0);
    let divergence = comparison.first_divergence?;
    let likely = divergence.pattern.map(|pattern| {
        let unexplained = pattern.kind == PatternKind::Unexplained;
        let word = if unexplained { "Unexplained" } else { "Likely" };
        format!("\n{word}: {}.", pattern.text)
    });
    Some(divergence.reading + &likely.unwrap_or_default())
}

/// The diff's finding for the output of a broken kernel. Checks that the corrected twin has no
/// finding.
fn comparison(name: &str) -> String {
    let fault = COMPARED.iter().find(|fault| fault.name == name).unwrap();
    let said =
        diff(&(fault.run)(&new_bench(fault.kernel, in_order(RunOptions::default()))).unwrap());
    let twin = (fault.run)(&new_bench(&format!("{}_fixed", fault.kernel), checked())).unwrap();
    assert_eq!(diff(&twin), None, "{name}, corrected");
    said.unwrap_or_else(|| panic!("the diff says nothing of {name}"))
}

#[test]
fn row_zero_read_by_every_thread_is_named() {
    expect("row_zero", &format!("{}\n\n{}", comparison("row-zero"), comparison("row-zero-mask")));
}

#[test]
fn a_missing_mean_is_named() {
    expect("missing_mean", &comparison("missing-mean"));
}

#[test]
fn stale_rows_in_a_partial_batch_are_named() {
    expect("stale_rows", &comparison("stale-rows"));
}

#[test]
fn parameters_that_are_not_updated_are_named() {
    expect("only_w1_updated", &comparison("only-w1-updated"));
}

#[test]
fn an_update_by_every_thread_is_a_race_and_too_large() {
    let fault = COMPARED.iter().find(|fault| fault.kernel == "update_without_index").unwrap();
    let race = (fault.run)(&new_bench(fault.kernel, in_order(checked()))).err().expect("a race");
    let said = comparison(fault.name);
    expect(fault.kernel, &format!("{}\n\n{said}", without_addresses(&race)));
}

#[test]
fn weights_must_not_change_while_others_read_them() {
    use TensorName::{A, Da, Dz, W, Z};
    let run = |name: &str| {
        let bench = new_bench(name, in_order(checked()));
        let mut step = Replaced::new("softmax");
        let da = bench.allocate(8 * 30);
        let args = [
            step.copy_to_device(&bench, Dz(2)),
            step.copy_to_device(&bench, A(1)),
            step.copy_to_device(&bench, W(2)),
            Arg::U64(da),
            Arg::U32(10),
            Arg::U32(30),
            if name.ends_with("_fixed") { Arg::U64(bench.zeros(300)) } else { Arg::F32(0.1) },
        ];
        launch(&bench, "backward", 1, 8, &args)?;
        let da = bench.read(da, 8 * 30);
        // The later tensors have to follow from the replaced tensor.
        let z = step.get(Z(1));
        let masked = da.iter().zip(z.data()).map(|(da, z)| if *z > 0.0 { *da } else { 0.0 });
        step.replace(Dz(1), masked.collect());
        step.replace(Da(1), da);
        Ok::<_, Fault>(diff(&step))
    };
    let race = run("weights_updated_in_place").expect_err("a race");
    expect("weights_updated_in_place", &without_addresses(&race));
    assert_eq!(run("weights_updated_in_place_fixed").unwrap(), None);
}
