//! Coverage of the instruction tables: everything that the checker accepts must have a row. The tests use the checker.
//! They take each row of an instruction, and insert every type and modifier that no row of that instruction has.
//! Whatever the checker then accepts is missing from the tables.

use std::collections::{BTreeMap, BTreeSet};

use ptx_emulator::source::Source;

use super::matrix;
use super::table::{self, HEADER, VECTORS};

/// The names and widths of all PTX types in the tables.
const TYPES: [(&str, u32); 25] = [
    ("pred", 1),
    ("b8", 8),
    ("b16", 16),
    ("b32", 32),
    ("b64", 64),
    ("b128", 128),
    ("u8", 8),
    ("u16", 16),
    ("u32", 32),
    ("u64", 64),
    ("s8", 8),
    ("s16", 16),
    ("s32", 32),
    ("s64", 64),
    ("f16", 16),
    ("f16x2", 32),
    ("bf16", 16),
    ("bf16x2", 32),
    ("tf32", 32),
    ("f32", 32),
    ("f64", 64),
    ("e4m3x2", 16),
    ("e5m2x2", 16),
    ("u16x2", 32),
    ("s16x2", 32),
];

/// The number of statements per check: fewer than the maximum number of errors that it reports.
const STATEMENTS_PER_CHECK: usize = 40;

fn bits(word: &str) -> Option<u32> {
    TYPES.iter().find(|(name, _)| *name == word).map(|(_, bits)| *bits)
}

fn register_class(bits: u32) -> char {
    match bits {
        1 => 'p',
        32 => 'r',
        64 => 'd',
        128 => 'q',
        _ => 'h',
    }
}

/// An instruction of a row, split into its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InstructionForm {
    opcode: String,
    modifiers: Vec<String>,
    operands: String,
}

impl InstructionForm {
    fn parse(statement: &str) -> Option<Self> {
        let (name, operands) = statement.split_once(' ').unwrap_or((statement, ""));
        let mut words = name_parts(name);
        let opcode = words.remove(0);
        (!opcode.is_empty()).then(|| Self { opcode, modifiers: words, operands: operands.into() })
    }

    fn types(&self) -> Vec<String> {
        self.modifiers.iter().filter(|word| bits(word).is_some()).cloned().collect()
    }

    pub(crate) fn text(&self) -> String {
        let dotted: String = self.modifiers.iter().map(|word| format!(".{word}")).collect();
        format!("{}{dotted} {};", self.opcode, self.operands)
    }
}

/// Splits a name such as `ld.shared::cta.L1::evict_last.u32` into words without dots. `.xorsign.abs` is one
/// word.
fn name_parts(name: &str) -> Vec<String> {
    let name = name.replace(".xorsign.abs", ".xorsign@abs");
    name.split('.').map(|word| word.replace('@', ".")).collect()
}

/// The forms of all rows.
pub(crate) fn forms() -> BTreeSet<InstructionForm> {
    let mut forms = BTreeSet::new();
    for case in table::all() {
        forms.extend(
            statements(&case.text).iter().filter_map(|statement| InstructionForm::parse(statement)),
        );
    }
    // Instructions of the matrix units are tested by `tests/tensor_cores`.
    forms.extend(matrix::all().iter().filter_map(|form| InstructionForm::parse(&form.statement())));
    forms
}

