//! Random kernels: instructions of the tables in random order and with random registers, with branches, guards
//! and barriers in between. Each kernel runs under every check, with little memory and an instruction limit,
//! with and without vector instructions of the host, and both runs must have the same outcome.

use emulated_gpu_test_support::record;
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, FaultKind, Launch, RunOptions};

use crate::table::{self, HEADER};
use crate::{Random, cases};

/// The size of each buffer in bytes.
const BUFFER: usize = 1 << 12;

/// A program and its launch parameters.
struct Program {
    text: String,
    block: [u32; 3],
    grid: [u32; 3],
    seed: u64,
}

/// Replaces the numbers of registers by others of the same class.
fn renumber(text: &str, random: &mut Random) -> String {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let register = bytes[at] == b'%'
            && at + 2 < bytes.len()
            && b"bhrdqp".contains(&bytes[at + 1])
            && bytes[at + 2].is_ascii_digit()
            && !bytes.get(at + 3).is_some_and(u8::is_ascii_alphanumeric);
        if register {
            out.push('%');
            out.push(bytes[at + 1] as char);
            out.push((b'0' + random.below(10) as u8) as char);
            at += 3;
        } else {
            out.push(bytes[at] as char);
            at += 1;
        }
    }
    out
}

/// Instructions that the generator adds between the instructions of the tables. The outcome must not depend on where
/// the host has allocated a buffer, so %g is always inside the scratch buffer or just outside of it.
const BETWEEN: [&str; 12] = [
    "ld.param.u64 %g, [scratch]; add.u64 %g, %g, 4092",
    "ld.param.u64 %g, [scratch]; add.u64 %g, %g, 4100",
    "ld.param.u64 %g, [scratch]; sub.u64 %g, %g, 16",
    "ld.param.u64 %g, [scratch]; and.b64 %d0, %d1, 0xffe; add.u64 %g, %g, %d0",
    "and.b32 %s, %r1, 252",
    "add.u32 %s, %s, 4",
    "mov.u64 %l, own",
    "mov.u32 %r1, %tid.x",
    "setp.lt.u32 %p1, %r1, %r2",
    "bar.sync 0",
    "ld.global.u32 %r3, [counted+4]",
    "st.shared.u32 [box+8], %r1",
];

fn program(instructions: &[String], random: &mut Random) -> Program {
    let mut text = String::from(HEADER);
    let guarded = random.chance(2);
    text.push_str(
        ".visible .entry k(.param .u64 to, .param .u64 scratch, .param .align 16 .b8 bytes[16])\n{\n\
         .reg .pred %p<10>; .reg .b8 %b<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>;\n\
         .reg .b128 %q<10>; .reg .b32 %s, %i<4>; .reg .b64 %g, %l, %a<9>;\n\
         .shared .align 16 .b8 box[256]; .local .align 16 .b8 own[64];\n\
         mov.u32 %i0, %tid.x; ld.param.u64 %a1, [to]; ld.param.u64 %g, [scratch];\n\
         mul.wide.u32 %a2, %i0, 32; add.u64 %a1, %a1, %a2; add.u64 %g, %g, %a2;\n\
         and.b32 %s, %i0, 3; mul.lo.u32 %s, %s, 64; mov.u64 %l, own;\n\
         mov.u32 %r1, %i0; mov.u32 %r2, 7; mul.lo.u32 %r3, %i0, 0x9e3779b9; cvt.rn.f32.u32 %r4, %i0;\n\
         mov.b64 %d1, {%r3, %r1}; cvt.rn.f64.u32 %d2, %r3; mov.b32 {%h1, %h2}, %r3;\n\
         setp.lt.u32 %p1, %r3, 0x80000000; setp.eq.u32 %p2, %i0, 3; mov.b128 %q1, {%d1, %d2};\n",
    );
    let count = 2 + random.below(24);
    for index in 0..count {
        if random.chance(4) {
            text.push_str(&format!("L{index}:\n"));
        } else {
            text.push_str(&format!("{{ }} L{index}:\n"));
        }
        let guard = if guarded && random.chance(3) {
            format!("@{}%p{} ", if random.chance(2) { "!" } else { "" }, random.below(4))
        } else {
            String::new()
        };
        match random.below(10) {
            0 => {
                let target = random.below(count);
                let guard =
                    format!("@{}%p{}", if random.chance(2) { "!" } else { "" }, random.below(4));
                text.push_str(&format!("{guard} bra L{target};\n"));
            }
            1 | 2 => text.push_str(&format!("{};\n", random.one(&BETWEEN))),
            _ => {
                let instruction = renumber(&random.one(instructions), random);
                text.push_str(&format!("{guard}{instruction};\n"));
            }
        }
    }
    for (register, at) in [("r5", 0), ("r6", 4), ("r1", 8), ("r2", 12)] {
        text.push_str(&format!("st.global.u32 [%a1+{at}], %{register};\n"));
    }
    text.push_str("st.global.u64 [%a1+16], %d5; st.global.u64 [%a1+24], %d1;\nret;\n}\n");
    let block = random.one(&[[1, 1, 1], [32, 1, 1], [33, 1, 1], [8, 4, 2], [64, 1, 1]]);
    let grid = random.one(&[[1, 1, 1], [2, 1, 1]]);
    Program { text, block, grid, seed: random.next() }
}

