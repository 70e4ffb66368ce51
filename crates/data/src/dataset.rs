//! A data set of samples: rows of numbers, and a class for each.

use std::sync::Arc;

use rayon::prelude::*;

use crate::{CLASSES, DataError, Images, Normalisation, PIXELS};

/// A data set: `N` samples of `n0` features each, and their classes. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Dataset(Arc<Samples>);

#[derive(Debug)]
struct Samples {
    x: Vec<f32>,
    labels: Vec<u8>,
    features: usize,
    classes: usize,
}

impl Dataset {
    /// Converts images to a data set: rows of 784 normalised pixels, in 10 classes.
    #[must_use]
    pub fn new(images: &Images, normalisation: Normalisation) -> Self {
        let table = normalisation.table();
        let x = images.pixels().par_iter().map(|&pixel| table[usize::from(pixel)]).collect();
        let labels = images.labels().to_vec();
        Self(Arc::new(Samples { x, labels, features: PIXELS, classes: CLASSES }))
    }

    /// Makes a data set from numbers: `x` is `[N, features]`, row-major, `labels` is `[N]`.
    ///
    /// # Errors
    /// If `features` is 0, `classes` is not from 1 to 256, `x` doesn't have `features` numbers for each label, an
    /// element is NaN or infinite, or a label is not below `classes`.
    pub fn from_rows(
        x: Vec<f32>,
        labels: Vec<u8>,
        features: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        let error =
            |reason| Err(DataError::Unusable(format!("these rows are not a dataset: {reason}")));
        if features == 0 {
            return error("a row needs at least one feature".into());
        }
        if !(1..=256).contains(&classes) {
            return error(format!("there can be 1 to 256 classes, not {classes}"));
        }
        if Some(x.len()) != labels.len().checked_mul(features) {
            let plural =
                |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
            return error(format!(
                "{} of {} each do not match {}",
                plural(labels.len(), "label"),
                plural(features, "feature"),
                plural(x.len(), "number")
            ));
        }
        if let Some(i) = x.iter().position(|value| !value.is_finite()) {
            let (row, column, value) = (i / features, i % features, x[i]);
            return error(format!("feature {column} of row {row} is {value}, not a finite number"));
        }
        if let Some(row) = labels.iter().position(|&label| usize::from(label) >= classes) {
            return error(format!(
                "the label of row {row} is {}, but there are {classes} classes, from 0",
                labels[row]
            ));
        }
        Ok(Self(Arc::new(Samples { x, labels, features, classes })))
    }

    /// The number of samples, `N`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.labels.len()
    }

    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.labels.is_empty()
    }

    /// The number of features of a sample, `n0`.
    #[must_use]
    pub fn features(&self) -> usize {
        self.0.features
    }

    /// The number of classes, `C`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.0.classes
    }

    /// All samples, `[N, n0]`, row-major.
    #[must_use]
    pub fn x(&self) -> &[f32] {
        &self.0.x
    }

    /// The class of each sample, `[N]`, each below `C`.
    #[must_use]
    pub fn labels(&self) -> &[u8] {
        &self.0.labels
    }

    /// A hash of the shape, the samples and the classes. It is the same on every machine.
    #[must_use]
    pub fn digest(&self) -> u64 {
        // The FNV-1a hash, over 64-bit words instead of bytes.
        let step = |digest: u64, value: u64| (digest ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        let shape = [self.len(), self.features(), self.classes()].map(|size| size as u64);
        let x = self.x().iter().map(|value| u64::from(value.to_bits()));
        let labels = self.labels().iter().map(|&label| u64::from(label));
        shape.into_iter().chain(x).chain(labels).fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// One sample, `[n0]`.
    ///
    /// # Panics
    /// If there is no sample `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.0.x[i * self.0.features..(i + 1) * self.0.features]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_become_normalised_rows() {
        let images = Images::new((0..2 * PIXELS).map(|i| (i % 256) as u8).collect(), vec![3, 1]);
        let set = Dataset::new(&images, Normalisation::Unit);
        assert_eq!((set.len(), set.features(), set.classes()), (2, 784, 10));
        assert_eq!(set.labels(), [3, 1]);
        assert_eq!(set.row(1)[5], ((784 + 5) % 256) as f32 / 255.0);
        assert!(std::ptr::eq(set.clone().x(), set.x()), "a clone shares the memory");
    }

    #[test]
    fn invalid_rows_are_refused() {
        let reason = |x: &[f32], labels: &[u8], features, classes| {
            let error = Dataset::from_rows(x.to_vec(), labels.to_vec(), features, classes);
            error.unwrap_err().to_string()
        };
        assert!(Dataset::from_rows(vec![1.0, 2.0], vec![1], 2, 2).is_ok());
        assert!(Dataset::from_rows(vec![], vec![], 2, 2).unwrap().is_empty());
        assert_eq!(
            reason(&[1.0; 5], &[0, 1], 3, 2),
            "these rows are not a dataset: 2 labels of 3 features each do not match 5 numbers"
        );
        assert!(
            reason(&[1.0], &[0], 3, 2)
                .ends_with("1 label of 3 features each do not match 1 number")
        );
        assert!(reason(&[1.0; 2], &[0, 2], 1, 2).ends_with("there are 2 classes, from 0"));
        assert!(reason(&[0.0, 1.0, f32::NAN], &[0, 0, 0], 1, 1).contains("row 2 is NaN"));
        assert!(reason(&[], &[], 0, 1).contains("feature"));
        assert!(reason(&[], &[], 1, 0).contains("classes"));
        assert!(reason(&[], &[0, 0], usize::MAX, 1).contains("do not match"));
    }
}
