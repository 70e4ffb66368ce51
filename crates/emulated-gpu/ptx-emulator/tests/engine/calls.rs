//! Device functions.

use ptx_emulator::FaultKind;
use ptx_emulator::source::Source;

use crate::ptx::{emulator, kernel_with, launch, read, run, words};

const SQUARE: &str = ".func (.param .b32 result) square(.param .b32 value)\n{\n.reg .b32 %x;\n\
    ld.param.b32 %x, [value];\nmul.lo.u32 %x, %x, %x;\nst.param.b32 [result], %x;\nret;\n}\n\
    .func (.reg .b32 %out) cube(.reg .b32 %in)\n{\nmul.lo.u32 %out, %in, %in;\n\
    mul.lo.u32 %out, %out, %in;\nret;\n}\n";

fn with_functions(pointers: usize, body: &str) -> String {
    kernel_with(SQUARE, pointers, body)
}

const STORE: &str = "mul.wide.u32 %o, %t, 4;\nadd.u64 %o, %o, %p0;\nst.global.u32 [%o], %y;\nret;";

#[test]
fn arguments_are_passed_in_parameters_and_in_registers() {
    let text = with_functions(
        1,
        &format!(
            ".reg .b32 %t, %y, %z;\n.reg .b64 %o;\nmov.u32 %t, %tid.x;\n{{\n.param .b32 in;\n\
             .param .b32 back;\nst.param.b32 [in], %t;\ncall.uni (back), square, (in);\n\
             ld.param.b32 %y, [back];\n}}\ncall (%z), cube, (%t);\nadd.u32 %y, %y, %z;\n{STORE}"
        ),
    );
    let [out] = run(&text, ([1; 3], [32, 1, 1]), [&[0; 32]]).unwrap();
    let expected: Vec<u32> = (0..32).map(|t| t * t + t * t * t).collect();
    assert_eq!(out, expected);
}

/// All results arrive in the named registers, in order, even if these are also the arguments, if a result is discarded,
/// or if only some lanes call the function.
#[test]
fn a_function_has_several_results() {
    let text = kernel_with(
        ".func (.reg .u32 quotient, .reg .u32 rest) parts(.reg .u32 a, .reg .u32 b)\n{\n\
         div.u32 quotient, a, b;\nrem.u32 rest, a, b;\nret;\n}\n",
        1,
        ".reg .b32 %t, %q, %r, %a, %b, %c, %d;\n.reg .b64 %o;\n.reg .pred %p;\nmov.u32 %t, %tid.x;\n\
         call (%q, %r), parts, (%t, 5);\n\
         mov.u32 %a, 100; mov.u32 %b, %t; add.u32 %b, %b, 1; call (%b, %a), parts, (%a, %b);\n\
         call (_, %c), parts, (%t, 3);\n\
         mov.u32 %d, 77; setp.lt.u32 %p, %t, 10; @%p call (%d, _), parts, (%t, 2);\n\
         mad.wide.u32 %o, %t, 16, %p0;\nmad.lo.u32 %q, %q, 1000, %r;\nmad.lo.u32 %b, %b, 1000, %a;\n\
         st.global.v4.u32 [%o], {%q, %b, %c, %d};\nret;",
    );
    let [out] = run(&text, ([1; 3], [32, 1, 1]), [&[0; 128]]).unwrap();
    let expected_of = |t: u32| {
        let parts = |a: u32, b: u32| a / b * 1000 + a % b;
        [parts(t, 5), parts(100, t + 1), t % 3, if t < 10 { t / 2 } else { 77 }]
    };
    let expected: Vec<u32> = (0..32).flat_map(expected_of).collect();
    assert_eq!(out, expected);
}

#[test]
fn lanes_call_different_functions_through_a_register() {
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
    let [out] = run(&text, ([1; 3], [32, 1, 1]), [&[0; 32]]).unwrap();
    let expected: Vec<u32> = (0..32).map(|t| if t % 2 == 0 { t * t } else { t + 1000 }).collect();
    assert_eq!(out, expected);
}

