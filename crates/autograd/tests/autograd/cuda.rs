//! Tests that the GPU computes the same as the CPU, within the precision of `f32`. The GPU is the
//! emulated one, unless `FOUR_LEVELS_DEVICE` is `auto` or `cuda`.

use std::fs;
use std::path::Path;

use autograd::{Array, Device, ErrorKind, Module, Tensor, load, save};
use proptest::prelude::*;
use test_support::device_choice;

use crate::{operations, original};

fn gpu() -> Device {
    Device::cuda(device_choice()).unwrap()
}

fn single(values: &operations::Values) -> Tensor<f32> {
    Tensor::new(&values.shape, values.data.iter().map(|&value| value as f32).collect())
}

#[track_caller]
fn assert_near(what: &str, cpu: &Array<f32>, gpu: &Array<f32>) {
    assert_eq!(cpu.shape(), gpu.shape(), "{what}");
    let (cpu, gpu) = (cpu.to_vec().unwrap(), gpu.to_vec().unwrap());
    let largest = cpu.iter().fold(1e-30_f32, |m, v| m.max(v.abs()));
    for (a, b) in cpu.iter().zip(&gpu) {
        // Written so that NaN fails.
        assert!((a - b).abs() <= 4e-6 * largest, "{what}: {cpu:?} on the CPU, {gpu:?} on the GPU");
    }
}

/// The cases of `reference/autograd_values.json`, forward and backward.
#[test]
fn every_operation_agrees_with_the_cpu() {
    let device = gpu();
    for case in operations::cases() {
        let name = case.operation.as_str();
        let run = |device: &Device| {
            let x: Vec<Tensor<f32>> =
                case.inputs.iter().map(|x| single(x).to(device).requires_grad()).collect();
            let y = operations::apply(name, &case.arguments, &x);
            (&y * single(&case.upstream).to(device)).sum().backward().unwrap();
            assert!(y.device().unwrap() == *device, "{name}");
            let gradients = x.iter().map(|x| x.grad().unwrap().unwrap()).collect::<Vec<_>>();
            (y.value().unwrap(), gradients)
        };
        let (cpu, on_gpu) = (run(&Device::Cpu), run(&device));
        assert_near(name, &cpu.0, &on_gpu.0);
        for (a, b) in cpu.1.iter().zip(&on_gpu.1) {
            assert_near(&format!("the gradient of {name}"), a, b);
        }
    }
}