/// A fault: its kind, its line, and the block and thread.
type FaultSite = (FaultKind, Option<usize>, Option<[u32; 3]>, Option<[u32; 3]>);

/// The outcome of a run: how it ended, and the contents of memory.
#[derive(Debug, PartialEq)]
struct Outcome {
    end: Result<u64, FaultSite>,
    memory: Vec<u8>,
}

/// Runs a program; `None` if the text is rejected.
fn run(program: &Program, portable: bool, strict: bool) -> Option<Outcome> {
    let checks = if strict {
        Checks { initialisation: true, races: true, synchronisation: true }
    } else {
        Checks::default()
    };
    let emulator = Emulator::new(RunOptions {
        deterministic: true,
        portable,
        checks,
        seed: program.seed.is_multiple_of(3).then_some(program.seed),
        statistics: program.seed.is_multiple_of(5),
        instruction_limit: Some(20_000),
        ..RunOptions::default()
    });
    let source = Source { name: "random.ptx".into(), text: program.text.clone() };
    let loaded = emulator.load(source).ok()?;
    let memory = emulator.memory();
    let buffers = [(); 2].map(|()| memory.allocate(BUFFER as u64, 16).unwrap());
    for buffer in buffers {
        memory.fill(buffer, &[1, 2, 3, 4], BUFFER as u64 / 4).unwrap();
    }
    let mut parameters: Vec<u8> = buffers.iter().flat_map(|at| at.to_le_bytes()).collect();
    parameters.extend(100..116);
    let kernel = loaded.kernel("k").unwrap();
    let (grid, block) = (program.grid, program.block);
    let launch = Launch { grid, block, parameters, ..Launch::default() };
    // Only checked kernels have one result.
    let outcome = if strict {
        record::launch(&emulator, &program.text, &kernel, &launch)
    } else {
        emulator.launch(&kernel, &launch)
    };
    let end = match outcome {
        Ok(statistics) => Ok(statistics.thread_instructions),
        Err(fault) => {
            assert!(!fault.to_string().is_empty());
            Err((
                fault.kind,
                fault.place.as_ref().map(|place| place.line),
                fault.block,
                fault.thread,
            ))
        }
    };
    let mut bytes = vec![0; 2 * BUFFER];
    for (buffer, part) in buffers.iter().zip(bytes.chunks_mut(BUFFER)) {
        memory.read(*buffer, part).unwrap();
    }
    Some(Outcome { end, memory: bytes })
}

/// A short description of how two runs differ.
fn difference(fast: Option<&Outcome>, portable: Option<&Outcome>) -> Option<String> {
    match (fast, portable) {
        (None, None) => None,
        (Some(fast), Some(portable)) if fast.end != portable.end => {
            Some(format!("{:?}, and without vector instructions {:?}", fast.end, portable.end))
        }
        (Some(fast), Some(portable)) => {
            let at = fast.memory.iter().zip(&portable.memory).position(|(a, b)| a != b)?;
            let near = at..(at + 16).min(fast.memory.len());
            let (one, other) = (&fast.memory[near.clone()], &portable.memory[near]);
            Some(format!("byte {at}: {one:02x?}, and without vector instructions {other:02x?}"))
        }
        _ => Some("one of them refuses the text".into()),
    }
}

#[test]
fn random_kernels_behave_alike_with_and_without_vector_instructions() {
    // The values of clocks and host addresses differ from run to run.
    let instructions: Vec<String> = table::all()
        .into_iter()
        .map(|case| case.text)
        .filter(|text| !text.contains(": ") && !text.contains('{') || text.contains("{%"))
        .filter(|text| !["cvta", "mov.u64 %d0, "].iter().any(|address| text.contains(address)))
        .collect();
    let (mut loaded, mut ended, mut faulted) = (0, 0, 0);
    cases(1200, |random| {
        let program = program(&instructions, random);
        for strict in [false, true] {
            let fast = run(&program, false, strict);
            let portable = run(&program, true, strict);
            let difference = difference(fast.as_ref(), portable.as_ref());
            assert!(difference.is_none(), "{}\nstrict {strict}: {difference:?}", program.text);
            match fast {
                None => {}
                Some(Outcome { end: Ok(_), .. }) => (loaded, ended) = (loaded + 1, ended + 1),
                Some(Outcome { end: Err(_), .. }) => (loaded, faulted) = (loaded + 1, faulted + 1),
            }
        }
    });
    let only_one = std::env::var_os("FUZZ_CASE").is_some();
    assert!(only_one || ended > 100 && faulted > 100, "{loaded} loaded, {ended} ended");
    println!("{loaded} loaded, {ended} ran to their end, {faulted} faulted");
}