/// Runs the recursive function `f`, whose body is `body`, with each thread's index as its argument.
fn recursive(body: &str, threads: u32) -> Result<Vec<u32>, ptx_emulator::Fault> {
    let call = ".reg .b32 %t, %y;\n.reg .b64 %o;\nmov.u32 %t, %tid.x;\ncall (%y), f, (%t);\n";
    let text = kernel_with(
        &format!(".func (.reg .b32 %out) f(.reg .b32 %in)\n{{\n{body}\n}}\n"),
        1,
        &format!("{call}{STORE}"),
    );
    let [out] = run(&text, ([1; 3], [threads, 1, 1]), [&vec![0; threads as usize]])?;
    Ok(out)
}

#[test]
fn a_function_calls_itself() {
    // Each lane recurses as deep as its index, and keeps its values while other lanes go deeper.
    let sum = ".reg .pred %q;\n.reg .b32 %n, %rest;\nmov.u32 %out, 0;\nsetp.eq.u32 %q, %in, 0;\n\
               @%q ret;\nmov.u32 %n, %in;\nsub.u32 %rest, %in, 1;\ncall (%out), f, (%rest);\n\
               add.u32 %out, %out, %n;\nret;";
    let expected: Vec<u32> = (0..40).map(|n| n * (n + 1) / 2).collect();
    assert_eq!(recursive(sum, 40).unwrap(), expected);
    // A predicated call, whose predicate may change during the call.
    let guarded = ".reg .pred %q;\n.reg .b32 %n, %rest, %more;\nmov.u32 %more, 0;\n\
                   setp.ne.u32 %q, %in, 0;\nmov.u32 %n, %in;\nsub.u32 %rest, %in, 1;\n\
                   @%q call (%more), f, (%rest);\nadd.u32 %out, %more, %n;\nret;";
    assert_eq!(recursive(guarded, 40).unwrap(), expected);
    // Two calls in a row: the first result must survive the second call. Arguments are passed in
    // parameter variables.
    let fibonacci = ".reg .pred %q;\n.reg .b32 %a, %b;\nmov.u32 %out, %in;\n\
                     setp.lt.u32 %q, %in, 2;\n@%q ret;\nsub.u32 %in, %in, 1;\n\
                     call (%a), f, (%in);\nsub.u32 %in, %in, 1;\ncall (%b), f, (%in);\n\
                     add.u32 %out, %a, %b;\nret;";
    let expected: Vec<u32> =
        (0..14).map(|n| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0).collect();
    assert_eq!(recursive(fibonacci, 14).unwrap(), expected);
}

/// NVVM's output for a recursive function that returns its result through a pointer: each call has its own
/// variables, and nested calls write to their addresses.
#[test]
fn each_call_of_a_recursive_function_has_its_own_variables() {
    let fibonacci = ".func fibonacci(.param .b64 result, .param .b32 number)\n{\n\
        .local .align 8 .b8 own[16];\n.reg .pred %q;\n.reg .b32 %n, %a, %b;\n\
        .reg .b64 %to, %own, %first, %second;\nld.param.u64 %to, [result];\n\
        ld.param.u32 %n, [number];\nsetp.lt.u32 %q, %n, 2;\n@%q st.u32 [%to], %n;\n@%q ret;\n\
        mov.u64 %own, own;\ncvta.local.u64 %first, %own;\nmov.u64 %second, own+8;\n\
        cvta.local.u64 %second, %second;\nsub.u32 %n, %n, 1;\n\
        {\n.param .b64 p;\n.param .b32 m;\nst.param.b64 [p], %first;\nst.param.b32 [m], %n;\n\
        call fibonacci, (p, m);\n}\nsub.u32 %n, %n, 1;\n\
        {\n.param .b64 p;\n.param .b32 m;\nst.param.b64 [p], %second;\nst.param.b32 [m], %n;\n\
        call fibonacci, (p, m);\n}\nld.local.u32 %a, [%own];\nld.local.u32 %b, [own+8];\n\
        add.u32 %a, %a, %b;\nst.u32 [%to], %a;\nret;\n}\n";
    let body = format!(
        ".local .align 4 .b8 found[4];\n.reg .b32 %t, %y;\n.reg .b64 %o, %f;\nmov.u32 %t, %tid.x;\n\
         rem.u32 %t, %t, 14;\nmov.u64 %f, found;\ncvta.local.u64 %f, %f;\n\
         {{\n.param .b64 p;\n.param .b32 m;\nst.param.b64 [p], %f;\nst.param.b32 [m], %t;\n\
         call fibonacci, (p, m);\n}}\nld.local.u32 %y, [found];\nmov.u32 %t, %tid.x;\n{STORE}"
    );
    let text = kernel_with(fibonacci, 1, &body);
    let [out] = run(&text, ([1; 3], [40, 1, 1]), [&[0; 40]]).unwrap();
    let number = |t: u32| (0..t % 14).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(out, (0..40).map(number).collect::<Vec<u32>>());
}

