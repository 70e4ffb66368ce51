//! memcheck, which is always on: out-of-bounds accesses, use after free, and leaks.

use ptx_emulator::memory::AllocationKind;
use ptx_emulator::{Fault, FaultKind};

use crate::ptx::{emulator, kernel, kernel_with, launch, words};

fn run(body: &str, pointer: u64, emulator: &ptx_emulator::Emulator) -> Result<(), Fault> {
    let head = ".reg .b32 %t, %v;\n.reg .b64 %a;\nmov.u32 %t, %tid.x;\nmov.u32 %v, 1;";
    let text = kernel(1, &format!("{head}\n{body}\nret;"));
    launch(emulator, &text, ([1; 3], [32, 1, 1]), &[pointer]).map(|_| ())
}

#[test]
fn every_kind_of_access_has_bounds() {
    // A buffer of 16 bytes; the last offset inside, and the first one outside.
    let cases = [
        ("ld.global.u8 %v, [%p0+OFFSET];", 15, 16),
        ("ld.global.u32 %v, [%p0+OFFSET];", 12, 16),
        ("ld.global.nc.u32 %v, [%p0+OFFSET];", 0, -4),
        ("st.global.u32 [%p0+OFFSET], %v;", 12, 16),
        ("st.global.v2.u32 [%p0+OFFSET], {%v, %v};", 8, 16),
        ("ld.volatile.global.u32 %v, [%p0+OFFSET];", 12, 16),
        ("ld.acquire.gpu.global.u32 %v, [%p0+OFFSET];", 12, 16),
        ("atom.global.add.u32 %v, [%p0+OFFSET], 1;", 12, 16),
        ("red.global.max.u32 [%p0+OFFSET], 1;", 12, 16),
        ("ld.u32 %v, [%p0+OFFSET];", 12, 16),
        (
            ".shared .align 16 .b8 s[16]; mov.u32 %t, s; \
             cp.async.cg.shared.global [%t], [%p0+OFFSET], 16;",
            0,
            16,
        ),
    ];
    for (body, inside, outside) in cases {
        for (offset, faulty) in [(inside, false), (outside, true)] {
            let emulator = emulator();
            let array = words(&emulator, &[0; 4]);
            let body = body.replace("OFFSET", &i64::from(offset).to_string());
            let kind = run(&body, array, &emulator).err().map(|fault| fault.kind);
            assert_eq!(kind, faulty.then_some(FaultKind::IllegalAddress), "{body}");
        }
    }
}

#[test]
fn a_use_after_free_is_reported() {
    let emulator = emulator();
    let array = words(&emulator, &[5; 4]);
    run("ld.global.u32 %v, [%p0];", array, &emulator).unwrap();
    emulator.memory().free(array).unwrap();
    // A new allocation of the same size does not reuse its address.
    let next = words(&emulator, &[6; 4]);
    assert_ne!(next, array);
    let fault = run("ld.global.u32 %v, [%p0];", array, &emulator).unwrap_err();
    assert_eq!(fault.kind, FaultKind::UseAfterFree);
    assert!(emulator.memory().free(array).is_err());
}

#[test]
fn leaks_are_listed() {
    let emulator = emulator();
    assert!(emulator.memory().leaks().is_empty());
    let (kept, freed) = (words(&emulator, &[1; 8]), words(&emulator, &[1; 2]));
    emulator.memory().free(freed).unwrap();
    // The variables of a module belong to the module, and are freed with it.
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 g[4];\n\
        .visible .entry k() { ret; }";
    let loaded = crate::ptx::load(&emulator, text);
    assert_eq!(emulator.memory().allocations().len(), 2);
    drop(loaded);
    let leaks = emulator.memory().leaks();
    assert_eq!(leaks.len(), 1);
    assert_eq!((leaks[0].address, leaks[0].size), (kept, 32));
    assert_eq!(leaks[0].to_string(), format!("32 bytes at {kept:#x}, allocated by the host"));
    // A kernel that does not free its allocation.
    let body = |free: &str| {
        kernel_with(
            ".extern .func (.param .b64 result) malloc (.param .b64 size);\n\
             .extern .func free (.param .b64 pointer);\n",
            0,
            &format!(
                ".param .b64 size;\n.param .b64 pointer;\n.reg .b64 %a;\nst.param.b64 [size], 24;\n\
                 call (pointer), malloc, (size);\nld.param.b64 %a, [pointer];\n\
                 st.param.b64 [size], %a;\n{free}\nret;"
            ),
        )
    };
    emulator.memory().free(kept).unwrap();
    launch(&emulator, &body("call free, (size);"), ([1; 3], [4, 1, 1]), &[]).unwrap();
    assert!(emulator.memory().leaks().is_empty());
    launch(&emulator, &body(""), ([1; 3], [4, 1, 1]), &[]).unwrap();
    let leaks = emulator.memory().leaks();
    assert_eq!(leaks.len(), 4);
    assert!(leaks.iter().all(|leak| leak.kind == AllocationKind::Heap && leak.size == 24));
    assert!(leaks[0].to_string().ends_with("allocated by a kernel"));
}
