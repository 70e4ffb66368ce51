//! What is accepted: NVRTC's output for typical kernels, and hand-written files with every form of
//! declaration and operand; what the parser makes of them; and that nothing makes it panic.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ptx_emulator::parse;
use ptx_emulator::program::{
    Function, Initial, Label, Module, Op, Operand, Space, Special, Symbol, Type,
};
use ptx_emulator::source::Source;

/// The PTX files of a folder of test data.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn source(path: &Path) -> Source {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Source { name, text: fs::read_to_string(path).unwrap() }
}

fn shown(diagnostics: &[ptx_emulator::Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect()
}

/// A module of one entry with that body.
fn body(text: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 word[4];\n\
         .visible .entry k(.param .u64 a, .param .f32 b)\n{{\n{text}\n}}\n"
    );
    let source = Source { name: "body.ptx".into(), text };
    parse(&source).unwrap_or_else(|diagnostics| panic!("{}", shown(&diagnostics)))
}

fn entry(module: &Module) -> &Function {
    module.functions.iter().find(|function| function.entry).unwrap()
}

fn ops(module: &Module) -> Vec<Op> {
    let body = entry(module).body.as_ref().unwrap();
    body.iter().map(|instruction| instruction.op.clone()).collect()
}

#[test]
fn what_nvrtc_emits_is_accepted() {
    for path in files("compiled") {
        let source = source(&path);
        if let Err(diagnostics) = parse(&source) {
            panic!("{}", shown(&diagnostics));
        }
    }
}

#[test]
fn the_handwritten_files_are_accepted() {
    for path in files("good") {
        let source = source(&path);
        if let Err(diagnostics) = parse(&source) {
            panic!("{}", shown(&diagnostics));
        }
    }
}

#[test]
fn constants_become_the_bits_of_their_type() {
    let module = body(
        ".reg .b32 r; .reg .b64 l; .reg .f32 f; .reg .f64 d; .reg .b16 h;
         mov.s32 r, -1; mov.u16 h, 70000; mov.u32 r, 1+2*3; mov.u32 r, WARP_SZ;
         mov.f32 f, 1.5; mov.f32 f, 0f7FC00001; mov.f64 d, 0f3F800000; mov.f64 d, -0.5;
         mov.u32 r, (1 < 2) ? 0x10 : 017; mov.u64 l, (.u64) -1 >> 60; mov.s64 l, -16 >> 2;",
    );
    let immediates: Vec<u64> = ops(&module)
        .iter()
        .map(|op| match op {
            Op::Mov { a: Operand::Immediate(bits), .. } => *bits,
            op => panic!("{op:?}"),
        })
        .collect();
    let expected = [
        0xFFFF_FFFF,
        70000 - 65536,
        7,
        32,
        0x3FC0_0000,
        0x7FC0_0001,
        0x3FF0_0000_0000_0000,
        0xBFE0_0000_0000_0000,
        16,
        15,
        (-4i64) as u64,
    ];
    assert_eq!(immediates, expected);
}

#[test]
fn inner_blocks_hide_registers_and_labels() {
    let module = body(
        ".reg .b32 x; mov.b32 x, 1;
         { .reg .f32 x; mov.f32 x, 1.0; }
         mov.b32 x, 2;
         again: { again: bra again; }
         bra again;",
    );
    let registers = &entry(&module).registers;
    let types: Vec<Type> = registers.iter().map(|register| register.ty).collect();
    assert_eq!(types, [Type::B32, Type::F32]);
    let ops = ops(&module);
    let written: Vec<u32> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Mov { d: Some(register), .. } => Some(register.0),
            _ => None,
        })
        .collect();
    assert_eq!(written, [0, 1, 0]);
    // Both labels stand before the inner branch, which is instruction 3.
    assert_eq!(ops[3], Op::Branch { target: Label(3), uniform: false });
    assert_eq!(ops[4], Op::Branch { target: Label(3), uniform: false });
}

#[test]
fn a_branch_goes_forward_to_its_label() {
    let module = body(".reg .b32 r; bra end; mov.b32 r, 1; end:");
    assert_eq!(ops(&module)[0], Op::Branch { target: Label(2), uniform: false });
    assert_eq!(entry(&module).labels, [("end".to_owned(), Label(2))]);
}

