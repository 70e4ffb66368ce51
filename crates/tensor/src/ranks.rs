//! Combines the dumps of several ranks that computed a step together. Each dump contains the rank's share of the batch,
//! and the tensors that all ranks have. The combined dump has the whole batch.

use std::fmt;

use crate::{Dump, DumpedTensor, Header, Samples, TensorName};

/// The combined dumps of all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// The step on the whole batch: shares in the order of the ranks, and the first rank's values of the tensors
    /// that all ranks have.
    pub dump: Dump,
    /// The tensors that differ between ranks although they should be the same.
    pub differences: Vec<RankDifference>,
}

/// A tensor whose bits differ between a rank and the first rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankDifference {
    /// The step.
    pub step: u64,
    /// The tensor.
    pub tensor: TensorName,
    /// The rank.
    pub rank: u64,
    /// The flat index of the first element that differs.
    pub at: usize,
    /// The value of that element on the rank, and on the first rank.
    pub values: (f64, f64),
    /// The number of elements that differ, and the number of all elements.
    pub elements: (usize, usize),
}

impl fmt::Display for RankDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, tensor, rank, at, values: (here, first), elements: (apart, all) } = self;
        write!(
            f,
            "{tensor} of rank {rank} is not that of rank 0 (step {step}): {apart} of {all} elements \
             differ, the first at {at}, {here:e} instead of {first:e}"
        )
    }
}

impl TensorName {
    /// Whether the tensor has a row for each sample of the batch.
    #[must_use]
    pub const fn has_a_row_for_each_sample(&self) -> bool {
        matches!(
            self,
            Self::X | Self::Y | Self::Z(_) | Self::A(_) | Self::P | Self::Dz(_) | Self::Da(_)
        )
    }
}

impl Header {
    /// Converts a rank's header to the header of the combined dump of all ranks.
    #[must_use]
    pub fn of_all_ranks(&self) -> Self {
        Self { rank: None, mnist: None, not_materialised: Vec::new(), ..self.clone() }
    }
}

impl Dump {
    /// Combines the dumps of all ranks of a step, in the order of the ranks.
    ///
    /// # Errors
    /// If a rank is missing, the dumps are of different steps or runs, or a tensor's shapes on two ranks can't be
    /// combined.
    pub fn of_ranks(parts: &[&Self]) -> Result<Assembled, String> {
        let first = parts.first().ok_or("there is no rank")?;
        let header = first.header.of_all_ranks();
        for (rank, part) in parts.iter().enumerate() {
            let (has, of) = (part.header.rank, part.header.world_size);
            if has != Some(rank as u64) || of != Some(parts.len() as u64) {
                return Err(format!("rank {rank} of {} is missing", parts.len()));
            }
            if part.header.of_all_ranks() != header {
                return Err(format!(
                    "ranks 0 and {rank} are not of one step: level, device, preset, loss, dtype, \
                     seed, step and learning rate are the same on all"
                ));
            }
        }
        let mut whole = Self::new(header);
        whole.header.mnist = samples(parts);
        let mut differences = Vec::new();
        let is_absent =
            |name| parts.iter().any(|part| part.header.not_materialised.contains(&name));
        for name in parts.iter().flat_map(|part| part.header.not_materialised.iter().copied()) {
            if !whole.header.not_materialised.contains(&name) {
                whole.header.not_materialised.push(name);
            }
        }
        for tensor in first.tensors.iter().filter(|tensor| !is_absent(tensor.name)) {
            let name = tensor.name;
            let all: Option<Vec<_>> = parts.iter().map(|part| part.get(name)).collect();
            // If a rank lacks the tensor without declaring it as not materialised, the combined dump lacks it too.
            let Some(all) = all else { continue };
            if name.has_a_row_for_each_sample() {
                whole.tensors.push(rows(&all)?);
                continue;
            }
            for (rank, other) in (0..).zip(&all) {
                differences.extend(difference(whole.header.step, rank, tensor, other)?);
            }
            whole.tensors.push(tensor.clone());
        }
        Ok(Assembled { dump: whole, differences })
    }
}

/// The samples of all ranks, if every rank's dump names its samples.
fn samples(parts: &[&Dump]) -> Option<Samples> {
    let normalisation = parts.first()?.header.mnist.as_ref()?.normalisation.clone();
    let mut rows = Vec::new();
    for part in parts {
        let samples = part.header.mnist.as_ref()?;
        if samples.normalisation != normalisation {
            return None;
        }
        rows.extend_from_slice(&samples.rows);
    }
    Some(Samples { normalisation, rows })
}

/// Concatenates a tensor's rows on all ranks, in the order of the ranks.
fn rows(all: &[&DumpedTensor]) -> Result<DumpedTensor, String> {
    let name = all[0].name;
    let mut whole = DumpedTensor { name, shape: all[0].shape.clone(), data: Vec::new() };
    let mut samples = 0;
    for (rank, part) in all.iter().enumerate() {
        if part.shape.is_empty() || part.shape[1..] != whole.shape[1..] {
            let (here, first) = (&part.shape, &all[0].shape);
            return Err(format!("{name} is {here:?} on rank {rank} and {first:?} on rank 0"));
        }
        samples += part.shape[0];
        whole.data.extend_from_slice(&part.data);
    }
    whole.shape[0] = samples;
    Ok(whole)
}

