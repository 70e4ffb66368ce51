//! Every rung, straight on the emulator and under its checks, against the reference dumps.

mod support;

use std::path::Path;

use level4_ptx::{Plan, Record, Rung};
use support::{Arg, Bench, checked};
use tensor::{Dtype, Dump, Loss, Network, Tensor, TensorName};
use training::Preset;

/// What a dump starts from, on the device.
struct Step<'dump> {
    bench: Bench,
    network: Network,
    dump: &'dump Dump,
    batch: usize,
    records: Vec<Record>,
    plan: Plan,
    table: u64,
    x: u64,
    y: u64,
    p: u64,
    losses: u64,
    barrier: u64,
}

const fn code(loss: Loss) -> u32 {
    match loss {
        Loss::CrossEntropy => 0,
        Loss::Bce => 1,
        Loss::SquaredError => 2,
    }
}

impl<'dump> Step<'dump> {
    fn new(rung: Rung, network: &Network, dump: &'dump Dump, room: usize) -> Self {
        let bench = Bench::new(rung.file(), rung.ptx(), checked());
        let get = |name| dump.get(name).unwrap().to_tensor().into_data();
        let batch = dump.get(TensorName::X).unwrap().shape[0];
        let plan = Plan::new(network, batch, 48 << 10, |_| room).unwrap();
        let last = network.layers();
        let records: Vec<Record> = (1..=last)
            .map(|l| {
                let (m, n) = (network.sizes[l - 1], network.sizes[l]);
                let rows = || bench.room(batch * n);
                Record {
                    m: m as u32,
                    n: n as u32,
                    per: plan.per[l - 1] as u32,
                    w: bench.floats(&get(TensorName::W(l))),
                    b: bench.floats(&get(TensorName::B(l))),
                    z: rows(),
                    a: if l < last { rows() } else { 0 },
                    da: if l < last { rows() } else { 0 },
                    dz: rows(),
                    dw: bench.room(n * m),
                    db: bench.room(n),
                    partial: bench.room(plan.chunks * n * (m + 1)),
                }
            })
            .collect();
        let words: Vec<u64> = records.iter().flat_map(Record::words).collect();
        let classes = network.outputs();
        Self {
            table: bench.words(&words),
            x: bench.floats(&get(TensorName::X)),
            y: bench.floats(&get(TensorName::Y)),
            p: bench.room(batch * classes),
            losses: bench.room(batch),
            barrier: bench.zeros(1),
            network: network.clone(),
            bench,
            dump,
            batch,
            records,
            plan,
        }
    }

    fn thread_per_sample(&self, fused: bool) {
        use Arg::{F32, U32, U64};
        let bench = &self.bench;
        for record in &self.records {
            let (n, m) = (u64::from(record.n), u64::from(record.m));
            bench.emulator.memory().fill(record.dw, &[0], 4 * n * m).unwrap();
            bench.emulator.memory().fill(record.db, &[0], 4 * n).unwrap();
        }
        let threads = 32;
        let grid = [self.batch.div_ceil(threads) as u32, 1, 1];
        let layers = [U64(self.table), U32(self.records.len() as u32)];
        let forward = [
            &layers[..],
            &[
                U32(code(self.network.loss)),
                U64(self.x),
                U64(self.y),
                U64(self.p),
                U64(self.losses),
                U32(self.batch as u32),
            ],
        ]
        .concat();
        if fused {
            bench.launch("forward_backward", grid, 32, &forward);
        } else {
            bench.launch("forward", grid, 32, &forward);
            let rest = [U64(self.x), U64(self.y), U64(self.p), U32(self.batch as u32)];
            bench.launch("backward", grid, 32, &[&layers[..], &rest].concat());
        }
        for record in &self.records {
            for (w, dw, count) in
                [(record.w, record.dw, record.n * record.m), (record.b, record.db, record.n)]
            {
                let rate = F32(self.dump.header.learning_rate);
                let grid = [count.div_ceil(256), 1, 1];
                bench.launch("update", grid, 256, &[U64(w), U64(dw), U32(count), rate]);
            }
        }
    }

    fn tiled(&self) {
        use Arg::{F32, U32, U64};
        let (bench, batch) = (&self.bench, self.batch as u32);
        let last = self.records.len() - 1;
        let input = |l: usize| if l == 0 { self.x } else { self.records[l - 1].a };
        for (l, r) in self.records.iter().enumerate() {
            let (out, relu) = if l < last { (r.a, 1) } else { (r.z, 0) };
            let grid = [r.n.div_ceil(32), batch.div_ceil(32), 1];
            let args = [U64(input(l)), U64(r.w), U64(r.b), U64(out), U32(batch)];
            let args = [&args[..], &[U32(r.m), U32(r.n), U32(relu)]].concat();
            bench.launch("forward_layer", grid, 256, &args);
        }
        let r = &self.records[last];
        let args = [U64(r.z), U64(self.y), U64(self.p), U64(r.dz), U64(self.losses)];
        let sizes = [U32(batch), U32(r.n), U32(code(self.network.loss))];
        bench.launch("output", [batch.div_ceil(4), 1, 1], 128, &[&args[..], &sizes].concat());
        for (l, r) in self.records.iter().enumerate().rev() {
            let sizes = [U32(batch), U32(r.m), U32(r.n)];
            let args = [&[U64(r.dz), U64(input(l)), U64(r.dw)][..], &sizes].concat();
            bench.launch("gradient", [r.m.div_ceil(64), r.n.div_ceil(32), 1], 256, &args);
            let args = [U64(r.dz), U64(r.db), U32(batch), U32(r.n)];
            bench.launch("sum_batch", [r.n.div_ceil(32), 1, 1], 256, &args);
            if l > 0 {
                let before = &self.records[l - 1];
                let args = [U64(r.dz), U64(r.w), U64(before.a), U64(before.dz)];
                let grid = [r.m.div_ceil(32), batch.div_ceil(32), 1];
                bench.launch("backward_layer", grid, 256, &[&args[..], &sizes].concat());
            }
        }
        for r in &self.records {
            for (w, dw, count) in [(r.w, r.dw, r.n * r.m), (r.b, r.db, r.n)] {
                let args = [U64(w), U64(dw), U32(count), F32(self.dump.header.learning_rate)];
                bench.launch("update", [count.div_ceil(1024), 1, 1], 256, &args);
            }
        }
    }