#[test]
fn infinite_recursion_is_a_fault() {
    let fault = recursive("call (%out), f, (%in);\nret;", 32).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.to_string().contains("the recursion is too deep"), "{fault}");
}

/// A kernel that calls the function whose address is in `%f` with the thread's index.
fn indirect_call_kernel(prototype: &str, take: &str, functions: &str) -> String {
    kernel_with(
        &format!("{functions}\n"),
        1,
        &format!(
            ".reg .b32 %t, %y;\n.reg .b64 %o, %f;\nmov.u32 %t, %tid.x;\n{take}\n{{\n\
             .param .b32 in;\n.param .b32 back;\nst.param.b32 [in], %t;\n\
             p: .callprototype {prototype};\ncall (back), %f, (in), p;\n\
             ld.param.b32 %y, [back];\n}}\n{STORE}"
        ),
    )
}

const WORD: &str = "(.param .b32 _) _ (.param .b32 _)";
const WIDE: &str = ".func (.param .b32 r) wide(.param .b64 v)\n{\nst.param.b32 [r], 1;\nret;\n}";

#[test]
fn an_indirect_call_with_another_signature_is_an_error() {
    // If one instruction determines the function, the text is rejected.
    let text = indirect_call_kernel(WORD, "mov.u64 %f, wide;", WIDE);
    let errors = emulator().load(Source { name: "p.ptx".into(), text }).unwrap_err();
    assert!(
        errors[0].to_string().contains("`%f` holds `wide`, whose parameters or results differ")
    );
    // Otherwise the call is a fault.
    let take = "mov.u64 %f, wide;\nadd.u64 %f, %f, 0;";
    let emulator = emulator();
    let out = words(&emulator, &[0; 32]);
    let text = indirect_call_kernel(WORD, take, WIDE);
    let fault = launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[out]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidInstruction);
    assert!(fault.to_string().contains("call of `wide`, whose parameters or results differ"));
    // A register and a variable of the same width are passed alike, as in ptxas.
    let alike = ".func (.reg .b32 r) twice(.reg .f32 v)\n{\n.reg .b32 %x;\nmov.b32 %x, v;\n\
                 add.u32 r, %x, %x;\nret;\n}";
    let text = indirect_call_kernel(WORD, "mov.u64 %f, twice;", alike);
    launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[out]).unwrap();
    assert_eq!(read(&emulator, out, 32), (0..32).map(|t| 2 * t).collect::<Vec<u32>>());
    // A value that is not the address of a function.
    let text = indirect_call_kernel(WORD, "mov.u64 %f, 4096;", WIDE);
    let fault = launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[out]).unwrap_err();
    assert!(fault.to_string().contains("holds 0x1000, which is not a function"), "{fault}");
}

