//! Tests of error messages: each names the operation, the place and the remedy, and no mistake panics.

use autograd::{Array, Error, ErrorKind, Tensor, loss};

fn x(shape: &[usize]) -> Tensor<f64> {
    Tensor::full(shape, 0.5)
}

#[track_caller]
fn says(tensor: &Tensor<f64>, expected: &str) {
    let error = tensor.shape().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(expected), "{text}");
    let file = error.location().unwrap().file();
    assert!(file.ends_with("errors.rs"), "the location should be in this file, not in {file}");
}

#[test]
fn shape_errors_name_the_shapes_and_the_operation() {
    let rule = "aligned at the last axis, two lengths have to be equal, or one of them has to be 1";
    says(&(x(&[2, 3]) + x(&[2])), &format!("add of the shapes [2, 3] and [2]: {rule} (at "));
    says(&(x(&[2, 3]) * &x(&[4, 3])), "mul of the shapes [2, 3] and [4, 3]: aligned");
    says(&(&x(&[5]) / x(&[4])), "div of the shapes [5] and [4]: aligned");
    says(
        &x(&[2, 3]).matmul(&x(&[2, 3])),
        "matmul of the shapes [2, 3] and [2, 3]: the first needs as many columns as the second \
         has rows (at ",
    );
    says(&x(&[3]).matmul(&x(&[3, 2])), "matmul of the shapes [3] and [3, 2]: both have to be");
    says(&x(&[3]).transpose(), "transpose of the shape [3]: it has no two axes to exchange (at ");
    says(&x(&[2, 3]).reshape([4]), "reshape of the shape [2, 3]: its 6 elements do not fill [4]");
    says(&x(&[2, 3]).broadcast_to([2]), "broadcast_to of the shape [2, 3]: it does not broadcast");
    says(
        &x(&[2]).sum_axis(1),
        "sum of the shape [2]: there is no axis 1; its 1 axes are numbered from 0",
    );
    says(&x(&[2]).mean_axis(7), "sum of the shape [2]: there is no axis 7");
    says(&x(&[0]).max(), "max of the shape [0]: an empty axis has no largest element");
    says(&x(&[4]).slice(0, 3..5), "slice of the shape [4]: axis 0 has no range 3..5");
    says(
        &x(&[4]).index(&[4]),
        "index of the shape [4]: there is no row 4; its 4 rows are numbered from 0",
    );
    says(&Tensor::concat(&[], 0), "concat of the shape []: there are no arrays to concatenate");
    says(
        &Tensor::concat(&[&x(&[2, 3]), &x(&[2, 4])], 0),
        "concat of the shapes [2, 3] and [2, 4]: the shapes may differ only along the axis",
    );
    says(&x(&[]).softmax(), "softmax of the shape []: softmax needs at least one axis");
    let vast = [usize::MAX, usize::MAX];
    says(
        &Tensor::zeros(vast),
        "broadcast_to of the shape [18446744073709551615, 1844674407370955161",
    );
    says(&x(&[1]).broadcast_to([1 << 62]), "broadcast_to of the shape [4611686018427387904]: no");
    // With an empty axis there are no elements, but the strides are products of the other lengths.
    let empty = |shape: [usize; 2]| Tensor::new(shape, vec![]);
    says(
        &empty([1 << 61, 0]).matmul(&empty([0, 8])),
        "new of the shape [2305843009213693952, 0]: no",
    );
    says(
        &empty([1 << 40, 0]).matmul(&empty([0, 1 << 40])),
        "matmul of the shape [1099511627776, 109",
    );
    says(&x(&[0]).reshape([0, 1 << 40, 1 << 40]), "reshape of the shape [0, 1099511627776, 109951");
    let wide = empty([0, 1 << 59]);
    says(
        &Tensor::concat(&[&wide, &wide, &wide], 1),
        "concat of the shape [0, 1729382256910270464]",
    );
    says(&Tensor::new([2, 2], vec![1.0]), "new of the shape [2, 2]: it does not hold 1 elements");
}

