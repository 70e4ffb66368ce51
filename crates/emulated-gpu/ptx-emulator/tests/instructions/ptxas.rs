//! Comparison with NVIDIA's assembler, if it is installed: the checker must accept and reject the same texts as
//! ptxas.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_emulator::parse;
use ptx_emulator::source::Source;

use super::coverage::{self, InstructionForm};

/// The path in `PTXAS`, or the ptxas on the search path.
pub(super) fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let candidates = named.into_iter().chain(
        std::env::split_paths(&paths)
            .chain(["/usr/local/cuda/bin".into()])
            .map(|folder| folder.join("ptxas")),
    );
    let found = candidates.into_iter().find(|path| path.is_file());
    if found.is_none() {
        skipped::skip(
            "there is no ptxas; pip install nvidia-cuda-nvcc-cu12, and set PTXAS to its path",
        );
    }
    found
}

/// ptxas's verdict on a file; an error has its messages.
pub(super) fn verdict(ptxas: &Path, file: &Path, arch: &str) -> Result<(), String> {
    // The file is assembled for linking, unless a function has several results or the PTX is too old. Such files can
    // only be assembled as whole programs.
    match verdict_of(ptxas, file, arch, &["-c"]) {
        Err(messages) if messages.contains("'Compile only(-c)' requires") => {
            verdict_of(ptxas, file, arch, &[])
        }
        other => other,
    }
}

fn verdict_of(ptxas: &Path, file: &Path, arch: &str, options: &[&str]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(ptxas)
        .args(options)
        .args(["--opt-level", "0", "-o"])
        .arg(folder.path().join("out.cubin"))
        .arg(format!("-arch={arch}"))
        .arg(file)
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(messages) }
}

#[test]
fn ptxas_accepts_linked_texts() {
    let Some(ptxas) = ptxas() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/linked");
    let sources = ["main.ptx", "others.ptx"].map(|name| {
        let path = folder.join(name);
        // Each part is valid on its own, for linking.
        verdict(&ptxas, &path, "sm_90").unwrap();
        Source { name: name.to_owned(), text: fs::read_to_string(path).unwrap() }
    });
    let file = tempfile::NamedTempFile::with_suffix(".ptx").unwrap();
    let [main, others] = sources;
    for sources in [[main.clone(), others.clone()], [others, main]] {
        fs::write(file.path(), ptx_emulator::link(&sources).unwrap()).unwrap();
        // The result is complete: no symbol is left for a linker.
        verdict_of(&ptxas, file.path(), "sm_90", &[]).unwrap();
    }
}

#[test]
fn ptxas_agrees_on_every_file() {
    let Some(ptxas) = ptxas() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx");
    let mut disagreements = Vec::new();
    let mut count = 0;
    for folder in ["good", "bad", "compiled"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            // Instructions of the ISA that are not emulated.
            let refused_for_a_reason = path.ends_with("not_emulated.ptx");
            if path.extension().is_none_or(|extension| extension != "ptx") || refused_for_a_reason {
                continue;
            }
            count += 1;
            let text = fs::read_to_string(&path).unwrap();
            // If the file's target does not exist, it is assembled for one that does.
            let target = text
                .split("sm_")
                .nth(1)
                .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
            let target =
                target.filter(|number| ["52", "70", "75", "90"].contains(&number.as_str()));
            let arch = format!("sm_{}", target.unwrap_or_else(|| "80".into()));
            let says = verdict(&ptxas, &path, &arch);
            let own = parse(&Source { name: "file.ptx".into(), text });
            if own.is_ok() != says.is_ok() {
                disagreements.push(format!("{}: {own:?}, ptxas: {says:?}", path.display()));
            }
        }
    }
    assert!(count > 60, "{count}");
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

/// Whether ptxas accepts each of these instructions on its own, with its messages for the others.
fn verdicts_on(ptxas: &Path, statements: &[String]) -> Vec<Result<(), String>> {
    verdicts_in_kernel(ptxas, &coverage::kernel(), statements)
}

