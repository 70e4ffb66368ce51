//! Valid texts: NVRTC's output for typical kernels, and handwritten files with every form of declaration and operand.
//! The tests also check the programs that these texts are parsed to.

use std::fs;
use std::path::{Path, PathBuf};

use emulated_gpu_test_support::ptx::HEADER;
use ptx_emulator::parse;
use ptx_emulator::program::{
    Function, Initial, Label, Module, Op, Operand, Space, Special, Symbol, Type,
};
use ptx_emulator::source::Source;

/// The PTX files in a folder of test data.
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

fn report_of(diagnostics: &[ptx_emulator::Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect()
}

/// A module with one entry that has this body.
fn body(text: &str) -> Module {
    let text = format!(
        "{HEADER}.global .b32 word[4];\n\
         .visible .entry k(.param .u64 a, .param .f32 b)\n{{\n{text}\n}}\n"
    );
    let source = Source { name: "body.ptx".into(), text };
    parse(&source).unwrap_or_else(|diagnostics| panic!("{}", report_of(&diagnostics)))
}

fn entry(module: &Module) -> &Function {
    module.functions.iter().find(|function| function.entry).unwrap()
}

fn ops(module: &Module) -> Vec<Op> {
    let body = entry(module).body.as_ref().unwrap();
    body.iter().map(|instruction| instruction.op.clone()).collect()
}

#[test]
fn nvrtc_output_is_accepted() {
    for path in files("compiled") {
        let source = source(&path);
        if let Err(diagnostics) = parse(&source) {
            panic!("{}", report_of(&diagnostics));
        }
    }
}

#[test]
fn the_handwritten_files_are_accepted() {
    for path in files("good") {
        let source = source(&path);
        if let Err(diagnostics) = parse(&source) {
            panic!("{}", report_of(&diagnostics));
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
    // Both labels are before the inner branch, which is instruction 3.
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
    // ptxas computes the same values.
    assert_eq!(words("bits"), [0x1F | ((15 << 2) ^ 5)]);
    assert_eq!(words("chosen"), [64]);
    assert_eq!(words("counted"), [1, 2, 3]);
    assert_eq!(initial("negative").1.bytes, (-1i64).to_le_bytes());
    assert_eq!(initial("cast").1.bytes, 15u64.to_le_bytes());
    let target = initial("there").1;
    let places: Vec<_> = target
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
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    let n = 200_000;
    for text in [
        format!("{HEADER}.entry k() {}", "{".repeat(n)),
        format!("{HEADER}.entry k() {{ .reg .b32 r; mov.b32 r, {}1; }}", "(".repeat(n)),
        format!("{HEADER}.entry k() {{ .reg .b32 r; mov.b32 r, {}1; }}", "-".repeat(n)),
        format!("{HEADER}.entry k() {{ .reg .b32 r; mov.b32 r, 1{}; }}", "+1".repeat(n)),
        format!("{HEADER}.entry k() {{ .reg .b32 r; mov.b32 r, {}1; }}", "1?".repeat(n)),
        format!("{HEADER}.global .u32 a[1] = {}", "{".repeat(n)),
        format!("{HEADER}.entry k() {{ call {}", "(".repeat(n)),
        format!("{HEADER}.entry k() {{ mov.b32 {}", "{".repeat(n)),
    ] {
        assert!(parse(&Source { name: "deep.ptx".into(), text }).is_err());
    }
}

/// A text that would take minutes if the parser's time were quadratic.
#[test]
fn long_texts_are_parsed_quickly() {
    let text = |lines: usize| {
        let mut text = ".version 8.0\n.target sm_80\n.entry k() {\n.reg .b32 %r<9>;\n".to_owned();
        for line in 0..lines {
            text.push_str(&format!("L{line}: add.s32 %r1, %r2, {line}; bra L{line};\n"));
        }
        text + "}\n"
    };
    let lines = 100_000;
    let source = Source { name: "long.ptx".into(), text: text(lines) };
    assert_eq!(ops(&parse(&source).unwrap()).len(), 2 * lines);
    // Many errors, each with many similar names: not all are shown.
    for (right, wrong) in [("%r2", "%q2"), ("bra L", "bra M")] {
        let source = Source { name: "wrong.ptx".into(), text: text(lines).replace(right, wrong) };
        assert_eq!(parse(&source).unwrap_err().len(), 51);
    }
}
