//! Tests of training. Rungs without atomic additions give the same bits each time; the others give similar numbers.
//! Batches are in order or shuffled, the last one is smaller, and tests run in between.

use std::path::Path;

use gpu::{Choice, Gpu};
use level4_ptx::{Level4, Rung};
use profile::Profile;
use tensor::{Dump, Loss, Network};
use test_support::short_run::{self, preset};
use training::dump::{self, Inputs, Steps, header};
use training::train::Outcome;
use training::{Multi, Preset};

fn run(rung: Rung, preset: &Preset) -> Outcome {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let mut level = Level4::new(&gpu, &preset.network, rung, Profile::default()).unwrap();
    short_run::run_with_runner(&mut Multi(&mut level), preset)
}

#[test]
fn rungs_agree_with_each_other_and_from_run_to_run() {
    for shuffle in [false, true] {
        let preset = preset(shuffle);
        let losses = |rung| -> Vec<f32> {
            let outcome = run(rung, &preset);
            assert_eq!(outcome.losses.len(), 15, "{rung}");
            outcome.losses.iter().map(|at| at.loss).collect()
        };
        let tiled = losses(Rung::Tiled);
        assert!(tiled[14] < 0.9 * tiled[0], "nothing is learnt: {tiled:?}");
        assert_eq!(tiled, losses(Rung::Tiled));
        // The two rungs have different tiles, but add every sum in the same order.
        assert_eq!(tiled, losses(Rung::RegisterTiles));
        let fused = losses(Rung::OneLaunch);
        assert_eq!(fused, losses(Rung::OneLaunch));
        let of_tensor_cores = [Rung::ThreeTf32, Rung::TensorCores, Rung::Bf16];
        let [single, tf32, bf16] = of_tensor_cores.map(|rung| {
            let once = losses(rung);
            assert_eq!(once, losses(rung));
            once
        });
        let epoch = losses(Rung::WholeEpoch);
        // The tolerances are for sums in another order over 15 steps, and for factors that are rounded to 11 or 8 bits.
        let others =
            [(fused, 1e-4), (losses(Rung::ThreadPerSample), 1e-4), (single, 1e-4), (epoch, 1e-4)];
        for (other, apart) in others.into_iter().chain([(tf32, 1e-2), (bf16, 5e-2)]) {
            for (a, b) in tiled.iter().zip(&other) {
                assert!((a - b).abs() < apart, "{tiled:?} and {other:?}");
            }
        }
    }
}

/// Training gives the same bits for any number of steps in a launch (odd or even), in order and shuffled, with a
/// smaller last batch, and for networks with one layer or three.
#[test]
fn many_steps_in_a_launch_are_the_same_steps() {
    for sizes in [vec![784, 17, 10], vec![784, 10], vec![784, 36, 13, 10]] {
        for shuffle in [false, true] {
            let mut preset = preset(shuffle);
            preset.network.sizes = sizes.clone();
            preset.evaluate_every = None;
            let mut parameters = [1, 2, 3, 100].map(|report_every| {
                preset.report_every = report_every;
                let outcome = run(Rung::WholeEpoch, &preset);
                let last = *outcome.losses.last().unwrap();
                (outcome.losses.len(), last, outcome.parameters)
            });
            assert_eq!(parameters[0].0, 15);
            assert_eq!(parameters[3].0, 2);
            let (_, loss, expected) = &parameters[0];
            for (_, found_loss, found) in &parameters[1..] {
                assert_eq!((found_loss, found), (loss, expected), "{sizes:?}, {shuffle}");
            }
            // The losses also agree with the losses of another rung, up to rounding.
            preset.report_every = 100;
            let one_launch = run(Rung::OneLaunch, &preset).parameters;
            for (a, b) in one_launch.layers.iter().zip(&mut parameters[3].2.layers) {
                let apart = a.w.data().iter().zip(b.w.data()).map(|(a, b)| (a - b).abs());
                assert!(apart.fold(0.0, f32::max) < 1e-4, "{sizes:?}, {shuffle}");
            }
        }
    }
}

#[test]
fn sizes_that_the_kernels_can_not_count_are_errors() {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let network = Network { sizes: vec![784, 1_500_000, 10], loss: Loss::CrossEntropy };
    let refused = Level4::new(&gpu, &network, Rung::Tiled, Profile::default()).err().unwrap();
    let said = "a weight matrix would have 1176000000 elements";
    assert!(refused.to_string().starts_with(said), "{refused}");
}

/// A mistake that only affects the second step of a launch: it reads the rows of the first batch again. Dumps
/// with one launch for each step don't show it; `--fused` dumps do.
#[test]
#[allow(unsafe_code, reason = "a mistake is planted in the PTX")]
fn a_mistake_within_a_launch_is_found() {
    let (from, to) =
        ("each_step:\n    mul.lo.u32 base, t, most;", "each_step:\n    mov.u32 base, 0;");
    let ptx = Rung::WholeEpoch.row().ptx.replacen(from, to, 1);
    assert_ne!(ptx, Rung::WholeEpoch.row().ptx);
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let expected = Dump::read_run(&dumps.join("softmax-steps.json")).unwrap();
    let mut preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::from_run(&expected, &mut preset).unwrap();
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let compared = |fused: bool| {
        // SAFETY: on the emulated device, which checks each access.
        let level = unsafe { Level4::with_ptx(&gpu, &preset.network, Rung::WholeEpoch, &ptx) };
        let header = header("level4-ptx", "emulated", &preset, 0);
        let steps = Steps { before: 0, dumped: 3, fused };
        let mut level = level.unwrap();
        let runner = &mut Multi(&mut level);
        let found = dump::run(runner, &header, &preset, &inputs, steps).unwrap();
        tensor_diff::compare_runs(&expected, &found, 1.0).unwrap()
    };
    assert!(compared(false).agrees());
    let found = compared(true);
    assert_eq!(found.first_faulty().map(|step| step.step), Some(1));
}
