//! The gallery of broken PTX, `ptx/gallery`: each fault is found by the assembler, by the sanitizer
//! or by the tensor diff, in the words that lie beside it as `<fault>.txt`, and its corrected twin,
//! `<fault>_fixed.ptx`, passes what its fault did not.
//!
//! `REFRESH=1` writes the texts anew; read the difference before it is kept.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Fault, Options, parse};
use support::{Arg, Bench, checked};
use tensor::{Dtype, Dump, Tensor, TensorName};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    let path = root().join("ptx/gallery").join(format!("{name}.ptx"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares what was said of a fault with what is written down.
fn expect(name: &str, found: &str) {
    let found = format!("{}\n", found.trim_end());
    let path = root().join("ptx/gallery").join(format!("{name}.txt"));
    if std::env::var_os("REFRESH").is_some() {
        tensor::file::write_atomically(&path, |out| out.write_all(found.as_bytes())).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert_eq!(found, written, "{name}: other words than those in {}", path.display());
}

fn bench(name: &str, options: Options) -> Bench {
    Bench::new(&format!("{name}.ptx"), &read(name), options)
}

/// Blocks in order on one thread, so that a report names the same threads each time.
fn in_order(options: Options) -> Options {
    Options { deterministic: true, ..options }
}

// ---- The assembler ------------------------------------------------------------------------------

#[test]
fn what_the_assembler_refuses() {
    for name in [
        "non_ascii_comment",
        "atom_without_destination",
        "mixed_widths",
        "non_constant_expression",
        "undeclared_register",
        "not_an_instruction",
        "div_without_rounding",
    ] {
        let check = |name: &str| parse(&Source { name: format!("{name}.ptx"), text: read(name) });
        let Err(diagnostics) = check(name) else { panic!("{name} is accepted") };
        let said: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        expect(name, &said.join("\n"));
        if let Err(diagnostics) = check(&format!("{name}_fixed")) {
            panic!("{}", diagnostics[0]);
        }
    }
}

// ---- The sanitizer ------------------------------------------------------------------------------

/// Addresses, which are longer than masks of lanes, differ from run to run.
fn without_addresses(fault: &Fault) -> String {
    let text = fault.to_string();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("0x") {
        let (before, number) = rest.split_at(at);
        let end =
            number[2..].find(|c: char| !c.is_ascii_hexdigit()).map_or(number.len(), |n| n + 2);
        out += before;
        out += if end > 2 + 8 { "0x..." } else { &number[..end] };
        rest = &number[end..];
    }
    out + rest
}

/// A fault, found by every check together, and its twin, of which they say nothing.
fn sanitized(name: &str, launch: impl Fn(&Bench) -> Result<(), Fault>) {
    sanitized_by(checked(), name, launch);
}

/// The same where the checks would find the fault more than once, and one of them is meant.
fn sanitized_by(options: Options, name: &str, launch: impl Fn(&Bench) -> Result<(), Fault>) {
    let Err(fault) = launch(&bench(name, in_order(options))) else {
        panic!("nothing is said of {name}")
    };
    expect(name, &without_addresses(&fault));
    if let Err(fault) = launch(&bench(&format!("{name}_fixed"), checked())) {
        panic!("{fault}");
    }
}

fn launch(
    bench: &Bench,
    kernel: &str,
    blocks: u32,
    threads: u32,
    args: &[Arg],
) -> Result<(), Fault> {
    bench.try_launch(kernel, [blocks, 1, 1], threads, 0, false, args).map(|_| ())
}

#[test]
fn a_generic_address_is_none_of_local_memory() {
    sanitized("generic_address_as_local", |bench| {
        let out = bench.room(1);
        launch(bench, "remember", 1, 1, &[Arg::U64(out)])?;
        assert_eq!(bench.read(out, 1), [1.0]);
        Ok(())
    });
}

#[test]
fn a_missing_barrier_is_a_race() {
    // The first thread that comes too early reads what nobody has written yet, which is another
    // finding.
    let checks = Checks { races: true, ..Checks::default() };
    sanitized_by(Options { checks, ..Options::default() }, "missing_barrier", |bench| {
        let numbers: Vec<f32> = (0..64_u8).map(f32::from).collect();
        let z = bench.floats(&numbers);
        launch(bench, "reverse", 1, 64, &[Arg::U64(z)])?;
        assert!(bench.read(z, 64).iter().rev().eq(&numbers));
        Ok(())
    });
}

#[test]
fn a_barrier_where_threads_part_is_found() {
    sanitized("divergent_barrier", |bench| {
        let z = bench.floats(&[-1.0; 32]);
        launch(bench, "relu", 1, 32, &[Arg::U64(z)])?;
        assert_eq!(bench.read(z, 32)[15..17], [0.0, -1.0]);
        Ok(())
    });
}

#[test]
fn an_index_out_of_range_is_found() {
    sanitized("index_out_of_range", |bench| {
        let z = bench.floats(&[-1.0; 40]);
        launch(bench, "relu", 2, 32, &[Arg::U64(z), Arg::U32(40)])?;
        assert_eq!(bench.read(z, 40), [0.0; 40]);
        Ok(())
    });
}

#[test]
fn a_wider_layer_overruns_a_local_array() {
    let run = |bench: &Bench, n: usize| {
        let (p, y) = (bench.floats(&vec![0.75; 2 * n]), bench.floats(&vec![0.5; 2 * n]));
        let dz = bench.room(2 * n);
        let args = [Arg::U64(p), Arg::U64(y), Arg::U64(dz), Arg::U32(n as u32)];
        launch(bench, "output_gradient", 1, 2, &args)?;
        assert_eq!(bench.read(dz, 2 * n), vec![0.25; 2 * n]);
        Ok(())
    };
    run(&bench("fixed_local_array", checked()), 16).expect("16 fit");
    sanitized("fixed_local_array", |bench| run(bench, 17));
}

#[test]
fn gradients_that_nobody_wrote_are_found() {
    let (count, samples) = (30, 4);
    let run = |written: bool| {
        let bench = bench("unwritten_gradients", in_order(checked()));
        let w = bench.floats(&vec![1.0; count]);
        let gradients = vec![0.25; samples * count];
        let buffer = if written { bench.floats(&gradients) } else { bench.room(samples * count) };
        let args = [Arg::U64(w), Arg::U64(buffer), Arg::U32(30), Arg::U32(4), Arg::F32(0.5)];
        launch(&bench, "update", 1, 32, &args)?;
        assert_eq!(bench.read(w, count), vec![0.5; count]);
        Ok::<_, Fault>(())
    };
    expect("unwritten_gradients", &without_addresses(&run(false).unwrap_err()));
    if let Err(fault) = run(true) {
        panic!("{fault}");
    }
}

// ---- The tensor diff ----------------------------------------------------------------------------

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
        (header.level, header.dtype) = ("level4-ptx".into(), Dtype::F32);
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
        let likely = divergence.pattern.map(|pattern| format!("\nLikely: {}.", pattern.text));
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

// ---- The sanitizer and the diff -----------------------------------------------------------------

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
    use TensorName::{A, Da, Dz, W};
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
        step.replace(Da(1), bench.read(da, 8 * 30));
        Ok::<_, Fault>(step.diff())
    };
    let race = run("weights_updated_in_place").expect_err("a race");
    expect("weights_updated_in_place", &without_addresses(&race));
    assert_eq!(run("weights_updated_in_place_fixed").unwrap(), None);
}

// ---- The gallery itself -------------------------------------------------------------------------

#[test]
fn every_fault_has_its_words_and_its_twin() {
    let folder = root().join("ptx/gallery");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(fault) = name.strip_suffix(".ptx").filter(|name| !name.ends_with("_fixed")) else {
            continue;
        };
        count += 1;
        assert!(folder.join(format!("{fault}.txt")).exists(), "{fault}.txt");
        // Here the kernel is right, and the host forgot to run another one before it.
        let lonely = fault == "unwritten_gradients";
        assert_eq!(folder.join(format!("{fault}_fixed.ptx")).exists(), !lonely, "{fault}");
    }
    assert_eq!(count, 19);
}
