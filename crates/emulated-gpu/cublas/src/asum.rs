//! `cublas<T>asum`: the sum of magnitudes.

use std::ffi::{c_int, c_void};

use c_abi::export;
use emulated_blas::{
    Access, PointerMode, Real, Rejection, Run, View, Work, check_pointer, load, store,
};

use crate::handle::{Handle, open};
use crate::vector::Vector;

/// Elements that are summed one after the other; the sums of such pieces are added in pairs, so
/// that the error grows with the logarithm of the length.
const PIECE: usize = 128;

/// # Safety
/// In host pointer mode a result that is not null is writable.
unsafe fn submit<T: Real>(
    name: &'static str,
    handle: Handle,
    len: i64,
    x: u64,
    inc: i64,
    result: u64,
) -> Result<(), Rejection> {
    let (settings, driver) = open(handle)?;
    let (mode, ty) = (settings.pointer_mode, T::TYPE);
    check_pointer(driver, result, mode, ty, "result")?;
    // Nothing to sum, as the real library sees it, gives 0 and is no error.
    let empty = len <= 0 || inc <= 0;
    let vector = Vector { name: "x", inc_name: "incx", address: x, ty, len, inc };
    let mut accesses = Vec::new();
    if !empty {
        Access::add_all(&mut accesses, vector.check(driver)?.accesses(Access::read))?;
    }
    let waits = mode == PointerMode::Host;
    if waits && driver.is_capturing(settings.stream)? {
        return Err(Rejection::unsupported(
            "the result is to be in the host's memory when the function returns, which a graph \
             that is being captured can't do: use CUBLAS_POINTER_MODE_DEVICE",
        ));
    }
    if !waits {
        accesses.push(Access::write_bytes(result, ty.size()));
    }
    let view = vector.view();
    let len = if empty { 0 } else { len as usize };
    let is_aligned = result.is_multiple_of(ty.size());
    let run: Run = Box::new(move |_| {
        // SAFETY: `x` is among the accesses, as is `result` where it is device memory; for the host's, which may
        // be at any address, the caller vouches until the function returns, which waits.
        unsafe {
            let sum = sum::<T>(view, 0, len);
            // Aligned memory of the host's may be managed, so that kernels reach it too.
            match is_aligned {
                true => store(result, ty, 0, sum),
                false => (result as *mut T).write_unaligned(sum),
            }
        }
        Ok(())
    });
    // SAFETY: as above.
    unsafe { Work { name, accesses, run }.launch(driver, settings.stream)? };
    if waits { driver.synchronize(settings.stream) } else { Ok(()) }
}

/// # Safety
/// `len` elements from the one of that number on have to be readable.
unsafe fn sum<T: Real>(x: View, first: usize, len: usize) -> T {
    if len <= PIECE {
        let mut sum = T::default();
        for index in first..first + len {
            // SAFETY: the caller's promise.
            sum += unsafe { load::<T>(x.address, x.ty, index as isize * x.row) }.magnitude();
        }
        return sum;
    }
    let half = len / 2;
    // SAFETY: the caller's promise.
    unsafe { sum::<T>(x, first, half) + sum::<T>(x, first + half, len - half) }
}

export! {
    /// `result = Σ |x|`
    fn cublasSasum_v2(handle: Handle, n: c_int, x: *const c_void, incx: c_int, result: *mut c_void) {
        submit::<f32>(NAME, handle, n.into(), x as u64, incx.into(), result as u64)
    }

    /// `result = Σ |x|`
    fn cublasDasum_v2(handle: Handle, n: c_int, x: *const c_void, incx: c_int, result: *mut c_void) {
        submit::<f64>(NAME, handle, n.into(), x as u64, incx.into(), result as u64)
    }

    /// `result = Σ |x|`
    fn cublasSasum_v2_64(handle: Handle, n: i64, x: *const c_void, incx: i64, result: *mut c_void) {
        submit::<f32>(NAME, handle, n, x as u64, incx, result as u64)
    }

    /// `result = Σ |x|`
    fn cublasDasum_v2_64(handle: Handle, n: i64, x: *const c_void, incx: i64, result: *mut c_void) {
        submit::<f64>(NAME, handle, n, x as u64, incx, result as u64)
    }
}
