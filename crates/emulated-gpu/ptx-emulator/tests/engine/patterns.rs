//! Tests that each lane loads from and stores to its own address. They cover every address pattern that the engine
//! distinguishes, idle lanes, global and shared memory (also through generic addresses), every check, and hosts with
//! and without vector instructions.

use ptx_emulator::{Checks, Emulator, Kernel, Launch, RunOptions};

use crate::ptx::{kernel, load, read, words};

/// The number of words in the buffer. Vectors begin at multiples of their length.
const BUFFER_WORDS: usize = 1024;

/// Given a lane and an element count, the index of the element that the lane accesses.
type Pattern = fn(u32, u32) -> u32;

const PATTERNS: [(&str, Pattern); 10] = [
    ("one", |_, _| 5),
    ("neighbours", |lane, _| 3 + lane),
    ("one for each half", |lane, _| 7 + lane / 16),
    ("a row for each half", |lane, _| 1 + lane % 16 + lane / 16 * 40),
    ("the same row for both", |lane, _| 2 + lane % 16),
    ("one and a row", |lane, _| if lane < 16 { 9 } else { lane }),
    ("the end of memory", |lane, all| all - 32 + lane),
    ("backwards", |lane, _| 40 - lane),
    ("every third", |lane, _| lane * 3),
    ("all but one neighbours", |lane, _| if lane == 13 { 77 } else { 30 + lane }),
];

const MASKS: [u32; 8] =
    [u32::MAX, 0xffff, 0xffff_0000, 0x5555_aaaa, 1, 1 << 31, 0x03ff_03ff, 0x0fff_fff0];

/// The type of an element, the number of elements per lane, and their total number of words.
const SHAPES: [(&str, usize, usize); 7] = [
    ("u32", 1, 1),
    ("u32", 2, 2),
    ("u32", 4, 4),
    ("u64", 1, 2),
    ("u64", 2, 4),
    ("f32", 1, 1),
    ("u16", 2, 1),
];

const EVERY_CHECK: [Checks; 4] = {
    let none = Checks { initialisation: false, races: false, synchronisation: false };
    let initialisation = Checks { initialisation: true, ..none };
    [none, initialisation, Checks { races: true, ..none }, Checks { races: true, ..initialisation }]
};

/// The state space through which an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressSpace {
    Global,
    Shared,
    /// Generic addresses of shared memory.
    SharedGenerically,
}

const ADDRESS_SPACES: [AddressSpace; 3] =
    [AddressSpace::Global, AddressSpace::Shared, AddressSpace::SharedGenerically];

fn device(checks: Checks, portable: bool) -> Emulator {
    Emulator::new(RunOptions { checks, portable, threads: 1, ..RunOptions::default() })
}

/// A kernel in which each active lane copies an element by a load or a store, between its offset in `%p1`, which it
/// reads from `%p0`, and its own position in `%p2`. `%p3` has the active lanes. In shared memory, addresses are 32 bits
/// wide, and generic addresses 64.
fn text((ty, count, words): (&str, usize, usize), named: AddressSpace, stores: bool) -> String {
    let list = (0..count).map(|index| format!("%v{index}")).collect::<Vec<_>>().join(", ");
    let (vector, list) = match count {
        1 => (String::new(), list),
        _ => (format!(".v{count}"), format!("{{{list}}}")),
    };
    let width = match ty {
        "u16" => "b16",
        "u64" => "b64",
        _ => "b32",
    };
    let total = words * 4;
    let (space, far) = match named {
        AddressSpace::Global => (".global", "%far"),
        AddressSpace::Shared => (".shared", "%s"),
        AddressSpace::SharedGenerically => ("", "%far"),
    };
    let access = if stores {
        format!(
            "ld.global{vector}.{ty} {list}, [%own];\n@%q st{space}{vector}.{ty} [{far}], {list};"
        )
    } else {
        format!(
            "@%q ld{space}{vector}.{ty} {list}, [{far}];\nst.global{vector}.{ty} [%own], {list};"
        )
    };
    let zero: String = (0..count).map(|index| format!("mov.{width} %v{index}, 0;\n")).collect();
    // The memory is copied to shared memory before, and back afterwards.
    let copy = |load: &str, store: &str| {
        format!(
            "mov.u32 %w, %t;\nCOPY_{load}: shl.b32 %s, %w, 2;\ncvt.u64.u32 %o, %s;\n\
             add.u64 %o, %o, %p1;\nmov.u32 %b, box;\nadd.u32 %s, %s, %b;\n\
             ld.{load}.u32 %x, [{}];\nst.{store}.u32 [{}], %x;\nadd.u32 %w, %w, 32;\n\
             setp.lt.u32 %r, %w, {BUFFER_WORDS};\n@%r bra COPY_{load};\nbar.sync 0;\n",
            if load == "global" { "%o" } else { "%s" },
            if load == "global" { "%s" } else { "%o" },
        )
    };
    let (before, after) = match named {
        AddressSpace::Global => (String::new(), String::new()),
        _ => (copy("global", "shared"), copy("shared", "global")),
    };
    let generic = match named {
        AddressSpace::SharedGenerically => "cvt.u64.u32 %far, %s;\ncvta.shared.u64 %far, %far;\n",
        _ => "",
    };
    let after = if stores { after } else { String::new() };
    kernel(
        4,
        &format!(
            ".shared .align 16 .b8 box[{}];\n.reg .b32 %t, %i, %m, %s, %b, %w, %x;\n\
             .reg .b64 %o, %own, %far;\n.reg .pred %q, %r;\n.reg .{width} %v<{count}>;\n\
             mov.u32 %t, %tid.x;\n{before}\
             mul.wide.u32 %o, %t, 4;\nadd.u64 %own, %p0, %o;\nld.global.u32 %i, [%own];\n\
             add.u64 %own, %p3, %o;\nld.global.u32 %m, [%own];\nsetp.ne.u32 %q, %m, 0;\n\
             mul.wide.u32 %o, %t, {total};\nadd.u64 %own, %p2, %o;\n\
             cvt.u64.u32 %far, %i;\nadd.u64 %far, %far, %p1;\nmov.u32 %s, box;\n\
             add.u32 %s, %s, %i;\n{generic}{zero}{access}\nbar.sync 0;\n{after}ret;",
            BUFFER_WORDS * 4,
        ),
    )
}