#[test]
fn a_table_can_hold_addresses_of_functions() {
    let functions = ".func (.param .b32 r) one(.param .b32 v);\n\
         .func (.param .b32 r) two(.param .b32 v);\n.global .u64 table[2] = {one, two};\n\
         .func (.param .b32 r) one(.param .b32 v)\n{\n.reg .b32 %x;\nld.param.b32 %x, [v];\n\
         add.u32 %x, %x, 1;\nst.param.b32 [r], %x;\nret;\n}\n\
         .func (.param .b32 r) two(.param .b32 v)\n{\n.reg .b32 %x;\nld.param.b32 %x, [v];\n\
         mul.lo.u32 %x, %x, 2;\nst.param.b32 [r], %x;\nret;\n}";
    let take = "mov.u64 %f, table;\nand.b32 %y, %t, 1;\nmul.wide.u32 %o, %y, 8;\n\
                add.u64 %f, %f, %o;\nld.global.u64 %f, [%f];";
    let emulator = emulator();
    let out = words(&emulator, &[0; 32]);
    launch(&emulator, &indirect_call_kernel(WORD, take, functions), ([1; 3], [32, 1, 1]), &[out])
        .unwrap();
    let expected: Vec<u32> = (0..32).map(|t| if t % 2 == 0 { t + 1 } else { 2 * t }).collect();
    assert_eq!(read(&emulator, out, 32), expected);
}

#[test]
fn vectors_are_passed_in_registers() {
    let text = kernel_with(
        ".func (.reg .v2 .u32 out) f(.reg .v2 .u32 in, .reg .u32 n)\n{\n\
         add.u32 out.x, in.y, n;\nadd.u32 out.y, in.x, n;\nret;\n}\n",
        1,
        &format!(
            ".reg .b32 %t, %y;\n.reg .b64 %o;\n.reg .v2 .b32 a, b;\nmov.u32 %t, %tid.x;\n\
             mov.u32 a.x, %t;\nmov.u32 a.y, 100;\ncall (b), f, (a, %t);\n\
             sub.u32 %y, b.x, b.y;\n{STORE}"
        ),
    );
    let [out] = run(&text, ([1; 3], [32, 1, 1]), [&[0; 32]]).unwrap();
    // (100 + t) - (t + t)
    let expected: Vec<u32> = (0..32u32).map(|t| 100u32.wrapping_sub(t)).collect();
    assert_eq!(out, expected);
}

#[test]
fn functions_share_registers_and_locals_of_module_scope() {
    // PTX before 3.0 has no ABI; the expected results are those of ptxas's code.
    let text = ".version 2.3\n.target sm_20\n.address_size 64\n.reg .u32 %g;\n.reg .u32 %h<3>;\n\
                .local .u32 own;\n.func add_one()\n{\n.reg .u32 %x;\nadd.u32 %g, %g, 1;\n\
                ld.local.u32 %x, [own];\nadd.u32 %h2, %x, 5;\nret;\n}\n\
                .entry k(.param .u64 p)\n{\n.reg .u32 %t;\n.reg .u64 %o, %p;\n\
                ld.param.u64 %p, [p];\nmov.u32 %t, %tid.x;\nmov.u32 %g, %t;\n\
                st.local.u32 [own], %t;\ncall add_one;\ncall add_one;\nadd.u32 %g, %g, %h2;\n\
                mul.wide.u32 %o, %t, 4;\nadd.u64 %o, %o, %p;\nst.global.u32 [%o], %g;\nexit;\n}\n";
    let emulator = emulator();
    let out = words(&emulator, &[0; 32]);
    launch(&emulator, text, ([1; 3], [32, 1, 1]), &[out]).unwrap();
    // t + 2, and t + 5.
    assert_eq!(read(&emulator, out, 32), (0..32).map(|t| 2 * t + 7).collect::<Vec<u32>>());
    for version in ["3.0", "8.0"] {
        let text = text.replace("2.3", version);
        let errors = emulator.load(Source { name: "m.ptx".into(), text }).unwrap_err();
        assert!(
            errors[0].to_string().contains("can't be declared outside functions"),
            "{}",
            errors[0]
        );
    }
}
