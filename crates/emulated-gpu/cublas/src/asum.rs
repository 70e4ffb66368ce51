//! `cublas<T>asum`: the sum of absolute values.

use std::ffi::{c_int, c_void};

use c_abi::export;
use emulated_blas::{
    Access, PointerMode, Real, Rejection, Result, RunWork, StreamWork, View, check_pointer, load,
    store,
};

use crate::handle::{Handle, open};
use crate::vector::Vector;

/// The number of elements that are added one after the other. The sums of such pieces are added in
/// pairs, so that the rounding error grows with the logarithm of the length.
const PIECE: usize = 128;

/// # Safety
/// In host pointer mode, a non-null `result` must be writable.
unsafe fn submit<T: Real>(
    name: &'static str,
    handle: Handle,
    len: i64,
    x: u64,
    inc: i64,
    result: u64,
) -> Result {
    let (settings, driver) = open(handle)?;
    let (mode, ty) = (settings.pointer_mode, T::TYPE);
    check_pointer(driver, result, mode, ty, "result")?;
    // As in the real library, the sum for an empty vector, or for a non-positive increment, is 0,
    // not an error.
    let empty = len <= 0 || inc <= 0;
    let vector = Vector { name: "x", inc_name: "incx", address: x, ty, len, inc };
    let mut accesses = Vec::new();
    if !empty {
        Access::append(&mut accesses, vector.check(driver)?.accesses(Access::read))?;
    }
    let waits = mode == PointerMode::Host;
    if waits && driver.is_capturing(settings.stream)? {
        return Err(Rejection::unsupported(
            "the result must be in host memory when the function returns, which is impossible \
             during a capture: use CUBLAS_POINTER_MODE_DEVICE",
        ));
    }
    if !waits {
        accesses.push(Access::write_bytes(result, ty.size()));
    }
    let view = vector.view();
    let len = if empty { 0 } else { len as usize };
    let is_aligned = result.is_multiple_of(ty.size());
    let run: RunWork = Box::new(move |_| {
        // SAFETY: `x` is among the accesses, as is `result` if it is in device memory. A host
        // `result` may be unaligned; the caller keeps it valid until the function returns, which
        // waits for the work.
        unsafe {
            let sum = sum::<T>(view, 0, len);
            // Aligned host memory may be managed memory, which kernels can access too.
            match is_aligned {
                true => store(result, ty, 0, sum),
                false => (result as *mut T).write_unaligned(sum),
            }
        }
        Ok(())
    });
    // SAFETY: as above.
    unsafe { StreamWork { name, accesses, run }.launch(driver, settings.stream)? };
    if waits { driver.synchronize(settings.stream) } else { Ok(()) }
}

/// # Safety
/// `len` elements from element `first` must be readable.
unsafe fn sum<T: Real>(x: View, first: usize, len: usize) -> T {
    if len <= PIECE {
        let mut sum = T::default();
        for index in first..first + len {
            // SAFETY: guaranteed by the caller.
            sum += unsafe { load::<T>(x.address, x.ty, index as isize * x.row) }.magnitude();
        }
        return sum;
    }
    let half = len / 2;
    // SAFETY: guaranteed by the caller.
    unsafe { sum::<T>(x, first, half) + sum::<T>(x, first + half, len - half) }
}

macro_rules! asum {
    ($($name:ident, $ty:ty, $int:ty;)*) => { export! {$(
        /// Computes `result = Σ |x|`.
        fn $name(handle: Handle, n: $int, x: *const c_void, incx: $int, result: *mut c_void) {
            submit::<$ty>(NAME, handle, n.into(), x as u64, incx.into(), result as u64)
        }
    )*}};
}

asum! {
    cublasSasum_v2, f32, c_int;
    cublasDasum_v2, f64, c_int;
    cublasSasum_v2_64, f32, i64;
    cublasDasum_v2_64, f64, i64;
}
