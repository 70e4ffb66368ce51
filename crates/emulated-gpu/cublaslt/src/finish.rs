//! The arithmetic of epilogues: bias, activation, auxiliary output, and the sums of bias gradients.

use emulated_blas::words::Word;
use emulated_blas::{Column, DataType, Real, Result, View, filled, load, store};

use crate::epilogue::{Activation, Bias, Epilogue};

/// The memory that an epilogue accesses in addition to the result, for one matrix of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EpilogueMemory {
    pub(crate) epilogue: Epilogue,
    /// The element type of the result, which is also the type of the bias and of an auxiliary
    /// matrix that is not a mask.
    pub(crate) ty: DataType,
    /// The address of the bias or of its gradient.
    pub(crate) bias: u64,
    /// The address of the auxiliary matrix.
    pub(crate) aux: u64,
    /// The distance between adjacent columns of the auxiliary matrix, in elements (for a mask: in
    /// bits).
    pub(crate) aux_ld: u64,
}

/// √(2/π)
const GELU_SLOPE: f64 = 0.797_884_560_802_865_4;
/// The coefficient of the cubic term (Hendrycks and Gimpel, "Gaussian Error Linear Units", section
/// 2).
const GELU_CUBE: f64 = 0.044_715;

/// `max(x, 0)`. NVIDIA does not document the result for NaN; here it is NaN, so that the error
/// stays visible.
fn relu<T: Real>(x: T) -> T {
    let zero = T::default();
    if x <= zero { zero } else { x }
}

/// `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`, always in double precision, because for negative
/// `x` most digits of `1 + tanh` cancel.
fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + gelu_tanh(x))
}

fn gelu_tanh(x: f64) -> f64 {
    (GELU_SLOPE * (x + GELU_CUBE * x * x * x)).tanh()
}

/// The derivative of [`gelu`].
fn gelu_gradient(x: f64) -> f64 {
    let tanh = gelu_tanh(x);
    let inner = GELU_SLOPE * (1.0 + 3.0 * GELU_CUBE * x * x);
    0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * inner
}

/// The row sums for [`Bias::GradientOfResult`], accumulated column by column.
pub(crate) struct Sums(Vec<f64>);

impl Sums {
    pub(crate) fn new(epilogue_memory: &EpilogueMemory, rows: usize) -> Result<Self> {
        let wanted = epilogue_memory.epilogue.bias == Bias::GradientOfResult;
        filled(0.0, if wanted { rows } else { 0 }).map(Self)
    }

    /// # Safety
    /// The bias must be writable.
    pub(crate) unsafe fn store(&self, epilogue_memory: &EpilogueMemory) {
        for (row, &sum) in self.0.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { store(epilogue_memory.bias, epilogue_memory.ty, row as isize, sum) };
        }
    }
}

