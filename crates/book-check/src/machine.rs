//! Parts of the book's sessions that may differ between machines: the list [`MACHINE_DEPENDENT`].
//!
//! If an output shows another property of the machine (its paths, its user, its language), the program that prints it
//! has to be fixed, not this list extended: a list that tolerates everything proves nothing.

/// A part of a session's output that depends on the machine.
#[derive(Clone, Copy, Debug)]
pub struct MachineDependentPart {
    /// A description of the part, and why it may differ.
    pub what: &'static str,
    tolerance: Tolerance,
}

#[derive(Clone, Copy, Debug)]
enum Tolerance {
    /// Removes the part from a line. The remaining texts of both lines have to be equal.
    Removed(fn(&str) -> String),
    /// Decides whether two numbers count as equal. The arguments are the numbers, and the word that follows the first
    /// number in its line, such as a unit.
    Number(fn(&str, &str, &str) -> bool),
}

/// All parts that may differ between machines.
pub const MACHINE_DEPENDENT: &[MachineDependentPart] = &[
    MachineDependentPart {
        what: "the name of the processor: in brackets after `emulated` or `Emulated GPU`, or in a \
               line of /proc/cpuinfo",
        tolerance: Tolerance::Removed(without_processor),
    },
    MachineDependentPart {
        what: "the element with the worst error, in the second bracket of a line: a different order of \
               addition changes which of many rounding errors is the worst",
        tolerance: Tolerance::Removed(without_second_bracket),
    },
    MachineDependentPart {
        what: "a number with an exponent (`1.2e-7`), which in this project is a rounding error or \
               its bound: by any amount, or down to `0`; the verdict in the line has to be the same",
        tolerance: Tolerance::Number(rounding_error),
    },
    MachineDependentPart {
        what: "any other number with a decimal point, by 2 % or one unit of its last digit: \
               processors add in different orders",
        tolerance: Tolerance::Number(decimal),
    },
    MachineDependentPart {
        what: "a whole number before the word `of`, which counts successes, by 2 %, for the same \
               reason",
        tolerance: Tolerance::Number(successes),
    },
    MachineDependentPart {
        what: "a number before a unit of time or speed, or before `processors`: by any amount",
        tolerance: Tolerance::Number(speed),
    },
    MachineDependentPart {
        what: "a hexadecimal number of more than 32 bits, which is an address, except its last two \
               digits: each run gets its buffers at other multiples of 256",
        tolerance: Tolerance::Number(address),
    },
];

/// Whether two lines are equal, apart from [`MACHINE_DEPENDENT`].
pub(crate) fn is_same_line(a: &str, b: &str) -> bool {
    let remove = |line: &str| {
        MACHINE_DEPENDENT.iter().fold(line.to_owned(), |line, allowed| match allowed.tolerance {
            Tolerance::Removed(without) => without(&line),
            Tolerance::Number(_) => line,
        })
    };
    let same_number = |a: &str, b: &str, next: &str| {
        MACHINE_DEPENDENT.iter().any(|allowed| match allowed.tolerance {
            Tolerance::Number(same) => same(a, b, next),
            Tolerance::Removed(_) => false,
        })
    };
    let (a, b) = (remove(a), remove(b));
    let (a, b): (Vec<&str>, Vec<&str>) = (words(&a), words(&b));
    a.len() == b.len()
        && a.iter().zip(&b).enumerate().all(|(i, (x, y))| {
            x == y || same_number(x, y, a.get(i + 1).copied().unwrap_or_default())
        })
}

