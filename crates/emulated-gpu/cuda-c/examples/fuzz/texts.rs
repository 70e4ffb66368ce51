//! Fuzzing of the compiler with mutated programs: pieces are removed, duplicated or exchanged.
//! Compiling any text must neither panic nor hang.

use std::time::{Duration, Instant};

use crate::generate::Generator;
use crate::random::Random;

/// The maximum time of a compilation; a longer compilation counts as a hang.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The maximum size of PTX in bytes; more counts as excessive use of memory.
const MAX_PTX_BYTES: usize = 64 << 20;

/// Mutates the program with a seed and compiles it. Returns the text and the problem, if
/// anything.
pub(crate) fn check(number: u64, kernels: usize) -> Option<(String, String)> {
    let mut random = Random(number);
    let mut text = Generator::new(number).program(kernels).source();
    for _ in 0..=random.below(6) {
        mutate(&mut text, &mut random);
    }
    let start = Instant::now();
    let compiled = std::panic::catch_unwind(|| {
        cuda_c::compile(&text, &cuda_c::CompileOptions::default()).map_or(0, |ptx| ptx.text.len())
    });
    let problem = match compiled {
        Err(_) => "it panics",
        Ok(_) if start.elapsed() > MAX_TIME => "it takes longer than 30 seconds",
        Ok(length) if length > MAX_PTX_BYTES => "it becomes more than 64 MiB of PTX",
        Ok(_) => return None,
    };
    Some((text, problem.to_owned()))
}

/// The bounds of a random piece of up to 60 characters.
fn piece(text: &str, random: &mut Random) -> std::ops::Range<usize> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if starts.is_empty() {
        return 0..0;
    }
    let start = random.below(starts.len() as u64) as usize;
    let most = if random.one_in(2) { 4 } else { 60 };
    let length = 1 + random.below(most) as usize;
    starts[start]..starts.get(start + length).copied().unwrap_or(text.len())
}

fn mutate(text: &mut String, random: &mut Random) {
    let (from, to) = (piece(text, random), piece(text, random));
    let kept = text[from.clone()].to_owned();
    match random.below(4) {
        0 => text.replace_range(from, ""),
        1 => text.insert_str(to.start, &kept),
        2 => text.replace_range(to, &kept),
        _ => {
            let word = random.choice(&[
                "(",
                ")",
                "{",
                "}",
                "<",
                ">",
                ";",
                "*",
                "&",
                "::",
                "template ",
                "struct ",
                "constexpr ",
                "#define f1(x) ",
                "\n#if ",
                "\n#endif\n",
                "\"",
                "'",
                "0x",
                "1e",
                "[",
                "]",
                "? ",
                "goto ",
                "__shared__ ",
                "asm(\"",
                "sizeof ",
                "unsigned ",
                "k0",
                "f0(",
                "this",
                "operator",
                "\u{e9}",
            ]);
            text.insert_str(to.start, word);
        }
    }
}
