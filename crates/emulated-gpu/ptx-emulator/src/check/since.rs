//! The first target and version of PTX that have a directive or a form of an instruction, as in `ptxas` (PTX ISA, "PTX
//! ISA Notes" and "Target ISA Notes" of each instruction). The table of instructions has the first target and version
//! of each opcode. Features that depend on operands or on matrix shapes are checked together with these.

use super::context::{ModuleContext, Result};
use crate::program::Module;
use crate::syntax::{Instruction, Name};

/// A version of PTX.
pub(super) type Version = (u32, u32);

/// Directives, and the types of declarations.
const DIRECTIVES: [(&str, u32, Version); 32] = [
    (".address_size", 10, (2, 3)),
    (".section", 10, (2, 0)),
    (".pragma", 10, (2, 0)),
    (".weak", 10, (3, 1)),
    (".common", 10, (5, 0)),
    (".alias", 30, (6, 3)),
    (".attribute", 30, (4, 0)),
    (".unified", 90, (8, 0)),
    (".b128", 70, (8, 3)),
    (".f16x2", 53, (4, 2)),
    ("used_bytes_mask", 50, (8, 3)),
    ("function_name", 10, (7, 0)),
    ("timestamp", 10, (3, 2)),
    (".texref", 10, (1, 5)),
    (".surfref", 10, (1, 5)),
    (".ptr", 10, (2, 2)),
    (".ptr .texref", 10, (4, 3)),
    (".maxntid", 10, (1, 3)),
    (".maxnreg", 10, (1, 3)),
    (".minnctapersm", 10, (2, 0)),
    (".maxnctapersm", 10, (2, 0)),
    (".reqntid", 10, (2, 1)),
    (".noreturn", 30, (6, 4)),
    (".reqnctapercluster", 90, (7, 8)),
    (".explicitcluster", 90, (7, 8)),
    (".maxclusterrank", 90, (7, 8)),
    (".blocksareclusters", 90, (9, 0)),
    (".abi_preserve", 80, (9, 0)),
    (".abi_preserve_control", 80, (9, 0)),
    (".callprototype", 20, (2, 1)),
    (".calltargets", 20, (2, 1)),
    (".branchtargets", 30, (6, 0)),
];

