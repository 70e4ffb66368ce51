//! The library: macros, and mathematical functions written in CUDA C that every source
//! can use.

use std::borrow::Cow;

use rustc_hash::FxHashSet as HashSet;

use crate::diagnostic::Problems;
use crate::lex::{Token, TokenKind};
use crate::preprocess::{Macros, preprocess};
use crate::source::Sources;

const MACROS: &str = include_str!("macros.cuh");
const FLOAT: &str = include_str!("float.cuh");
const NUMBERS: &str = include_str!("numbers.cuh");
const BESSEL: &str = include_str!("bessel.cuh");
const INTEGERS: &str = include_str!("integers.cuh");
const HALVES: &str = include_str!("halves.cuh");
const HALF_FUNCTIONS: &str = include_str!("half_functions.cuh");
const FP8: &str = include_str!("fp8.cuh");
const ANGLES: &str = include_str!("angles.cuh");
const PARTS: &str = include_str!("parts.cuh");
const DOUBLE: &str = include_str!("double.cuh");
const ANGLES_OF_DOUBLE: &str = include_str!("angles_of_double.cuh");
const SPECIAL: &str = include_str!("special.cuh");
const WMMA: &str = include_str!("wmma.cuh");
const CONSTANTS: &str = include_str!("constants.cuh");
const GROUPS: &str = include_str!("groups.cuh");

/// The parts of the mathematical library. Each part uses functions of the parts before it.
const MATHEMATICS: [&str; 8] =
    [FLOAT, ANGLES, PARTS, DOUBLE, ANGLES_OF_DOUBLE, NUMBERS, SPECIAL, BESSEL];

/// The macros that are predefined in every source.
pub(crate) fn macros(sources: &mut Sources, problems: &mut Problems) -> Macros {
    let file = sources.add("the library's macros", MACROS);
    preprocess(file, Macros::default(), &[], None, sources, problems).1
}

/// Preprocesses the parts of the library that a source uses, as a file whose number is returned
/// with its tokens. A part is included only if one of its names occurs in the source. `macros` are
/// the macros of the source.
pub(crate) fn tokens(
    source: &[Token],
    macros: Macros,
    arch: u32,
    sources: &mut Sources,
    problems: &mut Problems,
) -> (u32, Vec<Token>) {
    let mut words: HashSet<&str> = HashSet::default();
    let mut called: HashSet<&str> = HashSet::default();
    for (at, token) in source.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Word)
    {
        words.insert(&*token.text);
        if source.get(at + 1).is_some_and(|next| &*next.text == "(") {
            called.insert(&*token.text);
        }
    }
    let wanted = |part: &&str| names(part).any(|name| called.contains(&*name));
    let mut text = String::new();
    let halves = wanted(&HALF_FUNCTIONS);
    let count = MATHEMATICS.iter().rposition(wanted).map_or(0, |last| last + 1);
    // The functions of halves call functions of float.
    let count = if halves { count.max(2) } else { count };
    for part in &MATHEMATICS[..count] {
        text.push_str(part);
    }
    if wanted(&INTEGERS) {
        text.push_str(INTEGERS);
    }
    let matrices = words.contains("wmma");
    let pairs =
        ["__half2", "half2", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "nv_bfloat162"];
    let bytes = words.iter().any(|name| name.starts_with("__nv_") && name.contains("fp8"));
    if words.iter().any(|name| name.starts_with("M_") || name.starts_with("CUDART_")) {
        text.push_str(CONSTANTS);
    }
    if matrices || halves || bytes || pairs.into_iter().any(|name| words.contains(name)) {
        text.push_str(HALVES);
    }
    if bytes {
        text.push_str(FP8);
    }
    if halves {
        text.push_str(HALF_FUNCTIONS);
    }
    if matrices {
        text.push_str(WMMA);
    }
    if words.contains("cooperative_groups") {
        text.push_str(GROUPS);
    }
    let file = sources.add("the library", &text);
    let defines = [("__CUDA_ARCH__".to_owned(), format!("{}", arch * 10))];
    let (mut tokens, _) = preprocess(file, macros, &defines, None, sources, problems);
    tokens.retain(|token| token.kind != TokenKind::End);
    (file, tokens)
}

/// The macros in `integers.cuh` and `half_functions.cuh` that define functions: for each, the
/// number of leading arguments that are names of functions, and the suffixes of the defined names.
const FUNCTION_MACROS: [(&str, usize, &[&str]); 11] = [
    ("__PARTS(", 1, &[""]),
    ("__PART(", 1, &[""]),
    ("__SUMMED(", 1, &[""]),
    ("__H1(", 2, &[""]),
    ("__H2(", 2, &[""]),
    ("__H3(", 2, &[""]),
    ("__HB(", 2, &[""]),
    ("__HC(", 4, &[""]),
    ("__WAYS(", 1, &["_rn", "_rz", "_ru", "_rd"]),
    ("__TO(", 2, &["_rn", "_rz", "_ru", "_rd"]),
    ("__CUT(", 1, &["_rz", "_ru", "_rd"]),
];

/// The names of the functions that a part of the library defines.
fn names(part: &str) -> impl Iterator<Item = Cow<'_, str>> {
    part.lines().flat_map(|line| {
        let expanded = FUNCTION_MACROS.iter().find_map(|(own, count, ends)| {
            line.strip_prefix(own).map(|rest| (rest, *count, *ends))
        });
        if let Some((rest, count, ends)) = expanded {
            let names = rest.split(',').take(count).map(str::trim);
            let ended = names.flat_map(|name| ends.iter().map(move |end| format!("{name}{end}")));
            return ended.map(Cow::Owned).collect::<Vec<_>>();
        }
        let before = line.strip_prefix("__device__ ").and_then(|rest| rest.split_once('('));
        let name = before.and_then(|(before, _)| before.rsplit_once(' '));
        name.map(|(_, name)| Cow::Borrowed(name.trim_start_matches('*'))).into_iter().collect()
    })
}