fn run(emulator: &Emulator, kernel: &Kernel, pointers: [u64; 4]) {
    let parameters = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    let launch = Launch { grid: [1, 1, 1], block: [32, 1, 1], parameters, ..Launch::default() };
    if let Err(fault) = emulator.launch(kernel, &launch) {
        panic!("{fault}");
    }
}

fn takes_part(mask: u32) -> Vec<u32> {
    (0..32).map(|lane| mask >> lane & 1).collect()
}

#[test]
fn each_lane_loads_from_its_address() {
    let memory: Vec<u32> =
        (0..BUFFER_WORDS as u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
    let each = SHAPES.iter().flat_map(|shape| ADDRESS_SPACES.map(|named| (shape, named)));
    for (&shape, named) in each {
        for (checks, portable) in EVERY_CHECK.iter().flat_map(|&c| [(c, false), (c, true)]) {
            let emulator = device(checks, portable);
            let kernel = load(&emulator, &text(shape, named, false)).kernel("k").unwrap();
            let from = words(&emulator, &memory);
            for ((name, pattern), mask) in PATTERNS.iter().flat_map(|p| MASKS.map(|mask| (p, mask)))
            {
                let size = shape.2;
                let all = (BUFFER_WORDS / size) as u32;
                let element = |lane: usize| pattern(lane as u32, all) as usize * size;
                let offsets: Vec<u32> = (0..32).map(|lane| element(lane) as u32 * 4).collect();
                let to = words(&emulator, &vec![7; 32 * size]);
                let tables = [words(&emulator, &offsets), words(&emulator, &takes_part(mask))];
                run(&emulator, &kernel, [tables[0], from, to, tables[1]]);
                let expected: Vec<u32> = (0..32)
                    .flat_map(|lane| {
                        let own = mask >> lane & 1 == 1;
                        (0..size).map(move |word| (own, element(lane) + word))
                    })
                    .map(|(own, at)| if own { memory[at] } else { 0 })
                    .collect();
                let what =
                    format!("{name}, {mask:#010x}, {shape:?}, {named:?}, {checks:?}, {portable}");
                assert_eq!(read(&emulator, to, 32 * size), expected, "{what}");
                for address in [to, tables[0], tables[1]] {
                    emulator.memory().free(address).unwrap();
                }
            }
        }
    }
}

#[test]
fn each_lane_stores_only_to_its_address() {
    let each = SHAPES.iter().flat_map(|shape| ADDRESS_SPACES.map(|named| (shape, named)));
    for (&shape, named) in each {
        for (checks, portable) in EVERY_CHECK.iter().flat_map(|&c| [(c, false), (c, true)]) {
            let emulator = device(checks, portable);
            let kernel = load(&emulator, &text(shape, named, true)).kernel("k").unwrap();
            for ((name, pattern), mask) in PATTERNS.iter().flat_map(|p| MASKS.map(|mask| (p, mask)))
            {
                let size = shape.2;
                let all = (BUFFER_WORDS / size) as u32;
                let element = |lane: usize| pattern(lane as u32, all) as usize * size;
                let offsets: Vec<u32> = (0..32).map(|lane| element(lane) as u32 * 4).collect();
                // Lanes that write to the same address must write the same value, because it would be a race
                // otherwise.
                let shares = (0..32).any(|a| (0..a).any(|b| offsets[a] == offsets[b]));
                let value = |lane: usize, word: usize| {
                    let of = if shares && checks.races {
                        pattern(lane as u32, all)
                    } else {
                        lane as u32
                    };
                    of.wrapping_mul(0x85eb_ca6b).wrapping_add(word as u32 * 0x0101)
                };
                let values: Vec<u32> =
                    (0..32).flat_map(|lane| (0..size).map(move |word| value(lane, word))).collect();
                let mut expected: Vec<u32> = (0..BUFFER_WORDS as u32).collect();
                let to = words(&emulator, &expected);
                // The last lane's value is kept.
                for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                    for word in 0..size {
                        expected[element(lane) + word] = value(lane, word);
                    }
                }
                let tables = [&offsets, &values, &takes_part(mask)].map(|t| words(&emulator, t));
                run(&emulator, &kernel, [tables[0], to, tables[1], tables[2]]);
                let what =
                    format!("{name}, {mask:#010x}, {shape:?}, {named:?}, {checks:?}, {portable}");
                assert_eq!(read(&emulator, to, BUFFER_WORDS), expected, "{what}");
                for address in [to, tables[0], tables[1], tables[2]] {
                    emulator.memory().free(address).unwrap();
                }
            }
        }
    }
}
