//! What the tensor diff says, and what it and the sanitizer say together.

use ptx_emulator::{Fault, Options};
use tensor::{Dtype, Dump, Tensor, TensorName};
use tensor_diff::PatternKind;

use crate::support::{Arg, Bench, checked};
use crate::{bench, expect, in_order, launch, root, without_addresses};

/// One step of a fixture as PyTorch made it, in single precision, in which one tensor after the
/// other is replaced by what a kernel makes of the others.
struct Replaced {
    reference: Dump,
    dump: Dump,
}

impl Replaced {
    fn new(fixture: &str) -> Self {
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

    fn get(&self, name: TensorName) -> Tensor {
        self.reference.get(name).unwrap().to_tensor()
    }

    /// The tensor, on the device.
    fn on(&self, bench: &Bench, name: TensorName) -> Arg {
        Arg::U64(bench.floats(self.get(name).data()))
    }

    fn batch(&self) -> u32 {
        self.get(TensorName::X).shape()[0] as u32
    }

    fn replace(&mut self, name: TensorName, data: Vec<f32>) {
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

    /// What the diff says first, or nothing where the two agree.
    fn diff(&self) -> Option<String> {
        let comparison = tensor_diff::compare(&self.reference, &self.dump, 1.0);
        let divergence = comparison.first_divergence?;
        let likely = divergence.pattern.map(|pattern| {
            let unexplained = pattern.kind == PatternKind::Unexplained;
            let word = if unexplained { "Unexplained" } else { "Likely" };
            format!("\n{word}: {}.", pattern.text)
        });
        Some(divergence.reading + &likely.unwrap_or_default())
    }
}

/// What the diff says of a kernel's output, and that it says nothing of the twin's.
fn diffed(name: &str, run: impl Fn(&Bench) -> Replaced) -> String {
    let said = run(&bench(name, in_order(Options::default()))).diff();
    let twin = run(&bench(&format!("{name}_fixed"), checked())).diff();
    assert_eq!(twin, None, "{name}_fixed");
    said.unwrap_or_else(|| panic!("the diff says nothing of {name}"))
}

fn output_gradient(bench: &Bench) -> Replaced {
    let mut step = Replaced::new("softmax");
    let n = step.get(TensorName::P).shape()[1] as u32;
    let count = step.batch() * n;
    let dz = bench.room(count as usize);
    let (p, y) = (step.on(bench, TensorName::P), step.on(bench, TensorName::Y));
    let args = [p, y, Arg::U64(dz), Arg::U32(step.batch()), Arg::U32(n)];
    launch(bench, "output_gradient", count.div_ceil(32), 32, &args).unwrap();
    step.replace(TensorName::Dz(2), bench.read(dz, count as usize));
    step
}

#[test]
fn row_zero_read_by_every_thread_is_named() {
    let output = diffed("row_zero", |bench| {
        let mut step = Replaced::new("softmax");
        let dz = bench.room(8 * 10);
        let (p, y) = (step.on(bench, TensorName::P), step.on(bench, TensorName::Y));
        let args = [p, y, Arg::U64(dz), Arg::U32(8), Arg::U32(10)];
        launch(bench, "output_gradient", 1, 32, &args).unwrap();
        step.replace(TensorName::Dz(2), bench.read(dz, 8 * 10));
        step
    });
    let mask = diffed("row_zero", |bench| {
        let mut step = Replaced::new("softmax");
        let dz = bench.room(8 * 30);
        let (da, z) = (step.on(bench, TensorName::Da(1)), step.on(bench, TensorName::Z(1)));
        let args = [da, z, Arg::U64(dz), Arg::U32(8), Arg::U32(30)];
        launch(bench, "relu_backward", 1, 32, &args).unwrap();
        step.replace(TensorName::Dz(1), bench.read(dz, 8 * 30));
        step
    });
    expect("row_zero", &format!("{output}\n\n{mask}"));
}

#[test]
fn a_missing_mean_is_named() {
    expect("missing_mean", &diffed("missing_mean", output_gradient));
}

#[test]
fn a_batch_that_is_not_full_must_not_be_filled_up() {
    let said = diffed("stale_rows", |bench| {
        // A full batch of 8 samples leaves its rows behind; then one of 7 arrives.
        let before = Replaced::new("softmax").get(TensorName::Dz(2));
        let mut step = Replaced::new("bce");
        let mut rows = step.get(TensorName::Dz(2)).into_data();
        rows.extend_from_slice(&before.data()[7 * 10..]);
        let (dz, db) = (bench.floats(&rows), bench.zeros(10));
        let args = [Arg::U64(dz), Arg::U64(db), Arg::U32(step.batch()), Arg::U32(10)];
        launch(bench, "sum_batch", 1, 8, &args).unwrap();
        step.replace(TensorName::Db(2), bench.read(db, 10));
        step
    });
    expect("stale_rows", &said);
}

#[test]
fn parameters_that_are_not_updated_are_named() {
    use TensorName::{B, BNext, Db, Dw, W, WNext};
    let said = diffed("only_w1_updated", |bench| {
        let mut step = Replaced::new("softmax");
        let names = [W(1), B(1), W(2), B(2), Dw(1), Db(1), Dw(2), Db(2)];
        let mut args = names.map(|name| step.on(bench, name)).to_vec();
        let counts = names[..4].iter().map(|&name| step.get(name).data().len());
        let counts: Vec<usize> = counts.collect();
        args.extend(counts.iter().map(|&count| Arg::U32(count as u32)));
        args.push(Arg::F32(step.reference.header.learning_rate));
        launch(bench, "update", (counts[0] as u32).div_ceil(256), 256, &args).unwrap();
        for ((arg, next), count) in
            args.iter().zip([WNext(1), BNext(1), WNext(2), BNext(2)]).zip(counts)
        {
            let Arg::U64(address) = arg else { panic!("pointers come first") };
            step.replace(next, bench.read(*address, count));
        }
        step
    });
    expect("only_w1_updated", &said);
}

#[test]
fn an_update_by_every_thread_is_a_race_and_too_much() {
    let run = |bench: &Bench| {
        let mut step = Replaced::new("softmax");
        let (w, dw) = (step.on(bench, TensorName::W(2)), step.on(bench, TensorName::Dw(2)));
        let rate = Arg::F32(step.reference.header.learning_rate);
        launch(bench, "update", 3, 128, &[w, dw, Arg::U32(300), rate])?;
        let Arg::U64(address) = w else { panic!("a pointer") };
        step.replace(TensorName::WNext(2), bench.read(address, 300));
        Ok::<_, Fault>(step)
    };
    let race = run(&bench("update_without_index", in_order(checked()))).err().expect("a race");
    let said = diffed("update_without_index", |bench| run(bench).unwrap());
    expect("update_without_index", &format!("{}\n\n{said}", without_addresses(&race)));
}

#[test]
fn weights_must_not_change_while_others_read_them() {
    use TensorName::{A, Da, Dz, W, Z};
    let run = |name: &str| {
        let bench = bench(name, in_order(checked()));
        let mut step = Replaced::new("softmax");
        let da = bench.room(8 * 30);
        let args = [
            step.on(&bench, Dz(2)),
            step.on(&bench, A(1)),
            step.on(&bench, W(2)),
            Arg::U64(da),
            Arg::U32(10),
            Arg::U32(30),
            if name.ends_with("_fixed") { Arg::U64(bench.zeros(300)) } else { Arg::F32(0.1) },
        ];
        launch(&bench, "backward", 1, 8, &args)?;
        let da = bench.read(da, 8 * 30);
        // What is made of it has to be made of this one.
        let z = step.get(Z(1));
        let masked = da.iter().zip(z.data()).map(|(da, z)| if *z > 0.0 { *da } else { 0.0 });
        step.replace(Dz(1), masked.collect());
        step.replace(Da(1), da);
        Ok::<_, Fault>(step.diff())
    };
    let race = run("weights_updated_in_place").expect_err("a race");
    expect("weights_updated_in_place", &without_addresses(&race));
    assert_eq!(run("weights_updated_in_place_fixed").unwrap(), None);
}
