//! Programs with pieces taken out, put in twice or exchanged: whatever the text, compiling it neither panics
//! nor goes on for ever.

use std::time::{Duration, Instant};

use crate::generate::Generator;
use crate::random::Random;

/// Longer than that is a hang.
const LONGEST: Duration = Duration::from_secs(30);
/// Longer PTX is a text that eats memory.
const LARGEST: usize = 64 << 20;

/// What the program of a number becomes, and what is wrong with compiling it.
pub(crate) fn check(number: u64, kernels: usize) -> Option<(String, String)> {
    let mut random = Random(number);
    let mut text = Generator::new(number).program(kernels).source();
    for _ in 0..=random.below(6) {
        change(&mut text, &mut random);
    }
    let start = Instant::now();
    let compiled = std::panic::catch_unwind(|| {
        cuda_c::compile(&text, &cuda_c::Options::default()).map_or(0, |ptx| ptx.text.len())
    });
    let said = match compiled {
        Err(_) => "it panics",
        Ok(_) if start.elapsed() > LONGEST => "it takes longer than 30 seconds",
        Ok(length) if length > LARGEST => "it becomes more than 64 MiB of PTX",
        Ok(_) => return None,
    };
    Some((text, said.to_owned()))
}

/// The bounds of a piece of up to some sixty characters.
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

fn change(text: &mut String, random: &mut Random) {
    let (from, to) = (piece(text, random), piece(text, random));
    let kept = text[from.clone()].to_owned();
    match random.below(4) {
        0 => text.replace_range(from, ""),
        1 => text.insert_str(to.start, &kept),
        2 => text.replace_range(to, &kept),
        _ => {
            let word = random.of(&[
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
