//! Reductions: what becomes of the elements that the ranks have in one place.

use half::{bf16, f16};

use crate::element::{Combine, DataType, E4m3, E5m2, Element};
use crate::ffi::{Error, Result};

/// `ncclRedOp_t` numbers from here on are operations that a rank has made.
pub(crate) const FIRST_OWN: u32 = 5;

/// A factor, as bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// Known when the operation was made.
    Known([u8; 8]),
    /// In device memory, read when the work runs.
    At(u64),
}

/// How elements are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// One after another.
    Plain(Combine),
    /// Each is multiplied first, then they are added: `ncclRedOpCreatePreMulSum`.
    Scaled(Factor),
    /// `ncclAvg`: whole numbers are added and divided, others multiplied by 1/n and added, as NCCL
    /// does it.
    Average,
}

impl Reduction {
    /// The built-in one of that number.
    ///
    /// # Errors
    /// `ncclInvalidArgument`
    pub(crate) fn built_in(number: u32) -> Result<Self> {
        Ok(match number {
            0 => Self::Plain(Combine::Sum),
            1 => Self::Plain(Combine::Product),
            2 => Self::Plain(Combine::Max),
            3 => Self::Plain(Combine::Min),
            4 => Self::Average,
            _ => return Err(Error::argument(format!("op is {number}, which is no ncclRedOp_t"))),
        })
    }

    /// Multiplies what a rank is about to show by the factor, where there is one.
    ///
    /// # Safety
    /// There are `count` elements of the type at `elements`, and where the factor is in memory, it can
    /// be read.
    pub(crate) unsafe fn prepare(
        self,
        data_type: DataType,
        elements: *mut u8,
        count: usize,
        ranks: usize,
    ) {
        let factor = match self {
            Self::Plain(_) => return,
            Self::Average if data_type.is_whole() => return,
            Self::Average => None,
            Self::Scaled(Factor::Known(bytes)) => Some(bytes),
            Self::Scaled(Factor::At(address)) => {
                let mut bytes = [0; 8];
                // SAFETY: the caller's promise.
                unsafe {
                    let from = address as *const u8;
                    std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), data_type.size());
                }
                Some(bytes)
            }
        };
        // SAFETY: the caller's promise.
        unsafe {
            with_type!(data_type, T => scale::<T>(elements, count, factor, ranks));
        }
    }

    /// Adds up, along the ring that begins behind a rank and ends with it, what all ranks show:
    /// elements `from..from + count` of each.
    ///
    /// # Safety
    /// Each of `shown` has that many elements of the type, and nobody writes there; `to` has room for
    /// `count`.
    pub(crate) unsafe fn along(
        self,
        data_type: DataType,
        shown: &[*const u8],
        rank: usize,
        (from, count): (usize, usize),
        to: *mut u8,
    ) {
        let how = match self {
            Self::Plain(how) => how,
            Self::Scaled(_) | Self::Average => Combine::Sum,
        };
        let divides = self == Self::Average && data_type.is_whole();
        // SAFETY: the caller's promise.
        unsafe {
            with_type!(data_type, T => add_up::<T>(how, divides, shown, rank, (from, count), to));
        }
    }
}

/// Does something with the Rust type of an element.
macro_rules! with_type {
    ($type:expr, $T:ident => $body:expr) => {
        match $type {
            DataType::Int8 => {
                type $T = i8;
                $body
            }
            DataType::Uint8 => {
                type $T = u8;
                $body
            }
            DataType::Int32 => {
                type $T = i32;
                $body
            }
            DataType::Uint32 => {
                type $T = u32;
                $body
            }
            DataType::Int64 => {
                type $T = i64;
                $body
            }
            DataType::Uint64 => {
                type $T = u64;
                $body
            }
            DataType::Float16 => {
                type $T = f16;
                $body
            }
            DataType::Float32 => {
                type $T = f32;
                $body
            }
            DataType::Float64 => {
                type $T = f64;
                $body
            }
            DataType::Bfloat16 => {
                type $T = bf16;
                $body
            }
            DataType::Float8e4m3 => {
                type $T = E4m3;
                $body
            }
            DataType::Float8e5m2 => {
                type $T = E5m2;
                $body
            }
        }
    };
}
use with_type;

