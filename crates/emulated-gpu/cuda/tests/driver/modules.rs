//! Modules, functions, and the parameters of launches.

use std::ffi::{CStr, CString, c_char, c_void};

use crate::support::*;

fn load(image: *const u8) -> u32 {
    let mut module = 0usize;
    cu!(cuModuleLoadData(&raw mut module, image))
}

#[test]
fn invalid_images_are_rejected() {
    let context = context();
    assert_eq!(load(std::ptr::null()), code::INVALID_VALUE);
    assert_eq!(load(c"\x7fELF\x02\x01\x01".as_ptr().cast()), code::NO_BINARY_FOR_GPU);
    // A fatbin that consists only of its first bytes.
    assert_eq!(load(c"\x50\xed\x55\xba\x01".as_ptr().cast()), code::INVALID_IMAGE);
    assert_eq!(load(c"int main() {}".as_ptr().cast()), code::INVALID_IMAGE);
    assert_eq!(load(c"".as_ptr().cast()), code::INVALID_IMAGE);
    let actual = load(c".version 7.0\n.target sm_80\n.visible .entry f( {".as_ptr().cast());
    assert_eq!(actual, code::INVALID_PTX);
    let actual = load(c".version 99.0\n.target sm_80\n".as_ptr().cast());
    assert_eq!(actual, code::UNSUPPORTED_PTX_VERSION);
    let mut module = 0usize;
    let path = c"/nowhere/kernel.ptx";
    returns!(code::FILE_NOT_FOUND, cuModuleLoad(&raw mut module, path.as_ptr()));
    for (path, expected) in [(c"/dev/zero", code::INVALID_IMAGE), (c"/proc", code::FILE_NOT_FOUND)]
    {
        let loaded = cu!(cuModuleLoad(&raw mut module, path.as_ptr()));
        assert_eq!(loaded, expected, "{path:?}");
    }
    // None of these errors affects the context.
    ok!(cuCtxSynchronize());
    ok!(cuCtxDestroy_v2(context));
}

/// The maximum size of a kernel's parameters since PTX 8.1: 32,764 bytes.
#[test]
fn large_parameters_are_passed() {
    let _context = own_context();
    let text = ".version 8.1\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 out, .param .align 4 .b8 many[32756])\n{\n.reg .b64 %a;\n.reg .b32 %v;\n\
        ld.param.u64 %a, [out];\nld.param.u32 %v, [many+32752];\nst.global.u32 [%a], %v;\nret;\n}";
    let k = function(module(text), "k");
    let out = allocate(4);
    let many: Vec<u32> = (0..8189).collect();
    let parameters = [(&raw const out).cast::<c_void>(), many.as_ptr().cast()];
    ok!(cuLaunchKernel(
        k => usize, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => usize,
        parameters.as_ptr() => *const *const c_void, std::ptr::null() => *const c_void,
    ));
    assert_eq!(read(out, 1), [8188]);
}

#[test]
fn ptx_for_a_newer_card_is_rejected() {
    let _context = own_context();
    let text = |target: &str| {
        CString::new(format!(".version 8.8\n.target {target}\n.visible .entry k() {{ ret; }}\n"))
            .unwrap()
    };
    for target in ["sm_100", "sm_100a", "sm_120"] {
        assert_eq!(load(text(target).as_ptr().cast()), code::INVALID_PTX, "{target}");
    }
    for target in ["sm_90", "sm_90a", "sm_52", "compute_80"] {
        assert_eq!(load(text(target).as_ptr().cast()), 0, "{target}");
    }
    let mut log = [1u8; 512];
    // CU_JIT_ERROR_LOG_BUFFER, …_SIZE_BYTES.
    let (options, mut values) = ([5u32, 6], [log.as_mut_ptr() as usize, log.len()]);
    let (mut module, text) = (0usize, text("sm_100"));
    returns!(code::INVALID_PTX, cuModuleLoadDataEx(
        &raw mut module, text.as_ptr(), 2 => u32, options.as_ptr(), values.as_mut_ptr()
    ));
    let printed = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert!(printed.contains("SM version specified by .target is higher"), "{printed}");
    assert!(printed.contains("sm_100") && printed.contains("sm_90"), "{printed}");
}

