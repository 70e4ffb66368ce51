//! Tests of operands in memory that consists of several mappings, like PyTorch's expandable
//! segments.

use cudarc::cublas::sys;
use cudarc::driver::sys as driver;

use crate::support::{Blas, Messages};

const PIECE: usize = 2 << 20;

/// Reserves addresses for three pieces, and maps memory at the first two.
fn map_two_of_three_pieces() -> Option<u64> {
    let attribute =
        driver::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    let (mut has, mut address) = (0, 0);
    // SAFETY: all pointers are valid, and the structures are as CUDA's documentation requires.
    unsafe {
        driver::cuDeviceGetAttribute(&raw mut has, attribute, 0).result().unwrap();
        if has == 0 {
            skipped::note("this process may have no files of memory (memfd_create)");
            return None;
        }
        let mut properties: driver::CUmemAllocationProp = std::mem::zeroed();
        properties.type_ = driver::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = driver::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        driver::cuMemAddressReserve(&raw mut address, 3 * PIECE, 0, 0, 0).result().unwrap();
        for at in [address, address + PIECE as u64] {
            let mut handle = 0;
            driver::cuMemCreate(&raw mut handle, PIECE, &raw const properties, 0).result().unwrap();
            driver::cuMemMap(at, PIECE, 0, handle, 0).result().unwrap();
            driver::cuMemRelease(handle).result().unwrap();
        }
        let access = driver::CUmemAccessDesc {
            location: properties.location,
            flags: driver::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        driver::cuMemSetAccess(address, 2 * PIECE, &raw const access, 1).result().unwrap();
    }
    Some(address)
}

#[test]
fn matrices_may_span_several_mappings() {
    const N: usize = 16;
    const BYTES: usize = N * N * 4;
    let blas = Blas::new();
    let messages = Messages::capture();
    let Some(address) = map_two_of_three_pieces() else { return };
    // The first matrix spans both pieces, and the last matrix ends where the second piece ends.
    let first = address + (PIECE - BYTES / 2) as u64;
    let last = address + (2 * PIECE - BYTES) as u64;
    let values: Vec<f32> = (0..N * N).map(|index| (index % 7) as f32 - 2.0).collect();
    let mut result = vec![0f32; N * N];
    let (one, zero, n) = (1f32, 0f32, N as i32);
    let multiply = |a: u64, b: u64, c: u64| {
        let none = sys::cublasOperation_t::CUBLAS_OP_N;
        let operands = [a, b, c].map(|address| (address as *mut f32, n));
        // SAFETY: the library checks the addresses.
        unsafe { blas.sgemm([none; 2], [n; 3], [&raw const one, &raw const zero], operands) }
    };
    // SAFETY: the ranges are inside the vectors and the mapped memory.
    unsafe {
        driver::cuMemcpyHtoD_v2(first, values.as_ptr().cast(), BYTES).result().unwrap();
        driver::cuMemcpyHtoD_v2(address, values.as_ptr().cast(), BYTES).result().unwrap();
        assert_eq!(multiply(first, address, last) as u32, 0);
        blas.stream.synchronize().unwrap();
        driver::cuMemcpyDtoH_v2(result.as_mut_ptr().cast(), last, BYTES).result().unwrap();
    }
    let at = |row: usize, column: usize| values[column * N + row];
    for row in 0..N {
        for column in 0..N {
            let sum: f32 = (0..N).map(|k| at(row, k) * at(k, column)).sum();
            assert_eq!(result[column * N + row], sum, "{row} {column}");
        }
    }
    // The matrix ends beyond the mapped memory.
    messages.expect(multiply(last + 4, address, first), 7, &["ends 4 bytes after it"]);
    // SAFETY: nothing uses the memory any more.
    unsafe {
        driver::cuMemUnmap(address, 2 * PIECE).result().unwrap();
        driver::cuMemAddressFree(address, 3 * PIECE).result().unwrap();
    }
}
