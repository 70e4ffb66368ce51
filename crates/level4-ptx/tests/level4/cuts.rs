//! The third rung on devices that have little room, straight on the emulator: however the work is
//! cut into blocks, and whether the weights fit on chip or not, the step is the same.

use std::path::Path;

use crate::support::{Arg, Bench, checked};
use level4_ptx::{Plan, Record, Rung};
use tensor::{Dtype, Dump, Loss, Network, Tensor, TensorName};
use training::Preset;

/// One step of a fixture, cut by a plan; a launch for each number of phases.
fn step(network: &Network, reference: &Dump, plan: &Plan, phases: &[u32]) -> Dump {
    use Arg::{F32, U32, U64};
    let rung = Rung::OneLaunch;
    let bench = Bench::new(rung.file(), rung.ptx(), checked());
    let get = |name| reference.get(name).unwrap().to_tensor();
    let batch = get(TensorName::X).shape()[0];
    let last = network.layers();
    let records: Vec<Record> = (1..=last)
        .map(|l| {
            let (m, n) = (network.sizes[l - 1], network.sizes[l]);
            Record {
                m: m as u32,
                n: n as u32,
                per: plan.per[l - 1] as u32,
                w: bench.floats(get(TensorName::W(l)).data()),
                b: bench.floats(get(TensorName::B(l)).data()),
                z: bench.room(batch * n),
                a: if l < last { bench.room(batch * n) } else { 0 },
                dz: bench.room(batch * n),
                partial: bench.room(plan.chunks * n * (m + 1)),
                ..Record::default()
            }
        })
        .collect();
    let words: Vec<u64> = records.iter().flat_map(Record::words).collect();
    let (p, losses) = (bench.room(batch * network.outputs()), bench.room(batch));
    let loss = match network.loss {
        Loss::CrossEntropy => 0,
        Loss::Bce => 1,
        Loss::SquaredError => 2,
    };
    let mut args = [
        U64(bench.words(&words)),
        U32(records.len() as u32),
        U32(loss),
        U64(bench.floats(get(TensorName::X).data())),
        U64(bench.floats(get(TensorName::Y).data())),
        U64(p),
        U64(losses),
        U32(batch as u32),
        F32(reference.header.learning_rate),
        U32(0),
        U32(plan.chunks as u32),
        U32(plan.groups as u32),
        U32(u32::from(plan.on_chip)),
        U64(bench.zeros(1)),
    ];
    for &phases in phases {
        args[9] = U32(phases);
        let (grid, threads) = ([plan.blocks() as u32, 1, 1], Plan::THREADS as u32);
        if let Err(fault) = bench.try_launch("step", grid, threads, plan.shared as u32, true, &args)
        {
            panic!("{fault}");
        }
    }

    let mut header = reference.header.clone();
    header.dtype = Dtype::F32;
    header.digits = None;
    let mut dump = Dump::new(header);
    for name in network.tensor_names() {
        use TensorName::{A, B, BNext, Dz, P, W, WNext, X, Y, Z};
        let address = match name {
            X | Y | W(_) | B(_) => {
                dump.push(name, &get(name));
                continue;
            }
            TensorName::Loss => {
                let mean = bench.read(losses, batch).iter().sum::<f32>() / batch as f32;
                dump.push(name, &Tensor::scalar(mean));
                continue;
            }
            _ if !rung.materialises(name, last) => {
                dump.header.not_materialised.push(name);
                continue;
            }
            P => p,
            Z(l) => records[l - 1].z,
            A(l) => records[l - 1].a,
            Dz(l) => records[l - 1].dz,
            WNext(l) => records[l - 1].w,
            BNext(l) => records[l - 1].b,
            _ => unreachable!("{name} is not materialised"),
        };
        let shape = network.shape(name, batch).unwrap();
        let data = bench.read(address, shape.iter().product());
        dump.push(name, &Tensor::new(shape, data).unwrap());
    }
    dump
}

#[test]
fn every_cut_agrees_with_the_references() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    // Plans with the weights in global memory, and on chip.
    let mut met = [0, 0];
    for preset in Preset::fixtures() {
        let reference = Dump::read(&folder.join(format!("{}.json", preset.name))).unwrap();
        let network = &preset.network;
        let batch = preset.batch_size;
        for (shared, room, phases) in
            [(48 << 10, 1000, &[7][..]), (48 << 10, 3, &[3, 4]), (6 << 10, 5, &[1, 2, 4])]
        {
            // A wide layer fits on no device as small as this.
            let Some(plan) = Plan::new(network, batch, shared, |_| room) else {
                assert!(network.sizes[1] > 1000, "{}", preset.name);
                continue;
            };
            met[usize::from(plan.on_chip)] += 1;
            let found = step(network, &reference, &plan, phases);
            let comparison = tensor_diff::compare(&reference, &found, 1.0);
            assert!(comparison.agrees(), "{} by {plan:?}: {comparison:?}", preset.name);
        }
        // More chunks than samples: some blocks have nothing to do but to wait.
        let mut plan = Plan::new(network, batch, 48 << 10, |_| 1000).unwrap();
        plan.chunks = batch + 2;
        if plan.blocks() > 1000 {
            continue;
        }
        let found = step(network, &reference, &plan, &[7]);
        let comparison = tensor_diff::compare(&reference, &found, 1.0);
        assert!(comparison.agrees(), "{} by {plan:?}: {comparison:?}", preset.name);
    }
    assert!(met[0] > 3 && met[1] > 3, "{met:?}");
}