#[test]
fn the_error_log_describes_the_error() {
    let _context = own_context();
    let text = c".version 7.0\n.target sm_80\n.visible .entry f() {\n    add.u32 %r1, 1, 2;\n    ret;\n}\n";
    let mut log = [1u8; 1024];
    // The options CU_JIT_ERROR_LOG_BUFFER and …_SIZE_BYTES, and a hint that has no effect.
    let options = [5u32, 6, 7];
    let mut values = [log.as_mut_ptr() as usize, log.len(), 4];
    let mut module = 0usize;
    returns!(code::INVALID_PTX, cuModuleLoadDataEx(
        &raw mut module, text.as_ptr(), 3 => u32, options.as_ptr(), values.as_mut_ptr()
    ));
    let printed = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert!(printed.contains("%r1") && printed.contains(":4:"), "{printed}");
    assert_eq!(values[1], printed.len(), "the length of the log");
    // If the buffer is too small, the log is truncated, and ends in NUL.
    values = [log.as_mut_ptr() as usize, 8, 4];
    cu!(cuModuleLoadDataEx(
        &raw mut module, text.as_ptr(), 2 => u32, options.as_ptr(), values.as_mut_ptr()
    ));
    assert_eq!((log[7], values[1]), (0, 7));
}

#[test]
fn files_are_loaded() {
    let _context = own_context();
    let path = std::env::temp_dir().join(format!("emulated-cuda-{}.ptx", std::process::id()));
    std::fs::write(&path, INCREMENT).unwrap();
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let module = output!(cuModuleLoad(-> usize, name.as_ptr()));
    function(module, "increment");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn unknown_names_are_not_found() {
    let _context = own_context();
    let module = module(INCREMENT);
    let mut handle = 0usize;
    let get = |module: usize, name: *const c_char, out: *mut usize| cu!(cuModuleGetFunction(out => *mut usize, module => usize, name => *const c_char));
    assert_eq!(get(module, c"decrement".as_ptr(), &raw mut handle), code::NOT_FOUND);
    assert_eq!(get(module, std::ptr::null(), &raw mut handle), code::INVALID_VALUE);
    assert_eq!(get(module, c"increment".as_ptr(), std::ptr::null_mut()), code::INVALID_VALUE);
    assert_eq!(get(0, c"increment".as_ptr(), &raw mut handle), code::INVALID_HANDLE);
    assert_eq!(get(12345, c"increment".as_ptr(), &raw mut handle), code::INVALID_HANDLE);
    let (mut address, mut size) = (0u64, 0usize);
    returns!(code::NOT_FOUND, cuModuleGetGlobal_v2(
        &raw mut address => *mut u64, &raw mut size => *mut usize, module => usize,
        c"table".as_ptr() => *const c_char
    ));
    // A module's functions are unloaded with it.
    let increment = function(module, "increment");
    ok!(cuModuleUnload(module));
    returns!(code::INVALID_HANDLE, cuModuleUnload(module));
    assert_eq!(launch(increment, (1, 1), 0, &[0, 0]), code::INVALID_HANDLE);
}

#[test]
fn variables_have_addresses() {
    let _context = own_context();
    let module = module(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 table[3] = {4, 5, 6};\n",
    );
    let (mut address, mut size) = (0u64, 0usize);
    ok!(cuModuleGetGlobal_v2(&raw mut address, &raw mut size, module, c"table".as_ptr()));
    assert_eq!((size, read(address, 3)), (12, vec![4, 5, 6]));
    returns!(code::INVALID_VALUE, cuMemFree_v2(address), "a module's variable can't be freed");
}

#[test]
fn invalid_launches_are_rejected() {
    let _context = own_context();
    let module = module(INCREMENT);
    let (increment, nothing) = (function(module, "increment"), function(module, "nothing"));
    let block = allocate(64);
    let values = [block, 16u64];
    let pointers = [&raw const values[0], &raw const values[1]];
    let start = |grid: [u32; 3], threads: [u32; 3], shared: u32, parameters: *const *const u64| {
        cu!(cuLaunchKernel(
            increment, grid[0], grid[1], grid[2], threads[0], threads[1], threads[2], shared,
            0 => usize, parameters, std::ptr::null::<c_void>()
        ))
    };
    let good = pointers.as_ptr();
    assert_eq!(start([1; 3], [1; 3], 0, good), 0);
    for (grid, threads, shared) in [
        ([0, 1, 1], [1; 3], 0),
        ([1; 3], [1, 0, 1], 0),
        ([1; 3], [1025, 1, 1], 0),
        ([1; 3], [32, 32, 2], 0),
        ([1; 3], [1, 1, 65], 0),
        ([1, 65_536, 1], [1; 3], 0),
        ([1; 3], [1; 3], (48 << 10) + 1),
    ] {
        let expected = code::INVALID_VALUE;
        assert_eq!(start(grid, threads, shared, good), expected, "{grid:?} {threads:?} {shared}");
    }
    assert_eq!(start([1; 3], [1; 3], 0, std::ptr::null()), code::INVALID_VALUE);
    assert_eq!(start([1; 3], [1; 3], 0, std::ptr::dangling()), code::INVALID_VALUE);
    let half = [&raw const values[0], std::ptr::null()];
    assert_eq!(start([1; 3], [1; 3], 0, half.as_ptr()), code::INVALID_VALUE);
    assert_eq!(launch(0, (1, 1), 0, &values), code::INVALID_HANDLE);
    assert_eq!(launch(increment, (1, 1), 0xbad, &values), code::INVALID_HANDLE);
    // A kernel without parameters needs no list.
    assert_eq!(launch(nothing, (1, 1), 0, &[]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(block, 2), [1, 0]);
}

#[test]
fn parameters_can_be_passed_in_one_buffer() {
    let _context = own_context();
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let block = allocate(64);
    let buffer = [block, 16u64, 0, 0, 0];
    let start = |size: usize, extra: &[usize], parameters: *const usize| {
        let mut list = vec![1usize, buffer.as_ptr() as usize, 2, (&raw const size) as usize];
        list.extend(extra);
        cu!(cuLaunchKernel(
            increment => usize, 1 => u32, 1 => u32, 1 => u32, 16 => u32, 1 => u32, 1 => u32, 0 => u32,
            0 => usize, parameters => *const usize, list.as_ptr() => *const usize,
        ))
    };
    let null = std::ptr::null();
    assert_eq!(start(16, &[0], null), 0);
    assert_eq!(read(block, 16), [1; 16]);
    assert_eq!(start(8, &[0], null), code::INVALID_VALUE, "one parameter is missing");
    assert_eq!(start(40, &[0], null), code::INVALID_VALUE, "too many");
    assert_eq!(start(16, &[7, 7, 0], null), code::INVALID_VALUE, "not in the list");
    assert_eq!(start(16, &[0], buffer.as_ptr().cast()), code::INVALID_VALUE, "both forms");
}

#[test]
fn functions_have_attributes() {
    let _context = own_context();
    let module = module(
        ".version 8.3\n.target sm_80\n.address_size 64\n\
         .visible .entry f(.param .u64 a, .param .u32 b) .maxntid 128, 1, 1 {\n\
         .shared .align 4 .b8 tile[1024];\n.reg .b32 %r<4>;\nmov.u32 %r1, tile;\nst.shared.u32 [%r1], 0;\nret;\n}\n",
    );
    let f = function(module, "f");
    let attribute = |which: u32| {
        let mut value = -1i32;
        let code = cu!(cuFuncGetAttribute(&raw mut value => *mut i32, which, f));
        (code, value)
    };
    assert_eq!(attribute(0), (0, 128));
    assert_eq!(attribute(1), (0, 1024));
    assert_eq!(attribute(5), (0, 80));
    assert_eq!(attribute(6), (0, 90));
    assert_eq!(attribute(8), (0, 47 << 10));
    assert_eq!(attribute(99).0, code::INVALID_VALUE);
    let set = |which: u32, value: i32| cu!(cuFuncSetAttribute(f, which, value => i32));
    assert_eq!(set(8, 100 << 10), 0);
    assert_eq!(attribute(8), (0, 100 << 10));
    let expected = code::INVALID_VALUE;
    assert_eq!(set(8, 227 << 10), expected, "together with static shared memory, it is too much");
    assert_eq!(set(0, 1), code::INVALID_VALUE);
    // Blocks with more threads than .maxntid can't be launched.
    assert_eq!(launch(f, (1, 129), 0, &[0, 0]), code::INVALID_VALUE);
    let (mut offset, mut size) = (0usize, 0usize);
    let info = |index: usize, offset: *mut usize, size: *mut usize| cu!(cuFuncGetParamInfo(f => usize, index => usize, offset => *mut usize, size => *mut usize));
    assert_eq!(info(1, &raw mut offset, &raw mut size), 0);
    assert_eq!((offset, size), (8, 4));
    assert_eq!(info(2, &raw mut offset, &raw mut size), code::INVALID_VALUE);
    let mut name: *const c_char = std::ptr::null();
    ok!(cuFuncGetName(&raw mut name, f));
    // SAFETY: the driver's name of a loaded function.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"f");
}

#[test]
fn occupancy_matches_the_card() {
    let _context = own_context();
    let module = module(INCREMENT);
    let f = function(module, "nothing");
    let blocks = |threads: i32, shared: usize| {
        let mut blocks = -1i32;
        let code = cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &raw mut blocks => *mut i32, f => usize, threads => i32, shared => usize
        ));
        (code, blocks)
    };
    // Limits of a multiprocessor: 2048 threads, 32 blocks, and 228 KiB of shared memory.
    assert_eq!(blocks(1024, 0), (0, 2));
    assert_eq!(blocks(64, 0), (0, 32));
    assert_eq!(blocks(32, 0), (0, 32));
    assert_eq!(blocks(32, 100 << 10), (0, 2));
    assert_eq!(blocks(32, 300 << 10), (0, 0));
    assert_eq!(blocks(0, 0).0, code::INVALID_VALUE);
    // Shared memory available to each of several blocks, up to the function's limit.
    let left = |blocks: i32| output!(cuOccupancyAvailableDynamicSMemPerBlock(-> usize, f, blocks => i32, 64 => i32));
    assert_eq!((left(1), left(2), left(8)), (48 << 10, 48 << 10, (28 << 10) + 512 - 1024));
    ok!(cuFuncSetAttribute(f, 8u32, 200 << 10 => i32));
    assert_eq!((left(1), left(2)), (200 << 10, 113 << 10));
    let (mut grid, mut block) = (0i32, 0i32);
    ok!(cuOccupancyMaxPotentialBlockSize(
        &raw mut grid => *mut i32, &raw mut block => *mut i32, f => usize,
        None => Option<unsafe extern "C" fn(i32) -> usize>, 0 => usize, 256 => i32,
    ));
    assert_eq!((grid, block), (132 * 8, 256));
    // A cooperative grid must be resident as a whole.
    let cooperative = |blocks: u32| {
        cu!(cuLaunchCooperativeKernel(
            f => usize, blocks => u32, 1 => u32, 1 => u32, 1024 => u32, 1 => u32, 1 => u32, 0 => u32,
            0 => usize, std::ptr::null() => *const c_void,
        ))
    };
    assert_eq!(cooperative(4), 0);
    assert_eq!(cooperative(2 * 132 + 1), code::COOPERATIVE_LAUNCH_TOO_LARGE);
    ok!(cuCtxSynchronize());
}

