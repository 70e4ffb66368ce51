//! Test of `cublasHgemm`, which cudarc's bindings lack because C headers hide it.

use std::ffi::c_int;

use ::half::f16;
use cudarc::cublas::sys;
use libloading::os::unix::Library;

use crate::support::Blas;

type Hgemm = unsafe extern "C" fn(
    sys::cublasHandle_t,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f16,
    *const u16,
    c_int,
    *const u16,
    c_int,
    *const f16,
    *mut u16,
    c_int,
) -> c_int;

#[test]
fn half_precision_is_rounded_once() {
    let blas = Blas::new();
    let k = 4096;
    // The sum of 4096 products 2⁻¹² · 1 is 1. In half precision, the sum would stop growing at 0.5: 2⁻¹² is half a unit
    // in the last place of 0.5, and the tie is rounded to even, which is down.
    let tiny = f16::from_f32(2f32.powi(-12));
    let a = blas.put(&vec![tiny.to_bits(); k]);
    let b = blas.put(&vec![f16::ONE.to_bits(); k]);
    let c = blas.put(&[f16::from_f32(8.0).to_bits()]);
    let (alpha, beta) = (f16::from_f32(2.0), f16::from_f32(0.25));
    // SAFETY: the loaded library has a function of this type, and the operands are large enough.
    let status = unsafe {
        let library = Library::new("libcublas.so").unwrap();
        let hgemm: Hgemm = *library.get(b"cublasHgemm\0").unwrap();
        hgemm(
            blas.handle,
            0,
            0,
            1,
            1,
            k as c_int,
            &raw const alpha,
            blas.address(&a),
            1,
            blas.address(&b),
            k as c_int,
            &raw const beta,
            blas.address(&c),
            1,
        )
    };
    assert_eq!(status, 0);
    assert_eq!(blas.get(&c), [f16::from_f32(4.0).to_bits()]);
}
