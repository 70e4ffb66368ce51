//! Loads and stores in every state space and of every width.

use ptx_emulator::FaultKind;

use crate::ptx::{each_thread, emulator, kernel, kernel_with, launch, read, run, words};

#[test]
fn narrow_loads_extend_by_their_type() {
    let text = kernel(
        2,
        ".reg .b32 %r<4>;\n.reg .b16 %h;\nld.global.u8 %r0, [%p0];\nld.global.s8 %r1, [%p0];\n\
         ld.global.u16 %r2, [%p0+2];\nld.global.s16 %h, [%p0+2];\ncvt.s32.s16 %r3, %h;\n\
         st.global.v4.u32 [%p1], {%r0, %r1, %r2, %r3};\nret;",
    );
    let [_, to] = run(&text, ([1; 3], [1; 3]), [&[0x8081_82ff], &[0; 4]]).unwrap();
    assert_eq!(to, [0xff, 0xffff_ffff, 0x8081, 0xffff_8081]);
}

#[test]
fn loads_are_right_for_every_address_pattern() {
    // Word i holds 3 i. Strides 0 (uniform), 1 (contiguous), 2 and 33 (scattered), and half warps.
    let values: Vec<u32> = (0..4096).map(|i| i * 3).collect();
    for (index, expected) in [
        ("mul.lo.u32 %i, %t, 0;", (|_| 0) as fn(u32) -> u32),
        ("mul.lo.u32 %i, %t, 1;", |t| t),
        ("mul.lo.u32 %i, %t, 2;", |t| t * 2),
        ("mul.lo.u32 %i, %t, 33;", |t| t * 33),
        ("shr.u32 %i, %t, 4;", |t| t >> 4),
        ("and.b32 %i, %t, 15;", |t| t & 15),
        ("xor.b32 %i, %t, 31;", |t| t ^ 31),
    ] {
        let text = kernel(
            2,
            &format!(
                ".reg .b32 %t, %i, %v;\n.reg .b64 %o;\nmov.u32 %t, %tid.x;\n{index}\n\
                 mul.wide.u32 %o, %i, 4;\nadd.u64 %o, %o, %p0;\nld.global.u32 %v, [%o];\n\
                 mul.wide.u32 %o, %t, 4;\nadd.u64 %o, %o, %p1;\nst.global.u32 [%o], %v;\nret;"
            ),
        );
        let [_, to] = run(&text, ([1; 3], [96, 1, 1]), [&values, &[0; 96]]).unwrap();
        let expected: Vec<u32> = (0..96).map(|t| expected(t) * 3).collect();
        assert_eq!(to, expected, "{index}");
    }
}

#[test]
fn shared_memory_has_static_dynamic_and_generic_addresses() {
    let out = each_thread(
        64,
        ".shared .align 4 .b32 box[64];\n.reg .b32 %t, %a;\n.reg .b64 %g, %o;",
        "mov.u32 %t, %tid.x;\nmov.u32 %a, box;\nmad.lo.u32 %a, %t, 4, %a;\nmul.lo.u32 %t, %t, 7;\n\
         st.shared.u32 [%a], %t;\nbar.sync 0;\n\
         mov.u32 %t, %tid.x;\nsub.u32 %t, 63, %t;\nmul.wide.u32 %o, %t, 4;\n\
         mov.u64 %g, box;\ncvta.shared.u64 %g, %g;\nadd.u64 %g, %g, %o;\nld.u32 %r0, [%g];",
    );
    let expected: Vec<u32> = (0..64).map(|t| (63 - t) * 7).collect();
    assert_eq!(out, expected);
}

#[test]
fn local_memory_is_each_threads_own() {
    let out = each_thread(
        40,
        ".local .align 8 .b8 stack[16];\n.reg .b32 %t;\n.reg .b64 %sp, %l;",
        "mov.u64 %l, stack;\ncvta.local.u64 %sp, %l;\nmov.u32 %t, %tid.x;\n\
         st.local.u32 [%l+4], %t;\nst.u32 [%sp+8], 1000;\n\
         ld.u32 %r0, [%sp+4];\nld.local.u32 %t, [stack+8];\nadd.u32 %r0, %r0, %t;",
    );
    assert_eq!(out, (1000..1040).collect::<Vec<u32>>());
}

