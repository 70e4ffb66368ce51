//! Tests that honest arithmetic is never flagged, whatever its order and with or without fused multiply-add;
//! and that the bounds for this are not so wide that a wrong element stays unnoticed.

use crate::support::{Arithmetic, Order, Random, Start, data, diff, explain};
use proptest::prelude::*;
use tensor::{Dtype, DumpedTensor, Loss, TensorName};
use tensor_diff::Verdict;

fn losses() -> impl Strategy<Value = Loss> {
    prop::sample::select(Loss::ALL.to_vec())
}

fn arithmetics() -> impl Strategy<Value = Arithmetic> {
    let orders =
        prop::sample::select(vec![Order::Forward, Order::Backward, Order::Pairwise, Order::Lanes]);
    (orders, any::<bool>()).prop_map(|(order, fused)| Arithmetic { order, fused, factors: None })
}

prop_compose! {
    /// Starts with one to three layers, odd sizes, and batches of any size from 1.
    fn starts()(
        sizes in prop::collection::vec(1_usize..40, 2..5),
        batch in 1_usize..12,
        loss in losses(),
        seed in any::<u64>(),
        scale in prop::sample::select(vec![0.01_f32, 1.0, 1.0, 5.0, 40.0]),
    ) -> Start {
        Start::new(&sizes, batch, loss, seed).scaled(scale)
    }
}

proptest! {
    #[test]
    fn honest_arithmetic_is_never_flagged(start in starts(), arithmetic in arithmetics()) {
        let found = diff(&start.reference(), &start.candidate_by(arithmetic));
        prop_assert!(found.agrees(), "{}", explain(&found));
        prop_assert!(found.rows.iter().all(|row| row.verdict == Verdict::Ok));
    }

    /// Two float32 computations, neither of them exact.
    #[test]
    fn honest_candidates_agree_with_each_other(
        start in starts(), one in arithmetics(), other in arithmetics()
    ) {
        let found = diff(&start.candidate_by(one), &start.candidate_by(other));
        prop_assert!(found.agrees(), "{}", explain(&found));
    }

    /// Honest float64 arithmetic agrees. Its bounds are 2²⁹ times smaller than those of float32, so a float32 dump whose
    /// header claims float64 is wrong.
    #[test]
    fn float64_has_its_own_bound(start in starts(), arithmetic in arithmetics()) {
        let reference = start.reference();
        let found = diff(&reference, &start.reference_by(arithmetic));
        prop_assert!(found.agrees(), "{}", explain(&found));
        let mut single = start.candidate_by(arithmetic);
        single.header.dtype = Dtype::F64;
        prop_assert!(!diff(&reference, &single).agrees());
    }

    /// TF32 and bfloat16 are accepted if the header names them.
    #[test]
    fn short_factors_agree_if_the_header_names_them(start in starts(), arithmetic in arithmetics()) {
        for factors in [Dtype::Tf32, Dtype::Bf16] {
            let candidate =
                start.candidate_by(Arithmetic { factors: Some(factors), ..arithmetic });
            let found = diff(&start.reference(), &candidate);
            prop_assert!(found.agrees(), "{}", explain(&found));
        }
    }

    /// A fused kernel, or exp(log_softmax), computes `dz` from a `p` other than the dumped one.
    #[test]
    fn the_output_may_be_computed_twice(mut start in starts(), seed in any::<u64>()) {
        if start.loss == Loss::SquaredError {
            // With the squared error, p is z itself, so nothing is computed.
            start.loss = Loss::Bce;
        }
        let mut candidate = start.candidate();
        let mut random = Random::new(seed);
        for p in data(&mut candidate, TensorName::P) {
            let ulps = [-2.0, 0.0, 2.0][random.below(3)];
            *p = f64::from((*p * (1.0 + ulps * f64::from(f32::EPSILON))) as f32);
        }
        let found = diff(&start.reference(), &candidate);
        prop_assert!(found.agrees(), "{}", explain(&found));
    }

    /// The widest of the three bounds is at least the right one.
    #[test]
    fn a_dump_without_a_loss_is_not_flagged(start in starts()) {
        let (mut reference, mut candidate) = (start.reference(), start.candidate());
        reference.header.loss = None;
        candidate.header.loss = None;
        let found = diff(&reference, &candidate);
        prop_assert!(found.agrees(), "{}", explain(&found));
    }

    /// One element, off by a hundredth of the tensor's largest, in any tensor but the loss.
    #[test]
    fn a_single_bad_element_is_found(start in starts(), seed in any::<u64>()) {
        let (reference, mut candidate) = (start.reference(), start.candidate());
        let mut random = Random::new(seed);
        let largest = |data: &[f64]| data.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let spoilable = |tensor: &&DumpedTensor| {
            tensor.name != TensorName::Loss && largest(&tensor.data) > 1e-30
        };
        let names: Vec<TensorName> =
            candidate.tensors.iter().filter(spoilable).map(|tensor| tensor.name).collect();
        let name = names[random.below(names.len())];
        let elements = data(&mut candidate, name);
        let largest = largest(elements);
        let at = random.below(elements.len());
        elements[at] += 0.01 * largest;
        let found = diff(&reference, &candidate);
        let first = found.first_divergence.as_ref().map(|divergence| divergence.tensor);
        prop_assert_eq!(first, Some(name), "{}", explain(&found));
    }
}

