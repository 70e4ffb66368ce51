//! Tests at the edges of arithmetic: the fixture made for a fault finds it, and no other case does; and
//! cuBLASLt's behaviour at the kink.

use std::path::Path;

use clap::Args;
use conformance::{Check, Variant, run, variants};
use data::{Batch, Dataset};
use level1_cpu::{Form, Level1};
use tensor::{Network, Tensor, TensorName};
use test_support::device_choice;
use training::{Level, Parameters, Program, Result};

/// The fault that is planted in the level.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Softmax doesn't subtract the maximum.
    NoMaximum,
    /// The loss is `−ln p`, of a `p` that may have become 0.
    LogOfP,
    /// `dz1` is `da1` where `z1 ≥ 0`.
    SlopeAtZero,
    None,
}

#[derive(Args, Clone, Copy)]
struct Options {}

/// Level 1 with a fault.
struct Faulty<const FAULT: usize>;

const FAULTS: [Fault; 4] = [Fault::NoMaximum, Fault::LogOfP, Fault::SlopeAtZero, Fault::None];

impl<const FAULT: usize> Program for Faulty<FAULT> {
    const NAME: &'static str = "faulty";
    const ABOUT: &'static str = "Level 1 with a fault";
    type Options = Options;

    fn device(_options: &Options) -> Result<String> {
        Ok("cpu".into())
    }

    fn level(_options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        let level = Level1::new(network, Form::Textbook);
        Ok(Box::new(FaultyLevel { level, network: network.clone(), fault: FAULTS[FAULT] }))
    }
}

struct FaultyLevel {
    level: Level1,
    network: Network,
    fault: Fault,
}

impl FaultyLevel {
    fn right(&mut self, name: TensorName) -> Tensor {
        self.level.tensor(name).unwrap().unwrap()
    }

    fn has_softmax(&self) -> bool {
        self.network.loss == tensor::Loss::CrossEntropy
    }
}

impl Level for FaultyLevel {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.level.dataset(set)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        self.level.load(batch, next)
    }

    fn forward(&mut self) -> Result<()> {
        self.level.forward()
    }

    fn backward(&mut self) -> Result<()> {
        self.level.backward()
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.level.update(learning_rate)
    }

    fn loss(&mut self) -> Result<f32> {
        let right = self.level.loss()?;
        if self.fault != Fault::LogOfP || !self.has_softmax() {
            return Ok(right);
        }
        let (p, y) = (self.right(TensorName::P), self.right(TensorName::Y));
        let of_class = p.data().iter().zip(y.data()).filter(|(_, y)| **y == 1.0);
        let sum: f32 = of_class.map(|(p, _)| -p.ln()).sum();
        Ok(sum / p.shape()[0] as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.level.set_parameters(parameters)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        match (self.fault, name) {
            (Fault::NoMaximum, TensorName::P) if self.has_softmax() => {
                let z = self.right(TensorName::Z(self.network.layers()));
                let exponentials: Vec<f32> = z.data().iter().map(|z| z.exp()).collect();
                let rows = exponentials.chunks(self.network.outputs());
                let p = rows.flat_map(|row| row.iter().map(|e| e / row.iter().sum::<f32>()));
                Ok(Some(Tensor::new(z.shape(), p.collect()).unwrap()))
            }
            (Fault::SlopeAtZero, TensorName::Dz(1)) if self.network.layers() > 1 => {
                let (da, z) = (self.right(TensorName::Da(1)), self.right(TensorName::Z(1)));
                let dz =
                    da.data().iter().zip(z.data()).map(|(da, z)| if *z >= 0.0 { *da } else { 0.0 });
                Ok(Some(Tensor::new(z.shape(), dz.collect()).unwrap()))
            }
            _ => self.level.tensor(name),
        }
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

/// cuBLASLt's mask has a one where `z` is exactly 0, so `dz1` is `da1` there; in PyTorch it is 0. If this
/// test fails with a newer library, the variants that use it should no longer skip this fixture.
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
