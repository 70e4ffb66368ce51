//! Every fixture agrees with the dump that PyTorch made in double precision, however the work is
//! cut into kernels and however the batch gets to the device.

mod support;

use std::path::Path;

use gpu::Profile;
use level2_cuda_naive::transfer::How;
use level2_cuda_naive::{Level2, PerSample};
use tensor::Dump;
use training::dump::{Inputs, dump, header};
use training::{Level, Preset};

fn check(make: impl Fn(&gpu::Gpu, &Preset, How) -> Box<dyn Level>, missing: &[&str]) {
    let gpu = support::gpu();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    for preset in Preset::fixtures() {
        let reference = Dump::read(&folder.join(format!("{}.json", preset.name))).unwrap();
        for transfer in How::ALL {
            let header = header("level2-cuda-naive", gpu.device(), &preset, 0);
            let inputs = Inputs::fixture(&preset);
            let mut level = make(&gpu, &preset, transfer);
            let found = dump(level.as_mut(), header, &preset, &inputs, false).unwrap();
            let comparison = tensor_diff::compare(&reference, &found, 1.0);
            assert!(comparison.agrees(), "{}, {transfer}: {comparison:?}", preset.name);
            let names: Vec<_> =
                found.header.not_materialised.iter().map(ToString::to_string).collect();
            assert!(names.iter().all(|name| missing.contains(&name.as_str())), "{names:?}");
        }
    }
}

#[test]
fn a_kernel_for_each_operation() {
    let make = |gpu: &gpu::Gpu, preset: &Preset, transfer| -> Box<dyn Level> {
        Box::new(Level2::new(gpu, &preset.network, transfer, Profile::default()).unwrap())
    };
    check(make, &[]);
}

#[test]
fn a_thread_for_each_sample() {
    let make = |gpu: &gpu::Gpu, preset: &Preset, transfer| -> Box<dyn Level> {
        Box::new(PerSample::new(gpu, &preset.network, transfer, Profile::default()).unwrap())
    };
    check(make, &["da1", "da2"]);
}