impl EpilogueMemory {
    /// Applies the epilogue to a column of the result.
    ///
    /// # Safety
    /// The bias and the auxiliary matrix must be readable and writable as the epilogue requires.
    pub(crate) unsafe fn finish(&self, column: usize, values: Column<'_>, sums: &mut Sums) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match values {
                Column::F32(values) => self.finish_in_type(column, values, sums),
                Column::F64(values) => self.finish_in_type(column, values, sums),
            }
        }
    }

    /// # Safety
    /// See `finish`.
    unsafe fn finish_in_type<T: Real>(&self, column: usize, values: &mut [T], sums: &mut Sums) {
        let epilogue = self.epilogue;
        for (row, value) in values.iter_mut().enumerate() {
            // SAFETY: the memory is valid, as the caller promises; `row` and `column` are in range.
            *value = unsafe {
                if epilogue.bias == Bias::Added {
                    *value += load::<T>(self.bias, self.ty, row as isize);
                }
                self.activate(row, column, *value)
            };
        }
        for (sum, value) in sums.0.iter_mut().zip(values.iter()) {
            *sum += value.to_f64();
        }
    }

    /// # Safety
    /// The auxiliary matrix must be readable and writable as the epilogue requires.
    unsafe fn activate<T: Real>(&self, row: usize, column: usize, x: T) -> T {
        let at = column * self.aux_ld as usize + row;
        let writes = self.epilogue.writes_aux;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.epilogue.activation {
                Activation::None => x,
                Activation::Relu => {
                    if writes {
                        self.set_bit(at, x >= T::default());
                    }
                    relu(x)
                }
                Activation::Gelu => {
                    if writes {
                        store(self.aux, self.ty, at as isize, x);
                    }
                    T::from_f64(gelu(x.to_f64()))
                }
                Activation::ReluGradient => {
                    if self.bit(at) {
                        x
                    } else {
                        T::default()
                    }
                }
                Activation::GeluGradient => {
                    let slope = gelu_gradient(load(self.aux, self.ty, at as isize));
                    T::from_f64(x.to_f64() * slope)
                }
            }
        }
    }

    /// Sets or clears a bit of the mask; the lowest bit of a byte comes first. Bits beyond the last
    /// row are left unchanged.
    ///
    /// # Safety
    /// The mask must be writable.
    unsafe fn set_bit(&self, at: usize, on: bool) {
        let byte = (self.aux as *mut u8).wrapping_add(at / 8);
        let bit = 1 << (at % 8);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let bits = u8::load(byte);
            (if on { bits | bit } else { bits & !bit }).store(byte);
        }
    }

    /// # Safety
    /// The mask must be readable.
    unsafe fn bit(&self, at: usize) -> bool {
        // SAFETY: guaranteed by the caller.
        let byte = unsafe { u8::load((self.aux as *const u8).add(at / 8)) };
        byte >> (at % 8) & 1 != 0
    }

    /// Stores the sums over `K` for [`Bias::GradientOfA`] (rows of `op(A)`) or
    /// [`Bias::GradientOfB`] (columns of `op(B)`). The operand is summed as stored, without
    /// rounding or scaling.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// The operand's `lines · k` elements must be readable, and the bias writable.
    pub(crate) unsafe fn store_operand_sums(
        &self,
        operand: View,
        lines: usize,
        k: usize,
    ) -> Result {
        let mut sums = filled(0.0, lines)?;
        for depth in 0..k {
            for (line, sum) in sums.iter_mut().enumerate() {
                let at = line as isize * operand.row + depth as isize * operand.column;
                // SAFETY: guaranteed by the caller.
                *sum += unsafe { load::<f64>(operand.address, operand.ty, at) };
            }
        }
        for (line, sum) in sums.into_iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { store(self.bias, self.ty, line as isize, sum) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gelu_matches_known_values() {
        // The expected values are computed by hand from 0.5 x (1 + tanh(...)): for ±1, tanh(0.833…)
        // = 0.6823…
        for (x, expected) in [(0.0, 0.0), (1.0, 0.841_192), (-1.0, -0.158_808), (3.0, 2.996_363)] {
            assert!((gelu(x) - expected).abs() < 1e-6, "{x}: {}", gelu(x));
        }
    }

    #[test]
    fn gelu_gradient_matches_the_numerical_derivative() {
        for x in [-3.0, -0.75, -0.1, 0.0, 0.3, 1.0, 2.5] {
            let h = 1e-5;
            let slope = (gelu(x + h) - gelu(x - h)) / (2.0 * h);
            assert!((gelu_gradient(x) - slope).abs() < 1e-8, "{x}");
        }
    }

    #[test]
    fn relu_keeps_nan() {
        assert_eq!([-1.0f32, -0.0, 0.0, 2.0].map(|x| relu(x).to_bits()), [0, 0, 0, 2f32.to_bits()]);
        assert!(relu(f32::NAN).is_nan());
    }

    fn epilogue_memory(code: i32, bias: &mut [f32], aux: u64, aux_ld: u64) -> EpilogueMemory {
        EpilogueMemory {
            epilogue: Epilogue::from_code(code).unwrap(),
            ty: DataType::F32,
            bias: bias.as_mut_ptr() as u64,
            aux,
            aux_ld,
        }
    }

    #[test]
    fn relu_masks_have_ones_for_inputs_of_at_least_zero() {
        let mut bias = [0.0f32, 1.0, -5.0];
        // Two columns of 128 bits; the bits beyond the third row must stay unchanged.
        let mut mask = [0xaau8; 32];
        let relu = epilogue_memory(134, &mut bias, mask.as_mut_ptr() as u64, 128);
        let mut values = [[0.0f32, -2.0, 5.0], [-1.0, -1.0, f32::NAN]];
        let mut sums = Sums::new(&relu, 3).unwrap();
        for (column, values) in values.iter_mut().enumerate() {
            // SAFETY: the bias has three elements, and the mask two columns of 16 bytes.
            unsafe { relu.finish(column, Column::F32(values), &mut sums) };
        }
        assert_eq!(values[0], [0.0, 0.0, 0.0]);
        assert_eq!(values[1][..2], [0.0, 0.0]);
        assert!(values[1][2].is_nan());
        assert_eq!((mask[0], mask[16]), (0b1010_1101, 0b1010_1010));
        assert!(mask[1..16].iter().chain(&mask[17..]).all(|&byte| byte == 0xaa));
        let gradient = epilogue_memory(152, &mut bias, mask.as_mut_ptr() as u64, 128);
        let mut sums = Sums::new(&gradient, 3).unwrap();
        let mut gradients = [[1.0f32, 2.0, 3.0], [10.0, 20.0, 30.0]];
        for (column, values) in gradients.iter_mut().enumerate() {
            // SAFETY: as above.
            unsafe { gradient.finish(column, Column::F32(values), &mut sums) };
        }
        // SAFETY: the bias gradient has three elements.
        unsafe { sums.store(&gradient) };
        assert_eq!(gradients, [[1.0, 0.0, 3.0], [0.0, 20.0, 0.0]]);
        assert_eq!(bias, [1.0, 20.0, 3.0]);
    }

    /// Under Miri or ThreadSanitizer, this fails if a byte of the mask is read or written by a
    /// plain access.
    #[test]
    fn masks_may_be_accessed_while_a_kernel_accesses_them() {
        let mut mask = [0u8; 16];
        let aux = mask.as_mut_ptr() as u64;
        let finish = |code, value: f32| {
            let (mut bias, mut values) = ([0.0f32], [value]);
            let epilogue = epilogue_memory(code, &mut bias, aux, 128);
            let mut sums = Sums::new(&epilogue, 1).unwrap();
            // SAFETY: the bias has one element, and the mask a column of 16 bytes.
            unsafe { epilogue.finish(0, Column::F32(&mut values), &mut sums) };
            values[0]
        };
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for round in 0..20u8 {
                    // SAFETY: `aux` is the first byte of the mask.
                    unsafe { (round % 2).store(aux as *mut u8) };
                }
            });
            for _ in 0..20 {
                assert_eq!(finish(134, 2.0), 2.0);
                assert!([0.0, 3.0].contains(&finish(152, 3.0)));
            }
        });
    }

    #[test]
    fn gelu_stores_its_input_for_the_gradient() {
        let mut bias = [0.5f32, -0.5];
        let mut aux = [9.0f32; 16];
        let forward = epilogue_memory(164, &mut bias, aux.as_mut_ptr() as u64, 8);
        let mut values = [1.0f32, 2.0];
        let mut sums = Sums::new(&forward, 2).unwrap();
        // SAFETY: the bias has two elements, and the auxiliary matrix two columns of 8.
        unsafe { forward.finish(1, Column::F32(&mut values), &mut sums) };
        assert_eq!(aux[8..11], [1.5, 1.5, 9.0]);
        assert_eq!(values, [gelu(1.5) as f32; 2]);
        let backward = epilogue_memory(208, &mut bias, aux.as_mut_ptr() as u64, 8);
        let mut values = [2.0f32, 4.0];
        let mut sums = Sums::new(&backward, 2).unwrap();
        // SAFETY: as above.
        unsafe {
            backward.finish(1, Column::F32(&mut values), &mut sums);
            sums.store(&backward);
        }
        let slope = gelu_gradient(1.5);
        assert_eq!(values, [2.0, 4.0].map(|x| (x * slope) as f32));
        assert_eq!(bias, values);
    }

    #[test]
    fn sums_of_operands_run_along_k() {
        // The operand op(A) is the 2 x 3 matrix [[1, 3, 5], [2, 4, 6]].
        let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut bias = [0.0f32; 2];
        let epilogue = epilogue_memory(256, &mut bias, 0, 0);
        let view = View::new(a.as_ptr() as u64, DataType::F32, (1, 2));
        // SAFETY: the operand has six elements, and there are two sums.
        unsafe { epilogue.store_operand_sums(view, 2, 3) }.unwrap();
        assert_eq!(bias, [9.0, 12.0]);
    }
}
