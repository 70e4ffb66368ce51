//! Epochs and batches: the order of a data set's samples, and its division into batches.

use std::ops::Range;

use crate::{Dataset, Generator, Purpose};

/// One pass over a dataset, cut into batches.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// The order of the samples; `None` if they keep the data set's order.
    order: Option<Vec<u32>>,
    len: usize,
    batch_size: usize,
    batches: usize,
}

impl Epoch {
    /// A pass over `len` samples in the order of the data set. If the last batch is not full, `drop_last`
    /// skips it; otherwise it is smaller than the others.
    ///
    /// # Panics
    /// If `batch_size` is 0.
    #[must_use]
    pub fn in_order(len: usize, batch_size: usize, drop_last: bool) -> Self {
        assert!(batch_size > 0, "a batch has at least one sample");
        let batches = if drop_last { len / batch_size } else { len.div_ceil(batch_size) };
        Self { order: None, len, batch_size, batches }
    }

    /// A pass over `len` samples in a random order, which depends on the seed and the number of the epoch.
    ///
    /// # Panics
    /// If `batch_size` is 0, or there are 2³² samples or more.
    #[must_use]
    pub fn shuffled(len: usize, batch_size: usize, drop_last: bool, seed: u64, epoch: u64) -> Self {
        let end = u32::try_from(len).expect("fewer than 2^32 samples are shuffled");
        let mut order: Vec<u32> = (0..end).collect();
        Generator::new(seed, Purpose::Shuffle, epoch).shuffle(&mut order);
        Self { order: Some(order), ..Self::in_order(len, batch_size, drop_last) }
    }

    /// The number of batches.
    #[must_use]
    pub const fn batches(&self) -> usize {
        self.batches
    }

    /// All batches, in order.
    ///
    /// # Panics
    /// If the epoch was made for more samples than the data set has.
    #[must_use]
    pub fn all<'a>(&'a self, dataset: &'a Dataset) -> Vec<Batch<'a>> {
        (0..self.batches).map(|k| self.batch(dataset, k)).collect()
    }

    /// Batch `k`, counted from 0.
    ///
    /// # Panics
    /// If there is no batch `k`, or the epoch was made for more samples than the data set has.
    #[must_use]
    pub fn batch<'a>(&'a self, dataset: &'a Dataset, k: usize) -> Batch<'a> {
        assert!(self.len <= dataset.len(), "an epoch has no more samples than its dataset");
        assert!(k < self.batches, "there is no batch {k} of {}", self.batches);
        let start = k * self.batch_size;
        let end = self.len.min(start + self.batch_size);
        let rows = match &self.order {
            None => Rows::Consecutive { start, len: end - start },
            Some(order) => Rows::Listed(&order[start..end]),
        };
        Batch { dataset, rows }
    }
}

/// A batch: `B` samples of a data set, in a certain order.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    dataset: &'a Dataset,
    rows: Rows<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Rows<'a> {
    Consecutive { start: usize, len: usize },
    Listed(&'a [u32]),
}