/// Features that are newer than their opcode: opcodes, conditions on the modifiers that must all hold, target,
/// version.
///
/// The condition `a|b` means that one of these modifiers is present, `!a|b` that none is, and `~a|b` that one
/// of them is the last.
const FEATURES: [(&str, &str, u32, Version); 113] = [
    (
        "add|sub|mul|abs|neg|min|max|cos|ex2|lg2|sin|rsqrt|sqrt|rcp|setp|set|slct|cvt|fma|mad|div",
        "ftz",
        10,
        (1, 4),
    ),
    ("cvt", "ftz f64|u64|s64 ~f32", 10, (1, 5)),
    ("add|sub|mul|mad", "rm|rp f64", 13, (1, 2)),
    ("fma", "rm|rp f64", 13, (1, 4)),
    ("add|sub|mul", "rm|rp f32", 20, (2, 0)),
    ("mad", "rn|rz|rm|rp f32", 20, (2, 0)),
    ("fma", "f32", 20, (2, 0)),
    ("add|sub|mul|fma|set|setp", "f16|f16x2", 53, (4, 2)),
    ("set", "u16|s16|u32|s32 ~f16|f16x2", 53, (6, 5)),
    ("abs", "f16|f16x2", 53, (6, 5)),
    ("neg", "f16|f16x2", 53, (6, 0)),
    ("min|max", "f16|f16x2|bf16|bf16x2|NaN", 80, (7, 0)),
    ("min|max", "xorsign.abs|xorsign", 86, (7, 2)),
    ("abs|neg|fma", "bf16|bf16x2", 80, (7, 0)),
    ("fma", "relu", 80, (7, 0)),
    ("add|sub|mul|set|setp", "bf16|bf16x2", 90, (7, 8)),
    ("add|min|max", "u16x2|s16x2", 90, (8, 0)),
    ("min|max", "relu", 90, (8, 0)),
    ("add|addc|sub|subc", "cc s64|u64", 20, (4, 3)),
    ("mad|madc", "cc", 20, (3, 0)),
    ("mad|madc", "cc s64|u64", 20, (4, 3)),
    ("add|sub", "cc", 10, (1, 2)),
    ("sub", "cc", 10, (1, 3)),
    ("!cp", "shared::cta", 10, (7, 8)),
    ("*", "shared::cluster|cluster", 90, (7, 8)),
    ("*", "b128", 70, (8, 3)),
    ("*", "param::entry|param::func", 10, (8, 3)),
    (
        "*",
        "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
        70,
        (7, 4),
    ),
    ("ld", "L2::64B|L2::128B", 75, (7, 4)),
    ("ld", "L2::256B", 80, (7, 4)),
    ("*", "L2::cache_hint", 80, (7, 4)),
    ("ld|st", "volatile", 10, (1, 1)),
    ("st", "param|param::func", 20, (2, 0)),
    ("ld", "param::func", 20, (2, 0)),
    (
        "ld|st|atom|red",
        "!const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster",
        20,
        (2, 0),
    ),
    ("ld", "nc", 32, (3, 1)),
    ("ld|st|atom|red", "relaxed|acquire|release|acq_rel", 70, (6, 0)),
    ("ld|st", "mmio", 70, (8, 2)),
    ("atom|red", "b64|u64", 12, (1, 2)),
    ("atom|red", "shared|shared::cta", 12, (1, 2)),
    ("atom|red", "b128", 90, (8, 3)),
    ("atom|red", "add f32", 20, (2, 0)),
    ("atom|red", "shared|shared::cta b64|u64", 20, (2, 0)),
    ("atom|red", "min|max u64|s64", 32, (3, 1)),
    ("atom|red", "and|or|xor b64", 32, (3, 1)),
    ("atom|red", "f64|cta|gpu|sys", 60, (5, 0)),
    ("atom|red", "f16x2", 60, (6, 2)),
    ("atom|red", "f16|b16", 70, (6, 3)),
    ("atom|red", "bf16|bf16x2", 90, (7, 8)),
    ("atom|red", "v2|v4|v8", 90, (8, 1)),
    ("bar", "arrive|red", 20, (2, 0)),
    ("bar|barrier", "cta", 20, (7, 8)),
    ("bar", "warp", 30, (6, 0)),
    ("cp", "L2::64B|L2::128B|L2::256B", 80, (7, 4)),
    ("cp", "bulk", 90, (8, 0)),
    ("cp", "bulk shared::cta mbarrier::complete_tx::bytes !shared::cluster", 90, (8, 6)),
    ("cvt", "satfinite f16", 70, (8, 1)),
    ("cvt", "pack", 72, (6, 5)),
    ("cvt", "pack u4|s4|u2|s2", 75, (6, 5)),
    ("cvt", "bf16|bf16x2|f16x2|tf32|relu", 80, (7, 0)),
    ("cvt", "f32 ~bf16", 80, (7, 1)),
    ("cvt", "satfinite bf16|bf16x2|f16x2|tf32|relu", 80, (8, 1)),
    ("cvt", "e4m3x2|e5m2x2", 89, (7, 8)),
    ("cvt", "bf16 !f32", 90, (7, 8)),
    ("cvta|isspacep", "const", 20, (3, 1)),
    ("cvta|isspacep", "param|param::entry", 70, (7, 7)),
    ("div", "approx|full", 10, (1, 4)),
    ("div|rcp|sqrt", "rn|rz|rm|rp f32", 20, (2, 0)),
    ("div|rcp|sqrt", "rz|rm|rp f64", 20, (2, 0)),
    ("sqrt", "approx", 10, (1, 4)),
    ("rcp", "approx ftz f64", 20, (2, 1)),
    ("rsqrt", "approx ftz f64", 20, (4, 0)),
    ("ex2", "f16|f16x2", 75, (7, 0)),
    ("ex2|tanh", "bf16|bf16x2", 90, (7, 8)),
    ("fence|membar", "proxy", 60, (7, 5)),
    ("fence", "mbarrier_init|async", 90, (8, 0)),
    ("lop3", "and|or", 70, (8, 2)),
    ("mbarrier", "release|acquire|relaxed", 80, (8, 0)),
    ("mbarrier", "try_wait", 90, (7, 8)),
    ("mbarrier", "expect_tx|complete_tx|cluster", 90, (8, 0)),
    ("mbarrier", "relaxed !expect_tx|complete_tx", 90, (8, 6)),
    ("membar", "sys", 20, (2, 0)),
    ("pmevent", "mask", 20, (3, 0)),
    ("prefetch", "L2::evict_last|L2::evict_normal", 80, (7, 4)),
    ("shfl|vote", "sync", 30, (6, 0)),
    ("vote", "ballot", 20, (2, 0)),
    ("cp", "mbarrier shared::cta", 80, (7, 8)),
    ("cvt", "rn|rz tf32", 90, (7, 8)),
    ("ld|st", "ca|cg|cs|cv|lu|wb|wt", 20, (2, 0)),
    ("ld|st", "weak", 70, (6, 0)),
    ("mbarrier", "arrive|arrive_drop shared::cluster", 90, (8, 0)),
    ("mbarrier", "parity", 80, (7, 1)),
    ("tex", "a1d|a2d", 10, (2, 3)),
    ("tex", "cube|acube", 10, (3, 0)),
    ("tex", "acube", 20, (3, 0)),
    ("tex", "level|base|grad", 20, (3, 1)),
    ("tex", "grad cube|acube", 20, (4, 3)),
    ("tex", "f16|f16x2", 53, (4, 2)),
    ("tld4", "cube|acube|a2d", 30, (4, 3)),
    ("txq|suq", "channel_order|channel_data_type", 10, (2, 1)),
    ("txq|suq", "array_size", 10, (4, 1)),
    ("txq", "num_mipmap_levels", 20, (4, 1)),
    ("txq", "num_samples", 30, (4, 1)),
    ("txq", "level", 30, (4, 3)),
    ("suq", "memory_layout", 10, (4, 2)),
    ("suld|sust", "ca|cg|cs|cv|wb|wt", 20, (2, 0)),
    ("suld|sust", "zero|clamp", 10, (2, 0)),
    ("suld|sust|sured", "3d|a1d|a2d", 20, (3, 0)),
    ("sust", "p", 20, (2, 0)),
    ("sust", "p a1d|a2d", 30, (4, 1)),
    ("sured", "min|max u64|s64|b64", 50, (8, 1)),
    ("wmma", "aligned", 70, (6, 3)),
    ("mma", "f16 e4m3|e5m2", 89, (8, 7)),
];

