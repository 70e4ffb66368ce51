//! Reductions: how the corresponding elements of all ranks are combined.

use emulated_blas::words;
use half::{bf16, f16};

use crate::element::{Combine, DataType, E4m3, E5m2, Element};
use crate::ffi::{Error, Result};

/// The first `ncclRedOp_t` number of the custom reductions.
pub(crate) const FIRST_CUSTOM_OP: u32 = 5;

/// The number of bytes that are added up at a time, a multiple of every element size.
const BLOCK_BYTES: usize = 1 << 13;

/// Evaluates an expression with `$T` as the Rust type of a data type.
macro_rules! for_element_type {
    ($type:expr, $T:ident => $body:expr) => {
        for_element_type! {
            $type, $T => $body;
            Int8 i8, Uint8 u8, Int32 i32, Uint32 u32, Int64 i64, Uint64 u64, Float16 f16, Float32 f32,
            Float64 f64, Bfloat16 bf16, Float8e4m3 E4m3, Float8e5m2 E5m2
        }
    };
    ($type:expr, $T:ident => $body:expr; $($name:ident $own:ident),*) => {
        match $type {
            $(DataType::$name => {
                type $T = $own;
                $body
            })*
        }
    };
}

/// The factor of a custom reduction, as the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// A factor that is known when the reduction is created.
    Known([u8; 8]),
    /// The address of a factor in device memory, which is read when the work runs.
    At(u64),
}

/// A reduction: how corresponding elements of all ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// The elements are combined one after another.
    Plain(Combine),
    /// The elements are multiplied by a factor and then added: `ncclRedOpCreatePreMulSum`.
    Scaled(Factor),
    /// `ncclAvg`: integers are added and then divided; other types are multiplied by 1/n and then
    /// added, as in NCCL.
    Average,
}

impl Reduction {
    /// The built-in reduction with this `ncclRedOp_t` number.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the number is not a built-in reduction.
    pub(crate) fn built_in(number: u32) -> Result<Self> {
        Ok(match number {
            0 => Self::Plain(Combine::Sum),
            1 => Self::Plain(Combine::Product),
            2 => Self::Plain(Combine::Max),
            3 => Self::Plain(Combine::Min),
            4 => Self::Average,
            _ => {
                return Err(Error::argument(format!(
                    "op is {number}, which is not an ncclRedOp_t"
                )));
            }
        })
    }

    /// The factor that each element is multiplied by before the other ranks read it, as the bytes
    /// of an element; `None` if there is no factor.
    ///
    /// # Safety
    /// A factor in device memory must be readable.
    pub(crate) unsafe fn factor(self, data_type: DataType, ranks: usize) -> Option<[u8; 8]> {
        match self {
            Self::Average if !data_type.is_integer() => {
                let mut bytes = [0; 8];
                for_element_type!(data_type, T => write_element(&mut bytes, T::reciprocal(ranks)));
                Some(bytes)
            }
            Self::Scaled(Factor::Known(bytes)) => Some(bytes),
            Self::Scaled(Factor::At(address)) => {
                let mut bytes = [0; 8];
                // SAFETY: guaranteed by the caller.
                unsafe { words::read(address as *const u8, &mut bytes[..data_type.size()]) };
                Some(bytes)
            }
            Self::Plain(_) | Self::Average => None,
        }
    }

    /// Reduces elements `from..from + count` of all ranks, in the order of a ring that begins after
    /// `rank` and ends with `rank`.
    ///
    /// # Safety
    /// Each pointer of `published` must be readable for these elements of the type, and `to`
    /// writable for `count` elements.
    pub(crate) unsafe fn reduce_ring(
        self,
        data_type: DataType,
        published: &[*const u8],
        rank: usize,
        (from, count): (usize, usize),
        to: *mut u8,
    ) {
        let how = match self {
            Self::Plain(how) => how,
            Self::Scaled(_) | Self::Average => Combine::Sum,
        };
        let divides = self == Self::Average && data_type.is_integer();
        let (size, ranks) = (data_type.size(), published.len());
        let (mut sum, mut next) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
        for begin in (0..count * size).step_by(BLOCK_BYTES) {
            let len = BLOCK_BYTES.min(count * size - begin);
            let (sum, next) = (&mut sum[..len], &mut next[..len]);
            for step in 1..=ranks {
                let into = if step == 1 { &mut *sum } else { &mut *next };
                // SAFETY: guaranteed by the caller.
                unsafe {
                    words::read(published[(rank + step) % ranks].add(from * size + begin), into)
                };
                if step > 1 {
                    for_element_type!(data_type, T => combine::<T>(how, sum, next));
                }
            }
            if divides {
                for_element_type!(data_type, T => change::<T>(sum, |element| element.divide(ranks)));
            }
            // SAFETY: guaranteed by the caller.
            unsafe { words::write(to.add(begin), sum) };
        }
    }
}

/// Multiplies elements by a factor.
pub(crate) fn multiply(data_type: DataType, elements: &mut [u8], factor: [u8; 8]) {
    for_element_type!(data_type, T => {
        let factor = read_element::<T>(&factor);
        change::<T>(elements, |element| T::combine(Combine::Product, element, factor));
    });
}

