//! The built-in digits: images that look handwritten, drawn by this program.
//!
//! [`shapes`] says how digits are written, [`hand`] writes one a little differently each time,
//! [`pen`] puts the strokes onto the pixels. All three use integers, single steps of `f32` (which
//! every platform rounds alike) and `libm`, so the images are the same bytes everywhere.

mod hand;
mod pen;
// Formatted, each of its points would stand on a line of its own.
#[rustfmt::skip]
mod shapes;

use rayon::prelude::*;

use crate::{CLASSES, Counts, Generator, Images, PIXELS, Purpose};

/// The seed of all built-in digits: there is one set of them, as there is one MNIST.
const SEED: u64 = 28;
/// The index of the first test image. Each image has the random numbers of its index, so no test
/// image is a training image, however many are drawn.
const FIRST_TEST_IMAGE: u64 = 1 << 32;

/// Draws the first images to train on and to test with, at most [`Counts::ALL`].
#[must_use]
pub fn built_in(counts: Counts) -> (Images, Images) {
    let all = Counts::ALL;
    (images(0, counts.train.min(all.train)), images(FIRST_TEST_IMAGE, counts.test.min(all.test)))
}

/// Draws `count` images from that index on, on all cores.
fn images(first: u64, count: usize) -> Images {
    let mut pixels = vec![0; count * PIXELS];
    let mut labels = vec![0; count];
    pixels.par_chunks_exact_mut(PIXELS).zip(&mut labels).enumerate().for_each(
        |(i, (image, label))| {
            let mut random = Generator::new(SEED, Purpose::Digits, first + i as u64);
            *label = random.below(CLASSES as u32) as u8;
            hand::write(*label, &mut random, image);
        },
    );
    Images::new(pixels, labels)
}
