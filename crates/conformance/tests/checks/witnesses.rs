//! Tests that independent computations of the gradients agree, for every preset's network: the levels, whose gradients
//! were derived by hand; `autograd` in double precision; central differences; and, for the fixtures, PyTorch.

use autograd::level::Autograd;
use autograd::{Array, Device, Element};
use conformance::{Check, variants};
use data::{Epoch, Generator, Purpose};
use tensor::{Dtype, Dump, DumpedTensor, Loss, Network, TensorName};
use test_support::{device_choice, reference};
use training::dump::{Inputs, dump, header};
use training::{Edge, Level as _, Preset, PresetKind};

/// Every preset and fixture, with one small batch.
fn networks() -> Vec<Preset> {
    let presets = Preset::presets().into_iter().map(|preset| Preset {
        batch_size: 8,
        samples: 8,
        kind: PresetKind::Fixture,
        ..preset
    });
    presets.chain(Preset::fixtures()).collect()
}

/// The dump of one step that `autograd` computed, with all digits.
fn autograd_dump<T: Element>(preset: &Preset, inputs: &Inputs, device: &Device) -> Dump {
    let mut level = Autograd::<T>::new(&preset.network, device);
    let order = Epoch::in_order(inputs.set.len(), preset.batch_size, false);
    level.set_parameters(&inputs.parameters).unwrap();
    level.load(&order.batch(&inputs.set, 0), None).unwrap();
    let mut dump = Dump::new(header("autograd", &device.to_string(), preset, 0));
    dump.header.dtype = if T::NAME == "f64" { Dtype::F64 } else { Dtype::F32 };
    let before = |name: &TensorName| matches!(name, TensorName::W(_) | TensorName::B(_));
    let names = preset.network.tensor_names();
    for &name in names.iter().filter(|name| before(name)) {
        push(&mut dump, name, level.array(name).unwrap());
    }
    level.forward().unwrap();
    level.backward().unwrap();
    for &name in names.iter().filter(|name| !before(name)) {
        match name {
            TensorName::WNext(_) | TensorName::BNext(_) => {}
            _ => push(&mut dump, name, level.array(name).unwrap()),
        }
    }
    level.update(preset.learning_rate).unwrap();
    for &name in &names {
        match name {
            TensorName::WNext(l) => push(&mut dump, name, level.array(TensorName::W(l)).unwrap()),
            TensorName::BNext(l) => push(&mut dump, name, level.array(TensorName::B(l)).unwrap()),
            _ => {}
        }
    }
    // Sorts the tensors in the order of computation.
    dump.tensors.sort_by_key(|tensor| names.iter().position(|name| *name == tensor.name));
    dump
}

fn push<T: Element>(dump: &mut Dump, name: TensorName, array: Option<Array<T>>) {
    let array = array.unwrap_or_else(|| panic!("there is no {name}"));
    let data = array.to_vec().unwrap().into_iter().map(Element::to_f64).collect();
    dump.tensors.push(DumpedTensor { name, shape: array.shape().to_vec(), data });
}

#[test]
fn every_level_agrees_with_autograd_within_its_rounding() {
    // Variants that only differ in the transfer of batches are only compared with the references.
    let all = variants(device_choice());
    let variants: Vec<_> = all.iter().filter(|v| v.checks.contains(&Check::Presets)).collect();
    assert!(variants.len() >= 4);
    for preset in networks() {
        let inputs = Inputs::fixture(&preset);
        let exact = autograd_dump::<f64>(&preset, &inputs, &Device::Cpu);
        let mut found = vec![autograd_dump::<f32>(&preset, &inputs, &Device::Cpu)];
        for variant in variants.iter().filter(|v| !v.without.contains(&preset.name.as_str())) {
            let mut level = variant.open(&preset.network).unwrap();
            let mut header = header(variant.level, &variant.device_name().unwrap(), &preset, 0);
            header.dtype = variant.dtype().unwrap();
            found.push(dump(level.as_mut(), header, &preset, &inputs, true).unwrap());
        }
        for found in found {
            let comparison = tensor_diff::compare(&exact, &found, 1.0);
            assert!(comparison.agrees(), "{} {}: {comparison:?}", preset.name, found.header.level);
        }
    }
}

/// Runs the fixtures on a GPU, where `autograd` computes with kernels in single precision.
#[test]
fn autograd_on_the_gpu_agrees_with_autograd_within_its_rounding() {
    let device = Device::cuda(device_choice()).unwrap();
    for preset in Preset::fixtures() {
        let inputs = Inputs::fixture(&preset);
        let exact = autograd_dump::<f64>(&preset, &inputs, &Device::Cpu);
        let found = autograd_dump::<f32>(&preset, &inputs, &device);
        assert_ne!(found.header.device, exact.header.device);
        let comparison = tensor_diff::compare(&exact, &found, 1.0);
        assert!(comparison.agrees(), "{}: {comparison:?}", preset.name);
    }
}

