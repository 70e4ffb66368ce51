//! Comparison of `x` and `y` with MNIST's files, for dumps that say which samples they hold.
//!
//! A step's batch is given, so nothing in a dump shows that it is another one than it should be. Here the
//! files are read anew, by no code of the levels.

use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use host::input;
use tensor::{Dump, Samples, TensorName};

/// MNIST's training images have 47 MB.
const MAX_BYTES: u64 = 1 << 26;
const CLASSES: usize = 10;

/// MNIST's training set can't be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// Where the batches of these runs differ from MNIST, a sentence for each tensor. Without a folder, and for
/// dumps that don't say which samples they hold, there is nothing to compare.
///
/// # Errors
/// If a dump says which samples it holds, and the folder has no such files.
pub(crate) fn differences(
    runs: &[(&Path, &[Dump])],
    folder: Option<&Path>,
) -> Result<Vec<String>, Unreadable> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let mut set = None;
    let mut found = Vec::new();
    for &(path, run) in runs {
        for dump in run {
            let Some(samples) = &dump.header.mnist else { continue };
            let set = match &mut set {
                Some(set) => set,
                none => none.insert(Set::read(folder)?),
            };
            let sentences = set.compare(dump, samples);
            found.extend(
                sentences.into_iter().map(|said| {
                    format!("{}, step {}: {said}", host::shown(path), dump.header.step)
                }),
            );
        }
    }
    Ok(found)
}

/// The training set.
struct Set {
    images: Vec<u8>,
    pixels: usize,
    labels: Vec<u8>,
}

impl Set {
    fn read(folder: &Path) -> Result<Self, Unreadable> {
        let (images, lengths) = read_idx(folder, "train-images-idx3-ubyte", 3)?;
        let pixels = lengths[1] * lengths[2];
        let (labels, _) = read_idx(folder, "train-labels-idx1-ubyte", 1)?;
        Ok(Self { images, pixels, labels })
    }

    /// What is wrong with a batch.
    fn compare(&self, dump: &Dump, samples: &Samples) -> Vec<String> {
        let count = samples.rows.len();
        let known = self.labels.len().min(self.images.len() / self.pixels.max(1));
        if let Some(row) = samples.rows.iter().find(|&&row| row as usize >= known) {
            return vec![format!("its header names sample {row}, and MNIST has {known}")];
        }
        let mut x = Vec::with_capacity(count * self.pixels);
        let mut y = vec![0.0; count * CLASSES];
        for (i, &row) in samples.rows.iter().enumerate() {
            let image = &self.images[row as usize * self.pixels..][..self.pixels];
            x.extend(
                image.iter().map(|&pixel| f64::from(normalised(pixel, &samples.normalisation))),
            );
            y[i * CLASSES + usize::from(self.labels[row as usize]).min(CLASSES - 1)] = 1.0;
        }
        let expected = [(TensorName::X, x, self.pixels), (TensorName::Y, y, CLASSES)];
        let wrong = expected.iter().filter_map(|(name, expected, width)| {
            let found = dump.get(*name)?;
            if found.shape != [count, *width] {
                return Some(format!(
                    "{name} has the shape {:?}, and its header names {count} samples of MNIST",
                    found.shape
                ));
            }
            let differs = |&i: &usize| found.data[i].to_bits() != expected[i].to_bits();
            let mut wrong = (0..expected.len()).filter(differs);
            let first = wrong.next()?;
            let (row, column) = (first / width, first % width);
            Some(format!(
                "{name} is not what MNIST has: {name}[{row}, {column}] is {}, and sample {} has {} there, as in \
                 {} of {} elements",
                found.data[first] as f32,
                samples.rows[row],
                expected[first] as f32,
                1 + wrong.count(),
                expected.len()
            ))
        });
        wrong.collect()
    }
}

/// What a pixel becomes, with each step rounded to single precision.
fn normalised(pixel: u8, normalisation: &str) -> f32 {
    let unit = f32::from(pixel) / 255.0;
    if normalisation == "unit" { unit } else { (unit - 0.1307) / 0.3081 }
}

/// The bytes of an IDX file, plain or gzipped, and the length of each axis.
fn read_idx(folder: &Path, name: &str, axes: usize) -> Result<(Vec<u8>, Vec<usize>), Unreadable> {
    let plain = folder.join(name);
    let path = if plain.exists() { plain } else { folder.join(format!("{name}.gz")) };
    let unreadable = |reason: String| Unreadable { path: path.clone(), reason };
    let file =
        input::open_up_to(&path, MAX_BYTES).map_err(|error| unreadable(error.to_string()))?;
    let bytes = input::read_packed(file, MAX_BYTES, MultiGzDecoder::new, |_| false)
        .map_err(|error| unreadable(error.to_string()))?;
    // Two zeros, the type (8: bytes), the number of axes, then the length of each as a big-endian u32.
    let start = 4 + 4 * axes;
    if bytes.len() < start || bytes[..4] != [0, 0, 8, axes as u8] {
        return Err(unreadable(format!("it is no IDX file of bytes on {axes} axes")));
    }
    let length = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let lengths: Vec<usize> = (0..axes).map(|axis| length(4 + 4 * axis) as usize).collect();
    let promised = lengths.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
    if promised != Some(bytes.len() - start) {
        return Err(unreadable(format!(
            "its header promises {lengths:?} bytes, and it has others"
        )));
    }
    Ok((bytes[start..].to_vec(), lengths))
}
