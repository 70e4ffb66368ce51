//! Device functions.

use ptx_emulator::source::Source;

use super::bench::{emulator, kernel, launch, read, words};

const SQUARE: &str = ".func (.param .b32 result) square(.param .b32 value)\n{\n.reg .b32 %x;\n\
    ld.param.b32 %x, [value];\nmul.lo.u32 %x, %x, %x;\nst.param.b32 [result], %x;\nret;\n}\n\
    .func (.reg .b32 %out) cube(.reg .b32 %in)\n{\nmul.lo.u32 %out, %in, %in;\n\
    mul.lo.u32 %out, %out, %in;\nret;\n}\n";

fn with_functions(pointers: usize, body: &str) -> String {
    kernel(pointers, body).replace(".visible .entry", &format!("{SQUARE}.visible .entry"))
}

const STORE: &str = "mul.wide.u32 %o, %t, 4;\nadd.u64 %o, %o, %p0;\nst.global.u32 [%o], %y;\nret;";

#[test]
fn arguments_in_parameters_and_in_registers() {
    let emulator = emulator();
    let out = words(&emulator, &[0; 32]);
    let text = with_functions(
        1,
        &format!(
            ".reg .b32 %t, %y, %z;\n.reg .b64 %o;\nmov.u32 %t, %tid.x;\n{{\n.param .b32 in;\n\
             .param .b32 back;\nst.param.b32 [in], %t;\ncall.uni (back), square, (in);\n\
             ld.param.b32 %y, [back];\n}}\ncall (%z), cube, (%t);\nadd.u32 %y, %y, %z;\n{STORE}"
        ),
    );
    launch(&emulator, &text, ([1, 1, 1], [32, 1, 1]), &[out]).unwrap();
    let expected: Vec<u32> = (0..32).map(|t| t * t + t * t * t).collect();
    assert_eq!(read(&emulator, out, 32), expected);
}

#[test]
fn lanes_call_different_functions_through_a_register() {
    let emulator = emulator();
    let out = words(&emulator, &[0; 32]);
    let text = with_functions(
        1,
        &format!(
            ".reg .b32 %t, %y;\n.reg .b64 %o, %f, %g;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\n\
             and.b32 %y, %t, 1;\nsetp.eq.u32 %q, %y, 0;\nmov.u64 %f, square;\nmov.u64 %g, other;\n\
             selp.b64 %f, %f, %g, %q;\n{{\n.param .b32 in;\n.param .b32 back;\n\
             st.param.b32 [in], %t;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
             call (back), %f, (in), proto;\nld.param.b32 %y, [back];\n}}\n{STORE}"
        ),
    )
    .replace(
        ".visible .entry",
        ".func (.param .b32 result) other(.param .b32 value)\n{\n.reg .b32 %x;\n\
         ld.param.b32 %x, [value];\nadd.u32 %x, %x, 1000;\nst.param.b32 [result], %x;\nret;\n}\n\
         .visible .entry",
    );
    launch(&emulator, &text, ([1, 1, 1], [32, 1, 1]), &[out]).unwrap();
    let expected: Vec<u32> = (0..32).map(|t| if t % 2 == 0 { t * t } else { t + 1000 }).collect();
    assert_eq!(read(&emulator, out, 32), expected);
}

#[test]
fn recursion_is_refused_when_the_module_is_loaded() {
    let text = kernel(0, ".reg .b32 %x;\nmov.u32 %x, 3;\ncall (%x), f, (%x);\nret;").replace(
        ".visible .entry",
        ".func (.reg .b32 %out) f(.reg .b32 %in)\n{\n.reg .pred %q;\nmov.u32 %out, 0;\n\
         setp.eq.u32 %q, %in, 0;\n@%q ret;\nsub.u32 %in, %in, 1;\ncall (%out), f, (%in);\nret;\n}\n\
         .visible .entry",
    );
    let errors = emulator().load(Source { name: "r.ptx".into(), text }).unwrap_err();
    assert!(errors[0].to_string().contains("comes to call itself"), "{}", errors[0]);
}