#[test]
fn constants_and_globals_have_their_initial_values() {
    let text = kernel_with(
        ".const .align 4 .u32 table[3] = {5, 6, 7};\n.global .u32 seven = 7;\n\
         .global .u64 pointer = seven;\n.global .u32 zero;\n",
        1,
        ".reg .b32 %r<3>;\n.reg .b64 %a;\nld.const.u32 %r0, [table+4];\nld.global.u64 %a, [pointer];\n\
         ld.global.u32 %r1, [%a];\nld.global.u32 %r2, [zero];\nst.global.u32 [%p0], %r0;\n\
         st.global.u32 [%p0+4], %r1;\nst.global.u32 [%p0+8], %r2;\nret;",
    );
    let [to] = run(&text, ([1; 3], [1; 3]), [&[0; 3]]).unwrap();
    assert_eq!(to, [6, 7, 0]);
}

#[test]
fn variables_are_freed_with_the_module() {
    let emulator = emulator();
    let text = kernel_with(".global .u32 g[9];\n", 0, "ret;");
    let loaded = crate::ptx::load(&emulator, &text);
    let kernel = loaded.kernel("k").unwrap();
    assert_eq!(loaded.variable("g").unwrap().1, 36);
    assert_eq!(emulator.memory().allocations().len(), 1);
    drop(loaded);
    assert_eq!(emulator.memory().allocations().len(), 1, "the kernel still needs it");
    drop(kernel);
    assert_eq!(emulator.memory().allocations().len(), 0);
}

#[test]
fn cp_async_copies_and_fills_with_zeros() {
    let text = kernel(
        2,
        ".shared .align 16 .b8 box[16];\n.reg .b32 %r<4>, %a;\nmov.u32 %a, box;\n\
         cp.async.ca.shared.global [%a], [%p0], 16, 8;\ncp.async.commit_group;\n\
         cp.async.wait_group 0;\nld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%a];\n\
         st.global.v4.u32 [%p1], {%r0, %r1, %r2, %r3};\nret;",
    );
    let [_, to] = run(&text, ([1; 3], [1; 3]), [&[1, 2, 3, 4], &[9; 4]]).unwrap();
    assert_eq!(to, [1, 2, 0, 0]);
}

#[test]
fn the_host_reads_writes_fills_and_copies_inside_allocations_only() {
    let emulator = emulator();
    let memory = emulator.memory();
    let at = memory.allocate(16, 1).unwrap();
    assert_eq!(at % 256, 0);
    memory.fill(at, &[1, 2], 8).unwrap();
    memory.copy(at + 4, at, 3).unwrap();
    let mut bytes = [0; 8];
    memory.read(at, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(memory.range_of(at + 15), Some((at, 16)));
    assert_eq!(memory.range_of(at + 16), None);
    let error = memory.write(at + 9, &[0; 8]).unwrap_err();
    assert!(error.to_string().contains("not inside one allocation"), "{error}");
    assert!(memory.free(at + 1).is_err());
    memory.free(at).unwrap();
    assert!(memory.free(at).is_err());
    assert!(memory.read(at, &mut bytes).unwrap_err().to_string().contains("has been freed"));
    assert!(memory.allocate(u64::MAX, 1).is_err());
}

#[test]
fn constants_are_read_only() {
    use ptx_emulator::FaultKind;
    use ptx_emulator::source::Source;
    let with = |body: &str| {
        kernel_with(
            ".const .u32 c = 5;\n.global .u32 g = 6;\n",
            1,
            &format!(".reg .b32 %v;\n.reg .b64 %a, %g;\nmov.u32 %v, 1;\n{body}\nret;"),
        )
    };
    // Adding 0 hides the register's value from the checker, so the error is found at run time.
    let addresses = [
        ("mov.u64 %a, c; add.u64 %a, %a, 0;", "st.global.u32 [%a], %v;"),
        ("mov.u64 %a, c; cvta.const.u64 %a, %a; add.u64 %a, %a, 0;", "st.u32 [%a], %v;"),
        ("mov.u64 %a, c; add.u64 %a, %a, 0;", "atom.global.add.u32 %v, [%a], %v;"),
        ("mov.u64 %a, c; add.u64 %a, %a, 0;", "red.global.add.u32 [%a], %v;"),
        ("mov.u64 %a, c; add.u64 %a, %a, 0;", "st.global.v2.u16 [%a], {1, 2};"),
    ];
    for (address, store) in addresses {
        let emulator = emulator();
        let out = words(&emulator, &[0]);
        let text = with(&format!("{address}\n{store}"));
        let fault = launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[out]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::IllegalAddress, "{store}");
        assert!(fault.to_string().contains("which is constant memory"), "{fault}");
        // Writing to a global variable in this way is valid.
        let text = text.replace("%a, c;", "%a, g;").replace("cvta.const", "cvta.global");
        launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[out]).unwrap();
    }
    // Reading through the same kind of address is valid.
    let emulator = emulator();
    let out = words(&emulator, &[0]);
    let text = with("cvta.const.u64 %a, c; ld.u32 %v, [%a]; st.global.u32 [%p0], %v;");
    launch(&emulator, &text, ([1; 3], [1, 1, 1]), &[out]).unwrap();
    assert_eq!(read(&emulator, out, 1), [5]);
    // If one instruction determines the address, the text is rejected.
    for body in [
        "mov.u64 %a, c; st.global.u32 [%a], %v;",
        "cvta.const.u64 %a, c; mov.u64 %g, %a; st.u32 [%g], %v;",
        "cvta.const.u64 %a, c; atom.add.u32 %v, [%a], %v;",
    ] {
        let errors = emulator.load(Source { name: "c.ptx".into(), text: with(body) }).unwrap_err();
        assert!(errors[0].to_string().contains("the address of `c`, which is .const"), "{body}");
    }
}

