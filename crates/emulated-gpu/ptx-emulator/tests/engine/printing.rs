//! Output of kernels: `vprintf` and `__assertfail`.

use std::sync::{Arc, Mutex};

use ptx_emulator::{Emulator, FaultKind, Output, RunOptions};

use crate::ptx::{kernel_with, launch};

const DECLARED: &str = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
    .extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
    .global .align 1 .b8 text[21] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 58, 32, 37, 46, 50, 102, 32, 37, 115, 33, 10, 0};\n\
    .global .align 1 .b8 name[4] = {102, 46, 99, 0};\n";

#[test]
fn printf_formats_each_threads_arguments() {
    let lines: Arc<Mutex<Vec<u8>>> = Arc::default();
    let output = Output::to(lines.clone());
    let emulator = Emulator::new(RunOptions { output, ..RunOptions::default() });
    let text = kernel_with(
        DECLARED,
        0,
        ".local .align 8 .b8 args[24];\n.reg .b32 %t, %back;\n.reg .b64 %a, %f, %s;\n.reg .f64 %d;\n\
         mov.u32 %t, %tid.x;\ncvt.rn.f64.u32 %d, %t;\nmul.f64 %d, %d, 0d3FE0000000000000;\n\
         mov.u64 %s, name;\ncvta.global.u64 %s, %s;\nst.local.u32 [args], %t;\n\
         st.local.f64 [args+8], %d;\nst.local.u64 [args+16], %s;\nmov.u64 %a, args;\n\
         cvta.local.u64 %a, %a;\nmov.u64 %f, text;\ncvta.global.u64 %f, %f;\n{\n.param .b64 p0;\n\
         .param .b64 p1;\n.param .b32 r;\nst.param.b64 [p0], %f;\nst.param.b64 [p1], %a;\n\
         call.uni (r), vprintf, (p0, p1);\nld.param.b32 %back, [r];\n}\nret;",
    );
    launch(&emulator, &text, ([1, 1, 1], [3, 1, 1]), &[]).unwrap();
    let lines = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
    assert_eq!(lines, "thread 0: 0.00 f.c!\nthread 1: 0.50 f.c!\nthread 2: 1.00 f.c!\n");
}

#[test]
fn a_failed_assertion_is_reported_with_its_position() {
    let run = |limit: u32| {
        let text = kernel_with(
            DECLARED,
            0,
            &format!(
                ".reg .b32 %t;\n.reg .b64 %f;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\n\
                 setp.lt.u32 %q, %t, {limit};\n@%q bra FINE;\nmov.u64 %f, name;\n\
                 cvta.global.u64 %f, %f;\n{{\n.param .b64 a;\n.param .b64 b;\n.param .b32 c;\n\
                 .param .b64 d;\n.param .b64 e;\nst.param.b64 [a], %f;\nst.param.b64 [b], %f;\n\
                 st.param.b32 [c], 17;\nst.param.b64 [d], %f;\nst.param.b64 [e], 1;\n\
                 call.uni __assertfail, (a, b, c, d, e);\n}}\nFINE: ret;"
            ),
        );
        launch(&crate::ptx::emulator(), &text, ([1, 1, 1], [32, 1, 1]), &[])
    };
    run(32).unwrap();
    let fault = run(5).unwrap_err();
    assert_eq!((fault.kind, fault.thread), (FaultKind::Assert, Some([5, 0, 0])));
    assert!(fault.to_string().contains("f.c:17, in f.c"), "{fault}");
}