#[test]
fn functions_are_found_by_name_and_version() {
    let get = |name: &CStr, version: i32, flags: u64| {
        let (mut address, mut status) = (1usize, 9u32);
        ok!(cuGetProcAddress_v2(
            name.as_ptr(), &raw mut address, version => i32, flags, &raw mut status
        ));
        (address, status)
    };
    let symbol = |name: &str| crate::support::symbol::<unsafe extern "C" fn()>(name) as usize;
    assert_eq!(get(c"cuMemAlloc", 12_000, 0), (symbol("cuMemAlloc_v2"), 0));
    assert_eq!(get(c"cuGraphInstantiate", 12_000, 0), (symbol("cuGraphInstantiateWithFlags"), 0));
    assert_eq!(get(c"cuMemcpyAsync", 12_000, 2), (symbol("cuMemcpyAsync_ptsz"), 0));
    assert_eq!(get(c"cuMemAdvise", 12_000, 0), (symbol("cuMemAdvise"), 0));
    assert_eq!(get(c"cuMemAdvise", 13_000, 0), (symbol("cuMemAdvise_v2"), 0));
    assert_eq!(get(c"cuMemAlloc", 1_000, 0), (0, 2));
    assert_eq!(get(c"cuNothing", 12_000, 0), (0, 1));
    let mut address = 1usize;
    returns!(code::NOT_FOUND, cuGetProcAddress(
        c"cuNone".as_ptr() => *const c_char, &raw mut address => *mut usize, 12_000 => i32, 0 => u64
    ));
    assert_eq!(address, 0);
}