/// The words of a line. Spaces are ignored, because numbers of different widths are padded differently. Punctuation
/// next to a number is a separate word.
fn words(line: &str) -> Vec<&str> {
    let cling = |c: char| "()[]{}|,;:=%×~".contains(c);
    line.split_whitespace()
        .flat_map(|word| word.split_inclusive(cling))
        .flat_map(|word| {
            let bare = word.trim_end_matches(cling);
            [bare, &word[bare.len()..]]
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn without_processor(line: &str) -> String {
    if let Some((label, _)) = line.split_once(':').filter(|(label, _)| label.trim() == "model name")
    {
        return format!("{label}:");
    }
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, inside)) = ["emulated (", "Emulated GPU ("]
        .iter()
        .filter_map(|start| rest.find(start).map(|at| rest.split_at(at + start.len())))
        .min_by_key(|(before, _)| before.len())
    {
        kept.push_str(before);
        rest = &inside[closing_bracket(inside)..];
    }
    kept + rest
}

/// Position of the closing bracket that matches a bracket opened before this text, or the end of the text. Brackets are
/// counted, because names of processors contain some: `Intel(R) Xeon(R)`.
fn closing_bracket(text: &str) -> usize {
    let mut open = 1;
    for (at, c) in text.char_indices() {
        open += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if open == 0 {
            return at;
        }
    }
    text.len()
}

/// The line without the contents of its second pair of square brackets.
fn without_second_bracket(line: &str) -> String {
    let mut opened = 0;
    let mut inside = false;
    line.chars()
        .filter(|&c| {
            if c == '[' {
                opened += 1;
                inside = opened == 2;
            }
            let keep = !inside || c == '[';
            inside &= c != ']';
            keep
        })
        .collect()
}

fn numbers(a: &str, b: &str) -> Option<(f64, f64)> {
    Some((a.parse().ok()?, b.parse().ok()?))
}

fn is_near(x: f64, y: f64, margin: f64) -> bool {
    (x - y).abs() <= 0.02 * x.abs().max(y.abs()) + margin
}

fn rounding_error(a: &str, b: &str, _: &str) -> bool {
    let error = |text: &str| text.contains('e') || text == "0";
    error(a)
        && error(b)
        && numbers(a, b).is_some_and(|(x, y)| x.is_sign_positive() == y.is_sign_positive())
}

fn decimal(a: &str, b: &str, _: &str) -> bool {
    if a.contains('e') || b.contains('e') {
        return false;
    }
    let (Some((_, digits)), Some(_)) = (a.split_once('.'), b.split_once('.')) else { return false };
    let unit_of_last_digit = 10_f64.powi(-i32::try_from(digits.len()).unwrap_or(0));
    numbers(a, b).is_some_and(|(x, y)| is_near(x, y, 1.001 * unit_of_last_digit))
}

fn successes(a: &str, b: &str, next: &str) -> bool {
    next == "of" && numbers(a, b).is_some_and(|(x, y)| is_near(x, y, 0.0))
}

fn speed(a: &str, b: &str, next: &str) -> bool {
    ["s", "ms", "µs", "samples/s", "GFLOP/s", "processors"].contains(&next)
        && numbers(a, b).is_some_and(|(x, y)| x.is_finite() && y.is_finite())
}

fn address(a: &str, b: &str, _: &str) -> bool {
    let address = |word: &str| {
        let address = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
        (address > u64::from(u32::MAX)).then_some(address)
    };
    address(a).zip(address(b)).is_some_and(|(a, b)| a % 256 == b % 256)
}

#[cfg(test)]
mod tests {
    use super::is_same_line;

    #[test]
    fn lines_that_differ_as_machines_do_are_the_same() {
        for (a, b) in [
            ("loss 0.6931, error 1.2e-7", "loss 0.6930, error   3e-8"),
            ("took 1.25 s (1000 samples/s)", "took 12.5 s (9 samples/s)"),
            ("0.0", "0.1"),
            ("| a |  1.5e-9|", "| a | 1.6e-9|"),
            ("z1 [8, 30] 1.5e-9 [0, 1] ok", "z1 [8, 30] 0 [0, 11] ok"),
            ("", ""),
            ("(9131 of 9984)", "(9129 of 9984)"),
            ("at 0x55853ea46104, outside", "at 0x7f2eaa0004, outside"),
            ("on emulated (AMD EPYC), tf32", "on emulated (Intel(R) Xeon(R) Processor), tf32"),
            ("emulated (AMD EPYC)", "emulated (13th Gen Intel(R) Core(TM) i7-1360P)"),
            ("device    Emulated GPU (AMD EPYC)", "device    Emulated GPU (x86_64)"),
            ("a emulated (A), b emulated (B 1)", "a emulated (C 2 3), b emulated (D)"),
            ("model name\t: AMD EPYC", "model name\t: Intel(R) N100"),
            ("2 processors", "64 processors"),
        ] {
            assert!(is_same_line(a, b), "{a:?} {b:?}");
            assert!(is_same_line(b, a), "{b:?} {a:?}");
        }
    }

    #[test]
    fn lines_that_differ_by_more_are_not() {
        for (a, b) in [
            ("loss 0.6931", "loss 0.60"),
            ("loss 0.6931", "loss NaN"),
            ("z1 [8, 30] 1e-9 [0, 1] ok", "z1 [8, 31] 1e-9 [0, 1] ok"),
            ("z1 [8, 30] 1e-9 [0, 1] ok", "z1 [8, 30] 1e-9 [0, 1] DIFFERS"),
            ("error 1.2e-7", "error NaN"),
            ("error 1.2e-7", "error -1.2e-7"),
            ("error 1.2e-7", "error 1.2"),
            ("1.5", "1"),
            ("batch 10", "batch 11"),
            ("dw1 ok", "dw1 DIFFERS"),
            ("1.5 samples", "2.5 samples"),
            ("took 1.25 s", "took NaN s"),
            ("(9131 of 9984)", "(8131 of 9984)"),
            ("(9131 of 9984)", "(9131 of 9983)"),
            ("at 0x55853ea46104, outside", "at 0x55853ea46108, outside"),
            ("lanes 0x0000ffff", "lanes 0xffff0000"),
            ("on emulated (AMD EPYC), tf32", "on NVIDIA H200, tf32"),
            ("on emulated (AMD EPYC), tf32", "on emulated (AMD EPYC), f32"),
            ("on emulated (AMD EPYC), tf32", "on cpu (AMD EPYC), tf32"),
            ("model name: a", "model names: b"),
            ("16 threads", "64 threads"),
        ] {
            assert!(!is_same_line(a, b), "{a:?} {b:?}");
            assert!(!is_same_line(b, a), "{b:?} {a:?}");
        }
    }
}