    fn one_launch(&self, phases: &[u32]) {
        use Arg::{F32, U32, U64};
        for &phases in phases {
            let args = [
                U64(self.table),
                U32(self.records.len() as u32),
                U32(code(self.network.loss)),
                U64(self.x),
                U64(self.y),
                U64(self.p),
                U64(self.losses),
                U32(self.batch as u32),
                F32(self.dump.header.learning_rate),
                U32(phases),
                U32(self.plan.chunks as u32),
                U32(self.plan.groups as u32),
                U32(u32::from(self.plan.on_chip)),
                U64(self.barrier),
            ];
            let grid = [self.plan.blocks() as u32, 1, 1];
            let shared = self.plan.shared as u32;
            let result =
                self.bench.try_launch("step", grid, Plan::THREADS as u32, shared, true, &args);
            if let Err(fault) = result {
                panic!("{fault}");
            }
        }
    }

    /// Every tensor of the step, where the rung has it.
    fn dump(&self, rung: Rung) -> Dump {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};
        let mut header = self.dump.header.clone();
        (header.level, header.dtype) = (format!("level4-ptx, {rung}"), Dtype::F32);
        let mut dump = Dump::new(header);
        let last = self.records.len();
        let plain = rung == Rung::ThreadPerSample;
        for name in self.network.tensor_names() {
            let record = |l: usize| &self.records[l - 1];
            let address = match name {
                X | Y | W(_) | B(_) => {
                    dump.push(name, &self.dump.get(name).unwrap().to_tensor());
                    continue;
                }
                TensorName::Loss => {
                    let losses = self.bench.read(self.losses, self.batch);
                    let mean = losses.iter().sum::<f32>() / self.batch as f32;
                    dump.push(name, &Tensor::scalar(mean));
                    continue;
                }
                P => self.p,
                Z(l) if plain || l == last => record(l).z,
                A(l) => record(l).a,
                Da(l) if plain => record(l).da,
                Dz(l) => record(l).dz,
                Dw(l) if rung != Rung::OneLaunch => record(l).dw,
                Db(l) if rung != Rung::OneLaunch => record(l).db,
                WNext(l) => record(l).w,
                BNext(l) => record(l).b,
                _ => {
                    dump.header.not_materialised.push(name);
                    continue;
                }
            };
            let shape = self.network.shape(name, self.batch).unwrap();
            let data = self.bench.read(address, shape.iter().product());
            dump.push(name, &Tensor::new(shape, data).unwrap());
        }
        dump
    }
}

/// One step of a fixture by every way of a rung.
fn dumps(rung: Rung, network: &Network, reference: &Dump) -> Vec<Dump> {
    let step = |room: usize, run: &dyn Fn(&Step<'_>)| {
        let step = Step::new(rung, network, reference, room);
        run(&step);
        step.dump(rung)
    };
    match rung {
        Rung::ThreadPerSample => {
            [true, false].map(|fused| step(1, &|s| s.thread_per_sample(fused))).into()
        }
        Rung::Tiled => vec![step(1, &|s| s.tiled())],
        Rung::OneLaunch => vec![
            step(1000, &|s| s.one_launch(&[7])),
            step(1000, &|s| s.one_launch(&[1, 2, 4])),
            step(3, &|s| s.one_launch(&[3, 4])),
            step(1, &|s| s.one_launch(&[7])),
        ],
    }
}

fn agrees_with_the_references(rung: Rung) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    for preset in Preset::fixtures() {
        let reference = Dump::read(&folder.join(format!("{}.json", preset.name))).unwrap();
        for dump in dumps(rung, &preset.network, &reference) {
            let comparison = tensor_diff::compare(&reference, &dump, 1.0);
            assert!(comparison.agrees(), "{} by {rung}: {comparison:?}", preset.name);
        }
    }
}

#[test]
fn thread_per_sample_agrees_with_the_references() {
    agrees_with_the_references(Rung::ThreadPerSample);
}

#[test]
fn tiled_agrees_with_the_references() {
    agrees_with_the_references(Rung::Tiled);
}

#[test]
fn one_launch_agrees_with_the_references() {
    agrees_with_the_references(Rung::OneLaunch);
}
