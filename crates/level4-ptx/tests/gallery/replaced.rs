//! Training steps of PyTorch in which the output of a gallery kernel replaces the right tensor.

use ptx_emulator::Fault;
use tensor::{Dtype, Dump, Tensor, TensorName};

use crate::run::{launch, root};
use crate::support::{Arg, Bench};

/// A step of a fixture that PyTorch computed in single precision, with some tensors replaced by the output of a kernel.
pub(crate) struct Replaced {
    pub(crate) reference: Dump,
    pub(crate) dump: Dump,
}

impl Replaced {
    pub(crate) fn new(fixture: &str) -> Self {
        let path = root().join(format!("reference/dumps/{fixture}.json"));
        let reference = Dump::read(&path).unwrap();
        let mut header = reference.header.clone();
        (header.level, header.dtype, header.digits) = ("level4-ptx".into(), Dtype::F32, None);
        let mut dump = Dump::new(header);
        for entry in &reference.tensors {
            dump.push(entry.name, &entry.to_tensor());
        }
        Self { reference, dump }
    }

    pub(crate) fn get(&self, name: TensorName) -> Tensor {
        self.reference.get(name).unwrap().to_tensor()
    }

    /// Copies a tensor to the device, as an argument of a kernel.
    pub(crate) fn copy_to_device(&self, bench: &Bench, name: TensorName) -> Arg {
        Arg::U64(bench.floats(self.get(name).data()))
    }

    fn batch(&self) -> u32 {
        self.get(TensorName::X).shape()[0] as u32
    }

    pub(crate) fn replace(&mut self, name: TensorName, data: Vec<f32>) {
        let tensor = Tensor::new(self.get(name).shape(), data).unwrap();
        let mut dump = Dump::new(self.dump.header.clone());
        for entry in &self.dump.tensors {
            if entry.name == name {
                dump.push(name, &tensor);
            } else {
                dump.push(entry.name, &entry.to_tensor());
            }
        }
        self.dump = dump;
    }
}

/// A fault that is only found by comparing tensors: its name, the file of its kernel, and the function that runs the
/// kernel in a step.
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) run: fn(&Bench) -> Result<Replaced, Fault>,
}

/// All faults that are only found by comparison, in the order of the book's page.
pub(crate) const COMPARED: [Compared; 6] = [
    Compared { name: "row-zero", kernel: "row_zero", run: row_zero },
    Compared { name: "row-zero-mask", kernel: "row_zero", run: mask_of_row_zero },
    Compared { name: "missing-mean", kernel: "missing_mean", run: output_gradient },
    Compared { name: "update-without-index", kernel: "update_without_index", run: update_by_all },
    Compared { name: "only-w1-updated", kernel: "only_w1_updated", run: only_w1_updated },
    Compared { name: "stale-rows", kernel: "stale_rows", run: stale_rows },
];

pub(crate) fn output_gradient(bench: &Bench) -> Result<Replaced, Fault> {
    let mut step = Replaced::new("softmax");
    let n = step.get(TensorName::P).shape()[1] as u32;
    let count = step.batch() * n;
    let dz = bench.allocate(count as usize);
    let (p, y) =
        (step.copy_to_device(bench, TensorName::P), step.copy_to_device(bench, TensorName::Y));
    let args = [p, y, Arg::U64(dz), Arg::U32(step.batch()), Arg::U32(n)];
    launch(bench, "output_gradient", count.div_ceil(32), 32, &args)?;
    step.replace(TensorName::Dz(2), bench.read(dz, count as usize));
    Ok(step)
}

pub(crate) fn row_zero(bench: &Bench) -> Result<Replaced, Fault> {
    let mut step = Replaced::new("softmax");
    let dz = bench.allocate(8 * 10);
    let (p, y) =
        (step.copy_to_device(bench, TensorName::P), step.copy_to_device(bench, TensorName::Y));
    let args = [p, y, Arg::U64(dz), Arg::U32(8), Arg::U32(10)];
    launch(bench, "output_gradient", 1, 32, &args)?;
    step.replace(TensorName::Dz(2), bench.read(dz, 8 * 10));
    Ok(step)
}

pub(crate) fn mask_of_row_zero(bench: &Bench) -> Result<Replaced, Fault> {
    let mut step = Replaced::new("softmax");
    let dz = bench.allocate(8 * 30);
    let (da, z) = (
        step.copy_to_device(bench, TensorName::Da(1)),
        step.copy_to_device(bench, TensorName::Z(1)),
    );
    let args = [da, z, Arg::U64(dz), Arg::U32(8), Arg::U32(30)];
    launch(bench, "relu_backward", 1, 32, &args)?;
    step.replace(TensorName::Dz(1), bench.read(dz, 8 * 30));
    Ok(step)
}

/// Loads a batch of 7 samples after a full batch of 8, so that the buffer still has the old eighth row.
pub(crate) fn stale_rows(bench: &Bench) -> Result<Replaced, Fault> {
    let before = Replaced::new("softmax").get(TensorName::Dz(2));
    let mut step = Replaced::new("bce");
    let mut rows = step.get(TensorName::Dz(2)).into_data();
    rows.extend_from_slice(&before.data()[7 * 10..]);
    let (dz, db) = (bench.floats(&rows), bench.zeros(10));
    let args = [Arg::U64(dz), Arg::U64(db), Arg::U32(step.batch()), Arg::U32(10)];
    launch(bench, "sum_batch", 1, 8, &args)?;
    step.replace(TensorName::Db(2), bench.read(db, 10));
    Ok(step)
}

pub(crate) fn only_w1_updated(bench: &Bench) -> Result<Replaced, Fault> {
    use TensorName::{B, BNext, Db, Dw, W, WNext};
    let mut step = Replaced::new("softmax");
    let names = [W(1), B(1), W(2), B(2), Dw(1), Db(1), Dw(2), Db(2)];
    let mut args = names.map(|name| step.copy_to_device(bench, name)).to_vec();
    let counts = names[..4].iter().map(|&name| step.get(name).data().len());
    let counts: Vec<usize> = counts.collect();
    args.extend(counts.iter().map(|&count| Arg::U32(count as u32)));
    args.push(Arg::F32(step.reference.header.learning_rate));
    launch(bench, "update", (counts[0] as u32).div_ceil(256), 256, &args)?;
    for ((arg, next), count) in
        args.iter().zip([WNext(1), BNext(1), WNext(2), BNext(2)]).zip(counts)
    {
        let Arg::U64(address) = arg else { panic!("pointers come first") };
        step.replace(next, bench.read(*address, count));
    }
    Ok(step)
}

pub(crate) fn update_by_all(bench: &Bench) -> Result<Replaced, Fault> {
    let mut step = Replaced::new("softmax");
    let (w, dw) = (
        step.copy_to_device(bench, TensorName::W(2)),
        step.copy_to_device(bench, TensorName::Dw(2)),
    );
    let rate = Arg::F32(step.reference.header.learning_rate);
    launch(bench, "update", 3, 128, &[w, dw, Arg::U32(300), rate])?;
    let Arg::U64(address) = w else { panic!("a pointer") };
    step.replace(TensorName::WNext(2), bench.read(address, 300));
    Ok(step)
}