/// `[B, 1] − [B]` would broadcast to all pairs.
#[test]
fn a_loss_does_not_broadcast() {
    for (operation, loss) in [
        ("cross_entropy", loss::cross_entropy(&x(&[4, 1]), &x(&[4]))),
        ("bce", loss::bce(&x(&[4, 1]), &x(&[4]))),
        ("squared_error", loss::squared_error(&x(&[4, 1]), &x(&[4]))),
    ] {
        says(
            &loss,
            &format!(
                "{operation} of the shapes [4, 1] and [4]: outputs and targets have to have the \
                 same shape, the batch first (at "
            ),
        );
    }
}

/// The first error is the one that is returned, however many operations follow.
#[test]
fn an_error_is_passed_on() {
    let wrong = x(&[2, 3]).matmul(&x(&[2, 3]));
    let first = wrong.shape().unwrap_err();
    let later = ((wrong.tanh() + 1.0) * x(&[7])).sum();
    assert_eq!(later.backward().unwrap_err(), first);
    assert_eq!(later.item().unwrap_err(), first);
    assert_eq!(later.to_vec().unwrap_err(), first);
    assert_eq!(later.grad().unwrap_err(), first);
    assert_eq!(loss::bce(&wrong, &wrong).into_result().unwrap_err(), first);
    assert_eq!(format!("{later:?}"), format!("Tensor({first})"));
}

#[track_caller]
fn fails(result: Result<(), Error>, expected: &str) -> ErrorKind {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(expected), "{text}");
    assert!(error.location().unwrap().file().ends_with("errors.rs"), "{text}");
    error.kind().clone()
}

#[test]
fn backward_needs_a_single_number_that_depends_on_a_parameter() {
    let w = x(&[3]).requires_grad();
    let said = "backward of the shape [3]: gradients are defined for a single number";
    let kind = fails((&w * 2.0).backward(), said);
    assert_eq!(kind, ErrorKind::NotScalar { shape: vec![3] });
    fails(
        x(&[3]).sum().named("loss").backward(),
        "backward of the tensor loss of the shape [], which was computed from no tensor that \
         requires a gradient",
    );
    let error = w.item().unwrap_err().to_string();
    assert!(
        error.starts_with("item of the shape [3]: it has to have exactly one element"),
        "{error}"
    );
}

#[test]
fn backward_detects_changes_in_place() {
    let w = x(&[3]).requires_grad().named("w");
    let loss = (&w * &w).sum();
    loss.backward().unwrap();
    w.update(0.1).unwrap();
    let before = w.grad().unwrap().unwrap().to_vec().unwrap();
    let kind = fails(loss.backward(), "backward of mul (at ");
    assert!(matches!(&kind, ErrorKind::ChangedInPlace { operation: "mul", used, .. }
        if used.file().ends_with("errors.rs")));
    assert!(kind.to_string().contains("the tensor w of the shape [3]"), "{kind}");
    let after = w.grad().unwrap().unwrap().to_vec().unwrap();
    assert_eq!(before, after, "an error leaves the gradients as they were");
    (&w * &w).sum().backward().unwrap();
}

#[test]
fn only_a_leaf_is_changed_in_place() {
    let w = x(&[3]).requires_grad();
    fails(w.update(0.1), "update of a tensor of the shape [3], which has no gradient: call");
    let result = &w * 2.0;
    fails(
        result.assign(&Array::new(&[3], vec![0.0; 3]).unwrap()),
        "assign of the result of scale of the shape [3]: a result can't be changed in place",
    );
    fails(
        w.assign(&Array::new(&[2], vec![0.0; 2]).unwrap()),
        "assign of the shapes [3] and [2]: the shapes have to be the same",
    );
    assert_eq!(w.to_vec().unwrap(), [0.5; 3]);
}
