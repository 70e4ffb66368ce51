//! Training is the same, bit for bit, however the batches get to the device: a copy that came too
//! late or too early would show in the losses. In order and shuffled, with a last batch that is
//! smaller, and with tests of another set in between.

use gpu::transfer::Strategy;
use level2_cuda_naive::{Level2, PerSample, Products};
use profile::Profile;
use test_support::short_run::{preset, run, same_bits};

#[test]
fn every_transfer_trains_to_the_same_bits() {
    let gpu = test_support::gpu();
    for shuffle in [false, true] {
        let preset = preset(shuffle);
        // The first one is run twice.
        same_bits([Strategy::Explicit].into_iter().chain(Strategy::ALL).map(|how| {
            let mut level =
                Level2::new(&gpu, &preset.network, Products::Naive, how, Profile::default())
                    .unwrap();
            (format!("{how}, shuffled: {shuffle}"), run(&mut level, &preset))
        }));
    }
    assert!(gpu.context().is_event_tracking(), "the caller's context is as it was");
}

#[test]
fn a_thread_for_each_sample_trains_alike() {
    let gpu = test_support::gpu();
    let preset = preset(true);
    let profile = Profile::default;
    let mut per_operation =
        Level2::new(&gpu, &preset.network, Products::Naive, Strategy::default(), profile())
            .unwrap();
    let expected = run(&mut per_operation, &preset);
    for how in Strategy::ALL {
        let mut level = PerSample::new(&gpu, &preset.network, how, profile()).unwrap();
        let found = run(&mut level, &preset);
        for (found, expected) in found.losses.iter().zip(&expected.losses) {
            // The order of additions differs, over 15 steps.
            assert!((found.loss - expected.loss).abs() < 1e-4, "{how}: {found:?} {expected:?}");
        }
    }
}
