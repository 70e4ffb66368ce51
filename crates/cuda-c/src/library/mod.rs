//! What is there before the first line of a source: names of types, macros, and the mathematics that
//! is written in CUDA C itself.

use crate::diagnostic::Problems;
use crate::lex::{Kind, Token};
use crate::preprocess::{Macros, preprocess_with};
use crate::source::Sources;

/// Names of types, of which the parser has to know.
pub(crate) const TYPES: &[&str] = &[
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "clock_t",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "uint",
    "uchar",
    "ushort",
    "ulong",
    "half",
    "__half",
    "dim3",
    "char1",
    "char2",
    "char3",
    "char4",
    "uchar1",
    "uchar2",
    "uchar3",
    "uchar4",
    "short1",
    "short2",
    "short3",
    "short4",
    "ushort1",
    "ushort2",
    "ushort3",
    "ushort4",
    "int1",
    "int2",
    "int3",
    "int4",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "long1",
    "long2",
    "long3",
    "long4",
    "ulong1",
    "ulong2",
    "ulong3",
    "ulong4",
    "longlong1",
    "longlong2",
    "longlong3",
    "longlong4",
    "ulonglong1",
    "ulonglong2",
    "ulonglong3",
    "ulonglong4",
    "float1",
    "float2",
    "float3",
    "float4",
    "double1",
    "double2",
    "double3",
    "double4",
];

const MACROS: &str = include_str!("macros.cuh");
const FLOAT: &str = include_str!("float.cuh");
const NUMBERS: &str = include_str!("numbers.cuh");
const BESSEL: &str = include_str!("bessel.cuh");
const INTEGERS: &str = include_str!("integers.cuh");
const HALVES: &str = include_str!("halves.cuh");
const ANGLES: &str = include_str!("angles.cuh");
const PARTS: &str = include_str!("parts.cuh");
const DOUBLE: &str = include_str!("double.cuh");
const ANGLES_OF_DOUBLE: &str = include_str!("angles_of_double.cuh");
const SPECIAL: &str = include_str!("special.cuh");
const WMMA: &str = include_str!("wmma.cuh");
const GROUPS: &str = include_str!("groups.cuh");

/// The parts of the mathematics; each stands on those before it.
const MATHEMATICS: [&str; 8] =
    [FLOAT, ANGLES, PARTS, DOUBLE, ANGLES_OF_DOUBLE, NUMBERS, SPECIAL, BESSEL];

/// The library's tokens, and the macros that it defines.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) tokens: Vec<Token>,
    pub(crate) macros: Macros,
}

/// Reads what a source may need of the library: the mathematics only where one of its names is there.
pub(crate) fn tokens(
    sources: &mut Sources,
    problems: &mut Problems,
    source: &str,
) -> (u16, Before) {
    let mut text = String::from(MACROS);
    let wanted = |part: &&str| names(part).any(|name| mentions(source, name));
    let count = MATHEMATICS.iter().rposition(wanted).map_or(0, |last| last + 1);
    for part in &MATHEMATICS[..count] {
        text.push_str(part);
    }
    if wanted(&INTEGERS) {
        text.push_str(INTEGERS);
    }
    let matrices = mentions(source, "wmma");
    let pairs = ["__half2", "half2", "__nv_bfloat16", "__nv_bfloat162"];
    if matrices || pairs.into_iter().any(|name| mentions(source, name)) {
        text.push_str(HALVES);
    }
    if matrices {
        text.push_str(WMMA);
    }
    if mentions(source, "cooperative_groups") {
        text.push_str(GROUPS);
    }
    let file = sources.add("the library", &text);
    let (mut tokens, macros) =
        preprocess_with(file, Macros::default(), &[], None, sources, problems);
    tokens.retain(|token| token.kind != Kind::End);
    (file, Before { tokens, macros })
}

/// What makes a function of its first argument, in `integers.cuh`.
const MACROS_OF_FUNCTIONS: [&str; 3] = ["__PARTS(", "__PART(", "__SUMMED("];

/// The names of the functions that a part of the library defines.
fn names(part: &str) -> impl Iterator<Item = &str> {
    part.lines().filter_map(|line| {
        if let Some(rest) = MACROS_OF_FUNCTIONS.iter().find_map(|own| line.strip_prefix(own)) {
            return rest.split(',').next();
        }
        let rest = line.strip_prefix("__device__ ")?;
        let (before, _) = rest.split_once('(')?;
        let (_, name) = before.rsplit_once(' ')?;
        Some(name.trim_start_matches('*'))
    })
}

fn mentions(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let after = source[at + name.len()..].chars().next();
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !word(before) && !word(after)
    })
}
