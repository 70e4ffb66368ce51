//! Tests that training gives the same bits with every way to copy batches to the device; a copy that is too early or
//! too late would change the losses. The batches are in order or shuffled, the last one is smaller, and tests on
//! another data set run in between.

use gpu::transfer::Strategy;
use level2_cuda_naive::{Level2, PerSample, Products};
use profile::Profile;
use test_support::short_run::{preset, run, same_bits};

#[test]
fn every_transfer_trains_to_the_same_bits() {
    let gpu = test_support::gpu();
    for shuffle in [false, true] {
        let preset = preset(shuffle);
        // `Explicit` runs twice, so the first comparison shows that a run is reproducible.
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
fn per_sample_kernels_agree_with_those_per_operation() {
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
            // The tolerance is for 15 steps in which sums are added in another order.
            assert!((found.loss - expected.loss).abs() < 1e-4, "{how}: {found:?} {expected:?}");
        }
    }
}