/// PTX ISA, "Initializers": a mask selects a byte of an address. Here all eight bytes of a variable's and a
/// function's address are stored this way.
#[test]
fn bytes_of_addresses_are_initial_values() {
    let bytes = |of: &str| {
        let list: Vec<String> =
            (0..8).map(|at| format!("{:#x}({of})", 0xffu64 << (8 * at))).collect();
        list.join(", ")
    };
    let text = kernel_with(
        &format!(
            ".func f() {{ ret; }}\n.global .u32 target[4];\n\
             .global .align 8 .u8 whole[8] = {{{}}};\n\
             .global .align 8 .u8 generic[8] = {{{}}};\n\
             .global .align 8 .u8 function[8] = {{{}}};\n",
            bytes("target"),
            bytes("generic(target)+4"),
            bytes("f")
        ),
        1,
        ".reg .b64 %a, %b;\nmov.u64 %a, target;\nld.global.u64 %b, [whole];\nsub.u64 %b, %b, %a;\n\
         st.global.u64 [%p0], %b;\nld.global.u64 %b, [generic];\nsub.u64 %b, %b, %a;\n\
         st.global.u64 [%p0+8], %b;\nmov.u64 %a, f;\nld.global.u64 %b, [function];\n\
         sub.u64 %b, %b, %a;\nst.global.u64 [%p0+16], %b;\nret;",
    );
    let [out] = run(&text, ([1; 3], [1; 3]), [&[9; 6]]).unwrap();
    assert_eq!(out, [0, 0, 4, 0, 0, 0]);
}

/// NVRTC widens loads past the end of an array, and marks the bytes that are used.
#[test]
fn unused_bytes_of_a_load_may_be_out_of_bounds() {
    let emulator = emulator();
    let memory = emulator.memory().allocate(44, 16).unwrap();
    let values: Vec<u8> = (0..11_u32).flat_map(|index| (10 * index).to_le_bytes()).collect();
    emulator.memory().write(memory, &values).unwrap();
    let out = words(&emulator, &[7; 4]);
    let text = |pragma: &str, register: &str| {
        kernel(
            2,
            &format!(
                ".reg .b32 %r<4>; .reg .b64 %d<4>; mov.b32 %r1, 1; mov.b32 %r3, 3;
                 .pragma \"unroll\"; {pragma}
                 ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%p0+32];
                 st.global.v4.b32 [%p1], {{%r0, %r1, %r2, %r3}};
                 .pragma \"used_bytes_mask 0xf0f\";
                 ld.global.v2.b64 {{{register}, %d2}}, [{register}+32]; cvt.u32.u64 %r0, {register};
                 cvt.u32.u64 %r2, %d2; st.global.b32 [%p1], %r0; st.global.b32 [%p1+8], %r2; ret;"
            ),
        )
    };
    let once = |text: &str| launch(&emulator, text, ([1; 3], [1; 3]), &[memory, out]);
    // The pragma also works if the load overwrites its own address.
    once(&text(".pragma \"used_bytes_mask 3855\";", "%p0")).unwrap();
    assert_eq!(read(&emulator, out, 4), [80, 1, 100, 3]);
    // The pragma only applies to the next load, and a mask that includes bytes outside doesn't help.
    for pragma in ["", ".pragma \"used_bytes_mask 0xffff\";", ".pragma \"used_bytes_mask\";"] {
        let fault = once(&text(pragma, "%p0")).unwrap_err();
        assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(memory + 32)));
    }
    // An instruction in between cancels the pragma.
    let between = ".reg .b32 %r<4>; .pragma \"used_bytes_mask 3855\"; mov.b32 %r0, 1;
         ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%p0+32]; ret;";
    let fault = launch(&emulator, &kernel(1, between), ([1; 3], [1; 3]), &[memory]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}