/// Returns the verdicts of ptxas on each instruction, as [`verdicts_on`] does, but in another kernel.
pub(super) fn verdicts_in_kernel(
    ptxas: &Path,
    kernel: &(String, usize),
    statements: &[String],
) -> Vec<Result<(), String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forms.ptx");
    let mut verdicts: Vec<Result<(), String>> = vec![Ok(()); statements.len()];
    // ptxas only looks for some errors if it finds no others, so this is repeated until all errors are known.
    loop {
        let (mut text, first) = kernel.clone();
        for (statement, verdict) in statements.iter().zip(&verdicts) {
            text.push_str(if verdict.is_ok() { statement } else { "" });
            text.push('\n');
        }
        text.push_str("}\n");
        fs::write(&path, text).unwrap();
        let Err(messages) = verdict(ptxas, &path, "sm_90a") else { return verdicts };
        let mut found = false;
        for line in messages.lines().filter(|line| line.contains("error")) {
            let number = line.split("line ").nth(1).and_then(|rest| rest.split(';').next());
            let index =
                number.and_then(|n| n.parse::<usize>().ok()).and_then(|n| n.checked_sub(first));
            if let Some(verdict) = index.and_then(|index| verdicts.get_mut(index)) {
                let message = line.split("error").nth(1).unwrap_or_default();
                *verdict = Err(message.trim_start_matches([' ', ':']).to_owned());
                found = true;
            }
        }
        // This message has no line, and only appears if there are no other errors.
        if !found && messages.contains("32-Bit ABI") {
            return verdicts;
        }
        if found {
            continue;
        }
        // Some messages have no line: then each half is tested separately, down to a single instruction.
        let left: Vec<usize> = (0..verdicts.len()).filter(|&at| verdicts[at].is_ok()).collect();
        assert!(!left.is_empty(), "{messages}");
        if let [only] = left[..] {
            verdicts[only] = Err(messages);
            return verdicts;
        }
        for half in [&left[..left.len() / 2], &left[left.len() / 2..]] {
            let texts: Vec<String> = half.iter().map(|&at| statements[at].clone()).collect();
            for (&at, verdict) in half.iter().zip(verdicts_in_kernel(ptxas, kernel, &texts)) {
                verdicts[at] = verdict;
            }
        }
        return verdicts;
    }
}

#[test]
fn ptxas_agrees_on_every_row() {
    let Some(ptxas) = ptxas() else { return };
    let texts: Vec<String> = coverage::forms().iter().map(InstructionForm::text).collect();
    let refused: Vec<String> = texts
        .iter()
        .zip(verdicts_on(&ptxas, &texts))
        .filter_map(|(text, verdict)| Some(format!("{text} {}", verdict.err()?)))
        .collect();
    assert!(refused.is_empty(), "ptxas refuses {}:\n{}", refused.len(), refused.join("\n"));
}

/// The number of values that a store to a surface has.
fn values_of_store(text: &str) -> usize {
    text.rsplit("], ").next().map_or(0, |values| values.matches(',').count() + 1)
}

/// The number of elements that its name states.
fn lanes(words: &[&str]) -> usize {
    if words.contains(&"v4") { 4 } else { 1 + usize::from(words.contains(&"v2")) }
}

/// Whether an operand is a register plus a constant.
fn is_sum(text: &str) -> bool {
    let operands = text.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    operands.flat_map(|part| part.split(',')).any(|operand| {
        let operand = operand.trim();
        operand.contains('+')
            && operand.rsplit(' ').next().is_some_and(|last| last.starts_with('%'))
    })
}

