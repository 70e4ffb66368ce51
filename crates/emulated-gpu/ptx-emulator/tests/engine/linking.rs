//! Texts that are linked: what is everybody's, what is a text's own, what is left of several.

use ptx_emulator::source::Source;
use ptx_emulator::{Diagnostic, Launch, link, parse};

use super::bench::{emulator, load, read, words};

/// Writes to `out`, a thread each: `twice(helper(t))` by another text's `twice` and its own `helper`,
/// `scale()` of whoever is first, `table[1]` of another text, the `.common` word that the other text
/// has set, its own constant, and a word of the shared memory that the launch gives.
const MAIN: &str = include_str!("../ptx/linked/main.ptx");

const OTHERS: &str = include_str!("../ptx/linked/others.ptx");

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

/// What is said of texts that can't be linked.
fn said(texts: &[&str]) -> String {
    let names = ["first.ptx", "second.ptx", "third.ptx"];
    let sources: Vec<Source> =
        names.into_iter().zip(texts).map(|(name, text)| source(name, text)).collect();
    let errors = link(&sources).expect_err("it was linked");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn symbols_reach_other_texts_and_private_ones_do_not() {
    // With the first definition of what is weak: in either order.
    for (texts, scale) in [([MAIN, OTHERS], 2), ([OTHERS, MAIN], 3)] {
        let sources = texts.map(|text| source("a text", text));
        let text = link(&sources).unwrap();
        assert!(text.starts_with(".version 8.0\n.target sm_90\n"), "{text}");
        let emulator = emulator();
        let out = words(&emulator, &[0; 12]);
        let kernel = load(&emulator, &text).kernel("all").unwrap();
        let parameters = out.to_le_bytes().to_vec();
        let shape = Launch { grid: [1, 1, 1], block: [2, 1, 1], ..Launch::default() };
        emulator.launch(&kernel, &Launch { parameters, dynamic_shared: 64, ..shape }).unwrap();
        let expected: Vec<u32> =
            (0..2).flat_map(|t| [2 * (t + 100), scale, 22, 58, 70_000, 9]).collect();
        assert_eq!(read(&emulator, out, 12), expected);
    }
}

#[test]
fn lines_lead_to_the_files_of_their_texts() {
    let text = link(&[source("a", MAIN), source("b", OTHERS)]).unwrap();
    let number = |file: &str| {
        let line = text.lines().find(|line| line.ends_with(&format!("\"{file}\""))).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    let (main, others) = (number("main.cu"), number("others.cu"));
    assert_ne!(main, others);
    assert!(text.contains(&format!(".loc {main} 7 3")), "{text}");
    assert!(text.contains(&format!(".loc {others} 20 1")), "{text}");
    assert!(!text.contains(".section"), "{text}");
}

#[test]
fn one_text_stays_as_it_is() {
    let only = ".version 7.8\n.target sm_80\n// Nothing else.\n.visible .entry k() { ret; }\n";
    assert_eq!(link(&[source("a", only)]).unwrap(), only);
    assert!(said(&[MAIN]).contains("`twice` is defined in no file"));
}

#[test]
fn what_does_not_fit_is_said_of_its_own_line() {
    let header = ".version 7.8\n.target sm_80\n";
    let with = |text: &str| format!("{header}{text}\n");
    let f = with(".visible .func f() { ret; }");
    let error = said(&[&f, &f]);
    assert!(error.contains("`f` is defined in first.ptx, too"), "{error}");
    assert!(error.contains("second.ptx:3:16"), "{error}");
    let (small, large) = (with(".common .global .b32 a[2];"), with(".common .global .b32 a[4];"));
    let error = said(&[&small, &large]);
    assert!(error.contains("`a` is .common with another type or size"), "{error}");
    let (one, two) = (with(".weak .global .b32 a = 1;"), with(".weak .global .b32 a = 2, b = 3;"));
    assert!(said(&[&one, &two]).contains("declare each in a statement of its own"));
    let wrong = with(".visible .entry k() { add.u32 %a, %b, %c; ret; }");
    assert!(said(&[&f, &wrong]).contains("second.ptx:3"), "{}", said(&[&f, &wrong]));
    // Announced with other parameters than it is defined with.
    let caller = with(".extern .func f(.param .b32 x);");
    let text = link(&[source("a", &caller), source("b", &f)]).unwrap();
    let errors = parse(&source("linked", &text)).unwrap_err();
    let other = |one: &Diagnostic| one.message.contains("`f` was declared with other parameters");
    assert!(errors.iter().any(other), "{errors:?}");
}

#[test]
fn what_nobody_defines_is_said_of_the_whole() {
    let text = link(&[source("a", MAIN), source("b", ".version 7.8\n.target sm_80\n")]).unwrap();
    let errors = parse(&source("linked", &text)).unwrap_err();
    assert!(errors.iter().any(|one| one.message.contains("`twice` is defined in no file")));
}

#[test]
fn entries_that_are_weak_are_there_once() {
    let text = ".version 7.8\n.target sm_80\n.weak .entry k(.param .u64 p) { ret; }\n\
                .weak .global .align 4 .b32 v = 5;\n";
    let linked = link(&[source("a", text), source("b", text)]).unwrap();
    assert_eq!(linked.matches(".entry k").count(), 1, "{linked}");
    assert_eq!(linked.matches("= 5").count(), 1, "{linked}");
    parse(&source("linked", &linked)).unwrap();
}