/// # Safety
/// As of [`Reduction::prepare`].
unsafe fn scale<T: Element>(
    elements: *mut u8,
    count: usize,
    factor: Option<[u8; 8]>,
    ranks: usize,
) {
    let factor = match factor {
        // SAFETY: an element has at most eight bytes, and any are a value of it.
        Some(bytes) => unsafe { bytes.as_ptr().cast::<T>().read_unaligned() },
        None => T::reciprocal(ranks),
    };
    let elements = elements.cast::<T>();
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let at = elements.add(index);
            at.write_unaligned(T::combine(Combine::Product, at.read_unaligned(), factor));
        }
    }
}

/// # Safety
/// As of [`Reduction::along`].
unsafe fn add_up<T: Element>(
    how: Combine,
    divides: bool,
    shown: &[*const u8],
    rank: usize,
    (from, count): (usize, usize),
    to: *mut u8,
) {
    let ranks = shown.len();
    let to = to.cast::<T>();
    for step in 1..=ranks {
        let of = shown[(rank + step) % ranks].cast::<T>();
        for index in 0..count {
            // SAFETY: the caller's promise.
            unsafe {
                let (at, next) = (to.add(index), of.add(from + index).read_unaligned());
                let sum = if step == 1 { next } else { T::combine(how, at.read_unaligned(), next) };
                at.write_unaligned(if divides && step == ranks { sum.divide(ranks) } else { sum });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(
        reduction: Reduction,
        data_type: DataType,
        ranks: &[Vec<u8>],
        rank: usize,
    ) -> Vec<u8> {
        let mut ranks = ranks.to_vec();
        let count = ranks[0].len() / data_type.size();
        let n = ranks.len();
        for own in &mut ranks {
            // SAFETY: it has this many elements.
            unsafe { reduction.prepare(data_type, own.as_mut_ptr(), count, n) };
        }
        let shown: Vec<*const u8> = ranks.iter().map(|own| own.as_ptr()).collect();
        let mut to = vec![0; count * data_type.size()];
        // SAFETY: as above.
        unsafe { reduction.along(data_type, &shown, rank, (0, count), to.as_mut_ptr()) };
        to
    }

    fn of_f32(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn the_order_of_a_sum_is_the_rings() {
        // In single precision (1e8 + 1) - 1e8 is 0, and (-1e8 + 1e8) + 1 is 1.
        let ranks = [of_f32(&[1e8]), of_f32(&[1.0]), of_f32(&[-1e8])];
        let sum = Reduction::Plain(Combine::Sum);
        let along = |rank| reduced(sum, DataType::Float32, &ranks, rank);
        // From rank 1 around to rank 0: (1 - 1e8) + 1e8; from 2 to 1; from 0 to 2.
        assert_eq!(along(0), of_f32(&[(1.0 - 1e8) + 1e8]));
        assert_eq!(along(1), of_f32(&[1.0]));
        assert_eq!(along(2), of_f32(&[(1e8 + 1.0) - 1e8]));
    }

    #[test]
    fn averages_are_multiplied_or_divided_by_type() {
        let whole =
            |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let ranks = [whole(&[7, -7]), whole(&[0, 0])];
        let average = Reduction::Average;
        assert_eq!(reduced(average, DataType::Int32, &ranks, 0), whole(&[3, -3]));
        let ranks = [of_f32(&[1.0]), of_f32(&[2.0]), of_f32(&[4.0])];
        let third = 1.0f32 / 3.0;
        let expected = (2.0 * third + 4.0 * third) + third;
        assert_eq!(reduced(average, DataType::Float32, &ranks, 0), of_f32(&[expected]));
    }

    #[test]
    fn every_type_has_every_operation() {
        let bytes =
            |one: u8, size: usize| (0..size * 3).map(|i| one + (i as u8 % 3)).collect::<Vec<u8>>();
        for number in 0..12 {
            let data_type = DataType::of(number).unwrap();
            let ranks = [bytes(1, data_type.size()), bytes(2, data_type.size())];
            for operation in 0..FIRST_OWN {
                let reduction = Reduction::built_in(operation).unwrap();
                let found = reduced(reduction, data_type, &ranks, 0);
                assert_eq!(found.len(), data_type.size() * 3);
                if operation == 2 {
                    assert_eq!(found, ranks[1], "the larger, {}", data_type.name());
                }
            }
        }
        assert!(Reduction::built_in(5).is_err() && DataType::of(12).is_none());
    }
}