#[test]
fn addresses_name_variables_and_offsets() {
    let module = body(
        ".reg .b64 l; .reg .b32 r; .shared .align 8 .f32 own[8];
         ld.param.u64 l, [a]; ld.global.u32 r, [l+-8]; ld.shared.u32 r, [own+4+4];
         mov.u64 l, word+12; st.global.u32 word[2], r; mov.u32 r, %ctaid.y;",
    );
    let ops = ops(&module);
    let function = entry(&module);
    let base = |op: &Op| match op {
        Op::Load { address, .. } | Op::Store { address, .. } => (address.base, address.offset),
        op => panic!("{op:?}"),
    };
    let (Operand::Address(Symbol::Local(parameter), 0), 0) = base(&ops[0]) else { panic!() };
    assert_eq!(function.variables[parameter.0 as usize].space, Space::Param);
    assert!(matches!(base(&ops[1]), (Operand::Register(_), -8)));
    let (Operand::Address(Symbol::Local(own), 0), 8) = base(&ops[2]) else { panic!() };
    assert_eq!(function.variables[own.0 as usize].align, 8);
    assert!(matches!(
        ops[3],
        Op::Mov { a: Operand::Address(Symbol::Module(_), 12), ty: Type::U64, .. }
    ));
    assert!(matches!(base(&ops[4]), (Operand::Address(Symbol::Module(_), 0), 8)));
    assert!(matches!(ops[5], Op::Mov { a: Operand::Special(Special::Ctaid(1)), .. }));
}

#[test]
fn initial_values_are_laid_out_as_in_c() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/good/variables.ptx");
    let module = parse(&source(&path)).unwrap();
    let initial = |name: &str| -> (u64, Initial) {
        let variable =
            module.variables.iter().find(|variable| variable.name == name).unwrap().clone();
        (variable.size, variable.initial.unwrap())
    };
    let words = |name: &str| -> Vec<i32> {
        let (_, initial) = initial(name);
        initial
            .bytes
            .chunks_exact(4)
            .map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
    };
    assert_eq!(words("grid"), [1, 2, 3, 4, 5]);
    assert_eq!(initial("grid").0, 24);
    assert_eq!(words("bits"), [(0x1F | 15 << 2) ^ 5]);
    assert_eq!(words("chosen"), [64]);
    assert_eq!(words("counted"), [1, 2, 3]);
    assert_eq!(initial("negative").1.bytes, (-1i64).to_le_bytes());
    assert_eq!(initial("cast").1.bytes, 15u64.to_le_bytes());
    let there = initial("there").1;
    let places: Vec<_> = there
        .addresses
        .iter()
        .map(|address| (address.at, address.offset, address.generic))
        .collect();
    assert_eq!(places, [(0, 0, false), (8, 0, true), (16, 4, true)]);
}

#[test]
fn lines_of_cuda_are_kept() {
    let module =
        body(".reg .b32 r; mov.b32 r, 1; .loc 1 7 3 mov.b32 r, 2; .loc 1 0 0 mov.b32 r, 3;");
    let body = entry(&module).body.as_ref().unwrap();
    let lines: Vec<Option<u32>> =
        body.iter().map(|instruction| instruction.loc.map(|loc| loc.line)).collect();
    assert_eq!(lines, [None, Some(7), None]);
}

#[test]
fn deep_nesting_is_refused_and_not_a_stack_overflow() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let n = 200_000;
    for text in [
        format!("{head}.entry k() {}", "{".repeat(n)),
        format!("{head}.entry k() {{ .reg .b32 r; mov.b32 r, {}1; }}", "(".repeat(n)),
        format!("{head}.entry k() {{ .reg .b32 r; mov.b32 r, {}1; }}", "-".repeat(n)),
        format!("{head}.entry k() {{ .reg .b32 r; mov.b32 r, 1{}; }}", "+1".repeat(n)),
        format!("{head}.entry k() {{ .reg .b32 r; mov.b32 r, {}1; }}", "1?".repeat(n)),
        format!("{head}.global .u32 a[1] = {}", "{".repeat(n)),
        format!("{head}.entry k() {{ call {}", "(".repeat(n)),
        format!("{head}.entry k() {{ mov.b32 {}", "{".repeat(n)),
    ] {
        assert!(parse(&Source { name: "deep.ptx".into(), text }).is_err());
    }
}

