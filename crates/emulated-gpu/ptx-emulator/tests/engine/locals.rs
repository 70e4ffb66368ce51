//! Variables in local memory: an access past the end of a variable is a fault, even if another variable follows.

use ptx_emulator::{Fault, FaultKind};

use crate::ptx::{emulator, kernel, launch, words};

const HEAD: &str = "
    .local .align 8 .b8 first[8];
    .local .align 4 .b8 second[12];
    .local .align 16 .b8 third[16];
    .reg .b32 %a, %v, %w;
    .reg .b64 %x, %y, %z, %q;
    mov.u32 %v, 7;
    mov.u64 %x, first; mov.u64 %y, second; mov.u64 %z, third;
";

fn run(body: &str) -> Result<(), Fault> {
    let emulator = emulator();
    let out = words(&emulator, &[0; 4]);
    let text = kernel(1, &format!("{HEAD}{body}\nret;"));
    launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[out]).map(|_| ())
}

#[test]
fn each_variable_has_bounds() {
    for (name, register, size) in [("first", "%x", 8), ("second", "%y", 12), ("third", "%z", 16)] {
        for generic in [false, true] {
            let (to, space) = match generic {
                true => (format!("cvta.local.u64 %q, {register};"), ""),
                false => (format!("mov.u64 %q, {register};"), ".local"),
            };
            // The first and the last word, one before, one after, and the farthest offset that is detected.
            for (offset, fits) in [
                (0, true),
                (size - 4, true),
                (-4, false),
                (size, false),
                (size + 28, false),
                (-32, false),
            ] {
                for access in [
                    format!("st{space}.u32 [%q+{offset}], %v;"),
                    format!("ld{space}.u32 %w, [%q+{offset}];"),
                ] {
                    let outcome = run(&format!("{to} {access}"));
                    let kind = outcome.as_ref().err().map(|fault| fault.kind);
                    let expected = if fits { None } else { Some(FaultKind::IllegalAddress) };
                    assert_eq!(kind, expected, "{name}: {access}");
                    // There is no memory before the first variable.
                    if let Err(fault) = outcome
                        && offset > 0
                    {
                        let report = fault.to_string();
                        for part in [
                            format!("outside of the variable `{name}` ({size} bytes)"),
                            format!("it is {} bytes after the end", offset - size),
                        ] {
                            assert!(report.contains(&part), "{part}\n{report}");
                        }
                    }
                }
            }
        }
    }
    // A wide access that is half inside.
    let report = run("st.local.v4.u32 [second+0], {%v, %v, %v, %v};").unwrap_err();
    assert!(matches!(report.kind, FaultKind::IllegalAddress | FaultKind::Misaligned), "{report}");
    assert_eq!(run("st.local.v2.u32 [first], {%v, %v};").map_err(|fault| fault.kind), Ok(()));
    let actual = run("st.local.v4.u32 [third], {%v, %v, %v, %v};").map_err(|fault| fault.kind);
    assert_eq!(actual, Ok(()));
}

#[test]
fn redzones_do_not_count_as_local_memory() {
    let emulator = emulator();
    let loaded = crate::ptx::load(&emulator, &kernel(1, &format!("{HEAD}ret;")));
    let bytes = loaded.kernel("k").unwrap().local_bytes();
    assert!((36..=64).contains(&bytes), "{bytes}");
    // The maximum number of variables is accepted, even though not all of them have redzones.
    let many: String =
        (0..8192).map(|index| format!(".local .align 4 .b8 v{index}[60];\n")).collect();
    let loaded = crate::ptx::load(&emulator, &kernel(1, &format!("{many}ret;")));
    assert_eq!(loaded.kernel("k").unwrap().local_bytes(), 8192 * 60);
}
