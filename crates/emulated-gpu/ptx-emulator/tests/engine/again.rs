//! Tests of repeated accesses through one register: each lane must access the address that the register holds at that
//! time, no matter which instruction changed it in between. Every check is tested.

use ptx_emulator::{Checks, Emulator, Launch, RunOptions};

use crate::ptx::{HEADER, kernel, launch, load, read, words};

/// How many words a lane's address has moved by.
type Displacement = fn(u32) -> u32;

/// The instructions between the accesses, and how they change the address.
const CHANGES: [(&str, Displacement); 16] = [
    ("", |_| 0),
    ("add.u64 %a, %a, 64;", |_| 16),
    ("@%odd add.u64 %a, %a, 64;", |lane| lane % 2 * 16),
    ("mov.u64 %a, %p0;", |lane| 0u32.wrapping_sub(lane)),
    ("mad.wide.u32 %a, %t, 8, %p0;", |lane| lane),
    ("selp.b64 %a, %p0, %a, %odd;", |lane| if lane % 2 == 1 { 0u32.wrapping_sub(lane) } else { 0 }),
    ("mov.b64 {%lo, %hi}, %a; add.u32 %lo, %lo, 32; mov.b64 %a, {%lo, %hi};", |_| 8),
    ("ld.global.u64 %a, [%chain];", |lane| lane + 2),
    ("ld.global.v2.u64 {%b, %a}, [%pairs];", |lane| lane + 3),
    ("@%odd ld.global.u64 %a, [%chain];", |lane| lane % 2 * (lane + 2)),
    ("atom.global.add.u64 %a, [%p3], 0;", |lane| 5u32.wrapping_sub(lane)),
    ("@%odd bra ON; add.u64 %a, %a, 64; ON:", |lane| (1 - lane % 2) * 16),
    ("bra.uni ON; BACK: add.u64 %a, %a, 64; bra.uni END; ON: bra.uni BACK; END:", |_| 16),
    ("call (%a), further, (%a);", |_| 4),
    (
        "mov.u32 %w, 0; ON: add.u64 %a, %a, 4; ld.global.u32 %lo, [%a]; ld.global.u32 %lo, [%a+4]; \
      add.u32 %w, %w, 1; setp.lt.u32 %q, %w, 3; @%q bra ON;",
        |_| 3,
    ),
    // A loop repeats its first access with another address. The final value of %a shows which address the loop read.
    (
        "mov.u32 %w, 0; ON: ld.global.u32 %lo, [%a]; add.u64 %a, %a, 64; add.u32 %w, %w, 1; \
         setp.lt.u32 %q, %w, 2; @%q bra ON; mad.wide.u32 %b, %t, 4, %p0; ld.global.u32 %hi, [%b+64]; \
         setp.ne.u32 %q, %lo, %hi; @%q add.u64 %a, %a, 4;",
        |_| 32,
    ),
];

const SOURCE: usize = 128;

/// An access looks up its memory in the first block, and reuses the result from the next block on.
const BLOCKS: u32 = 3;
/// The number of words that a block writes.
const WORDS: usize = 128;

fn text(change: &str, guard: &str) -> String {
    format!(
        "{HEADER}.func (.reg .u64 %r) further (.reg .u64 %x) {{ add.u64 %r, %x, 16; ret; }}\n\
         .visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {{\n\
         .reg .b64 %p<4>, %a, %b, %o, %chain, %pairs;\n.reg .b32 %t, %lo, %hi, %w, %v<4>;\n\
         .reg .pred %odd, %q, %own;\n\
         ld.param.u64 %p0, [p0]; ld.param.u64 %p1, [p1]; ld.param.u64 %p2, [p2]; ld.param.u64 %p3, [p3];\n\
         mov.u32 %t, %tid.x; and.b32 %w, %t, 1; setp.ne.u32 %odd, %w, 0; setp.ne.u32 %own, %t, 9;\n\
         mad.wide.u32 %a, %t, 4, %p0; mad.wide.u32 %chain, %t, 8, %p1; \
         mov.u32 %w, %ctaid.x; mad.lo.u32 %w, %w, 32, %t; mad.wide.u32 %o, %w, 16, %p2;\n\
         mad.wide.u32 %pairs, %t, 16, %p1; add.u64 %pairs, %pairs, 256;\n\
         mov.u32 %v0, 0; mov.u32 %v1, 0; mov.u32 %v2, 0; mov.u32 %v3, 0;\n\
         ld.global.u32 %v0, [%a]; {guard} ld.global.u32 %v1, [%a+4];\n{change}\n\
         ld.global.u32 %v2, [%a]; ld.global.u32 %v3, [%a+4];\n\
         st.global.v4.u32 [%o], {{%v0, %v1, %v2, %v3}};\nret;\n}}\n"
    )
}

