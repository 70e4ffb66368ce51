//! Diagnostics of invalid files: for each `tests/ptx/bad/*.ptx`, the file with the extension `.txt` has the
//! expected output. `REFRESH=1` rewrites these files; review the difference before you commit it.

use std::fs;
use std::path::Path;

use emulated_gpu_test_support::ptx::HEADER;
use ptx_emulator::parse;
use ptx_emulator::source::Source;

#[test]
fn each_invalid_file_has_the_expected_diagnostics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/bad");
    let refresh = std::env::var_os("REFRESH").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = Source { name: name.clone(), text: fs::read_to_string(&path).unwrap() };
        let found: Vec<String> = match parse(&source) {
            Ok(_) => panic!("{name} is accepted"),
            Err(diagnostics) => diagnostics.iter().map(ToString::to_string).collect(),
        };
        let found = found.join("\n");
        let golden = path.with_extension("txt");
        if refresh {
            fs::write(&golden, &found).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default().replace("\r\n", "\n") != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(count > 20, "only {count} files");
    assert!(
        wrong.is_empty(),
        "the diagnostics differ from the expected ones:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_diagnostic_has_a_help_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/bad");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let source = Source { name: "a.ptx".into(), text: fs::read_to_string(&path).unwrap() };
            for diagnostic in parse(&source).unwrap_err() {
                assert!(diagnostic.help.is_some(), "{}: {diagnostic}", path.display());
                assert!(diagnostic.line > 0 && diagnostic.column > 0, "{diagnostic:?}");
            }
        }
    }
}

/// Texts in which `@` is replaced by each word of the vocabulary.
const PLACES: [&str; 9] = [
    "@ .u32 x;",
    ".entry k() @ 1 { ret; }",
    ".func f() @ { ret; }",
    ".global @ x;",
    ".entry k() { .reg @ %r; ret; }",
    ".global .texref t = { @ = @ };",
    ".entry k() { @; }",
    ".entry k() { .reg .b32 %r<4>; add@ %r1, %r2, %r3; ld@.b32 %r1, [%r2]; setp@.u32 %r1, %r2, %r3; }",
    ".entry k() { .reg .b32 %r<4>; mov.u32 @, %r1; add.u32 %r1, @, 1; bra @; }",
];

/// Words that help texts suggest: directives, types, modifiers, fields, instructions, special registers,
/// targets.
fn vocabulary() -> Vec<String> {
    let dotted = "version target address_size entry func global const shared local param reg visible extern \
        weak common file pragma section alias maxntid reqntid minnctapersm maxnctapersm maxnreg noreturn \
        reqnctapercluster maxclusterrank explicitcluster blocksareclusters abi_preserve \
        abi_preserve_control align v2 v4 v8 pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 \
        f16x2 bf16 bf16x2 tf32 f32 f64 texref surfref samplerref attribute managed unified ptr loc rn rz rm \
        rp ftz sat lo hi wide cc eq ne lt le gt ge volatile relaxed acquire release sync aligned";
    let plain = "wrap mirror clamp_ogl width height depth normalized_coords filter_mode addr_mode_0 k %r %r1 \
        %tid %tid.x %ntid.y %laneid %clock64 %lanemask_eq %cluster_ctarank sm_80 sm_90 x y t";
    let dotted = dotted.split_whitespace().map(|word| format!(".{word}"));
    let plain = plain.split_whitespace().map(str::to_owned);
    let instructions = ptx_emulator::instructions().map(str::to_owned);
    dotted.chain(plain).chain(instructions).collect()
}

#[test]
fn no_help_text_suggests_the_rejected_word() {
    let mut refused = 0;
    for word in vocabulary() {
        for place in PLACES {
            let text = format!("{HEADER}{}\n", place.replace('@', &word));
            for diagnostic in
                parse(&Source { name: "a.ptx".into(), text }).err().unwrap_or_default()
            {
                refused += 1;
                let help = diagnostic.help.clone().unwrap_or_default();
                let Some(rest) = help.split("did you mean `").nth(1) else { continue };
                let suggested = rest.split('`').next().unwrap_or_default();
                let from = diagnostic.column - 1;
                let written: String =
                    diagnostic.text.chars().skip(from).take(diagnostic.width).collect();
                let same =
                    |name: &str| name.trim_start_matches('.') == written.trim_start_matches('.');
                assert!(!same(suggested), "{diagnostic}");
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
