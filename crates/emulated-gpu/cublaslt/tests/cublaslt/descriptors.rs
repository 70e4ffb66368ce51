//! Tests of attributes of structures, and of invalid structures.

use std::ffi::{CStr, c_int, c_void};

use cudarc::cublaslt::sys;

use crate::messages::Messages;
use crate::support::{CublasLt, get_heuristic};

/// Reads an attribute of a descriptor.
unsafe fn read<T: Default>(
    descriptor: sys::cublasLtMatmulDesc_t,
    attribute: sys::cublasLtMatmulDescAttributes_t,
) -> (T, usize) {
    let (mut value, mut written) = (T::default(), 0);
    // SAFETY: the pointers are valid, and the value has the given size.
    let status = unsafe {
        sys::cublasLtMatmulDescGetAttribute(
            descriptor,
            attribute,
            (&raw mut value).cast(),
            size_of::<T>(),
            &raw mut written,
        )
    };
    assert_eq!(status as u32, 0);
    (value, written)
}

#[test]
fn attributes_have_nvidias_defaults_and_can_be_set() {
    let messages = Messages::capture();
    let mut descriptor = std::ptr::null_mut();
    use sys::cublasLtMatmulDescAttributes_t::*;
    // SAFETY: the pointers are valid, and attributes have the given sizes.
    unsafe {
        let (compute, scale) =
            (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType_t::CUDA_R_32F);
        let status = sys::cublasLtMatmulDescCreate(&raw mut descriptor, compute, scale);
        assert_eq!(status as u32, 0);
        assert_eq!(read::<i32>(descriptor, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), (68, 4));
        assert_eq!(read::<i32>(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE), (1, 4));
        assert_eq!(read::<i32>(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE), (-1, 4));
        assert_eq!(read::<i32>(descriptor, CUBLASLT_MATMUL_DESC_FILL_MODE), (2, 4));
        assert_eq!(read::<i64>(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD), (0, 8));
        assert_eq!(read::<u64>(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), (0, 8));
        let ld = 256i64;
        let set = |size| {
            sys::cublasLtMatmulDescSetAttribute(
                descriptor,
                CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                (&raw const ld).cast(),
                size,
            )
        };
        assert_eq!(set(8) as u32, 0);
        assert_eq!(read::<i64>(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD), (256, 8));
        assert_eq!(set(4) as u32, 7);
        messages.expect(&["attribute 12 of CUBLASLT_MATMUL_DESC_… has 8 bytes"]);
        let mut needed = 0;
        let status = sys::cublasLtMatmulDescGetAttribute(
            descriptor,
            CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
            std::ptr::null_mut(),
            0,
            &raw mut needed,
        );
        assert_eq!((status as u32, needed), (0, 8));
        assert_eq!(sys::cublasLtMatmulDescDestroy(descriptor) as u32, 0);
    }
}

#[test]
fn structures_may_be_in_the_programs_memory() {
    let messages = Messages::capture();
    let mut layout = [0u64; 8];
    let place: sys::cublasLtMatrixLayout_t = layout.as_mut_ptr().cast();
    let ty = sys::cudaDataType_t::CUDA_R_32F;
    let rows = sys::cublasLtMatrixLayoutAttribute_t::CUBLASLT_MATRIX_LAYOUT_ROWS;
    let mut value = 0u64;
    // SAFETY: the memory has the given size.
    unsafe {
        let status = sys::cublasLtMatrixLayoutInit_internal(place, 64, ty, 7, 5, 9);
        assert_eq!(status as u32, 0);
        let status = sys::cublasLtMatrixLayoutGetAttribute(
            place,
            rows,
            (&raw mut value).cast(),
            8,
            std::ptr::null_mut(),
        );
        assert_eq!((status as u32, value), (0, 7));
        let status = sys::cublasLtMatrixLayoutInit_internal(place, 16, ty, 7, 5, 9);
        assert_eq!(status as u32, 7);
        messages.expect(&["size is 16: matLayout needs 56 bytes"]);
    }
}

