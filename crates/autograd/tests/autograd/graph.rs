//! Tests of the graph: how gradients are summed, where they stop, and graphs of a million nodes.

use autograd::{ErrorKind, Tensor, no_grad};

fn grad(x: &Tensor<f64>) -> Vec<f64> {
    x.grad().unwrap().expect("a gradient").to_vec().unwrap()
}

#[test]
fn gradients_accumulate_until_zero_grad() {
    let x = Tensor::new([2], vec![3.0, -1.0]).requires_grad();
    assert!(x.grad().unwrap().is_none());
    let loss = (&x * &x).sum();
    loss.backward().unwrap();
    assert_eq!(grad(&x), [6.0, -2.0]);
    loss.backward().unwrap();
    (&x * 10.0).sum().backward().unwrap();
    assert_eq!(grad(&x), [22.0, 6.0]);
    x.zero_grad().unwrap();
    assert!(x.grad().unwrap().is_none());
    loss.backward().unwrap();
    assert_eq!(grad(&x), [6.0, -2.0]);
}

/// A diamond, and an operation with the same operand twice: the gradients of all paths are summed.
#[test]
fn the_gradients_of_all_paths_are_summed() {
    let x = Tensor::scalar(2.0).requires_grad();
    let y = &x * 3.0;
    let loss = &y * &y + y.exp() * &x + &x;
    loss.backward().unwrap();
    // The loss is 9x² + x·e^(3x) + x, so its slope is 18x + (1 + 3x)·e^(3x) + 1.
    let expected = 18.0 * 2.0 + (1.0 + 3.0 * 2.0) * libm::exp(6.0) + 1.0;
    assert!((grad(&x)[0] - expected).abs() < 1e-9);
}

#[test]
fn a_gradient_is_summed_over_what_was_broadcast() {
    let b = Tensor::new([3], vec![1.0, 2.0, 3.0]).requires_grad();
    let c = Tensor::new([4, 1], vec![1.0; 4]).requires_grad();
    let x = Tensor::new([4, 3], (0..12).map(f64::from).collect());
    ((&x + &b) * &c).sum().backward().unwrap();
    assert_eq!(grad(&b), [4.0, 4.0, 4.0]);
    assert_eq!(grad(&c), [9.0, 18.0, 27.0, 36.0]);
}

#[test]
fn only_parameters_and_retain_grad_keep_gradients() {
    let w = Tensor::new([2], vec![1.0, 2.0]).requires_grad();
    let x = Tensor::new([2], vec![3.0, 4.0]);
    let (z, hidden) = (&w * &x, &w + &x);
    z.retain_grad().unwrap();
    (&z * &hidden).sum().backward().unwrap();
    assert_eq!(grad(&z), [4.0, 6.0]);
    assert!(hidden.grad().unwrap().is_none(), "not asked for");
    assert!(x.grad().unwrap().is_none(), "an input");
    assert_eq!(grad(&w), [4.0 * 3.0 + 3.0, 6.0 * 4.0 + 8.0]);
}

#[test]
fn detach_and_no_grad_stop_gradients() {
    let x = Tensor::scalar(2.0).requires_grad();
    let (a, b) = (&x * 3.0, &x * 5.0);
    (a.detach() * &b).backward().unwrap();
    assert_eq!(grad(&x), [30.0], "a counts as a constant");

    let outside = no_grad(|| &x * 3.0);
    let error = outside.backward().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoGraph { .. }), "{error}");
    let unwinds = std::panic::catch_unwind(|| no_grad(|| panic!("on purpose")));
    assert!(unwinds.is_err());
    assert!((&x * 3.0).backward().is_ok(), "recording again");
}

#[test]
fn tied_maxima_share_the_gradient() {
    let x = Tensor::new([4], vec![1.0, 5.0, 5.0, 2.0]).requires_grad();
    x.max().backward().unwrap();
    assert_eq!(grad(&x), [0.0, 0.5, 0.5, 0.0]);
}

#[test]
fn nan_is_propagated() {
    let x = Tensor::new([3], vec![1.0, f64::NAN, 3.0]);
    for y in [x.max(), x.sum(), x.relu().sum(), x.softmax().max()] {
        assert!(y.item().unwrap().is_nan());
    }
}

#[test]
fn extreme_inputs_have_finite_results() {
    let z = Tensor::new([1, 3], vec![1000.0_f64, -1000.0, 0.0]).requires_grad();
    let y = Tensor::new([1, 3], vec![0.0, 1.0, 0.0]);
    for loss in [autograd::loss::cross_entropy(&z, &y), autograd::loss::bce(&z, &y)] {
        assert!(loss.item().unwrap().is_finite());
        z.zero_grad().unwrap();
        loss.backward().unwrap();
        assert!(grad(&z).iter().all(|g| g.is_finite()));
    }
}

/// A chain of a million nodes: neither `backward` nor dropping may recurse.
#[test]
fn a_million_nodes() {
    let x = Tensor::scalar(1.0_f32).requires_grad();
    let mut y = &x * 1.0;
    for _ in 0..1_000_000 {
        y = y + 1e-7;
    }
    y.backward().unwrap();
    assert_eq!(x.grad().unwrap().unwrap().to_vec().unwrap(), [1.0]);
    drop(y);
}

#[test]
fn views_share_elements_and_updates_do_not_change_copies() {
    let x = Tensor::new([2, 3], (0..6).map(f64::from).collect()).requires_grad();
    let view = x.detach().transpose();
    (&x * 1.0).sum().backward().unwrap();
    x.update(1.0).unwrap();
    assert_eq!(x.to_vec().unwrap(), [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(view.to_vec().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0], "as it was looked at");
}

#[test]
fn both_element_types_are_supported() {
    let third = |x: f64| x / 3.0;
    let single = (Tensor::scalar(1.0_f32) / Tensor::scalar(3.0)).item().unwrap();
    assert_eq!(single, 1.0 / 3.0_f32);
    let double = (Tensor::scalar(1.0_f64) / Tensor::scalar(3.0)).item().unwrap();
    assert_eq!(double, third(1.0));
}

/// Empty arrays.
#[test]
fn empty_arrays_are_supported() {
    let (a, b) = (Tensor::<f64>::zeros([2, 0]).requires_grad(), Tensor::zeros([0, 3]));
    let c = a.matmul(&b);
    assert_eq!(c.to_vec().unwrap(), [0.0; 6]);
    let loss = (c + 1.0).sum() + a.exp().sum() + (&a * 2.0).sum_axis(1).sum();
    assert_eq!(loss.item().unwrap(), 6.0);
    loss.backward().unwrap();
    assert_eq!(a.grad().unwrap().unwrap().shape(), [2, 0]);
    assert!(a.mean().item().unwrap().is_nan());
    assert_eq!(Tensor::concat(&[&a, &Tensor::zeros([2, 1])], 1).shape().unwrap(), [2, 1]);
    assert_eq!(a.transpose().index(&[]).shape().unwrap(), [0, 2]);
    assert_eq!(a.sum_axis(1).to_vec().unwrap(), [0.0, 0.0]);
    assert!(a.softmax().into_result().is_err(), "the largest of nothing");
}
