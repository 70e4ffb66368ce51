//! The built-in digits: images that look handwritten, drawn by this program.
//!
//! [`shapes`] has the strokes of each digit, [`hand`] varies them, and [`pen`] draws them as
//! pixels. All three only use integers, single operations on `f32` (which every platform rounds
//! alike) and `libm`, so the images are the same bytes everywhere.

mod hand;
mod pen;
mod shapes;

use rayon::prelude::*;

use crate::{CLASSES, Counts, Generator, Images, PIXELS, Purpose};

/// The seed of all built-in digits. It is fixed: like MNIST, the built-in digits are one data set.
const SEED: u64 = 28;
/// The index of the first test image. The index of an image selects its random numbers, so a test image never equals a
/// training image, however many of each are drawn.
const FIRST_TEST_IMAGE: u64 = 1 << 32;

/// Draws the first `counts` training images and test images, at most [`Counts::ALL`].
#[must_use]
pub fn built_in(counts: Counts) -> (Images, Images) {
    let all = Counts::ALL;
    (images(0, counts.train.min(all.train)), images(FIRST_TEST_IMAGE, counts.test.min(all.test)))
}

/// Draws `count` images from the index `first` on, on all cores.
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
