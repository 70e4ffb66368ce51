//! All readers of files from users.

use std::path::Path;
use std::slice;

use autograd::{Activation, Device, Mlp};
use data::{Counts, Generator, Purpose, Source};
use emulated_gpu_test_support::files;
use tensor::{Dump, DumpedTensor};
use training::dump::Inputs;
use training::{Preset, checkpoint, picture};

/// Passes an input to a reader, which the input's first byte chooses.
pub fn run(bytes: &[u8]) {
    let Some((&reader, bytes)) = bytes.split_first() else { return };
    match reader {
        b'i' => idx(bytes),
        b'd' => dump(bytes),
        b's' => safetensors(bytes),
        b'j' => autograd_file("parameters.json", bytes),
        b't' => autograd_file("parameters.safetensors", bytes),
        b'p' => png(bytes),
        _ => {}
    }
}

/// Reads files of images and labels, plain or gzipped. The first two bytes of the input are the length of the image
/// file. No input of libFuzzer is MNIST, so the reader must reject well-formed files by their digests.
fn idx(bytes: &[u8]) {
    let Some((length, bytes)) = bytes.split_first_chunk() else { return };
    let (images, labels) =
        bytes.split_at(usize::from(u16::from_le_bytes(*length)).min(bytes.len()));
    for (name, bytes) in [
        ("train-images-idx3-ubyte", images),
        ("train-labels-idx1-ubyte", labels),
        ("t10k-images-idx3-ubyte", images),
        ("t10k-labels-idx1-ubyte", labels),
    ] {
        files::file(name, bytes);
    }
    let read = data::load(Source::Mnist, Some(files::folder()), Counts::ALL, &mut |_| {});
    let message = read.expect_err("only MNIST is accepted").to_string();
    assert!(!message.is_empty());
}

/// Reads a dump. If it can be read, it is compared with itself and used as input, and has to be the same after it was
/// written and read again.
fn dump(bytes: &[u8]) {
    let path = files::file("dump.json", bytes);
    let Ok(dump) = Dump::read(&path) else { return };
    let copy = files::folder().join("copy.json.gz");
    dump.write(&copy).expect("a dump that was read can be written");
    let again = Dump::read(&copy).expect("a dump that was written can be read");
    assert_eq!(dump.header, again.header);
    assert!(is_same(&dump.tensors, &again.tensors), "{dump:?}\nbecame\n{again:?}");

    let reference = Some((path.as_path(), slice::from_ref(&dump)));
    let candidate = (copy.as_path(), slice::from_ref(&again));
    let found = tensor_diff::judge_files(reference.map(|(_, run)| run), [candidate], 1.0)
        .expect("single dumps can be compared");
    let (mut text, mut json) = (Vec::new(), Vec::new());
    tensor_diff::write_text(&mut text, reference, &found).expect("memory");
    tensor_diff::write_json(&mut json, reference, &found).expect("memory");

    let _ = Inputs::from_dump(&dump, &mut Preset::presets().remove(0));
}

/// Whether the tensors are equal bit by bit, except that all NaNs count as equal.
fn is_same(one: &[DumpedTensor], other: &[DumpedTensor]) -> bool {
    let bits = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| {
            let data = a.data.iter().map(|&v| bits(v)).eq(b.data.iter().map(|&v| bits(v)));
            a.name == b.name && a.shape == b.shape && data
        })
}

/// Reads a model. If it can be read, it has to be the same after it was written and read again.
fn safetensors(bytes: &[u8]) {
    let path = files::file("model.safetensors", bytes);
    let saved = checkpoint::Checkpoint::read(&path);
    let Ok(preset) = saved.and_then(|saved| saved.preset()) else { return };
    let Ok(parameters) = checkpoint::load(&path, &preset.network) else { return };
    let copy = files::folder().join("copy.safetensors");
    checkpoint::save(&copy, &parameters, &preset).expect("what was read can be written");
    let again = checkpoint::load(&copy, &preset.network).expect("what was written can be read");
    for (one, other) in parameters.layers.iter().zip(&again.layers) {
        assert_eq!((one.w.data(), one.b.data()), (other.w.data(), other.b.data()));
    }
}

/// Reads a file into the parameters of a network with two layers.
fn autograd_file(name: &str, bytes: &[u8]) {
    let path = files::file(name, bytes);
    let network = Mlp::<f32>::new(
        &[2, 3, 1],
        Activation::Relu,
        &mut Generator::new(1, Purpose::Parameters, 0),
    )
    .to(&Device::Cpu);
    if autograd::load(&path, &network).is_ok() {
        autograd::save(&path, &network).expect("what was read can be written");
        autograd::load(&path, &network).expect("what was written can be read");
    }
}

/// Skips pictures with more than a quarter of a million pixels, because they take long and don't find more than small
/// ones. Pictures that are too large to be read at all are rejected quickly, so they aren't skipped.
fn png(bytes: &[u8]) {
    let side =
        |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    if let (Some(width), Some(height)) = (side(16), side(20)) {
        let slow = u64::from(width) * u64::from(height) > 1 << 18;
        if slow && width.max(height) <= 4096 {
            return;
        }
    }
    let path: &Path = &files::file("digit.png", bytes);
    let _ = picture::read_digit(path);
}
