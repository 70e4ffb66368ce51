//! Tests of calls that the real library refuses, or whose behaviour it leaves undefined: their
//! statuses, and the messages that name the argument.

use cudarc::cublas::sys::{self, cublasOperation_t, cublasPointerMode_t};

use crate::support::{Blas, Messages};

const N: cublasOperation_t = cublasOperation_t::CUBLAS_OP_N;
const T: cublasOperation_t = cublasOperation_t::CUBLAS_OP_T;

/// A call of `cublasSgemm_v2` for 3 x 4 times 4 x 2 in buffers of exactly the right size. A test
/// changes one argument.
struct Call {
    operations: (cublasOperation_t, cublasOperation_t),
    sizes: (i32, i32, i32),
    lds: (i32, i32, i32),
    /// The number of bytes added to the addresses of `A`, `B` and `C`.
    shifts: (usize, usize, usize),
}

impl Default for Call {
    fn default() -> Self {
        Self { operations: (N, N), sizes: (3, 2, 4), lds: (3, 4, 3), shifts: (0, 0, 0) }
    }
}

impl Call {
    fn run(&self, blas: &Blas) -> sys::cublasStatus_t {
        let (a, b, c) = (blas.put(&[1.0f32; 12]), blas.put(&[1.0f32; 8]), blas.put(&[0.0f32; 6]));
        let (one, zero) = (1.0f32, 0.0f32);
        let pa = blas.address::<_, f32>(&a).wrapping_byte_add(self.shifts.0);
        let pb = blas.address::<_, f32>(&b).wrapping_byte_add(self.shifts.1);
        let pc = blas.address::<_, f32>(&c).wrapping_byte_add(self.shifts.2);
        let operands = [(pa, self.lds.0), (pb, self.lds.1), (pc, self.lds.2)];
        let (operations, scalars) = (self.operations.into(), [&raw const one, &raw const zero]);
        // SAFETY: the library rejects invalid arguments before it touches the memory.
        unsafe { blas.sgemm(operations, self.sizes.into(), scalars, operands) }
    }
}

#[test]
fn the_unchanged_call_succeeds() {
    assert_eq!(Call::default().run(&Blas::new()) as u32, 0);
}

#[test]
fn a_message_names_the_wrong_argument() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let invalid = "CUBLAS_STATUS_INVALID_VALUE";
    let lda = "lda is 2: A is stored as 3 x 4 in column-major order, so it must be at least";
    let large = "A is 3 x 4 CUDA_R_32F with lda 4: 60 bytes";
    let conjugate = cublasOperation_t::CUBLAS_OP_CONJG;
    let rows: [(Call, &[&str]); 11] = [
        // Leading dimensions that are too small.
        (Call { lds: (2, 4, 3), ..Call::default() }, &[invalid, lda]),
        (Call { lds: (3, 3, 3), ..Call::default() }, &[invalid, "ldb is 3: B is stored as 4 x 2"]),
        (Call { lds: (3, 4, 2), ..Call::default() }, &[invalid, "ldc is 2: C is stored as 3 x 2"]),
        // It suits the untransposed matrix but is too small for the transposed one.
        (
            Call { operations: (T, N), ..Call::default() },
            &["A is stored as 4 x 3", "transa is CUBLAS_OP_T", "m = 3, n = 2, k = 4"],
        ),
        // Operands outside their allocation.
        (
            Call { lds: (4, 4, 3), ..Call::default() },
            &[large, "has 48 bytes", "A ends 12 bytes after it"],
        ),
        (Call { sizes: (3, 3, 4), ..Call::default() }, &["C is 3 x 3", "C ends 12 bytes after it"]),
        (Call { shifts: (0, 4, 0), ..Call::default() }, &["B ends 4 bytes after it"]),
        (
            Call { shifts: (0, 0, 1 << 40), ..Call::default() },
            &["C is at", "which is not inside a device allocation"],
        ),
        // A misaligned address, an invalid size, and an invalid operation.
        (
            Call { shifts: (2, 0, 0), ..Call::default() },
            &["A is at", "not a multiple of 4, the size of a CUDA_R_32F"],
        ),
        (Call { sizes: (3, -1, 4), ..Call::default() }, &["n is -1"]),
        (Call { operations: (N, conjugate), ..Call::default() }, &["transb is 3"]),
    ];
    for (call, texts) in rows {
        messages.expect(call.run(&blas), 7, texts);
    }
}

