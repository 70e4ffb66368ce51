//! Images of digits as bytes.

/// The width of an image in pixels.
pub const WIDTH: usize = 28;
/// The height of an image in pixels.
pub const HEIGHT: usize = 28;
/// The number of pixels of an image.
pub const PIXELS: usize = WIDTH * HEIGHT;
/// The number of classes: the digits 0 to 9.
pub const CLASSES: usize = 10;

/// The maximum numbers of images to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Images to train on.
    pub train: usize,
    /// Images to test with.
    pub test: usize,
}

impl Counts {
    /// All images. MNIST and the built-in digits have the same numbers.
    pub const ALL: Self = Self { train: 60_000, test: 10_000 };
}

/// Images of digits with their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Images {
    /// Images from `[N, 28·28]` pixels and `[N]` labels below 10. Callers have checked both.
    pub(crate) fn new(pixels: Vec<u8>, labels: Vec<u8>) -> Self {
        assert_eq!(pixels.len(), labels.len() * PIXELS, "each image has a label");
        debug_assert!(labels.iter().all(|&label| usize::from(label) < CLASSES));
        Self { pixels, labels }
    }

    /// The number of images, `N`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no image.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// All pixels, `[N, 28·28]`, row by row from the top; 0 is background, 255 is ink.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The digits that the images show, `[N]`, each from 0 to 9.
    #[must_use]
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// The pixels of one image, `[28·28]`.
    ///
    /// # Panics
    /// If there is no image `i`.
    #[must_use]
    pub fn image(&self, i: usize) -> &[u8] {
        &self.pixels[i * PIXELS..(i + 1) * PIXELS]
    }

    /// The width of an image in pixels, 28.
    #[must_use]
    pub const fn width(&self) -> usize {
        WIDTH
    }

    /// The height of an image in pixels, 28.
    #[must_use]
    pub const fn height(&self) -> usize {
        HEIGHT
    }

    /// The first `n` images, or all if there are fewer.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        let n = n.min(self.len());
        self.pixels.truncate(n * PIXELS);
        self.labels.truncate(n);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncating_keeps_the_first_images() {
        let images = Images::new((0..3).flat_map(|i| [i; PIXELS]).collect(), vec![7, 8, 9]);
        assert_eq!(images.image(1), [1; PIXELS]);
        assert_eq!(images.clone().truncated(5), images);
        let two = images.truncated(2);
        assert_eq!((two.len(), two.labels(), two.image(1)), (2, &[7, 8][..], &[1; PIXELS][..]));
        assert!(two.truncated(0).is_empty());
    }
}