#[test]
fn structures_in_the_programs_memory_may_be_unaligned_and_are_not_freed() {
    let messages = Messages::capture();
    let mut bytes = [0u64; 9];
    // SAFETY: from its second byte on, the array has room for the layout's 64 bytes.
    unsafe {
        let place: sys::cublasLtMatrixLayout_t = bytes.as_mut_ptr().cast::<u8>().add(1).cast();
        let ty = sys::cudaDataType_t::CUDA_R_32F;
        assert_eq!(sys::cublasLtMatrixLayoutInit_internal(place, 64, ty, 7, 5, 9) as u32, 0);
        let rows = sys::cublasLtMatrixLayoutAttribute_t::CUBLASLT_MATRIX_LAYOUT_ROWS;
        let value = 6u64;
        let set = sys::cublasLtMatrixLayoutSetAttribute(place, rows, (&raw const value).cast(), 8);
        assert_eq!(set as u32, 0);
        let mut back = [0u8; 9];
        let mut written = [0u8; 9];
        let status = sys::cublasLtMatrixLayoutGetAttribute(
            place,
            rows,
            back.as_mut_ptr().add(1).cast(),
            8,
            written.as_mut_ptr().add(1).cast(),
        );
        let expected = (0, [0, 6, 0, 0, 0, 0, 0, 0, 0], [0, 8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((status as u32, back, written), expected);
        assert_eq!(sys::cublasLtMatrixLayoutDestroy(place) as u32, 7);
        messages.expect(&["matLayout is in the program's memory"]);
    }
}

#[test]
fn the_message_names_structures_of_the_wrong_kind() {
    let lt = CublasLt::new();
    let messages = Messages::capture();
    let mut preference = std::ptr::null_mut();
    let mut nothing = [0u64; 32];
    let mut result = std::mem::MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::uninit();
    let mut count: c_int = -1;
    // SAFETY: every pointer to a structure points to at least as much memory as the structure has.
    unsafe {
        assert_eq!(sys::cublasLtMatmulPreferenceCreate(&raw mut preference) as u32, 0);
        let wrong: *mut c_void = nothing.as_mut_ptr().cast();
        let mut get_heuristic = |handle, requested| {
            let (result, count) = (result.as_mut_ptr(), &raw mut count);
            let wanted = (requested, result, count);
            get_heuristic((handle, wrong.cast()), [wrong.cast(); 4], preference, wanted)
        };
        assert_eq!(get_heuristic(lt.handle, 1) as u32, 7);
        messages.expect(&["operationDesc is not a matmul descriptor"]);
        assert_eq!(get_heuristic(lt.handle, 0) as u32, 7);
        messages.expect(&["requestedAlgoCount is 0"]);
        assert_eq!(get_heuristic(std::ptr::null_mut(), 1) as u32, 1);
        messages.expect(&["lightHandle is null"]);
        assert_eq!(sys::cublasLtMatmulPreferenceDestroy(preference) as u32, 0);
    }
    assert_eq!(count, 0);
}

#[test]
fn algorithms_are_listed_created_and_queried() {
    let lt = CublasLt::new();
    let f32 = sys::cudaDataType_t::CUDA_R_32F;
    let compute = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
    let (mut ids, mut count) = ([-1; 4], -1);
    let mut algorithm = std::mem::MaybeUninit::<sys::cublasLtMatmulAlgo_t>::uninit();
    // SAFETY: the pointers are valid, and attributes have the given sizes.
    unsafe {
        let (handle, place, found) = (lt.handle, ids.as_mut_ptr(), &raw mut count);
        let status = sys::cublasLtMatmulAlgoGetIds(
            handle, compute, f32, f32, f32, f32, f32, 4, place, found,
        );
        assert_eq!((status as u32, count, ids[0]), (0, 1, 0));
        let place = algorithm.as_mut_ptr();
        let status =
            sys::cublasLtMatmulAlgoInit(handle, compute, f32, f32, f32, f32, f32, ids[0], place);
        assert_eq!(status as u32, 0);
        let (tile, mut back) = (20u32, 0u32);
        let attribute = sys::cublasLtMatmulAlgoConfigAttributes_t::CUBLASLT_ALGO_CONFIG_TILE_ID;
        let status = sys::cublasLtMatmulAlgoConfigSetAttribute(
            algorithm.as_mut_ptr(),
            attribute,
            (&raw const tile).cast(),
            4,
        );
        assert_eq!(status as u32, 0);
        let status = sys::cublasLtMatmulAlgoConfigGetAttribute(
            algorithm.as_ptr(),
            attribute,
            (&raw mut back).cast(),
            4,
            std::ptr::null_mut(),
        );
        assert_eq!((status as u32, back), (0, 20));
        let capability =
            sys::cublasLtMatmulAlgoCapAttributes_t::CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT;
        let status = sys::cublasLtMatmulAlgoCapGetAttribute(
            algorithm.as_ptr(),
            capability,
            (&raw mut back).cast(),
            4,
            std::ptr::null_mut(),
        );
        assert_eq!((status as u32, back), (0, 1));
    }
}

#[test]
fn versions_and_levels() {
    let _messages = Messages::capture();
    // SAFETY: the texts end with 0.
    unsafe {
        assert_eq!(sys::cublasLtGetVersion(), 120_901);
        let name = sys::cublasLtGetStatusName(sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        assert_eq!(CStr::from_ptr(name), c"CUBLAS_STATUS_SUCCESS");
        // As in cuBLASLt on an RTX 3060: levels 0 to 6 and any mask are valid.
        for (level, status) in [(0, 0), (5, 0), (6, 0), (7, 7), (-1, 7)] {
            assert_eq!(sys::cublasLtLoggerSetLevel(level) as u32, status, "{level}");
        }
        assert_eq!(sys::cublasLtLoggerSetMask(1000) as u32, 0);
    }
}
