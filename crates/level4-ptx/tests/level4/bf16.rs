//! Tests of the rung `bf16`: its products are products of rounded factors, summed in single precision, and its accesses
//! to shared memory have no bank conflicts.

use data::{Dataset, Epoch};
use gpu::{Choice, Gpu};
use half::bf16;
use level4_ptx::{Level4, Rung};
use profile::{Profile, Recording};
use tensor::{Loss, Network, Tensor, TensorName};
use training::{Initialisation, Level, Parameters};

/// Runs a step on a batch of different rows, whose pixels use all bits of their mantissas.
fn level_after_a_step(network: &Network, batch: usize, profile: Profile, gpu: &Gpu) -> Level4 {
    let mut level = Level4::new(gpu, network, Rung::Bf16, profile).unwrap();
    let elements = batch * network.sizes[0];
    let x = (0..elements).map(|i| (i * 7919 % 65_521) as f32 / 30_011.0 - 1.0).collect();
    let classes = *network.sizes.last().unwrap();
    let labels = (0..batch).map(|sample| (sample % classes) as u8).collect();
    let set = Dataset::from_rows(x, labels, network.sizes[0], classes).unwrap();
    level.set_parameters(&Parameters::new(network, Initialisation::UniformFanIn, 5)).unwrap();
    level.load(&Epoch::in_order(batch, batch, false).batch(&set, 0), None).unwrap();
    level.forward().unwrap();
    level.backward().unwrap();
    level
}

/// Computes, in double precision, the sum of `a·b` over pairs of rounded factors, and the sum of the products'
/// magnitudes.
fn product(length: usize, pairs: impl Fn(usize) -> (f32, f32)) -> (f64, f64) {
    let round = |x: f32| bf16::from_f32(x).to_f64();
    (0..length)
        .map(pairs)
        .map(|(a, b)| round(a) * round(b))
        .fold((0.0, 0.0), |(sum, size), ab| (sum + ab, size + ab.abs()))
}

/// The error bound of a sum of `n` terms that is truncated after each group of eight; see tensor-diff's
/// derivation.
fn allowed(n: usize, size: f64) -> f64 {
    (n + 2 * n.div_ceil(8) + 2) as f64 * (-24_f64).exp2() * size
}

#[track_caller]
fn assert_near(what: TensorName, at: usize, found: f32, (exact, size): (f64, f64), n: usize) {
    let apart = (f64::from(found) - exact).abs();
    assert!(apart <= allowed(n, size), "{what}[{at}] is {found}, and {exact} with {size}");
}

#[test]
fn products_are_those_of_rounded_factors() {
    use TensorName::{A, B, Dw, Dz, W, X, Z};
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    for (sizes, batch) in [
        (vec![784, 30, 10], 37),
        (vec![37, 129, 65, 43], 67),
        (vec![64, 36, 33, 20, 34], 8),
        (vec![3, 5, 2], 1),
    ] {
        let network = Network { sizes: sizes.clone(), loss: Loss::CrossEntropy };
        let mut level = level_after_a_step(&network, batch, Profile::default(), &gpu);
        let mut get = |name| -> Tensor { level.tensor(name).unwrap().expect("it is in memory") };
        let last = network.layers();
        for l in 1..=last {
            let (m, n) = (sizes[l - 1], sizes[l]);
            let a = get(if l == 1 { X } else { A(l - 1) });
            let (w, b, dz) = (get(W(l)), get(B(l)), get(Dz(l)));
            let (a, w, b, dz) = (a.data(), w.data(), b.data(), dz.data());
            let name = if l == last { Z(l) } else { A(l) };
            for (at, &found) in get(name).data().iter().enumerate() {
                let (sample, unit) = (at / n, at % n);
                let (z, size) = product(m, |k| (a[sample * m + k], w[unit * m + k]));
                let z = z + f64::from(b[unit]);
                let z = if l == last { z } else { z.max(0.0) };
                assert_near(name, at, found, (z, size + f64::from(b[unit].abs())), m + 1);
            }
            for (at, &found) in get(Dw(l)).data().iter().enumerate() {
                let (unit, input) = (at / m, at % m);
                let exact = product(batch, |s| (dz[s * n + unit], a[s * m + input]));
                assert_near(Dw(l), at, found, exact, batch);
            }
            if l == 1 {
                continue;
            }
            for (at, &found) in get(Dz(l - 1)).data().iter().enumerate() {
                let (sample, input) = (at / m, at % m);
                let exact = product(n, |i| (dz[sample * n + i], w[i * m + input]));
                let exact = if a[at] > 0.0 { exact } else { (0.0, 0.0) };
                assert_near(Dz(l - 1), at, found, exact, n);
            }
        }
    }
}

/// Counts passes of shared memory. In a pass, half a warp stores 8 bytes for each lane, or `ldmatrix` reads eight rows
/// of 16 bytes. A tile with 32 numbers per row takes one such store by all 8 warps; a tile with 64 takes two.
#[test]
fn shared_memory_is_used_without_conflicts() {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let network = Network { sizes: vec![784, 32, 32], loss: Loss::CrossEntropy };
    let recording = Recording::start(&gpu);
    drop(level_after_a_step(&network, 32, recording.profile(), &gpu));
    let (store, load, warps) = (2, 4, 8);
    let tiles = |stores: u64| warps * stores * store;
    // The first layer's 784 inputs make 25 tiles of 32, the second layer's 32 inputs make one, and all warps multiply.
    let forward = (25 + 1) * (tiles(2) + warps * 3 * load);
    // The first layer's 784 inputs make 12 blocks of 64, in which all 8 warps multiply, and one of 16, in which 2 warps
    // do. The second layer's 32 inputs make one block, in which 4 warps multiply.
    let sums = |warps: u64| warps * 2 * 2 * load;
    let gradient = 14 * tiles(3) + 12 * sums(8) + sums(2) + sums(4);
    let backward = tiles(3) + sums(4);
    let counted = recording.operations_with_counts().unwrap();
    for (kernel, passes) in
        [("forward_layer", forward), ("gradient", gradient), ("backward_layer", backward)]
    {
        let of = counted.iter().find(|(total, _)| total.name == kernel);
        assert_eq!(of.map(|(_, counts)| counts.shared_passes), Some(passes), "{kernel}");
    }
}
