//! Sizes, counts and times that a program chooses: if they exceed the available resources, the call fails with CUDA's
//! code and the process continues.

use std::ffi::c_void;

use crate::support::*;

const LOCAL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n\
    { .local .b8 a[524288]; .reg .b64 %d; mov.u64 %d, a; st.local.u8 [%d], 1; ret; }";

/// A kernel that tries to allocate `bytes` bytes `times` times, and writes the number of successes to p.
const ALLOCATING: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n\
    .visible .entry k(.param .u64 p, .param .u64 bytes, .param .u64 times, .param .u64 frees)\n\
    {\n.param .b64 size, pointer;\n.reg .b64 %a, %p, %n, %f;\n.reg .b64 %i, %t;\n.reg .pred %q;\n\
    ld.param.u64 %p, [p];\nld.param.u64 %n, [bytes];\nld.param.u64 %t, [times];\n\
    ld.param.u64 %f, [frees];\nmov.u64 %i, 0;\nL: st.param.b64 [size], %n;\n\
    call (pointer), malloc, (size);\nld.param.b64 %a, [pointer];\nsetp.eq.u64 %q, %a, 0;\n@%q bra E;\n\
    st.u8 [%a], 1;\nadd.u64 %i, %i, 1;\nsetp.eq.u64 %q, %f, 0;\n@%q bra N;\n\
    st.param.b64 [size], %a;\ncall free, (size);\nN: setp.lt.u64 %q, %i, %t;\n@%q bra L;\n\
    E: st.global.u64 [%p], %i;\nret;\n}";

/// The current or peak memory in kibibytes, depending on the field of `/proc/self/status`.
#[cfg(target_os = "linux")]
fn memory_of(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn untouched_memory_uses_no_host_memory() {
    if !is_child() {
        for checks in ["memory", "all"] {
            run_child!(&[("EMULATED_GPU_CHECKS", checks), ("EMULATED_GPU_MEMORY", "2G")]);
        }
        return;
    }
    context();
    let before = memory_of("VmHWM");
    let block = allocate(1 << 30);
    output!(cuMemHostAlloc(-> usize, 1usize << 28, 0u32));
    output!(cuMemAllocManaged(-> u64, 1usize << 28, 1u32));
    ok!(cuMemsetD32_v2(block + (1 << 29) => u64, 7u32, 4usize));
    assert_eq!(read(block + (1 << 29), 4), [7; 4]);
    let grown = memory_of("VmHWM") - before;
    assert!(grown < 100 << 10, "{grown} KiB were used for 1.5 GiB of almost untouched memory");
}

#[test]
fn more_than_the_total_memory_can_not_be_allocated() {
    context();
    let (free, total) = memory_info();
    assert!(free <= total && total >= 1 << 20);
    let mut address = 0u64;
    let more = cu!(cuMemAlloc_v2(&raw mut address, total + 1));
    assert_eq!(more, code::OUT_OF_MEMORY);
}

#[test]
fn module_variables_count_as_device_memory() {
    in_child!(&[("EMULATED_GPU_MEMORY", "1M")]);
    context();
    let text = |bytes: u64| {
        format!(".version 8.0\n.target sm_80\n.address_size 64\n.global .b8 v[{bytes}];\n\0")
    };
    let load = |bytes| {
        let mut module = 0usize;
        let text = text(bytes);
        (cu!(cuModuleLoadData(&raw mut module, text.as_ptr())), module)
    };
    assert_eq!(load(2 << 20).0, code::OUT_OF_MEMORY);
    let (loaded, module) = load(1 << 19);
    assert_eq!(loaded, 0);
    let (free, total) = memory_info();
    assert_eq!((free, total), (1 << 19, 1 << 20));
    let mut address = 0u64;
    let more = cu!(cuMemAlloc_v2(&raw mut address, (1 << 19) + 1 => usize));
    assert_eq!(more, code::OUT_OF_MEMORY);
    ok!(cuModuleUnload(module));
    ok!(cuMemAlloc_v2(&raw mut address, 1 << 20 => usize));
}

#[test]
fn launches_of_extreme_shapes_are_rejected_or_run() {
    let _context = own_context();
    let null = std::ptr::null::<c_void>();
    for limit in [".maxntid 4294967295,4294967295,4294967295", ".maxntid 65536,65536,1"] {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {limit} {{ ret; }}"
        );
        let k = function(module(&text), "k");
        let max = output!(cuFuncGetAttribute(-> i32, 0 => i32, k));
        assert_eq!(max, 1024);
        assert_eq!(launch(k, (1, 1), 0, &[]), 0);
        let huge = u32::MAX;
        returns!(code::INVALID_VALUE, cuLaunchKernel(
            k, huge, huge, huge, huge, huge, huge, huge, 0 => usize, null, null
        ));
        ok!(cuCtxSynchronize());
    }
}

