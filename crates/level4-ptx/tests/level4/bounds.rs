//! Tests of unsuitable inputs: rows with fewer features than the network has inputs, and a network that is
//! too large for a rung.

use data::{Dataset, Epoch};
use gpu::{Choice, Gpu};
use level4_ptx::{Level4, Rung};
use profile::Profile;
use tensor::{Loss, Network};
use training::{Initialisation, Level, Parameters};

fn network() -> Network {
    Network { sizes: vec![4, 2048, 10], loss: Loss::CrossEntropy }
}

/// A data set whose features all differ, with the ten classes in turn.
fn rows(count: usize, features: usize) -> Dataset {
    let x = (0..count * features).map(|i| (i % 17) as f32 / 17.0 - 0.5).collect();
    let labels = (0..count).map(|i| (i % 10) as u8).collect();
    Dataset::from_rows(x, labels, features, 10).unwrap()
}

fn level(gpu: &Gpu, rung: Rung) -> Level4 {
    let mut level = Level4::new(gpu, &network(), rung, Profile::default()).unwrap();
    let start = Parameters::new(&network(), Initialisation::UniformFanIn, 1);
    level.set_parameters(&start).unwrap();
    level
}

fn load(level: &mut Level4, set: &Dataset) -> training::Result<()> {
    level.load(&Epoch::in_order(set.len(), set.len(), false).batch(set, 0), None)
}

/// The loss of these rows before and after a step on them.
fn losses(level: &mut Level4, set: &Dataset) -> [f32; 2] {
    load(level, set).unwrap();
    level.step(0.1).unwrap();
    let before = level.loss().unwrap();
    level.forward().unwrap();
    [before, level.loss().unwrap()]
}

#[test]
fn rows_of_another_network_are_rejected() {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    for rung in Rung::ALL {
        let mut level = level(&gpu, rung);
        load(&mut level, &rows(7, 3)).unwrap();
        let refused = [level.forward(), level.step(0.1)];
        for refused in refused {
            let said = refused.expect_err("rows of 3 features in a network of 4").to_string();
            assert!(said.contains("elements, and its shape needs 28"), "{rung}: {said}");
        }
        assert!(losses(&mut level, &rows(7, 4)).iter().all(|loss| loss.is_finite()), "{rung}");
    }
}

/// The rung `whole-epoch` has to keep all weights of hidden layers on chip.
#[test]
fn the_error_for_a_network_too_large_for_the_chip_recommends_a_rung() {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let network = Network { sizes: vec![4096, 8192, 10], loss: Loss::CrossEntropy };
    let mut level = Level4::new(&gpu, &network, Rung::WholeEpoch, Profile::default()).unwrap();
    let said = load(&mut level, &rows(8, 4096)).unwrap_err().to_string();
    assert!(said.contains("can't keep 134218 kB of hidden weights on chip"), "{said}");
    assert!(said.ends_with("choose --kernels one-launch"), "{said}");
}
