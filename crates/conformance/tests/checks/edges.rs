//! Tests at the edges of arithmetic: the fixture that was made for a fault finds that fault, and no other case does.
//! Also a test of cuBLASLt's behaviour where z is 0, at the kink of ReLU.

#[path = "../../examples/planted/faults/network.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod network;

use std::path::Path;

use clap::Args;
use conformance::{Check, Variant, run, variants};
use tensor::{Loss, Network, TensorName};
use test_support::device_choice;
use training::{Level, Program, Result};

use network::{Change, FaultyNetwork, Make};

/// The planted faults: the tensor that each makes wrong, and how.
const FAULTS: [(TensorName, Make); 4] = [
    // The fault: softmax doesn't subtract the maximum.
    (TensorName::P, |step| {
        let z = step.get(TensorName::Z(step.layers));
        let row = |z: &[f32]| -> Vec<f32> {
            let sum: f32 = z.iter().map(|z| z.exp()).sum();
            z.iter().map(|z| z.exp() / sum).collect()
        };
        z.chunks(z.len() / step.batch).flat_map(row).collect()
    }),
    // The fault: the loss is computed as `−ln p`, which is infinite if `p` has underflowed to 0.
    (TensorName::Loss, |step| {
        let pairs = step.get(TensorName::P).iter().zip(step.get(TensorName::Y));
        let sum: f32 = pairs.filter(|(_, y)| **y == 1.0).map(|(p, _)| -p.ln()).sum();
        vec![sum / step.batch as f32]
    }),
    // The fault: `dz1` is `da1` where `z1 ≥ 0`, instead of where `z1 > 0`.
    (TensorName::Dz(1), |step| {
        let pairs = step.get(TensorName::Da(1)).iter().zip(step.get(TensorName::Z(1)));
        pairs.map(|(da, z)| if *z >= 0.0 { *da } else { 0.0 }).collect()
    }),
    // No fault: the tensor is right.
    (TensorName::P, |step| step.right()),
];

#[derive(Args, Clone, Copy)]
struct NoOptions {}

/// The network in plain loops with a fault.
struct Faulty<const FAULT: usize>;

impl<const FAULT: usize> Program for Faulty<FAULT> {
    const NAME: &'static str = "faulty";
    const ABOUT: &'static str = "The network in plain loops with a fault";
    type Options = NoOptions;

    fn device(_options: &NoOptions) -> Result<String> {
        Ok("cpu".into())
    }

    fn level(_options: &NoOptions, network: &Network) -> Result<Box<dyn Level>> {
        let (tensor, make) = FAULTS[FAULT];
        // Whether a preset has the faulty tensor: the first two faults are in softmax and its loss, the third is in a
        // hidden layer.
        let has_place = match tensor {
            TensorName::Dz(_) => network.layers() > 1,
            _ => network.loss == Loss::CrossEntropy,
        };
        let make = if has_place { make } else { FAULTS[3].1 };
        Ok(Box::new(FaultyNetwork::new(network, Change::Made(make), tensor)))
    }
}

#[test]
fn a_fault_at_an_edge_is_found() {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let variants = [
        Variant::on_cpu::<Faulty<0>>(""),
        Variant::on_cpu::<Faulty<1>>(""),
        Variant::on_cpu::<Faulty<2>>(""),
        Variant::on_cpu::<Faulty<3>>(""),
    ];
    let mut failed = [const { Vec::new() }; 4];
    for check in Check::ALL {
        for case in check.cases(&dumps).unwrap() {
            for (variant, failed) in variants.iter().zip(&mut failed) {
                if run(variant, check, &case).iter().any(|outcome| !outcome.agrees) {
                    failed.push(case.name.clone());
                }
            }
        }
    }
    let expected: [&[&str]; 4] =
        [&["large-logits", "subnormal"], &["large-logits"], &["kink"], &[]];
    assert_eq!(failed, expected);
}

/// cuBLASLt's mask has a set bit where `z` is exactly 0, so `dz1` is `da1` there; in PyTorch it is 0. If this test
/// fails with a newer library, the variants that use it should no longer skip this fixture.
#[test]
fn cublaslt_lets_the_gradient_through_at_the_kink() {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let cases = Check::References.cases(&dumps).unwrap();
    let kink = cases.iter().find(|case| case.name == "kink").unwrap();
    let is_left_out = |variant: &Variant| variant.without.contains(&"kink");
    let left_out: Vec<_> = variants(device_choice()).into_iter().filter(is_left_out).collect();
    assert_eq!(left_out.len(), 3);
    for variant in left_out {
        for outcome in run(&variant.without(&[]), Check::References, kink) {
            let reason = outcome.reason.unwrap_or_default();
            let of_dz =
                reason.starts_with("dz1 DIFFERS") && reason.contains("in 96 of 192 elements");
            assert!(of_dz, "{}: {reason}", outcome.options);
        }
    }
}
