//! The linker: symbols that texts share, symbols that are private to a text, and duplicates.

use ptx_emulator::source::Source;
use ptx_emulator::{Diagnostic, Launch, link, parse};

use crate::ptx::{emulator, load, read, words};

/// Each thread writes to `out`: the result of another text's `twice` and the text's own `helper`, the weak `scale()` of
/// the first text, `table[1]` of another text, the `.common` word that the other text has set, the text's own constant,
/// and a word of dynamic shared memory.
const MAIN: &str = include_str!("../ptx/linked/main.ptx");

const OTHERS: &str = include_str!("../ptx/linked/others.ptx");

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

/// The errors of texts that can't be linked.
fn link_errors(texts: &[&str]) -> String {
    let names = ["first.ptx", "second.ptx", "third.ptx"];
    let sources: Vec<Source> =
        names.into_iter().zip(texts).map(|(name, text)| source(name, text)).collect();
    let errors = link(&sources).expect_err("it was linked");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn only_shared_symbols_are_visible_to_other_texts() {
    // The first definition of a weak symbol is used, so the order matters.
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
fn lines_refer_to_the_files_of_their_text() {
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
fn a_single_text_is_unchanged() {
    let only = ".version 7.8\n.target sm_80\n// Nothing else.\n.visible .entry k() { ret; }\n";
    assert_eq!(link(&[source("a", only)]).unwrap(), only);
    assert!(link_errors(&[MAIN]).contains("`twice` is defined in no file"));
}

#[test]
fn link_errors_are_reported_at_their_own_line() {
    let header = ".version 7.8\n.target sm_80\n";
    let with = |text: &str| format!("{header}{text}\n");
    let f = with(".visible .func f() { ret; }");
    let error = link_errors(&[&f, &f]);
    assert!(error.contains("`f` is defined in first.ptx, too"), "{error}");
    assert!(error.contains("second.ptx:3:16"), "{error}");
    let (small, large) = (with(".common .global .b32 a[2];"), with(".common .global .b32 a[4];"));
    let error = link_errors(&[&small, &large]);
    assert!(error.contains("`a` is .common with another type or size"), "{error}");
    let (one, two) = (with(".weak .global .b32 a = 1;"), with(".weak .global .b32 a = 2, b = 3;"));
    assert!(link_errors(&[&one, &two]).contains("declare each in a separate statement"));
    let wrong = with(".visible .entry k() { add.u32 %a, %b, %c; ret; }");
    assert!(link_errors(&[&f, &wrong]).contains("second.ptx:3"), "{}", link_errors(&[&f, &wrong]));
    // The parameters of the declaration and the definition differ.
    let caller = with(".extern .func f(.param .b32 x);");
    let text = link(&[source("a", &caller), source("b", &f)]).unwrap();
    let errors = parse(&source("linked", &text)).unwrap_err();
    let other = |one: &Diagnostic| one.message.contains("`f` was declared with other parameters");
    assert!(errors.iter().any(other), "{errors:?}");
}

#[test]
fn undefined_symbols_are_reported_for_the_linked_text() {
    let text = link(&[source("a", MAIN), source("b", ".version 7.8\n.target sm_80\n")]).unwrap();
    let errors = parse(&source("linked", &text)).unwrap_err();
    assert!(errors.iter().any(|error| error.message.contains("`twice` is defined in no file")));
}

#[test]
fn weak_entries_are_linked_once() {
    let text = ".version 7.8\n.target sm_80\n.weak .entry k(.param .u64 p) { ret; }\n\
                .weak .global .align 4 .b32 v = 5;\n";
    let linked = link(&[source("a", text), source("b", text)]).unwrap();
    assert_eq!(linked.matches(".entry k").count(), 1, "{linked}");
    assert_eq!(linked.matches("= 5").count(), 1, "{linked}");
    parse(&source("linked", &linked)).unwrap();
}