#[test]
fn a_text_passes_through_the_linker() {
    let _context = own_context();
    let mut linker = 0usize;
    let none = std::ptr::null::<u32>();
    ok!(cuLinkCreate_v2(0u32, none, none, &raw mut linker));
    let add = |input: u32, text: &[u8]| {
        cu!(cuLinkAddData_v2(
            linker, input, text.as_ptr(), text.len(), c"text".as_ptr(), 0 => u32, none, none
        ))
    };
    assert_eq!(add(0, INCREMENT.as_bytes()), code::NOT_SUPPORTED);
    assert_eq!(add(1, b".version 7.0 .target sm_80 .entry"), code::INVALID_PTX);
    assert_eq!(add(1, INCREMENT.as_bytes()), 0);
    let (mut image, mut size) = (std::ptr::null::<u8>(), 0usize);
    ok!(cuLinkComplete(linker, &raw mut image, &raw mut size));
    assert!(size > INCREMENT.len());
    assert_eq!(load(image), 0);
    ok!(cuLinkDestroy(linker));
    returns!(code::INVALID_HANDLE, cuLinkDestroy(linker));
}

#[test]
fn kernels_that_require_clusters_are_rejected() {
    let _context = own_context();
    let text = |blocks: u32| {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry f() .reqnctapercluster {blocks}, 1, 1 {{ ret; }}\n"
        )
    };
    for (blocks, expected) in [(1, 0), (2, code::NOT_SUPPORTED)] {
        let f = function(module(&text(blocks)), "f");
        assert_eq!(launch(f, (2, 1), 0, &[]), expected);
    }
}