/// Whether the checker is intentionally stricter than ptxas for this text.
fn is_intentionally_rejected(text: &str) -> bool {
    let name = text.split(' ').next().unwrap_or_default();
    let words: Vec<&str> = name.split('.').collect();
    let twice = words.iter().enumerate().any(|(at, word)| words[at + 1..].contains(word));
    // The emulator has no atomic operations on 128 bits.
    name.starts_with("atom") && name.contains(".b128")
        // ptxas only rejects 32-bit generic and global addresses in a later pass, all at once.
        || (text.contains("[%s") || text.contains("[%r")) && !name.contains(".shared")
        || name.starts_with("cvta") && name.ends_with(".u32")
        // Forms that are not in the ISA, and which ptxas does not check.
        || ["addc", "subc", "madc"].contains(&words[0]) && name.ends_with("16")
        || ["cvt.bf16.f16", "cvt.f16.bf16", "mov.b128", "vote.sync.pred"].contains(&name)
        || words[0] == "rcp" && name.ends_with("ftz.f64")
        || words.contains(&"mmio") && !words.contains(&"global")
        || words[0] == "mov" && !name.ends_with("64") && text.contains("counted")
        || words[0] == "mov" && name.ends_with("16") && text.contains("%ntid")
        || name.starts_with("cvt.r") && text.contains("%d") && name.contains("16x2.f32")
        || words[0] == "fma" && name.contains("bf16") && !words.contains(&"rn")
        || name == "testp.f32" || name == "testp.f64"
        || words[0] == "setmaxnreg" && name.ends_with(".s32")
        // ptxas accepts stores of float sums in shapes that only exist for integers and single bits.
        || name.starts_with("wmma.store.d") && name.contains("m8n8k") && name.ends_with(".f32")
        // ptxas assumes half precision if `wmma` has no type.
        || words[0] == "wmma" && !words[1..].iter().any(|word| super::matrix::is_type(word))
        // ptxas does not count the values of a surface store.
        || words[0] == "sust" && values_of_store(text) != lanes(&words)
        // ptxas does not count the coordinates of some surface stores.
        || words[0] == "sust" && text.contains("[%d1, %r") && !words.contains(&"1d")
        // ptxas does not check the width and kind of a register that a constant is added to.
        || is_sum(text)
        || words[0] == "fns" && text.contains("%rf3")
        // ptxas ignores repeated modifiers, and a fourth operand that is not needed.
        || twice
        || name.starts_with("atom") && !name.contains(".cas") && text.matches(',').count() == 3
}

#[test]
fn ptxas_agrees_on_forms_like_those_of_the_rows() {
    let Some(ptxas) = ptxas() else { return };
    let texts: Vec<String> = coverage::neighbours().into_iter().collect();
    // Only a sample is tested, because there are very many forms. `PTXAS_STEP=1` tests all.
    let step: Option<usize> = std::env::var("PTXAS_STEP").ok().and_then(|step| step.parse().ok());
    // There are few forms for the matrix units, and each takes a second, because ptxas reports most of their
    // errors without a line.
    let (matrix, others): (Vec<String>, Vec<String>) =
        texts.into_iter().partition(|text| text.starts_with("mma") || text.starts_with("wmma"));
    let every = |texts: Vec<String>, sampled: usize| {
        let step = step.unwrap_or(texts.len() / sampled).max(1);
        texts.into_iter().step_by(step)
    };
    let others: Vec<String> = every(others, 20_000).collect();
    let matrix: Vec<String> = every(matrix, 100).collect();
    assert_agreement(&ptxas, &others, 4000);
    assert_agreement(&ptxas, &matrix, 50);
}

#[test]
fn ptxas_agrees_on_the_types_of_registers() {
    let Some(ptxas) = ptxas() else { return };
    let texts = coverage::with_typed_registers();
    let step: Option<usize> = std::env::var("PTXAS_STEP").ok().and_then(|step| step.parse().ok());
    let step = step.unwrap_or(texts.len() / 4000).max(1);
    let sample: Vec<String> = texts.into_iter().step_by(step).collect();
    assert_agreement(&ptxas, &sample, 4000);
}

/// Compares both verdicts on a sample, `at_once` statements at a time.
fn assert_agreement(ptxas: &Path, sample: &[String], at_once: usize) {
    let own = coverage::accepted(sample);
    let mut disagreements = BTreeSet::new();
    for chunk in 0..sample.len().div_ceil(at_once) {
        let range = chunk * at_once..((chunk + 1) * at_once).min(sample.len());
        let messages = verdicts_on(ptxas, &sample[range.clone()]);
        for ((text, own), messages) in sample[range.clone()].iter().zip(&own[range]).zip(messages) {
            // ptxas does not check the position of .cta in the name.
            let looser = text.starts_with("bar") && text.contains(".cta");
            if *own != messages.is_ok()
                && if *own { !looser } else { !is_intentionally_rejected(text) }
            {
                let own = if *own { "accepted" } else { "refused" };
                disagreements
                    .insert(format!("{own} here: {text} {}", messages.err().unwrap_or_default()));
            }
        }
    }
    let shown: Vec<&str> = disagreements.iter().map(String::as_str).take(400).collect();
    assert!(
        disagreements.is_empty(),
        "{} of {} forms:\n{}",
        disagreements.len(),
        sample.len(),
        shown.join("\n")
    );
}