/// Sizes larger than a warp and than a block, with and without transposed factors.
#[test]
fn products_sums_and_maxima_of_any_size() {
    let device = gpu();
    let strategy = (1..70_usize, 1..70_usize, 1..70_usize, any::<[bool; 2]>(), any::<u64>());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let run = |m: usize, k: usize, n: usize, turned: [bool; 2], seed: u64, device: &Device| {
        let mut generator = data::Generator::new(seed, data::Purpose::Noise, 0);
        let mut draw = |rows: usize, columns: usize, turned: bool| {
            let shape = if turned { [columns, rows] } else { [rows, columns] };
            let data = (0..rows * columns).map(|_| generator.uniform(-1.0, 1.0)).collect();
            let x = Tensor::new(shape, data).to(device);
            if turned { x.transpose() } else { x }
        };
        let c = draw(m, k, turned[0]).matmul(&draw(k, n, turned[1]));
        [c.clone(), c.sum(), c.sum_axis(0), c.sum_axis(1), c.max_axis(0), c.max_axis(1), c.max()]
    };
    runner
        .run(&strategy, |(m, k, n, turned, seed)| {
            let (cpu, on_gpu) =
                (run(m, k, n, turned, seed, &Device::Cpu), run(m, k, n, turned, seed, &device));
            for (i, (a, b)) in cpu.iter().zip(&on_gpu).enumerate() {
                let scale = if i == 1 { cpu[0].value().unwrap().len() as f32 } else { 1.0 };
                let (a, b) = (a.to_vec().unwrap(), b.to_vec().unwrap());
                for (a, b) in a.iter().zip(&b) {
                    prop_assert!((a - b).abs() <= 4e-5 * (1.0 + scale.sqrt()), "{i}: {a} {b}");
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn empty_tensors_are_supported() {
    let device = gpu();
    let (a, b) = (Tensor::<f32>::zeros([2, 0]).to(&device).requires_grad(), Tensor::zeros([0, 3]));
    let loss = (a.matmul(&b.to(&device)) + 1.0).sum() + a.exp().sum() + a.sum_axis(1).sum();
    assert_eq!(loss.item().unwrap(), 6.0);
    loss.backward().unwrap();
    assert!(a.grad().unwrap().unwrap().to_vec().unwrap().is_empty());
    assert!(a.transpose().index(&[]).to_vec().unwrap().is_empty());
}

#[test]
fn nan_is_not_hidden() {
    let device = gpu();
    for at in [0, 5, 40, 69] {
        let mut data = vec![1.0_f32; 70];
        data[at] = f32::NAN;
        let x = Tensor::new([70], data).to(&device);
        for y in [x.max(), x.sum(), x.relu().sum()] {
            assert!(y.item().unwrap().is_nan());
        }
    }
}

#[test]
fn training_has_the_same_losses_as_on_the_cpu() {
    let losses = |device: &Device| original::train(&original::network::<f32>(device), 5).unwrap();
    let (cpu, on_gpu) = (losses(&Device::Cpu), losses(&gpu()));
    for (a, b) in cpu.iter().zip(&on_gpu) {
        assert!((a - b).abs() <= 1e-5 * a.abs(), "{cpu:?} {on_gpu:?}");
    }
}

#[test]
fn parameters_are_saved_from_and_loaded_to_the_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let (cpu, on_gpu) = (original::network::<f32>(&Device::Cpu), original::network::<f32>(&gpu()));
    original::train(&on_gpu, 1).unwrap();
    save(&path, &on_gpu).unwrap();
    load(&path, &cpu).unwrap();
    load(&path, &on_gpu).unwrap();
    for ((_, a), (_, b)) in cpu.parameters().iter().zip(on_gpu.parameters()) {
        assert_eq!(a.to_vec().unwrap(), b.to_vec().unwrap());
    }
}

#[test]
fn unsupported_operations_are_errors() {
    let device = gpu();
    let (here, there) = (Tensor::full([2], 1.0_f32), Tensor::full([2], 1.0_f32).to(&device));
    let error = (&here + &there).into_result().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Devices { operation: "add", .. }));
    let said = error.to_string();
    assert!(said.starts_with(&format!("add of tensors on cpu and {device}: move both")), "{said}");
    assert!(there.reshape([1, 2]).matmul(&here.reshape([2, 1])).into_result().is_err());
    assert!(Tensor::concat(&[&here, &there], 0).into_result().is_err());
    assert!((here.to(&device) + there).sum().item().unwrap() == 4.0);

    let said = Tensor::full([2], 1.0_f64).to(&device).into_result().unwrap_err().to_string();
    assert!(said.contains("its kernels compute in f32, and this is f64"), "{said}");
    // Five axes that can't be merged.
    let x = Tensor::full([1, 2, 1, 2, 1, 2, 1, 2, 1], 1.0_f32).reshape([2, 2, 2, 2]).to(&device);
    let wide = x.reshape([2, 1, 2, 1, 2, 1, 2]).broadcast_to([2, 3, 2, 3, 2, 3, 2]);
    let said = (wide + 1.0).into_result().unwrap_err().to_string();
    assert!(said.contains("four axes"), "{said}");
}

/// The committed PTX was compiled from the current sources.
#[test]
fn the_committed_ptx_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/autograd");
    for name in ["map", "zip", "rows", "move"] {
        let read = |end: &str| fs::read_to_string(folder.join(format!("{name}.{end}"))).unwrap();
        assert!(
            gpu::source::is_fresh(&read("cu"), &read("ptx")),
            "kernels/autograd/{name}.cu was edited: run scripts/compile-kernels.sh"
        );
    }
}