#[test]
fn missing_local_memory_is_reported_at_launch() {
    if !is_child() {
        let variables = [("EMULATED_GPU_MEMORY", "1G"), ("CUDA_LOG_FILE", "stderr")];
        let printed = run_child!(&variables);
        assert!(
            printed.contains("524288 for each of 32 threads of 1000 resident blocks"),
            "{printed}"
        );
        return;
    }
    context();
    let k = function(module(LOCAL), "k");
    let cooperative = |blocks: u32| {
        let null = std::ptr::null::<c_void>();
        cu!(cuLaunchCooperativeKernel(k, blocks, 1u32, 1u32, 32u32, 1u32, 1u32, 0u32, 0usize, null))
    };
    assert_eq!(cooperative(1000), code::OUT_OF_MEMORY);
    assert_eq!(cooperative(4), 0);
    // Blocks of an ordinary launch needn't be resident at the same time, so there is no limit.
    assert_eq!(launch(k, (100, 32), 0, &[]), 0);
    ok!(cuCtxSynchronize());
}

#[test]
fn device_malloc_respects_the_heap_limit() {
    const HEAP: u32 = 2;
    let _context = own_context();
    let k = function(module(ALLOCATING), "k");
    let out = allocate(8);
    let allocations = |bytes: u64, times: u64, frees: u64| {
        assert_eq!(launch(k, (1, 1), 0, &[out, bytes, times, frees]), 0);
        ok!(cuCtxSynchronize());
        read(out, 1)[0]
    };
    let limit = output!(cuCtxGetLimit(-> usize, HEAP));
    assert_eq!(limit, 8 << 20);
    ok!(cuCtxSetLimit(HEAP, 1 << 20 => usize));
    returns!(code::OUT_OF_MEMORY, cuCtxSetLimit(HEAP, usize::MAX));
    assert_eq!(allocations(100_000, 8000, 1), 8000, "freed memory is reused");
    assert_eq!(allocations(100_000, 8000, 0), 10, "1 MiB has ten blocks of 100 kB");
    assert_eq!(allocations(1, 8000, 0), 1513, "the rest is used in blocks of 32 bytes");
    // The size is fixed once a kernel has used the heap.
    returns!(code::INVALID_VALUE, cuCtxSetLimit(HEAP, 2 << 20 => usize));
}

#[test]
fn linker_inputs_of_any_size_are_read_or_rejected() {
    let _context = own_context();
    let text = format!("{INCREMENT}\0");
    let linker = output!(cuLinkCreate_v2(
        0 => u32, std::ptr::null() => *const u32, std::ptr::null() => *const usize, -> usize
    ));
    let add = |size: usize| {
        cu!(cuLinkAddData_v2(
            linker, 1 => u32, text.as_ptr(), size, c"text".as_ptr(), 0 => u32,
            std::ptr::null::<u32>(), std::ptr::null::<usize>()
        ))
    };
    for size in [1 << 46, 1 << 63, usize::MAX, 0] {
        assert_eq!(add(size), code::INVALID_VALUE, "{size}");
    }
    assert_eq!(add(text.len()), 0);
    ok!(cuLinkDestroy(linker));
}

#[test]
fn declarations_of_any_size_are_checked_quickly() {
    #[repr(C)]
    struct Range {
        address: u64,
        shape: [u64; 3],
        access: [u32; 2],
    }
    if !is_child() {
        for checks in ["memory", "all"] {
            run_child!(&[("EMULATED_GPU_CHECKS", checks)]);
        }
        return;
    }
    context();
    let block = allocate(64);
    ok!(cuMemsetD8_v2(block, 0u8, 64usize));
    let declare = |shape: [u64; 3], access: u32, count: usize| {
        let range = Range { address: block, shape, access: [access, 0] };
        cu!(emulatedGpuDeclareAccess(
            0 => usize, c"sum".as_ptr(), &raw const range => *const Range, count
        ))
    };
    // Ranges with one row that is listed many times, and with overlapping rows.
    for access in [1, 2, 3] {
        assert_eq!(declare([4, 1 << 40, 0], access, 1), 0);
        assert_eq!(declare([32, 33, 1], access, 1), 0);
    }
    ok!(cuCtxSynchronize());
    for count in [1 << 40, usize::MAX] {
        assert_eq!(declare([4, 1, 4], 1, count), code::INVALID_VALUE);
    }
}