/// Reads the first element of a byte slice.
fn read_element<T: Element>(bytes: &[u8]) -> T {
    let bytes = &bytes[..size_of::<T>()];
    // SAFETY: the slice has `size_of::<T>()` bytes, and every bit pattern is a valid element.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}

/// Writes an element to the start of a byte slice.
fn write_element<T: Element>(bytes: &mut [u8], element: T) {
    let bytes = &mut bytes[..size_of::<T>()];
    // SAFETY: the slice has `size_of::<T>()` bytes.
    unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(element) };
}

fn change<T: Element>(elements: &mut [u8], to: impl Fn(T) -> T) {
    for element in elements.chunks_exact_mut(size_of::<T>()) {
        write_element(element, to(read_element(element)));
    }
}

/// Combines `more` into `sum`, element by element.
fn combine<T: Element>(how: Combine, sum: &mut [u8], more: &[u8]) {
    let size = size_of::<T>();
    for (sum, more) in sum.chunks_exact_mut(size).zip(more.chunks_exact(size)) {
        write_element(sum, T::combine(how, read_element(sum), read_element(more)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduce_on_rank(
        reduction: Reduction,
        data_type: DataType,
        ranks: &[Vec<u8>],
        rank: usize,
    ) -> Vec<u8> {
        let mut ranks = ranks.to_vec();
        let count = ranks[0].len() / data_type.size();
        let n = ranks.len();
        for values in &mut ranks {
            // SAFETY: the factor is not in device memory.
            if let Some(factor) = unsafe { reduction.factor(data_type, n) } {
                multiply(data_type, values, factor);
            }
        }
        let published: Vec<*const u8> = ranks.iter().map(|values| values.as_ptr()).collect();
        let mut to = vec![0; count * data_type.size()];
        // SAFETY: as above.
        unsafe { reduction.reduce_ring(data_type, &published, rank, (0, count), to.as_mut_ptr()) };
        to
    }

    fn f32_bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn sums_follow_the_order_of_the_ring() {
        // In single precision (1e8 + 1) - 1e8 is 0, and (-1e8 + 1e8) + 1 is 1.
        let ranks = [f32_bytes(&[1e8]), f32_bytes(&[1.0]), f32_bytes(&[-1e8])];
        let sum = Reduction::Plain(Combine::Sum);
        let along = |rank| reduce_on_rank(sum, DataType::Float32, &ranks, rank);
        // Rank 0's ring is 1, 2, 0, so its sum is (1 - 1e8) + 1e8. The ring of rank 1 is 2, 0, 1,
        // and the ring of rank 2 is 0, 1, 2.
        assert_eq!(along(0), f32_bytes(&[(1.0 - 1e8) + 1e8]));
        assert_eq!(along(1), f32_bytes(&[1.0]));
        assert_eq!(along(2), f32_bytes(&[(1e8 + 1.0) - 1e8]));
    }

    /// The sum has more than one block, and starts at an offset that is not a multiple of 8.
    #[test]
    fn sums_longer_than_a_block_are_correct() {
        let count = 3 * BLOCK_BYTES / 8 + 5;
        let values_of =
            |rank: usize| (0..count).map(|i| (i * 31 + rank * 7) as f32).collect::<Vec<_>>();
        let ranks = [f32_bytes(&values_of(0)), f32_bytes(&values_of(1))];
        let published: Vec<*const u8> = ranks.iter().map(|values| values.as_ptr()).collect();
        let mut result = vec![0xee; (count + 1) * 4];
        let sum = Reduction::Plain(Combine::Sum);
        // SAFETY: each rank has these elements from index 3 on, and the result has space for them.
        unsafe {
            sum.reduce_ring(
                DataType::Float32,
                &published,
                0,
                (3, count - 3),
                result.as_mut_ptr().add(4),
            )
        };
        let expected: Vec<f32> =
            values_of(0).iter().zip(values_of(1)).map(|(a, b)| a + b).skip(3).collect();
        assert_eq!(result[4..][..expected.len() * 4], f32_bytes(&expected));
        assert!(result[..4].iter().chain(&result[(count - 2) * 4..]).all(|byte| *byte == 0xee));
    }

    #[test]
    fn averages_divide_integers_and_multiply_floats() {
        let whole =
            |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let ranks = [whole(&[7, -7]), whole(&[0, 0])];
        let average = Reduction::Average;
        assert_eq!(reduce_on_rank(average, DataType::Int32, &ranks, 0), whole(&[3, -3]));
        let ranks = [f32_bytes(&[1.0]), f32_bytes(&[2.0]), f32_bytes(&[4.0])];
        let third = 1.0f32 / 3.0;
        let expected = (2.0 * third + 4.0 * third) + third;
        assert_eq!(reduce_on_rank(average, DataType::Float32, &ranks, 0), f32_bytes(&[expected]));
    }

    #[test]
    fn every_type_supports_every_reduction() {
        let bytes =
            |one: u8, size: usize| (0..size * 3).map(|i| one + (i as u8 % 3)).collect::<Vec<u8>>();
        for number in 0..12 {
            let data_type = DataType::from_code(number).unwrap();
            let ranks = [bytes(1, data_type.size()), bytes(2, data_type.size())];
            for operation in 0..FIRST_CUSTOM_OP {
                let reduction = Reduction::built_in(operation).unwrap();
                let result = reduce_on_rank(reduction, data_type, &ranks, 0);
                assert_eq!(result.len(), data_type.size() * 3);
                if operation == 2 {
                    assert_eq!(result, ranks[1], "the larger, {}", data_type.name());
                }
            }
        }
        assert!(Reduction::built_in(5).is_err() && DataType::from_code(12).is_none());
    }
}