impl<'a> Batch<'a> {
    /// The number of samples, `B`.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.rows {
            Rows::Consecutive { len, .. } => len,
            Rows::Listed(rows) => rows.len(),
        }
    }

    /// Whether there are no samples. Only a [`part`](Self::part) of a batch can be empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A smaller batch of the samples at these positions in this batch.
    ///
    /// # Panics
    /// If the range isn't within the batch.
    #[must_use]
    pub fn part(&self, places: Range<usize>) -> Self {
        let rows = match self.rows {
            Rows::Consecutive { start, len } => {
                assert!(places.start <= places.end && places.end <= len, "{places:?} of {len}");
                Rows::Consecutive { start: start + places.start, len: places.len() }
            }
            Rows::Listed(rows) => Rows::Listed(&rows[places]),
        };
        Self { rows, ..*self }
    }

    /// The dataset that the samples are taken from.
    #[must_use]
    pub const fn dataset(&self) -> &'a Dataset {
        self.dataset
    }

    /// The samples' row numbers in the data set.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        let rows = self.rows;
        (0..self.len()).map(move |i| match rows {
            Rows::Consecutive { start, .. } => start + i,
            Rows::Listed(rows) => rows[i] as usize,
        })
    }

    /// The samples' range of rows in the data set, if the rows are consecutive. Then the samples are
    /// `dataset().x()[range.start * n0..range.end * n0]`, and need not be copied.
    #[must_use]
    pub fn contiguous(&self) -> Option<Range<usize>> {
        match self.rows {
            Rows::Consecutive { start, len } => Some(start..start + len),
            Rows::Listed(_) => None,
        }
    }

    /// Copies the samples, `[B, n0]`, row-major.
    ///
    /// # Panics
    /// If `x` doesn't have `B·n0` elements.
    pub fn copy_x(&self, x: &mut [f32]) {
        let features = self.dataset.features();
        assert_eq!(x.len(), self.len() * features, "x is [B, n0]");
        match self.contiguous() {
            Some(Range { start, end }) => {
                x.copy_from_slice(&self.dataset.x()[start * features..end * features]);
            }
            None => {
                for (row, i) in x.chunks_exact_mut(features).zip(self.indices()) {
                    row.copy_from_slice(self.dataset.row(i));
                }
            }
        }
    }

    // ANCHOR: one_hot
    /// Writes the targets, `[B, C]`, row-major: one-hot rows with 1 at the class of the sample.
    ///
    /// # Panics
    /// If `y` doesn't have `B·C` elements.
    pub fn copy_y(&self, y: &mut [f32]) {
        let classes = self.dataset.classes();
        assert_eq!(y.len(), self.len() * classes, "y is [B, C]");
        y.fill(0.0);
        for (row, label) in y.chunks_exact_mut(classes).zip(self.labels()) {
            row[usize::from(label)] = 1.0;
        }
    }
    // ANCHOR_END: one_hot

    /// The classes of the samples.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = u8> + use<'a> {
        let labels = self.dataset.labels();
        self.indices().map(move |i| labels[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten samples of two features, `[i, -i]`, of classes `i mod 3`.
    fn set() -> Dataset {
        let x = (0..10_u8).flat_map(|i| [f32::from(i), -f32::from(i)]).collect();
        Dataset::from_rows(x, (0..10).map(|i| i % 3).collect(), 2, 3).unwrap()
    }

    fn copied(batch: Batch<'_>) -> (Vec<f32>, Vec<f32>) {
        // The old contents of the buffers must be overwritten.
        let (mut x, mut y) = (vec![7.0; batch.len() * 2], vec![7.0; batch.len() * 3]);
        batch.copy_x(&mut x);
        batch.copy_y(&mut y);
        (x, y)
    }

    #[test]
    fn batches_in_order_are_contiguous() {
        let set = set();
        let epoch = Epoch::in_order(10, 4, false);
        assert_eq!(epoch.batches(), 3);
        let last = epoch.batch(&set, 2);
        assert_eq!(last.contiguous(), Some(8..10));
        assert!(last.indices().eq(8..10));
        assert_eq!(copied(last), (vec![8.0, -8.0, 9.0, -9.0], vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0]));
        assert_eq!(Epoch::in_order(10, 4, true).batches(), 2);
        assert_eq!(Epoch::in_order(10, 5, true).batches(), 2);
        assert_eq!(Epoch::in_order(3, 4, true).batches(), 0);
        assert_eq!(Epoch::in_order(0, 4, false).batches(), 0);
    }

    #[test]
    fn a_shuffled_epoch_shows_each_sample_once() {
        let set = set();
        let epoch = Epoch::shuffled(10, 4, false, 1, 0);
        let mut seen: Vec<usize> =
            (0..3).flat_map(|k| epoch.batch(&set, k).indices().collect::<Vec<_>>()).collect();
        assert!(seen.iter().copied().ne(0..10));
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..10));

        let batch = epoch.batch(&set, 1);
        assert_eq!(batch.contiguous(), None);
        let (x, y) = copied(batch);
        for (i, (index, label)) in batch.indices().zip(batch.labels()).enumerate() {
            assert_eq!(x[2 * i..2 * i + 2], *set.row(index));
            assert_eq!(usize::from(label), index % 3);
            assert_eq!(y[3 * i + usize::from(label)], 1.0);
            assert_eq!(y[3 * i..3 * i + 3].iter().sum::<f32>(), 1.0);
        }
    }

    #[test]
    fn a_part_has_the_samples_at_its_positions() {
        let set = set();
        for epoch in [Epoch::in_order(10, 7, false), Epoch::shuffled(10, 7, false, 1, 0)] {
            let batch = epoch.batch(&set, 1);
            let all: Vec<usize> = batch.indices().collect();
            for places in [0..3, 1..2, 2..2, 3..3] {
                let part = batch.part(places.clone());
                assert!(part.indices().eq(all[places.clone()].iter().copied()), "{places:?}");
                assert_eq!(part.is_empty(), places.is_empty());
            }
        }
    }

    #[test]
    #[should_panic(expected = "1..4 of 3")]
    fn a_part_outside_of_the_batch_is_refused() {
        let _ = Epoch::in_order(10, 7, false).batch(&set(), 1).part(1..4);
    }

    #[test]
    fn the_order_depends_on_seed_and_epoch() {
        let set = set();
        let order = |seed, epoch| {
            let epoch = Epoch::shuffled(10, 10, false, seed, epoch);
            epoch.batch(&set, 0).indices().collect::<Vec<_>>()
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
    }

    #[test]
    #[should_panic(expected = "no more samples than its dataset")]
    fn an_epoch_of_a_larger_dataset_is_refused() {
        let _ = Epoch::in_order(11, 4, false).batch(&set(), 0);
    }
}