#[test]
fn empty_products_succeed() {
    let blas = Blas::new();
    assert_eq!(Call { sizes: (0, 2, 4), lds: (1, 4, 1), ..Call::default() }.run(&blas) as u32, 0);
    assert_eq!(Call { sizes: (3, 0, 4), ..Call::default() }.run(&blas) as u32, 0);
    assert_eq!(Call { sizes: (3, 2, 0), lds: (3, 1, 3), ..Call::default() }.run(&blas) as u32, 0);
}

#[test]
fn results_that_overlap_operands_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let a = blas.put(&[1.0f32; 4]);
    let (pa, one) = (blas.address::<_, f32>(&a), 1.0f32);
    // SAFETY: all operands are the same four elements.
    let status = unsafe { blas.sgemm([N; 2], [2; 3], [&raw const one; 2], [(pa, 2); 3]) };
    messages.expect(status, 7, &["C and A are the same memory"]);
}

#[test]
fn scalars_in_the_wrong_memory_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let scalar = blas.put(&[1.0f32]);
    let (a, c) = (blas.put(&[1.0f32]), blas.put(&[1.0f32]));
    let (pa, pc) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&c));
    let device = blas.address::<_, f32>(&scalar).cast_const();
    let host = 1.0f32;
    let gemm = |alpha: *const f32, beta: *const f32| {
        // SAFETY: every operand has one element, and the library checks the scalars.
        unsafe { blas.sgemm([N; 2], [1; 3], [alpha, beta], [(pa, 1), (pa, 1), (pc, 1)]) }
    };
    let message = "beta points to device memory, but the pointer mode is CUBLAS_POINTER_MODE_HOST";
    messages.expect(gemm(&raw const host, device), 7, &[message]);
    messages.expect(gemm(std::ptr::null(), &raw const host), 7, &["alpha is a null pointer"]);
    // SAFETY: the handle is valid.
    unsafe {
        let mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(sys::cublasSetPointerMode_v2(blas.handle, mode) as u32, 0);
    }
    let message = "alpha is at";
    messages.expect(gemm(&raw const host, device), 7, &[message, "CUBLAS_POINTER_MODE_DEVICE"]);
    assert_eq!(gemm(device, device) as u32, 0);
}

#[test]
fn overlapping_batches_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, c) = (blas.put(&[1.0f32; 4]), blas.put(&[1.0f32; 8]));
    let (pa, pc, one) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&c), 1.0f32);
    let gemm = |stride: i64| {
        let (handle, one) = (blas.handle, &raw const one);
        // SAFETY: the operands are large enough, and the library checks the stride.
        unsafe {
            sys::cublasSgemmStridedBatched(
                handle, N, N, 2, 2, 2, one, pa, 2, 0, pa, 2, 0, one, pc, 2, stride, 2,
            )
        }
    };
    assert_eq!(gemm(4) as u32, 0);
    messages.expect(gemm(0), 7, &["strideC is 0", "overlap"]);
    messages.expect(gemm(5), 7, &["C is 2 x 2 CUDA_R_32F with ldc 2, 2 times 5 elements apart"]);
}

#[test]
fn the_message_names_the_bad_matrix_of_a_batch() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, c) = (blas.put(&[1.0f32; 4]), blas.put(&[1.0f32; 8]));
    let (pa, pc, one) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&c), 1.0f32);
    let (good, bad) = (pa as u64, pa as u64 + 4);
    let (inputs, wrong) = (blas.put(&[good, good]), blas.put(&[good, bad]));
    let outputs = blas.put(&[pc as u64, pc as u64 + 16]);
    // SAFETY: the library rejects the invalid pointer.
    let status = unsafe {
        let operands = [&inputs, &wrong, &outputs].map(|array| (blas.address(array), 2));
        blas.sgemm_batched([2; 3], [&raw const one; 2], operands, 2)
    };
    messages.expect(status, 7, &["matrix 1 of the batch: B is 2 x 2", "B ends 4 bytes after it"]);
    assert_eq!(blas.get(&c), [1.0; 8], "nothing was computed");
}

