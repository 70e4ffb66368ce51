//! Conditions of graph nodes, which kernels set by a handle.

use ptx_emulator::memory::Heap;
use ptx_emulator::{Fault, FaultKind, Launch};

use crate::ptx::{emulator, kernel_with, load};

/// A kernel whose last thread sets the condition `p0` to its index. `call` passes that index in a register or in
/// `.param` space.
fn setting(call: &str) -> String {
    let body = format!(
        ".reg .b32 %t;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\nsetp.ne.u32 %q, %t, 40;\n@%q bra D;\n{call}\nD: ret;"
    );
    let declared = ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n";
    kernel_with(declared, 1, &body)
}

const CALLS: [&str; 2] = [
    "call.uni cudaGraphSetConditional, (%p0, %t);",
    "{ .param .b64 a;\n.param .b32 b;\nst.param.b64 [a+0], %p0;\nst.param.b32 [b+0], %t;\n\
     call.uni cudaGraphSetConditional, (a, b); }",
];

#[test]
fn a_kernel_can_only_set_conditions_of_its_owner() {
    let emulator = emulator();
    let conditions = emulator.memory().conditions();
    let run = |text: &str, handle: u64, owner: u64| -> Result<(), Fault> {
        let kernel = load(&emulator, text).kernel("k").unwrap();
        let heap = Heap { owner, ..Heap::default() };
        let (grid, block, parameters) = ([1; 3], [64, 1, 1], handle.to_le_bytes().to_vec());
        let launch = Launch { grid, block, parameters, heap, ..Launch::default() };
        emulator.launch(&kernel, &launch).map(|_| ())
    };
    for call in CALLS {
        let text = setting(call);
        let handle = conditions.create(7);
        assert_eq!(conditions.value(handle), Some(0));
        run(&text, handle, 7).unwrap();
        assert_eq!(conditions.value(handle), Some(40));
        let elsewhere = run(&text, handle, 8).unwrap_err();
        conditions.destroy(handle);
        let gone = run(&text, handle, 7).unwrap_err();
        for (fault, words) in [
            (elsewhere, "a context other than the kernel's"),
            (gone, "not the handle of a condition"),
        ] {
            assert_eq!(fault.kind, FaultKind::IllegalAddress);
            let shown = fault.to_string();
            assert!(shown.contains(words) && shown.contains("cudaGraphSetConditional"), "{shown}");
        }
    }
}
