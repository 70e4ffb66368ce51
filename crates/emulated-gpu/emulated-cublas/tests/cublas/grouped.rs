//! Grouped products.

use cudarc::cublas::sys::{self, cublasOperation_t};

use crate::support::Blas;

type Grouped = unsafe extern "C" fn(
    sys::cublasHandle_t,
    *const cublasOperation_t,
    *const cublasOperation_t,
    *const i32,
    *const i32,
    *const i32,
    *const f32,
    *const u64,
    *const i32,
    *const u64,
    *const i32,
    *const f32,
    *const u64,
    *const i32,
    i32,
    *const i32,
) -> i32;

fn function() -> Grouped {
    // SAFETY: the loaded library has the function, of that type.
    unsafe {
        let library = libloading::os::unix::Library::new("libcublas.so").unwrap();
        *library.get(b"cublasSgemmGroupedBatched\0").unwrap()
    }
}

/// Two groups, of two products and one, as in NVIDIA's sample: cudarc passes the arrays of pointers
/// in the host's memory, NVIDIA's documentation wants them in the device's, and both work.
#[test]
fn groups_have_their_own_sizes() {
    let blas = Blas::new();
    let grouped = function();
    let a = blas.put(&[1.0f32, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0, 1.0, 2.0, 3.0]);
    let b = blas.put(&[5.0f32, 7.0, 6.0, 8.0, 9.0, 11.0, 10.0, 12.0, 4.0]);
    let (pa, pb) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&b));
    let operations = [cublasOperation_t::CUBLAS_OP_N; 2];
    let (m, n, k, ld) = ([2, 3], [2, 1], [2, 1], ([2, 3], [2, 1]));
    let (alpha, beta, sizes) = ([1.0f32, 2.0], [0.0f32, 1.0], [2, 1]);
    for on_device in [false, true] {
        let c = blas.put(&[1.0f32; 11]);
        let pc = blas.address::<_, f32>(&c);
        let arrays = [pa, pb, pc].map(|p| [0, 4, 8].map(|i| p.wrapping_add(i) as u64));
        let copies = arrays.map(|array| blas.put(&array));
        let [a, b, c_array] = if on_device {
            [0, 1, 2].map(|i| blas.address::<_, u64>(&copies[i]).cast_const())
        } else {
            [0, 1, 2].map(|i| arrays[i].as_ptr())
        };
        // SAFETY: every operand has its elements.
        let status = unsafe {
            grouped(
                blas.handle,
                operations.as_ptr(),
                operations.as_ptr(),
                m.as_ptr(),
                n.as_ptr(),
                k.as_ptr(),
                alpha.as_ptr(),
                a,
                ld.0.as_ptr(),
                b,
                ld.1.as_ptr(),
                beta.as_ptr(),
                c_array,
                ld.0.as_ptr(),
                2,
                sizes.as_ptr(),
            )
        };
        assert_eq!(status, 0);
        let expected = [19.0, 43.0, 22.0, 50.0, 111.0, 151.0, 122.0, 166.0, 9.0, 17.0, 25.0];
        assert_eq!(blas.get(&c), expected, "{on_device}");
    }
}

/// A group of empty products asks for nothing; its pointers are in the arrays all the same.
#[test]
fn arrays_that_go_beyond_the_last_address_are_refused() {
    let blas = Blas::new();
    let grouped = function();
    let operations = [cublasOperation_t::CUBLAS_OP_N; 2];
    let (m, one, scalars, sizes) = ([0, 1], [1, 1], [1.0f32; 2], [i32::MAX, 1]);
    let end = (u64::MAX - 7) as *const u64;
    // SAFETY: every list has two numbers, and nothing is to be read at the addresses.
    let status = unsafe {
        grouped(
            blas.handle,
            operations.as_ptr(),
            operations.as_ptr(),
            m.as_ptr(),
            one.as_ptr(),
            one.as_ptr(),
            scalars.as_ptr(),
            end,
            one.as_ptr(),
            end,
            one.as_ptr(),
            scalars.as_ptr(),
            end,
            one.as_ptr(),
            2,
            sizes.as_ptr(),
        )
    };
    assert_eq!(status, sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE as i32);
}
