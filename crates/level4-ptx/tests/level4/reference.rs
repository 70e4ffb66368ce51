//! Every rung against the dumps that PyTorch made in double precision, and the rungs against each
//! other on networks and batches that fit no tile.

use std::path::Path;

use gpu::{DeviceArgs, Gpu};
use level4_ptx::{Level4, Rung};
use profile::Profile;
use tensor::{Dump, Loss, Network};
use training::dump::{Inputs, dump, header};
use training::{Preset, PresetKind};

use crate::device::choice;

/// The device that the tests compute on: `FOUR_LEVELS_DEVICE`, else the emulated GPU.
fn device() -> Gpu {
    DeviceArgs { device: choice() }.open().unwrap()
}

fn step(gpu: &Gpu, preset: &Preset, rung: Rung, fused: bool) -> Dump {
    let mut level = Level4::new(gpu, &preset.network, rung, Profile::default()).unwrap();
    let mut header = header("level4-ptx", gpu.device(), preset, 0);
    header.dtype = rung.dtype();
    dump(&mut level, header, preset, &Inputs::fixture(preset), fused).unwrap()
}

#[test]
fn every_rung_agrees_with_the_references() {
    let gpu = device();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    for preset in Preset::fixtures() {
        let reference = Dump::read(&folder.join(format!("{}.json", preset.name))).unwrap();
        for rung in Rung::ALL {
            for fused in [false, true] {
                let found = step(&gpu, &preset, rung, fused);
                let comparison = tensor_diff::compare(&reference, &found, 1.0);
                assert!(comparison.agrees(), "{}, {rung}: {comparison:?}", preset.name);
                let all = found.header.not_materialised.is_empty();
                assert_eq!(all, rung == Rung::ThreadPerSample, "{:?}", found.header);
            }
        }
    }
}

/// The first rung is the plainest. One layer alone, one unit, one sample, a prime number of
/// everything, more classes than a warp has lanes, four layers.
#[test]
fn odd_sizes_and_batches_agree() {
    let gpu = device();
    let mut preset = Preset::find("softmax").unwrap();
    preset.kind = PresetKind::Fixture;
    for loss in Loss::ALL {
        for (sizes, batch) in [
            (vec![784, 10], 70),
            (vec![784, 1, 10], 3),
            (vec![3, 5, 7, 2], 129),
            (vec![37, 129, 65, 43], 67),
            (vec![64, 36, 33, 20, 34], 33),
            (vec![1, 1], 1),
        ] {
            preset.network = Network { sizes, loss };
            preset.batch_size = batch;
            let plain = step(&gpu, &preset, Rung::ThreadPerSample, false);
            for rung in Rung::ALL.into_iter().skip(1) {
                let comparison =
                    tensor_diff::compare(&plain, &step(&gpu, &preset, rung, true), 1.0);
                assert!(
                    comparison.agrees(),
                    "{} with batch {batch}, {rung}: {comparison:?}",
                    preset.network
                );
            }
        }
    }
}