/// Starts with the sizes of fixtures, which are as wide as MNIST.
fn fixtures() -> Vec<Start> {
    vec![
        Start::new(&[784, 30, 10], 8, Loss::CrossEntropy, 1),
        Start::new(&[784, 17, 10], 7, Loss::SquaredError, 2),
        Start::new(&[784, 30, 10], 7, Loss::Bce, 3),
        Start::new(&[784, 32, 17, 10], 8, Loss::CrossEntropy, 4),
        Start::new(&[784, 130, 10], 5, Loss::CrossEntropy, 5),
        Start::new(&[784, 30, 10], 1, Loss::CrossEntropy, 6),
    ]
}

/// TF32 under a header that says float32, and bfloat16 under one that says TF32, are found: if a sum is too long
/// to exceed its bound, in the next layer, or in a sum over the batch.
#[test]
fn short_factors_differ_if_the_header_names_longer_ones() {
    for start in fixtures() {
        for (factors, longer) in [(Dtype::Tf32, Dtype::F32), (Dtype::Bf16, Dtype::Tf32)] {
            let arithmetic = Arithmetic { factors: Some(factors), ..Arithmetic::default() };
            let mut candidate = start.candidate_by(arithmetic);
            let reference = start.reference();
            assert!(diff(&reference, &candidate).agrees());
            candidate.header.dtype = longer;
            let found = diff(&reference, &candidate);
            let first = found.first_divergence.unwrap().tensor;
            let of_the_batch = factors == Dtype::Bf16 && first == TensorName::Dw(2);
            assert!(
                matches!(first, TensorName::Z(1 | 2)) || of_the_batch,
                "{:?}: {first}",
                start.sizes
            );
        }
    }
}

/// How tight the bounds are: the largest error of a correct float32 step as a multiple of its bound, and
/// the widest bound as a part of the tensor's largest element.
/// `cargo test -p tensor-diff --test diff -- --nocapture bounds_are_tight` prints the figures.
#[test]
fn bounds_are_tight_enough_to_find_a_thousandth_of_the_largest_element() {
    for start in fixtures() {
        let (reference, candidate) = (start.reference(), start.candidate());
        let honest = diff(&reference, &candidate);
        assert!(honest.agrees(), "{}", explain(&honest));
        println!("{:?}, batch {}, {}", start.sizes, start.batch, start.loss);
        let mut random = Random::new(7);
        for row in honest.rows.iter().filter(|row| row.name != TensorName::Loss) {
            let deviation = row.deviation.as_ref().unwrap();
            println!("  {:8} error/allowed {:.4}", row.name.to_string(), deviation.ratio);
            for _ in 0..4 {
                let mut spoilt = candidate.clone();
                let elements = data(&mut spoilt, row.name);
                let largest = elements.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
                let at = random.below(elements.len());
                elements[at] += 0.001 * largest;
                let found = diff(&reference, &spoilt);
                let first = found.first_divergence.as_ref().map(|first| first.tensor);
                assert_eq!(first, Some(row.name), "element {at} of {}", row.name);
            }
        }
    }
}