#[test]
fn too_many_threads_are_rejected() {
    if !is_child() {
        run_child!(&[("EMULATED_GPU_THREADS", "100000")]);
        let printed =
            run_child!(&[("EMULATED_GPU_THREADS", "100000"), ("CUDA_LOG_FILE", "stderr")]);
        assert!(printed.contains("100000 host threads; the maximum is 1024"), "{printed}");
        return;
    }
    returns!(code::INVALID_VALUE, cuInit(0u32));
}

#[test]
fn attributes_reflect_declarations_and_options() {
    let _context = own_context();
    // A kernel with about 40 registers of 64 bits.
    let values: String = (1..40).map(|i| format!("mov.u64 %rd{i}, {i};\n")).collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o) {{\n\
         .reg .u64 %rd<40>; .reg .u32 %r; .shared .align 4 .b8 s[40];\n{values}\
         ld.param.u64 %rd0, [o]; ld.shared.u32 %r, [s+36]; st.global.u32 [%rd0], %r; ret; }}\0"
    );
    let attribute = |module: usize, which: i32| {
        let mut value = -1;
        let k = function(module, "k");
        ok!(cuFuncGetAttribute(&raw mut value => *mut i32, which => i32, k));
        value
    };
    let load = |image: *const u8, max: Option<usize>| {
        let (mut module, count) = (0usize, u32::from(max.is_some()));
        let (option, value) = (0u32, max.unwrap_or(0));
        ok!(cuModuleLoadDataEx(&raw mut module, image, count, &raw const option, &raw const value));
        module
    };
    let (shared, registers) = (1, 4);
    for (max, wanted) in [(None, 64), (Some(32), 32), (Some(1), 16), (Some(0), 64), (Some(255), 64)]
    {
        let module = load(text.as_ptr(), max);
        assert_eq!(attribute(module, shared), 40);
        assert_eq!(attribute(module, registers), wanted, "{max:?}");
    }
    // A linker's limit also applies to its image.
    let (mut linker, option, value) = (0usize, 0u32, 40usize);
    ok!(cuLinkCreate_v2(1u32, &raw const option, &raw const value, &raw mut linker));
    ok!(cuLinkAddData_v2(
        linker, 1 => u32, text.as_ptr(), text.len(), c"text".as_ptr(), 0 => u32,
        std::ptr::null::<u32>(), std::ptr::null::<usize>()
    ));
    let (mut image, mut size) = (std::ptr::null::<u8>(), 0usize);
    ok!(cuLinkComplete(linker, &raw mut image, &raw mut size));
    assert_eq!(attribute(load(image, None), registers), 40);
    ok!(cuLinkDestroy(linker));
}

#[test]
fn stream_ordered_frees_make_memory_available_at_once() {
    in_child!(&[("EMULATED_GPU_MEMORY", "24M")]);
    let _context = own_context();
    let (stream, gate) = (stream(1), allocate(4));
    ok!(cuMemsetD32_v2(gate, 0u32, 1usize));
    // The stream executes nothing until the gate opens.
    ok!(cuStreamWaitValue32_v2(stream, gate, 1u32, 0u32));
    let mut last = 0;
    for round in 0..10 {
        let block = output!(cuMemAllocAsync(-> u64, 20 << 20 => usize, stream));
        assert_ne!(block, last, "{round}");
        ok!(cuMemsetD8Async(block, round => u8, 20 << 20 => usize, stream));
        let mut other = 0u64;
        let second = cu!(cuMemAllocAsync(&raw mut other, 20 << 20 => usize, stream));
        assert_eq!(second, code::OUT_OF_MEMORY, "there is not enough memory for both");
        ok!(cuMemFreeAsync(block, stream));
        last = block;
    }
    ok!(cuMemsetD32_v2(gate, 1u32, 1usize));
    ok!(cuStreamSynchronize(stream));
    let (free, total) = memory_info();
    assert_eq!(total - free, 512, "only the gate is still allocated");
}