#[test]
fn pytorch_agrees_with_autograd_to_the_digits_that_are_stored() {
    for preset in Preset::fixtures() {
        let reference = reference(&preset.name);
        let inputs = Inputs::from_dump(&reference, &mut preset.clone()).unwrap();
        let own = autograd_dump::<f64>(&preset, &inputs, &Device::Cpu);
        let comparison = tensor_diff::compare(&reference, &own, 1.0);
        assert!(comparison.agrees(), "{}: {comparison:?}", preset.name);
        assert_eq!(reference.tensors.len(), own.tensors.len());
        for (a, b) in reference.tensors.iter().zip(&own.tensors) {
            let largest = a.data.iter().fold(1e-300_f64, |m, v| m.max(v.abs()));
            // The references are stored with twelve digits.
            let same = |(x, y): (&f64, &f64)| (x - y).abs() <= 6e-12 * largest;
            assert!(a.data.iter().zip(&b.data).all(same), "{} {}", preset.name, a.name);
        }
    }
}

/// Computes the training loss in plain loops, after one element of one tensor was changed. `moved` is the tensor, the
/// element's index, and the amount that is added.
fn measured_loss(network: &Network, of: &Dump, moved: (TensorName, usize, f64)) -> f64 {
    let get = |name: TensorName| {
        let mut data = of.get(name).unwrap().data.clone();
        if moved.0 == name {
            data[moved.1] += moved.2;
        }
        data
    };
    let (x, y) = (get(TensorName::X), get(TensorName::Y));
    let batch = y.len() / network.outputs();
    let mut a = x;
    for l in 1..=network.layers() {
        let (w, b) = (get(TensorName::W(l)), get(TensorName::B(l)));
        let (n_in, n_out) = (network.sizes[l - 1], network.sizes[l]);
        let mut z = vec![0.0; batch * n_out];
        for (z, a) in z.chunks_exact_mut(n_out).zip(a.chunks_exact(n_in)) {
            for (j, z) in z.iter_mut().enumerate() {
                let row = &w[j * n_in..(j + 1) * n_in];
                *z = b[j] + row.iter().zip(a).map(|(w, a)| w * a).sum::<f64>();
            }
        }
        step(&mut z, moved, TensorName::Z(l));
        if l < network.layers() {
            z.iter_mut().for_each(|z| *z = z.max(0.0));
            step(&mut z, moved, TensorName::A(l));
        }
        a = z;
    }
    let rows = a.chunks_exact(network.outputs()).zip(y.chunks_exact(network.outputs()));
    let row_loss = |(z, y): (&[f64], &[f64])| match network.loss {
        Loss::CrossEntropy => {
            let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = z.iter().map(|z| (z - largest).exp()).sum();
            z.iter().zip(y).map(|(z, y)| y * (largest + sum.ln() - z)).sum::<f64>()
        }
        Loss::Bce => z.iter().zip(y).map(|(z, y)| (1.0 + z.exp()).ln() - z * y).sum(),
        Loss::SquaredError => z.iter().zip(y).map(|(z, y)| 0.5 * (z - y) * (z - y)).sum(),
    };
    rows.map(row_loss).sum::<f64>() / batch as f64
}

fn step(values: &mut [f64], (name, at, step): (TensorName, usize, f64), here: TensorName) {
    if name == here {
        values[at] += step;
    }
}

/// Compares only some elements of each gradient, because a network has up to 800,000 of them, and each costs two
/// forward passes.
#[test]
fn central_differences_agree_with_autograd() {
    const ELEMENTS: u32 = 10;
    // Excludes two fixtures: at the kink there is no derivative, and a subnormal z is smaller than the step of a
    // central difference.
    let has_slope = |preset: &Preset| !matches!(preset.edge, Some(Edge::Kink | Edge::Subnormal));
    for preset in networks().into_iter().filter(has_slope) {
        let own = autograd_dump::<f64>(&preset, &Inputs::fixture(&preset), &Device::Cpu);
        let mut generator = Generator::new(1, Purpose::Noise, 0);
        for gradient in &own.tensors {
            let of = match gradient.name {
                TensorName::Dw(l) => TensorName::W(l),
                TensorName::Db(l) => TensorName::B(l),
                TensorName::Dz(l) => TensorName::Z(l),
                TensorName::Da(l) => TensorName::A(l),
                _ => continue,
            };
            let largest = gradient.data.iter().fold(1e-3_f64, |m, v| m.max(v.abs()));
            for _ in 0..ELEMENTS {
                let at = generator.below(gradient.data.len() as u32) as usize;
                let loss = |h: f64| measured_loss(&preset.network, &own, (of, at, h));
                let slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
                let error = (slope - gradient.data[at]).abs();
                assert!(
                    error <= 1e-6 * largest,
                    "{} {}[{at}]: {} measured, {} derived",
                    preset.name,
                    gradient.name,
                    slope,
                    gradient.data[at]
                );
            }
        }
    }
}