fn is_in_list(list: &str, word: &str) -> bool {
    list == "*" || list.split('|').any(|one| one == word)
}

fn opcode_matches(opcodes: &str, opcode: &str) -> bool {
    opcodes
        .strip_prefix('!')
        .map_or_else(|| is_in_list(opcodes, opcode), |list| !is_in_list(list, opcode))
}

fn part_matches(part: &str, modifiers: &[Name]) -> bool {
    let has = |list: &str| modifiers.iter().any(|word| is_in_list(list, word.text));
    match part.split_at(1) {
        ("!", list) => !has(list),
        ("~", list) => modifiers.last().is_some_and(|word| is_in_list(list, word.text)),
        _ => has(part),
    }
}

impl ModuleContext<'_> {
    /// Returns an error unless the file's target and version have this word of a declaration.
    pub(super) fn require_directive(&self, word: Name) -> Result<()> {
        let row = DIRECTIVES.iter().find(|(name, ..)| *name == word.text);
        row.map_or(Ok(()), |(_, target, version)| {
            self.require(word.span, &format!("`{}`", word.text), *target, *version)
        })
    }
}

/// The target and version that a form of an instruction needs; `base` are the target and version of the opcode.
/// Features that the file's own target and version already have are skipped.
pub(super) fn first_of_form(
    module: &Module,
    written: &Instruction,
    base: (u32, Version),
) -> (u32, Version) {
    let forms = FEATURES.iter().filter(|(opcodes, parts, target, version)| {
        (module.target < *target || module.version < *version)
            && opcode_matches(opcodes, written.opcode.text)
            && parts.split(' ').all(|part| part_matches(part, &written.modifiers))
    });
    forms.fold(base, |(t, v), (_, _, target, version)| (t.max(*target), v.max(*version)))
}

/// Whether a word of a declaration has a row.
pub(crate) fn is_directive(word: &str) -> bool {
    DIRECTIVES.iter().any(|(name, ..)| *name == word)
}