/// The difference of a rank's tensor from the first rank's, if there is one.
fn difference(
    step: u64,
    rank: u64,
    first: &DumpedTensor,
    other: &DumpedTensor,
) -> Result<Option<RankDifference>, String> {
    let tensor = first.name;
    if first.shape != other.shape {
        let (here, first) = (&other.shape, &first.shape);
        return Err(format!("{tensor} is {here:?} on rank {rank} and {first:?} on rank 0"));
    }
    let pairs = || other.data.iter().zip(&first.data).enumerate();
    let mut apart = pairs().filter(|(_, (a, b))| a.to_bits() != b.to_bits());
    let Some((at, (&here, &there))) = apart.next() else { return Ok(None) };
    let elements = (1 + apart.count(), first.data.len());
    Ok(Some(RankDifference { step, tensor, rank, at, values: (here, there), elements }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;

    fn part(rank: u64, x: Vec<f32>, w: f32) -> Dump {
        let mut dump = Dump::new(Header {
            level: "level3-cublas".into(),
            step: 4,
            rank: Some(rank),
            world_size: Some(3),
            mnist: Some(Samples {
                normalisation: "unit".into(),
                rows: (0..x.len() as u32 / 2).map(|i| 10 * rank as u32 + i).collect(),
            }),
            ..Header::default()
        });
        dump.push(TensorName::X, &Tensor::new([x.len() / 2, 2], x).unwrap());
        dump.push(TensorName::Dw(1), &Tensor::new([2], vec![0.5, w]).unwrap());
        dump
    }

    #[test]
    fn shares_are_combined_in_the_order_of_the_ranks() {
        let parts = [part(0, vec![1.0, 2.0, 3.0, 4.0], 1.0), part(1, vec![5.0, 6.0], 1.0)];
        let last = part(2, Vec::new(), 1.0);
        let found = Dump::of_ranks(&[&parts[0], &parts[1], &last]).unwrap();
        assert!(found.differences.is_empty());
        let x = found.dump.get(TensorName::X).unwrap();
        assert_eq!((&x.shape[..], &x.data[..]), (&[3, 2][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]));
        assert_eq!(found.dump.header.mnist.as_ref().unwrap().rows, [0, 1, 10]);
        assert_eq!(found.dump.get(TensorName::Dw(1)).unwrap().data, [0.5, 1.0]);
        assert_eq!((found.dump.header.rank, found.dump.header.world_size), (None, Some(3)));
    }

    #[test]
    fn a_rank_that_differs_is_named() {
        let x = || vec![1.0, 2.0];
        let parts = [part(0, x(), 1.0), part(1, x(), 1.0), part(2, x(), 1.5)];
        let found = Dump::of_ranks(&[&parts[0], &parts[1], &parts[2]]).unwrap();
        let [one] = &found.differences[..] else { panic!("{:?}", found.differences) };
        assert_eq!(
            one.to_string(),
            "dw1 of rank 2 is not that of rank 0 (step 4): 1 of 2 elements differ, the first at 1, \
             1.5e0 instead of 1e0"
        );
        // Bits are compared: two NaNs with the same bits are equal, and +0 and −0 differ.
        let nan = [0, 1, 2].map(|rank| part(rank, x(), f32::NAN));
        assert!(Dump::of_ranks(&[&nan[0], &nan[1], &nan[2]]).unwrap().differences.is_empty());
        let zeros = [part(0, x(), 0.0), part(1, x(), -0.0), part(2, x(), 0.0)];
        assert_eq!(
            Dump::of_ranks(&[&zeros[0], &zeros[1], &zeros[2]]).unwrap().differences.len(),
            1
        );
    }

    #[test]
    fn missing_ranks_and_other_steps_are_refused() {
        let x = || vec![1.0, 2.0];
        let mut parts = [0, 1, 2].map(|rank| part(rank, x(), 1.0));
        let of = |parts: &[&Dump]| Dump::of_ranks(parts).unwrap_err();
        assert!(of(&[&parts[0], &parts[1]]).contains("rank 0 of 2 is missing"));
        assert!(of(&[&parts[0], &parts[2], &parts[1]]).contains("rank 1 of 3 is missing"));
        parts[1].header.seed = 2;
        assert!(of(&[&parts[0], &parts[1], &parts[2]]).contains("ranks 0 and 1 are not of one"));
        parts[1] = part(1, x(), 1.0);
        parts[2].tensors[1].shape = vec![1, 2];
        assert!(of(&[&parts[0], &parts[1], &parts[2]]).contains("dw1 is [1, 2] on rank 2"));
    }

    #[test]
    fn a_tensor_that_one_rank_never_holds_is_not_materialised() {
        let x = || vec![1.0, 2.0];
        let mut parts = [0, 1, 2].map(|rank| part(rank, x(), 1.0));
        parts[1].header.not_materialised.push(TensorName::X);
        parts[1].tensors.remove(0);
        let whole = Dump::of_ranks(&[&parts[0], &parts[1], &parts[2]]).unwrap().dump;
        assert_eq!(whole.header.not_materialised, [TensorName::X]);
        assert!(whole.get(TensorName::X).is_none() && whole.get(TensorName::Dw(1)).is_some());
    }
}