#[test]
fn time_grows_with_the_length_of_the_text() {
    let text = |lines: usize| {
        let mut text = ".version 8.0\n.target sm_80\n.entry k() {\n.reg .b32 %r<9>;\n".to_owned();
        for line in 0..lines {
            text.push_str(&format!("L{line}: add.s32 %r1, %r2, {line}; bra L{line};\n"));
        }
        text + "}\n"
    };
    let source = Source { name: "long.ptx".into(), text: text(100_000) };
    let start = Instant::now();
    assert!(parse(&source).is_ok());
    // It takes a fifth of a second; what grows with the square of the length takes minutes.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // As many errors as lines are no slower, and are not all shown.
    let source = Source { name: "wrong.ptx".into(), text: text(100_000).replace("%r2", "%q2") };
    let start = Instant::now();
    assert_eq!(parse(&source).unwrap_err().len(), 51);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Replaces, removes, doubles and swaps pieces of valid files: whatever comes out, the parser says
/// yes or no.
#[test]
fn mutated_files_cause_no_panic() {
    let mut texts: Vec<String> = Vec::new();
    for folder in ["good", "bad", "compiled"] {
        for path in files(folder).into_iter().step_by(if folder == "compiled" { 11 } else { 1 }) {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    let snippets = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "%",
        "%r1",
        ".u32",
        ".f32",
        "0x",
        "1e",
        "-",
        "/*",
        "\"",
        "\0",
        "é",
        "_",
        "|",
        "<9999999999>",
        ".reg",
        ".global",
        ".func",
        "call",
        "@",
        "!",
        "9223372036854775808",
        "$",
        ".v4",
        "=",
        "?",
        ":",
        "generic(",
        "%tid",
        ".x",
        "mov",
        "ld",
    ];
    let mutation = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        0usize..40,
        0usize..snippets.len(),
        0u8..4,
    );
    let strategy = (any::<prop::sample::Index>(), prop::collection::vec(mutation, 1..6));
    let start = Instant::now();
    let mut runner =
        TestRunner::new(Config { cases: 3000, failure_persistence: None, ..Config::default() });
    runner
        .run(&strategy, |(which, mutations)| {
            // A slow machine runs fewer cases, so that the test stays short everywhere.
            if start.elapsed() > Duration::from_secs(8) {
                return Ok(());
            }
            let mut text = which.get(&texts).clone();
            for (at, other, length, snippet, kind) in mutations {
                if text.is_empty() {
                    break;
                }
                let from = text.floor_char_boundary(at.index(text.len()));
                let to = text.floor_char_boundary((from + length).min(text.len()));
                match kind {
                    0 => text.replace_range(from..to, ""),
                    1 => text.replace_range(from..to, snippets[snippet]),
                    2 => text.insert_str(from, snippets[snippet]),
                    _ => {
                        let piece = text[from..to].to_owned();
                        let at = text.floor_char_boundary(other.index(text.len()));
                        text.insert_str(at, &piece);
                    }
                }
            }
            if let Err(diagnostics) = parse(&Source { name: "mutated.ptx".into(), text }) {
                prop_assert!(!diagnostics.is_empty());
                prop_assert!(!shown(&diagnostics).is_empty());
            }
            Ok(())
        })
        .unwrap();
}

/// NVIDIA's assembler is the judge, where it is installed.
#[test]
fn ptxas_agrees() {
    let Some(ptxas) = ptxas() else {
        println!("skipped: no ptxas on this machine (set PTXAS to its path)");
        return;
    };
    // Refused here and accepted there, each for a reason.
    let stricter = [
        // The emulator has no tensor cores.
        "not_emulated.ptx",
    ];
    let mut disagreements = Vec::new();
    for folder in ["good", "bad", "compiled"] {
        for path in files(folder) {
            let source = source(&path);
            let target = source.text.split("sm_").nth(1).map_or(80, |rest| {
                rest.chars()
                    .take_while(char::is_ascii_digit)
                    .collect::<String>()
                    .parse()
                    .unwrap_or(80)
            });
            let verdict = Command::new(&ptxas)
                .args(["-c", "-o", if cfg!(windows) { "NUL" } else { "/dev/null" }])
                .arg(format!("-arch=sm_{}", if target == 81 { 80 } else { target }))
                .arg(&path)
                .output()
                .unwrap();
            let accepted = parse(&source).is_ok();
            if accepted != verdict.status.success() && !stricter.contains(&source.name.as_str()) {
                let says = String::from_utf8_lossy(&verdict.stderr).into_owned();
                disagreements.push(format!("{}: accepted {accepted}, ptxas: {says}", source.name));
            }
        }
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

/// `PTXAS`, or the one on the path.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let candidates = named.into_iter().chain(
        std::env::split_paths(&paths)
            .chain(["/usr/local/cuda/bin".into()])
            .map(|folder| folder.join("ptxas")),
    );
    candidates.into_iter().find(|path| path.is_file())
}