/// cuBLAS expects the arrays of pointers in device memory. An array outside every allocation, for
/// example in freed memory or right after an allocation, is not read.
#[test]
fn arrays_of_pointers_outside_allocations_are_not_read() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, c) = (blas.put(&[1.0f32; 4]), blas.put(&[1.0f32; 4]));
    let (pa, pc, one) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&c), 1.0f32);
    let (inputs, outputs) = (blas.put(&[pa as u64]), blas.put(&[pc as u64]));
    let (inputs, outputs) = (blas.address(&inputs), blas.address(&outputs));
    let mut host = [pa as u64];
    let gone = {
        let freed = blas.put(&[pa as u64]);
        blas.address(&freed)
    };
    let gemm = |b: *mut u64, batch: i32| {
        let operands = [inputs, b, outputs].map(|array| (array, 2));
        // SAFETY: the library rejects the invalid array.
        unsafe { blas.sgemm_batched([2; 3], [&raw const one; 2], operands, batch) }
    };
    for array in [host.as_mut_ptr(), gone, inputs.wrapping_add(1)] {
        let what = "the array of pointers to B";
        messages.expect(gemm(array, 1), 7, &[what, "not inside a device allocation"]);
    }
    messages.expect(gemm(inputs, 2), 7, &["the array of pointers to C", "8 bytes after it"]);
    assert_eq!(blas.get(&c), [1.0; 4], "nothing was computed");
}

#[test]
fn vectors_with_zero_increment_or_out_of_bounds_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, x, y) = (blas.put(&[1.0f32; 6]), blas.put(&[1.0f32; 3]), blas.put(&[1.0f32; 2]));
    let (pa, px, py) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&x), blas.address(&y));
    let one = 1.0f32;
    let gemv = |incx: i32, lda: i32| {
        // SAFETY: the library rejects invalid arguments.
        unsafe { blas.sgemv(N, [2, 3], [&raw const one; 2], (pa, lda), [(px, incx), (py, 1)]) }
    };
    assert_eq!(gemv(1, 2) as u32, 0);
    messages.expect(gemv(0, 2), 7, &["incx is 0"]);
    messages.expect(
        gemv(2, 2),
        7,
        &["x is 1 x 3 CUDA_R_32F with incx 2", "x ends 8 bytes after it"],
    );
    messages.expect(gemv(1, 1), 7, &["lda is 1"]);
}

#[test]
fn invalid_handles_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let dead = {
        let other = Blas::new();
        other.handle
    };
    let mut mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST;
    // SAFETY: invalid handles are detected and not dereferenced.
    unsafe {
        let status = sys::cublasGetPointerMode_v2(std::ptr::null_mut(), &raw mut mode);
        messages.expect(status, 1, &["the handle is null"]);
        let status = sys::cublasGetPointerMode_v2(dead, &raw mut mode);
        messages.expect(status, 1, &["the handle is not valid"]);
        let status = sys::cublasDestroy_v2(dead);
        messages.expect(status, 1, &["the handle is not valid"]);
        assert_eq!(sys::cublasGetPointerMode_v2(blas.handle, &raw mut mode) as u32, 0);
    }
}

#[test]
fn workspaces_must_be_aligned_and_inside_an_allocation() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let memory = blas.put(&[0u8; 1024]);
    let address = blas.address::<_, std::ffi::c_void>(&memory);
    // SAFETY: the library checks the address.
    unsafe {
        assert_eq!(sys::cublasSetWorkspace_v2(blas.handle, address, 1024) as u32, 0);
        let status = sys::cublasSetWorkspace_v2(blas.handle, address.byte_add(16), 512);
        messages.expect(status, 7, &["workspace is at", "not a multiple of 256"]);
        let status = sys::cublasSetWorkspace_v2(blas.handle, address, 2048);
        messages.expect(status, 7, &["workspace: 2048 bytes", "ends 1024 bytes after it"]);
    }
}

#[test]
fn unsupported_functions_exist_and_return_an_error() {
    let blas = Blas::new();
    let messages = Messages::capture();
    let (one, null) = (1.0f32, std::ptr::null_mut());
    // SAFETY: the arguments are ignored.
    let status = unsafe { sys::cublasSaxpy_v2(blas.handle, 1, &raw const one, null, 1, null, 1) };
    messages.expect(status, 15, &["this operation on vectors is not emulated"]);
}
