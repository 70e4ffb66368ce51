//! Tests of odd layer and batch sizes: this level agrees with level 1 within rounding.

use crate::support::{GEMMS, blueprint, level3, step};
use data::Epoch;
use level3_cublas::Setup;
use tensor::{Loss, Network};
use test_support::gpu;
use training::dump::Inputs;
use training::{Level, Preset};

#[test]
fn odd_sizes_and_batches_agree_with_level_1() {
    let gpu = gpu();
    let mut preset = Preset::find("softmax").unwrap();
    for loss in Loss::ALL {
        for (sizes, batch) in [
            (vec![784, 10], 1),
            (vec![784, 1, 10], 3),
            (vec![784, 30, 10], 1),
            (vec![3, 5, 7, 2], 129),
            (vec![7, 129, 65, 128, 10], 67),
            (vec![5, 3, 1], 4),
            (vec![1, 1, 1], 1),
            (vec![1, 1], 1),
        ] {
            preset.network = Network { sizes, loss };
            preset.batch_size = batch;
            let expected = blueprint(&preset);
            for gemm in GEMMS {
                for graph in [false, true] {
                    let setup = Setup { gemm, graph, ..Setup::default() };
                    let found = step(&gpu, &preset, setup, graph);
                    let comparison = tensor_diff::compare(&expected, &found, 1.0);
                    let network = &preset.network;
                    assert!(comparison.agrees(), "{network}, {batch}, {setup:?}: {comparison:?}");
                }
            }
        }
    }
}

/// Plans, graphs and buffers of one batch size must not affect plans, graphs and buffers of
/// another.
#[test]
fn batch_sizes_may_change() {
    let gpu = gpu();
    let preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::fixture(&preset);
    let order = |size| Epoch::in_order(inputs.set.len(), size, false);
    for gemm in GEMMS {
        for graph in [false, true] {
            let setup = Setup { gemm, graph, ..Setup::default() };
            let loss_after = |sizes: &[usize]| {
                let mut level = level3(&gpu, &preset, setup);
                for &size in sizes {
                    level.set_parameters(&inputs.parameters).unwrap();
                    level.load(&order(size).batch(&inputs.set, 0), None).unwrap();
                    level.step(0.1).unwrap();
                    level.step(0.1).unwrap();
                }
                level.loss().unwrap().to_bits()
            };
            assert_eq!(loss_after(&[5]), loss_after(&[8, 5]), "{setup:?}");
            assert_eq!(loss_after(&[5]), loss_after(&[1, 5, 3, 8, 5]), "{setup:?}");
            assert_eq!(loss_after(&[1]), loss_after(&[5, 1]), "{setup:?}");
        }
    }
}
