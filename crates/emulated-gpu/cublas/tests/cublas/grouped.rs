//! Grouped batched products.

use cudarc::cublas::sys::{self, cublasOperation_t};

use crate::support::Blas;

/// The type of `cublasSgemmGroupedBatched`, which cudarc only binds for newer releases.
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

pub(crate) fn function() -> Grouped {
    // SAFETY: the loaded library has a function of this type, and stays loaded.
    unsafe {
        let library = libloading::os::unix::Library::new("libcublas.so").unwrap();
        *library.get(b"cublasSgemmGroupedBatched\0").unwrap()
    }
}

/// Two groups: the sizes of their products, the number of products in each, the scalars, the
/// leading dimensions of A, B and C, and the arrays of pointers to these matrices.
struct Groups {
    shape: [[i32; 2]; 3],
    sizes: [i32; 2],
    alpha: [f32; 2],
    beta: [f32; 2],
    ld: [[i32; 2]; 3],
    arrays: [*const u64; 3],
}

impl Groups {
    /// Multiplies the groups without transposition; returns the status.
    ///
    /// # Safety
    /// Either the arrays have a pointer for each product, and every operand is large enough, or the
    /// library refuses the call.
    unsafe fn run(&self, blas: &Blas) -> i32 {
        let operations = [cublasOperation_t::CUBLAS_OP_N; 2].as_ptr();
        let [m, n, k] = self.shape.each_ref().map(|sizes| sizes.as_ptr());
        let [lda, ldb, ldc] = self.ld.each_ref().map(|apart| apart.as_ptr());
        let ([a, b, c], alpha, beta) = (self.arrays, self.alpha.as_ptr(), self.beta.as_ptr());
        let (handle, sizes) = (blas.handle, self.sizes.as_ptr());
        // SAFETY: guaranteed by the caller.
        unsafe {
            function()(
                handle, operations, operations, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 2,
                sizes,
            )
        }
    }
}

/// There are two groups, one of two products and one of a single product, as in NVIDIA's sample.
/// cudarc passes the arrays of pointers in host memory, and NVIDIA's documentation requires them in
/// device memory; both work.
#[test]
fn each_group_has_its_own_sizes() {
    let blas = Blas::new();
    let a = blas.put(&[1.0f32, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0, 1.0, 2.0, 3.0]);
    let b = blas.put(&[5.0f32, 7.0, 6.0, 8.0, 9.0, 11.0, 10.0, 12.0, 4.0]);
    let (pa, pb) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&b));
    for on_device in [false, true] {
        let c = blas.put(&[1.0f32; 11]);
        let pc = blas.address::<_, f32>(&c);
        let lists = [pa, pb, pc].map(|p| [0, 4, 8].map(|i| p.wrapping_add(i) as u64));
        let copies = lists.map(|list| blas.put(&list));
        let arrays = if on_device {
            copies.each_ref().map(|copy| blas.address::<_, u64>(copy).cast_const())
        } else {
            lists.each_ref().map(|list| list.as_ptr())
        };
        let groups = Groups {
            shape: [[2, 3], [2, 1], [2, 1]],
            sizes: [2, 1],
            alpha: [1.0, 2.0],
            beta: [0.0, 1.0],
            ld: [[2, 3], [2, 1], [2, 3]],
            arrays,
        };
        // SAFETY: every operand is large enough.
        assert_eq!(unsafe { groups.run(&blas) }, 0);
        let expected = [19.0, 43.0, 22.0, 50.0, 111.0, 151.0, 122.0, 166.0, 9.0, 17.0, 25.0];
        assert_eq!(blas.get(&c), expected, "{on_device}");
    }
}

/// A group of empty products causes no work, but its pointers are still part of the arrays, which
/// then become too long.
#[test]
fn arrays_beyond_the_address_space_are_refused() {
    let blas = Blas::new();
    let groups = Groups {
        shape: [[0, 1], [1, 1], [1, 1]],
        sizes: [i32::MAX, 1],
        alpha: [1.0; 2],
        beta: [1.0; 2],
        ld: [[1, 1]; 3],
        arrays: [(u64::MAX - 7) as *const u64; 3],
    };
    // SAFETY: nothing is read at these addresses.
    let status = unsafe { groups.run(&blas) };
    assert_eq!(status, sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE as i32);
}

/// The bytes of an array of numbers, shifted by one byte so that the numbers are unaligned.
fn unaligned<T: Copy, const N: usize>(numbers: [T; N]) -> Vec<u8> {
    let mut bytes = vec![0; 1 + size_of_val(&numbers)];
    // SAFETY: there is space for the numbers after the first byte.
    unsafe { bytes.as_mut_ptr().add(1).cast::<[T; N]>().write_unaligned(numbers) };
    bytes
}

/// NVIDIA's library accepts unaligned arrays on x86.
#[test]
fn host_arrays_may_be_unaligned() {
    let blas = Blas::new();
    let a = blas.put(&[2.0f32, 3.0]);
    let result = blas.put(&[0.0f32; 2]);
    let (pa, pc) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&result));
    let operations = unaligned([cublasOperation_t::CUBLAS_OP_N; 2]);
    let (ones, scalars) = (unaligned([1i32; 2]), unaligned([10.0f32, 100.0]));
    let (a, c) = (unaligned([pa, pa.wrapping_add(1)]), unaligned([pc, pc.wrapping_add(1)]));
    let at = |bytes: &Vec<u8>| bytes.as_ptr().wrapping_add(1);
    let (operations, ones, scalars) =
        (at(&operations).cast(), at(&ones).cast(), at(&scalars).cast());
    let (a, c) = (at(&a).cast(), at(&c).cast());
    // SAFETY: there are two groups of one product with one element per matrix, and every array has
    // two values.
    let status = unsafe {
        function()(
            blas.handle,
            operations,
            operations,
            ones,
            ones,
            ones,
            scalars,
            a,
            ones,
            a,
            ones,
            scalars,
            c,
            ones,
            2,
            ones,
        )
    };
    assert_eq!(status, 0);
    assert_eq!(blas.get(&result), [40.0, 900.0]);
}