/// The instructions of a row, without labels, guards, blocks and declarations.
fn statements(text: &str) -> Vec<String> {
    text.split(';')
        .map(|statement| {
            let statement = statement.trim().trim_start_matches("{ ").trim();
            let statement = match statement.split_once(": ") {
                Some((label, rest)) if label.chars().all(char::is_alphanumeric) => rest,
                _ => statement,
            };
            match statement.split_once(' ') {
                Some((guard, rest)) if guard.starts_with('@') => rest.to_owned(),
                _ => statement.to_owned(),
            }
        })
        .filter(|statement| statement.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect()
}

/// The beginning of a kernel that a form can be added to, and the line of the form.
pub(crate) fn kernel() -> (String, usize) {
    let text = format!(
        "{HEADER}.entry k(.param .align 16 .b8 bytes[16])\n{{\n\
         .reg .pred %p<10>; .reg .b8 %b<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>;\n\
         .reg .b128 %q<10>; .reg .b32 %s; .reg .b64 %g, %l; .shared .align 16 .b8 box[64];\n\
         .reg .u16 %hu<10>; .reg .f16 %hf<10>; .reg .u32 %ru<10>; .reg .f32 %rf<10>;\n\
         .reg .u64 %du<10>; .reg .f64 %df<10>;\n\
         {VECTORS}.param .b32 in; .param .b32 out;\n\
         LIST: .branchtargets AGAIN;\nFORM: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n\
         AGAIN: SKIP: OVER: ONE: TWO: THREE:\n"
    );
    let line = text.lines().count() + 1;
    (text, line)
}

/// Which of these statements are accepted, each checked separately.
pub(crate) fn accepted(statements: &[String]) -> Vec<bool> {
    accepted_in(&kernel(), statements)
}

/// Checks which statements are accepted, as [`accepted`] does, in another kernel.
pub(crate) fn accepted_in(kernel: &(String, usize), statements: &[String]) -> Vec<bool> {
    let mut verdicts = vec![true; statements.len()];
    for (chunk, verdicts) in
        statements.chunks(STATEMENTS_PER_CHECK).zip(verdicts.chunks_mut(STATEMENTS_PER_CHECK))
    {
        let (mut text, first) = kernel.clone();
        text.push_str(&chunk.join("\n"));
        text.push_str("\n}\n");
        let source = Source { name: "coverage.ptx".into(), text };
        for diagnostic in ptx_emulator::parse(&source).err().unwrap_or_default() {
            let line = diagnostic.line.checked_sub(first).filter(|line| *line < chunk.len());
            let line = line.unwrap_or_else(|| panic!("{diagnostic}"));
            verdicts[line] = false;
        }
    }
    verdicts
}

/// The operands of a form for another type: registers that are as wide as the old type get the width of the new
/// one. All combinations of changed and unchanged registers are returned.
fn operands_for(form: &InstructionForm, old: u32, new: u32) -> Vec<String> {
    let twice = |bits: u32| if bits < 64 { 2 * bits } else { bits };
    let places: Vec<usize> = form
        .operands
        .match_indices('%')
        // Addresses are not changed.
        .filter(|(at, _)| *at == 0 || form.operands.as_bytes()[at - 1] != b'[')
        .map(|(at, _)| at + 1)
        .filter(|&at| {
            let class_here = form.operands[at..].chars().next();
            class_here == Some(register_class(old))
                || class_here == Some(register_class(twice(old)))
        })
        .take(5)
        .collect();
    (0..1u32 << places.len())
        .map(|choice| {
            let mut operands: Vec<char> = form.operands.chars().collect();
            for (bit, &at) in places.iter().enumerate() {
                if choice >> bit & 1 == 1 {
                    let wide = operands[at] != register_class(old);
                    operands[at] = register_class(if wide { twice(new) } else { new });
                }
            }
            operands.into_iter().collect()
        })
        .collect()
}

#[test]
fn every_instruction_has_rows() {
    let tested: BTreeSet<String> = forms().into_iter().map(|form| form.opcode).collect();
    let missing: Vec<&str> =
        ptx_emulator::instructions().filter(|opcode| !tested.contains(*opcode)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    let unknown: Vec<&String> = tested
        .iter()
        .filter(|opcode| !ptx_emulator::instructions().any(|known| known == opcode.as_str()))
        .collect();
    assert!(unknown.is_empty(), "rows for {unknown:?}, which the checker does not list");
}

/// The forms by opcode, one for each list of modifiers.
fn by_opcode() -> BTreeMap<String, Vec<InstructionForm>> {
    let mut found: BTreeMap<String, Vec<InstructionForm>> = BTreeMap::new();
    for form in forms() {
        let known = found.entry(form.opcode.clone()).or_default();
        if !known.iter().any(|other| other.modifiers == form.modifiers) {
            known.push(form);
        }
    }
    found
}

/// The forms of an opcode whose neighbours are tested. These are all forms, except for matrix products: they have
/// hundreds of forms from one table of shapes and types, so only every tenth is tested.
fn forms_to_vary(forms: &[InstructionForm]) -> impl Iterator<Item = &InstructionForm> {
    let table = forms.first().is_some_and(|form| ["mma", "wmma"].contains(&form.opcode.as_str()));
    forms.iter().step_by(if table { 10 } else { 1 })
}

/// A form with each of its types replaced by each other type, with adapted operands.
fn with_other_types(form: &InstructionForm) -> Vec<InstructionForm> {
    let mut found = Vec::new();
    for (at, word) in form.modifiers.iter().enumerate() {
        let Some(old) = bits(word) else { continue };
        for (name, new) in TYPES {
            let mut other = form.clone();
            other.modifiers[at] = name.to_owned();
            for operands in operands_for(form, old, new) {
                found.push(InstructionForm { operands, ..other.clone() });
            }
        }
    }
    found
}

/// A form with an additional modifier, and with each of its modifiers replaced by the additional modifier.
fn with_modifier(form: &InstructionForm, word: &str) -> Vec<InstructionForm> {
    let mut with = form.clone();
    with.modifiers.insert(0, word.to_owned());
    let mut found = vec![with];
    for at in 0..form.modifiers.len() {
        if bits(&form.modifiers[at]).is_none() {
            let mut instead = form.clone();
            word.clone_into(&mut instead.modifiers[at]);
            found.push(instead);
        }
    }
    found
}

/// Every modifier of all rows that is not a type.
fn vocabulary(all: &BTreeMap<String, Vec<InstructionForm>>) -> BTreeSet<String> {
    let words = all.values().flatten().flat_map(|form| &form.modifiers);
    words.filter(|word| bits(word).is_none()).cloned().collect()
}

/// Forms that differ from the forms of the rows in one type, or in one modifier that is added, replaced or removed.
pub(crate) fn neighbours() -> BTreeSet<String> {
    let all = by_opcode();
    let mut found = BTreeSet::new();
    for forms in all.values() {
        let words: BTreeSet<&String> = forms.iter().flat_map(|form| &form.modifiers).collect();
        for form in forms_to_vary(forms) {
            found.extend(with_other_types(form));
            for word in words.iter().filter(|word| bits(word).is_none()) {
                found.extend(with_modifier(form, word).into_iter().skip(1));
            }
            for at in 0..form.modifiers.len() {
                let mut without = form.clone();
                without.modifiers.remove(at);
                found.insert(without);
            }
        }
    }
    found.iter().map(InstructionForm::text).collect()
}

/// All forms with one untyped register replaced by an integer and by a float of the same width. Only every tenth matrix
/// product is included.
pub(crate) fn with_typed_registers() -> Vec<String> {
    let typed = |class: char| match class {
        'h' => &["hu", "hf"][..],
        'r' => &["ru", "rf"],
        'd' => &["du", "df"],
        _ => &[],
    };
    let mut found = BTreeSet::new();
    let all = by_opcode();
    // Reading `out` is only valid after a call.
    let forms = all.values().flat_map(|forms| forms_to_vary(forms));
    for form in forms.filter(|form| !form.operands.contains("[out]")) {
        for (at, _) in form.operands.match_indices('%') {
            let name = &form.operands[at + 1..];
            // A vector with an untyped register has no type, so ptxas doesn't check the other registers.
            let before = &form.operands[..at];
            let braces = before.matches('{').count() > before.matches('}').count();
            let register = name.chars().nth(1).is_some_and(|digit| digit.is_ascii_digit());
            let register = register && !braces;
            for other in name.chars().next().filter(|_| register).map_or(&[][..], typed) {
                let mut typed = form.clone();
                typed.operands.replace_range(at + 1..at + 2, other);
                found.insert(typed.text());
            }
        }
    }
    found.into_iter().collect()
}

#[test]
fn every_type_that_is_accepted_has_rows() {
    let mut missing = BTreeSet::new();
    for forms in by_opcode().values() {
        let tested: BTreeSet<Vec<String>> = forms.iter().map(InstructionForm::types).collect();
        let others = forms_to_vary(forms).flat_map(with_other_types);
        missing.extend(accepted_forms(
            others.filter(|form| !tested.contains(&form.types())).collect(),
        ));
    }
    assert!(missing.is_empty(), "accepted, and without a row:\n{}", show_missing(&missing));
}

#[test]
fn every_modifier_that_is_accepted_has_rows() {
    let all = by_opcode();
    let vocabulary = vocabulary(&all);
    assert!(vocabulary.len() > 100, "{vocabulary:?}");
    let mut missing = BTreeSet::new();
    for forms in all.values() {
        let tested: BTreeSet<&String> = forms.iter().flat_map(|form| &form.modifiers).collect();
        let without = || vocabulary.iter().filter(|word| !tested.contains(word));
        let tried = forms_to_vary(forms)
            .flat_map(|form| without().flat_map(|word| with_modifier(form, word)));
        let found = accepted_forms(tried.collect());
        // One example for each modifier is enough.
        missing.extend(without().filter_map(|word| {
            let dotted = format!(".{word}");
            found.iter().find(|text| has_word(text, &dotted)).cloned()
        }));
    }
    assert!(missing.is_empty(), "accepted, and without a row:\n{}", show_missing(&missing));
}

/// Whether the modifiers of an instruction include a word with its dot.
fn has_word(text: &str, dotted: &str) -> bool {
    let name = text.split(' ').next().unwrap_or_default();
    name.match_indices(dotted)
        .any(|(at, _)| matches!(name.as_bytes().get(at + dotted.len()), None | Some(b'.')))
}

/// The accepted forms, one for each opcode and list of modifiers.
fn accepted_forms(mut tried: Vec<InstructionForm>) -> Vec<String> {
    tried.sort();
    tried.dedup();
    let texts: Vec<String> = tried.iter().map(InstructionForm::text).collect();
    texts
        .iter()
        .zip(accepted(&texts))
        .filter(|(_, yes)| *yes)
        .map(|(text, _)| text.clone())
        .collect()
}

fn show_missing(missing: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = missing.iter().map(String::as_str).take(60).collect();
    format!("{} forms, such as\n{}", missing.len(), shown.join("\n"))
}

#[test]
fn all_rows_are_accepted() {
    let forms: Vec<InstructionForm> = forms().into_iter().collect();
    let texts: Vec<String> = forms.iter().map(InstructionForm::text).collect();
    let refused: Vec<&String> =
        texts.iter().zip(accepted(&texts)).filter(|(_, yes)| !yes).map(|(text, _)| text).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(texts.len() > 1500, "{}", texts.len());
}