#[test]
fn an_access_uses_the_current_value_of_its_register() {
    let memory: Vec<u32> = (0..SOURCE as u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
    let each = [false, true].map(|portable| [false, true].map(|checked| (portable, checked)));
    for (portable, checked) in each.into_iter().flatten() {
        let checks = Checks { initialisation: checked, races: checked, ..Checks::default() };
        let emulator =
            Emulator::new(RunOptions { checks, portable, threads: 1, ..RunOptions::default() });
        let from = words(&emulator, &memory);
        let pointer = |words: u32| from + u64::from(words) * 4;
        let chain = (0..32).map(|lane| pointer(2 * lane + 2));
        let pairs = (0..32).flat_map(|lane| [0, pointer(2 * lane + 3)]);
        let both = |address: u64| [address as u32, (address >> 32) as u32];
        let table: Vec<u32> = chain.chain(pairs).flat_map(both).collect();
        let others = words(&emulator, &table);
        let counter = words(&emulator, &both(pointer(5)));
        for (change, moved) in CHANGES {
            for guard in ["", "@%odd", "@%own"] {
                let kernel = load(&emulator, &text(change, guard)).kernel("k").unwrap();
                let to = words(&emulator, &[7; BLOCKS as usize * WORDS]);
                let pointers = [from, others, to, counter];
                let parameters = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
                let (grid, block) = ([BLOCKS, 1, 1], [32, 1, 1]);
                let launch = Launch { grid, block, parameters, ..Launch::default() };
                if let Err(fault) = emulator.launch(&kernel, &launch) {
                    panic!("{change}: {fault}");
                }
                let expected: Vec<u32> = (0..32)
                    .flat_map(|lane: u32| {
                        let takes_part = match guard {
                            "@%odd" => lane % 2 == 1,
                            "@%own" => lane != 9,
                            _ => true,
                        };
                        let after = lane.wrapping_add(moved(lane));
                        let at = |word: u32| memory[word as usize];
                        let second = if takes_part { at(lane + 1) } else { 0 };
                        [at(lane), second, at(after), at(after + 1)]
                    })
                    .collect();
                let expected = expected.repeat(BLOCKS as usize);
                let what = format!("{change}, {guard}, {portable}, {checked}");
                assert_eq!(read(&emulator, to, expected.len()), expected, "{what}");
                emulator.memory().free(to).unwrap();
            }
        }
    }
}

#[test]
fn a_skipped_access_caches_no_allocation() {
    let memory: Vec<u32> = (0..SOURCE as u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
    let text = kernel(
        2,
        ".reg .b64 %a, %o;\n.reg .b32 %t, %v, %w;\n.reg .pred %first;\n\
         mov.u32 %t, %tid.x; mov.u32 %w, %ctaid.x; setp.eq.u32 %first, %w, 0;\n\
         mad.lo.u32 %t, %w, 32, %t; mad.wide.u32 %a, %t, 4, %p0; mad.wide.u32 %o, %t, 4, %p1;\n\
         @%first ld.global.u32 %v, [%a]; ld.global.u32 %v, [%a+4]; st.global.u32 [%o], %v; ret;",
    );
    let emulator = Emulator::new(RunOptions { threads: 1, ..RunOptions::default() });
    let (from, to) = (words(&emulator, &memory), words(&emulator, &[7; 96]));
    if let Err(fault) = launch(&emulator, &text, ([BLOCKS, 1, 1], [32, 1, 1]), &[from, to]) {
        panic!("{fault}");
    }
    assert_eq!(read(&emulator, to, 96), memory[1..97]);
}
