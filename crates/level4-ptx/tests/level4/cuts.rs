//! Tests of the rungs whose blocks wait for each other, on devices with little shared memory, directly on the
//! emulator: the step is the same for every plan, whether the weights fit on chip or not.

use crate::support::{Arg, Bench, checked};
use level4_ptx::{Plan, Record, Rung};
use tensor::{Dtype, Dump, Loss, Network, Tensor, TensorName};
use test_support::reference;
use training::Preset;

/// Runs a step of a fixture with a plan, with a launch for each of `phases`.
fn step(rung: Rung, network: &Network, reference: &Dump, plan: &Plan, phases: &[u32]) -> Dump {
    use Arg::{F32, U32, U64};
    let epoch = rung == Rung::WholeEpoch;
    let bench = Bench::new(rung.row().file, rung.row().ptx, checked());
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
                z: bench.allocate(batch * n),
                a: if l < last { bench.allocate(batch * n) } else { 0 },
                dz: bench.allocate(batch * n),
                partial: if epoch { 0 } else { bench.allocate(plan.chunks * n * (m + 1)) },
                // On `whole-epoch`, these are the buffers of the second copies of a, w and b.
                da: if epoch && l < last { bench.allocate(batch * n) } else { 0 },
                dw: if epoch && l > 1 { bench.allocate(n * m) } else { 0 },
                db: if epoch && l > 1 { bench.allocate(n) } else { 0 },
            }
        })
        .collect();
    let words: Vec<u64> = records.iter().flat_map(Record::words).collect();
    let (p, losses) = (bench.allocate(batch * network.outputs()), bench.allocate(batch));
    let loss = match network.loss {
        Loss::CrossEntropy => 0,
        Loss::Bce => 1,
        Loss::SquaredError => 2,
    };
    let given = [
        U64(bench.words(&words)),
        U32(records.len() as u32),
        U32(loss),
        U64(bench.floats(get(TensorName::X).data())),
        U64(bench.floats(get(TensorName::Y).data())),
        U64(p),
        U64(losses),
    ];
    let rate = F32(reference.header.learning_rate);
    let (samples, barrier) = (U32(batch as u32), U64(bench.zeros(1)));
    for &phases in phases {
        let rest = if epoch {
            let rows = U32((plan.shared - 4 * batch) as u32);
            vec![U64(0), samples, samples, rate, U32(phases), rows, barrier]
        } else {
            let cut = [plan.chunks as u32, plan.groups as u32, u32::from(plan.on_chip)];
            vec![samples, rate, U32(phases), U32(cut[0]), U32(cut[1]), U32(cut[2]), barrier]
        };
        let args = [&given[..], &rest].concat();
        let entry = if epoch { "steps" } else { "step" };
        let (grid, threads) = ([plan.blocks() as u32, 1, 1], Plan::THREADS as u32);
        if let Err(fault) = bench.try_launch(entry, grid, threads, plan.shared as u32, true, &args)
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
fn every_plan_agrees_with_the_references() {
    // Counts the tested plans with the weights in global memory, and on chip.
    let mut met = [0, 0];
    for preset in Preset::fixtures() {
        let reference = reference(&preset.name);
        let network = &preset.network;
        let batch = preset.batch_size;
        for (shared, room, phases) in
            [(48 << 10, 1000, &[7][..]), (48 << 10, 3, &[3, 4]), (6 << 10, 5, &[1, 2, 4])]
        {
            // Skips wide layers that don't fit on such a small device.
            let Some(plan) = Plan::new(Rung::OneLaunch, network, batch, shared, &mut |_| room)
            else {
                assert!(network.sizes[1] > 1000, "{}", preset.name);
                continue;
            };
            met[usize::from(plan.on_chip)] += 1;
            let found = step(Rung::OneLaunch, network, &reference, &plan, phases);
            let comparison = tensor_diff::compare(&reference, &found, 1.0);
            assert!(comparison.agrees(), "{} by {plan:?}: {comparison:?}", preset.name);
        }
        // A plan with more chunks than samples, in which some blocks only wait.
        let mut plan = Plan::new(Rung::OneLaunch, network, batch, 48 << 10, &mut |_| 1000).unwrap();
        plan.chunks = batch + 2;
        if plan.blocks() > 1000 {
            continue;
        }
        let found = step(Rung::OneLaunch, network, &reference, &plan, &[7]);
        let comparison = tensor_diff::compare(&reference, &found, 1.0);
        assert!(comparison.agrees(), "{} by {plan:?}: {comparison:?}", preset.name);
    }
    assert!(met[0] > 3 && met[1] > 3, "{met:?}");
}

#[test]
fn every_plan_of_an_epoch_agrees_with_the_references() {
    let mut refused = 0;
    for preset in Preset::fixtures() {
        let reference = reference(&preset.name);
        let (network, batch) = (&preset.network, preset.batch_size);
        for (room, phases) in [(1000, &[7][..]), (3, &[1, 2, 4]), (1, &[3, 4])] {
            let Some(plan) = Plan::new(Rung::WholeEpoch, network, batch, 160 << 10, &mut |_| room)
            else {
                refused += 1;
                continue;
            };
            let found = step(Rung::WholeEpoch, network, &reference, &plan, phases);
            let comparison = tensor_diff::compare(&reference, &found, 1.0);
            assert!(comparison.agrees(), "{} by {plan:?}: {comparison:?}", preset.name);
        }
    }
    assert!(refused < 8, "{refused} plans don't fit");
}

/// Buffers that blocks share are double-buffered. Without the second copy, or without a barrier, the sanitizer reports
/// a race, which shows that it would report one in the real kernel.
#[test]
fn an_epoch_without_its_copies_or_barriers_is_a_race() {
    use Arg::{F32, U32, U64};
    for (what, from, to) in [
        ("as it is", "", ""),
        ("one copy of a", "and.b32 next, parity, 1;", "mov.u32 next, 0;"),
        ("one barrier", "output_done:", "output_done:\n    bra forward_done;"),
    ] {
        let ptx = Rung::WholeEpoch.row().ptx.replacen(from, to, usize::from(!from.is_empty()));
        assert_eq!(ptx == Rung::WholeEpoch.row().ptx, from.is_empty(), "{what}");
        let bench = Bench::new("whole_epoch.ptx", &ptx, checked());
        let ones = |count| bench.floats(&vec![0.25; count]);
        let layer = |m: u32, n: u32, deep: bool| Record {
            m,
            n,
            per: 4,
            w: ones((m * n) as usize),
            b: ones(n as usize),
            z: bench.allocate(2 * n as usize),
            a: if deep { 0 } else { bench.allocate(2 * n as usize) },
            da: if deep { 0 } else { bench.allocate(2 * n as usize) },
            dz: bench.allocate(2 * n as usize),
            dw: if deep { bench.allocate((m * n) as usize) } else { 0 },
            db: if deep { bench.allocate(n as usize) } else { 0 },
            partial: 0,
        };
        // The launch has three batches of two samples, on two blocks.
        let words: Vec<u64> =
            [layer(16, 8, false), layer(8, 2, true)].iter().flat_map(Record::words).collect();
        let args = [
            U64(bench.words(&words)),
            U32(2),
            U32(0),
            U64(ones(6 * 16)),
            U64(ones(6 * 2)),
            U64(bench.allocate(4)),
            U64(bench.allocate(6)),
            U64(0),
            U32(6),
            U32(2),
            F32(0.1),
            U32(7),
            U32(4 * (4 * 16 + 4 * 2)),
            U64(bench.zeros(1)),
        ];
        let shared = 4 * (4 * 16 + 4 * 2 + 2);
        let fault = bench.try_launch("steps", [2, 1, 1], 32, shared, true, &args).err();
        let said = fault.map(|fault| fault.to_string()).unwrap_or_default();
        let expected = match what {
            "as it is" => "",
            "one copy of a" => "race: global",
            _ => "global",
        };
        assert_eq!(said.is_empty(), expected.is_empty(), "{what}: {said}");
        assert!(said.contains(expected), "{what}: {said}");
    }
}
