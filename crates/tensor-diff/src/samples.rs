//! Comparison of `x` and `y` with MNIST's files, for dumps that name their samples.
//!
//! A step's batch is given, so nothing in a dump shows that it is the wrong batch. This module has a separate reader
//! for MNIST's files, which shares no code with the levels.

use std::path::Path;

use flate2::read::MultiGzDecoder;
use host::input;
use tensor::{Dump, Samples, TensorName};

use crate::Failure;

/// The largest accepted file; MNIST's training images have 47 MB.
const MAX_BYTES: u64 = 1 << 26;
const CLASSES: usize = 10;

/// A sentence for each tensor of these runs' batches that differs from MNIST; none without a folder, or for dumps
/// that don't name their samples.
///
/// # Errors
/// If a dump names its samples, and the folder has no files of MNIST.
pub(crate) fn differences(
    runs: &[(&Path, &[Dump])],
    folder: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let mut set = None;
    let mut found = Vec::new();
    let steps = runs.iter().flat_map(|&(path, run)| run.iter().map(move |dump| (path, dump)));
    for (path, dump) in steps {
        let Some(samples) = &dump.header.mnist else { continue };
        let set = match &mut set {
            Some(set) => set,
            none => none.insert(Set::read(folder)?),
        };
        let at = format!("{}, step {}", host::shown(path), dump.header.step);
        let sentences = set.compare(dump, samples).into_iter();
        found.extend(sentences.map(|sentence| format!("{at}: {sentence}")));
    }
    Ok(found)
}

/// The right value of an element, by the number of its sample and its column.
type Expected<'a> = dyn Fn(u32, usize) -> f32 + 'a;

/// The training set.
struct Set {
    images: Vec<u8>,
    pixels: usize,
    labels: Vec<u8>,
}

impl Set {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let (images, lengths) = read_idx(folder, "train-images-idx3-ubyte", 3)?;
        let pixels = lengths[1] * lengths[2];
        let (labels, _) = read_idx(folder, "train-labels-idx1-ubyte", 1)?;
        Ok(Self { images, pixels, labels })
    }

    /// A sentence for each tensor of a batch that is wrong.
    fn compare(&self, dump: &Dump, Samples { normalisation, rows }: &Samples) -> Vec<String> {
        let known = self.labels.len().min(self.images.len() / self.pixels.max(1));
        if let Some(row) = rows.iter().find(|&&row| row as usize >= known) {
            return vec![format!("its header names sample {row}, and MNIST has {known}")];
        }
        let inputs = (0..=u8::MAX).map(|pixel| normalised(pixel, normalisation));
        let Some(inputs) = inputs.collect::<Option<Vec<f32>>>() else {
            return vec![format!(
                "its header names the normalisation {}, which is neither unit nor mean-std",
                host::shown(normalisation)
            )];
        };
        let pixel = |row: u32, i| inputs[usize::from(self.images[row as usize * self.pixels + i])];
        let target = |row: u32, class| f32::from(usize::from(self.labels[row as usize]) == class);
        let tensors: [(TensorName, usize, &Expected<'_>); 2] =
            [(TensorName::X, self.pixels, &pixel), (TensorName::Y, CLASSES, &target)];
        let wrong = tensors.iter().filter_map(|(name, width, expected)| {
            let found = dump.get(*name)?;
            if found.shape != [rows.len(), *width] {
                return Some(format!(
                    "{name} has the shape {:?}, and its header names {} samples of MNIST",
                    found.shape,
                    rows.len()
                ));
            }
            let expected = |i: usize| expected(rows[i / width], i % width);
            let differs = |&i: &usize| found.data[i].to_bits() != f64::from(expected(i)).to_bits();
            let mut wrong = (0..found.data.len()).filter(differs);
            let first = wrong.next()?;
            let (row, column) = (first / width, first % width);
            Some(format!(
                "{name} differs from MNIST: {name}[{row}, {column}] is {}, and sample {} has {} there, as in \
                 {} of {} elements",
                found.data[first] as f32,
                rows[row],
                expected(first),
                1 + wrong.count(),
                found.data.len()
            ))
        });
        wrong.collect()
    }
}

/// A pixel's input value, with each step rounded to single precision; `None` for an unknown normalisation.
fn normalised(pixel: u8, normalisation: &str) -> Option<f32> {
    let unit = f32::from(pixel) / 255.0;
    match normalisation {
        "unit" => Some(unit),
        "mean-std" => Some((unit - 0.1307) / 0.3081),
        _ => None,
    }
}

/// The bytes of an IDX file, plain or gzipped, and the length of each axis.
fn read_idx(folder: &Path, name: &str, axes: usize) -> Result<(Vec<u8>, Vec<usize>), Failure> {
    let plain = folder.join(name);
    let path = if plain.exists() { plain } else { folder.join(format!("{name}.gz")) };
    let unreadable = |reason: String| Failure::Mnist { path: path.clone(), reason };
    let file =
        input::open_up_to(&path, MAX_BYTES).map_err(|error| unreadable(error.to_string()))?;
    let bytes = input::read_packed(file, MAX_BYTES, MultiGzDecoder::new, |_| false)
        .map_err(|error| unreadable(error.to_string()))?;
    // Two zeros, the type (8: bytes), the number of axes, then the length of each as a big-endian u32.
    let start = 4 + 4 * axes;
    if bytes.len() < start || bytes[..4] != [0, 0, 8, axes as u8] {
        return Err(unreadable(format!("it is not an IDX file of bytes with {axes} axes")));
    }
    let length = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let lengths: Vec<usize> = (0..axes).map(|axis| length(4 + 4 * axis) as usize).collect();
    let promised = lengths.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
    if promised != Some(bytes.len() - start) {
        return Err(unreadable(format!(
            "its length doesn't fit its header, which promises {lengths:?} bytes"
        )));
    }
    Ok((bytes[start..].to_vec(), lengths))
}
