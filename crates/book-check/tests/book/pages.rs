//! Tests that the book agrees with the code: its includes, outputs, commands, paths, links and figures.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use book_check::output::{Prerequisite, Session, difference};
use book_check::page::{Page, PieceKind, unlisted};
use book_check::{
    Problem, chapters, commands, documents, files, include, levels, numbers, output, paths, read,
    repository, targets,
};

use crate::assert_none;

fn pages() -> Vec<Page> {
    Page::all(&repository()).unwrap()
}

#[test]
fn every_include_shows_one_region_and_every_anchor_is_shown() {
    assert_none(include::check(&repository(), &pages()).unwrap());
}

#[test]
fn every_link_leads_somewhere_and_every_page_is_listed() {
    let pages = pages();
    assert_none(pages.iter().flat_map(Page::broken_links).chain(unlisted(&pages)));
}

#[test]
fn every_command_shown_is_run_somewhere() {
    assert_none(commands::check(&repository(), &pages()).unwrap());
}

/// mdBook highlights most of these languages, and `book/colours.js` highlights PTX. A block without a language would
/// silently get no colours.
#[test]
fn every_block_of_code_names_a_known_language() {
    let known = ["console", "cpp", "ptx", "python", "rust", "sh", "text"];
    let blocks = pages().into_iter().flat_map(|page| {
        let pieces = page.pieces().into_iter();
        pieces.map(move |piece| (page.place(piece.line), piece.kind)).collect::<Vec<_>>()
    });
    assert_none(blocks.filter_map(|(place, kind)| match kind {
        PieceKind::Block(language) if !known.contains(&&*language) => {
            Some(Problem::new(place, format!("a block of code in {language:?}")))
        }
        _ => None,
    }));
}

#[test]
fn every_target_that_a_cargo_command_names_exists() {
    assert_none(targets::check(&repository(), &pages()).unwrap());
}

#[test]
fn every_path_named_in_the_book_exists() {
    assert_none(pages().iter().flat_map(|page| paths::check(&repository(), page)));
}

#[test]
fn every_path_and_link_in_the_documents_leads_somewhere() {
    let repository = repository();
    let documents = documents(&repository).unwrap();
    for name in ["README.md", "ARCHITECTURE.md", "RELIABILITY.md", "CONTRIBUTING.md"] {
        for folder in ["", "crates/emulated-gpu/"] {
            let name = format!("{folder}{name}");
            assert!(documents.iter().any(|page| page.name == name), "{name}");
        }
    }
    let problems = documents
        .iter()
        .flat_map(|page| paths::check(&repository, page).into_iter().chain(page.broken_links()));
    assert_none(problems);
}

/// The README can't include files, so it repeats the session of a planted bug.
#[test]
fn the_readme_repeats_a_session() {
    let readme = read(&repository().join("README.md")).unwrap();
    let session = read(&repository().join("book/outputs/planted-readme.txt")).unwrap();
    assert!(readme.contains(&format!("```console\n{session}```")), "README.md lacks\n{session}");
}

#[test]
fn the_table_of_levels_has_the_figures_of_their_outputs() {
    let table = read(&repository().join("book/outputs").join(levels::TABLE)).unwrap();
    assert_eq!(table, levels::table(&repository()).unwrap(), "run scripts/book-outputs.sh");
}

#[test]
fn every_number_next_to_an_output_is_in_it() {
    assert_none(numbers::check(&repository(), &pages()).unwrap());
}

#[test]
fn every_page_has_a_picture_and_work() {
    assert_none(chapters::check(&pages()));
}

/// Each line of code on the cheat sheet occurs in the source of the level that heads its column.
#[test]
fn the_cheat_sheet_shows_lines_of_the_code() {
    const COLUMNS: [(&[&str], &[&str]); 3] = [
        (
            &["reference", "crates/level1-cpu/src", "crates/conformance/examples/own_level"],
            &["py", "rs"],
        ),
        (&["kernels", "book/kernels"], &["cu"]),
        (&["ptx", "book/kernels"], &["ptx"]),
    ];
    let sources = COLUMNS.map(|(folders, ends)| -> String {
        let all = folders.iter().flat_map(|folder| files(&repository().join(folder), ends));
        all.map(|path| read(&path).unwrap()).collect()
    });
    let sheet = read(&repository().join("book/src/cheat-sheet.md")).unwrap();
    let (_, code) = sheet.split_once("## Code").unwrap();
    let (code, _) = code.split_once("## Names").unwrap();
    let mut found = 0;
    for row in code.lines().filter(|line| line.starts_with("| ")).skip(1) {
        for (cell, source) in row.split(" |").skip(1).zip(&sources) {
            for line in cell.split('`').skip(1).step_by(2) {
                assert!(source.contains(line), "no source has `{line}`");
                found += 1;
            }
        }
    }
    assert!(found > 30, "{found} lines");
}

/// Units of speed.
const SPEEDS: [&str; 5] = ["samples/s", "samples per second", "GFLOP/s", "item/s", "steps/s"];

/// Whether the text has a number before a unit of speed.
fn has_a_speed(text: &str) -> bool {
    SPEEDS.iter().any(|unit| {
        text.match_indices(unit).any(|(at, _)| {
            let before = text[..at].trim_end_matches(['G', 'M', '`', ' ']);
            before.ends_with(|last: char| last.is_ascii_digit())
        })
    })
}

/// The introduction's third promise: every output begins with its command; the introduction names the machine that made
/// all outputs; a table of speeds names its own machine; and no page states a speed in its own text.
#[test]
fn every_speed_comes_with_its_command_and_its_machine() {
    assert!(has_a_speed("in 0.06 s: 1032154 samples/s") && has_a_speed("2.98 Gitem/s"));
    assert!(!has_a_speed("`Gitem/s` are") && !has_a_speed("GB/s, GFLOP/s"));
    let mut problems = Vec::new();
    let mut speeds = 0;
    for entry in std::fs::read_dir(repository().join("book/outputs")).unwrap() {
        let path = entry.unwrap().path();
        let text = read(&path).unwrap();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let table = name == "speed.md";
        if table || has_a_speed(&text) {
            speeds += 1;
            let is_complete = if table {
                text.contains(" cores; ") && text.contains("Made by `scripts/")
            } else {
                text.starts_with("$ ")
            };
            if !is_complete {
                problems.push(Problem::new(name, "a speed without its command or its machine"));
            }
        }
    }
    assert!(speeds > 5, "{speeds}");
    let named = "{{#include ../outputs/machine.slow.txt}}";
    for page in pages() {
        if page.path.ends_with("introduction.md") && !page.text.contains(named) {
            problems.push(Problem::new(page.path.display(), "it does not name the machine"));
        }
        if has_a_speed(&page.text) {
            problems.push(Problem::new(page.path.display(), "a speed that no command printed"));
        }
    }
    assert_none(problems);
}

#[test]
fn every_output_is_shown() {
    let shown: String = pages().into_iter().map(|page| page.text).collect();
    let unused = Session::all(&repository()).unwrap().into_iter();
    assert_none(
        unused
            .filter(|session| !shown.contains(&format!("outputs/{}.txt}}}}", session.name)))
            .map(|session| Problem::new(session.path.display(), "no page shows this output")),
    );
}

const TIME: &str = "only scripts/book-outputs.sh measures";
const MNIST: &str = "MNIST_DIR does not name a folder with MNIST";
const TORCH: &str = "python3 has no NumPy or no PyTorch";

/// Environment variables that imitate another machine: seven processors, with another name, and another user.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn another_machine(folder: &Path) -> Vec<(&'static str, OsString)> {
    // The loader splits LD_PRELOAD at spaces and colons.
    let library = folder.join("another_machine.so");
    if library.to_string_lossy().contains([' ', ':']) {
        skipped::skip(
            "the temporary folder has a space or colon in its name: set TMPDIR to another one",
        );
        return Vec::new();
    }
    let programs = std::env::current_exe().unwrap();
    let programs = programs.ancestors().nth(2).unwrap();
    std::os::unix::fs::symlink(programs.join("examples/libanother_machine.so"), &library).unwrap();
    let name = "Imaginary(R) Processor(TM) 77-X @ 9.99GHz";
    let cpuinfo = folder.join("cpuinfo");
    std::fs::write(&cpuinfo, format!("processor\t: 0\nmodel name\t: {name}\n")).unwrap();
    let machine = vec![
        ("LD_PRELOAD", library.into()),
        ("ANOTHER_MACHINE_CPUINFO", cpuinfo.into()),
        ("ANOTHER_MACHINE_CORES", "7".into()),
        ("HOME", folder.into()),
        ("USER", "somebody".into()),
        ("LANG", "de_DE.UTF-8".into()),
    ];
    // Checks that the programs see the imitated machine: otherwise the test would prove nothing.
    let seen = Command::new(programs.join("level2-cuda-naive"))
        .args(["bench", "--data", "digits", "--samples", "100", "--batch-size", "10"])
        .args(["--steps", "1", "--runs", "1", "--device", "emulated"])
        .envs(machine.clone())
        .output()
        .unwrap();
    let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(seen.contains(&format!("emulated ({name})")), "{seen}");
    let counted = Command::new("nproc").envs(machine.clone()).env("LC_ALL", "C").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&counted.stdout), "7\n");
    machine
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
fn another_machine(_: &Path) -> Vec<(&'static str, OsString)> {
    skipped::skip("another machine can only be imitated on Linux with glibc");
    Vec::new()
}

/// Lists of sessions that can run at the same time. Sessions that use the same file or folder of `target`, or run
/// scripts, are in one list, in their order.
fn independent(sessions: Vec<Session>) -> Vec<Vec<Session>> {
    let shared = |session: &Session| -> BTreeSet<String> {
        let words = session.commands().flat_map(|command| {
            command.split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c)))
        });
        let names = words.filter_map(|word| {
            let (folder, rest) = word.split_once('/')?;
            let name = rest.split('/').next().filter(|_| folder == "target");
            let is_script = folder == "scripts" || word.starts_with("crates/emulated-gpu/");
            name.or(is_script.then_some("scripts")).map(str::to_owned)
        });
        names.collect()
    };
    let mut lists: Vec<(BTreeSet<String>, Vec<Session>)> = Vec::new();
    for session in sessions {
        let mut names = shared(&session);
        let mut list = Vec::new();
        lists = lists
            .into_iter()
            .filter_map(|(others, before)| {
                if others.is_disjoint(&names) {
                    return Some((others, before));
                }
                names.extend(others);
                list.extend(before);
                None
            })
            .collect();
        list.push(session);
        lists.push((names, list));
    }
    lists.into_iter().map(|(_, list)| list).collect()
}

/// Reruns the sessions whose prerequisites this machine has; `scripts/book-outputs.sh` runs the others. The programs see
/// an imitated machine, which differs from this one and from the one that made the outputs.
#[test]
fn every_output_is_what_the_command_prints_on_another_machine() {
    let mnist = output::mnist().is_some();
    let torch = Command::new("python3")
        .args(["-c", "import numpy, torch"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut left_out = BTreeMap::<&str, Vec<String>>::new();
    output::build(&repository()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let machine = another_machine(folder.path());
    let machine: Vec<(&str, &OsStr)> = machine.iter().map(|(n, v)| (*n, v.as_os_str())).collect();
    let mut run = Vec::new();
    for session in Session::all(&repository()).unwrap() {
        let needs = session.needs();
        let lacks = match () {
            () if needs.contains(&Prerequisite::Time) => Some(TIME),
            () if needs.contains(&Prerequisite::Mnist) && !mnist => Some(MNIST),
            () if needs.contains(&Prerequisite::Torch) && !torch => Some(TORCH),
            () => None,
        };
        if let Some(why) = lacks {
            left_out.entry(why).or_default().push(session.name);
            continue;
        }
        run.push(session);
    }
    let lists = Mutex::new(independent(run).into_iter());
    let work = || {
        let mut problems = Vec::new();
        loop {
            let list = lists.lock().unwrap().next();
            let Some(list) = list else { return problems };
            for session in list {
                let printed = session.run_with(&repository(), &machine).unwrap();
                if let Some(difference) = difference(&session.text, &printed) {
                    problems.push(Problem::new(session.path.display(), difference));
                }
            }
        }
    };
    let mut problems = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (why, names) in left_out {
        let report = if why == TIME { skipped::note } else { skipped::skip };
        report(format!("{why}: {}", names.join(", ")));
    }
    // Some sessions draw pictures, which have to match those on the pages.
    for (drawn, shown) in [
        ("plots/training", "digits"),
        ("plots/curve", "curve"),
        ("level4-roofline", "level4-roofline"),
    ] {
        let drawn = read(&repository().join(format!("target/{drawn}.svg")));
        let shown = format!("book/src/pictures/{shown}.svg");
        let same = drawn.unwrap_or_default();
        if !is_drawn_alike(&same, &read(&repository().join(&shown)).unwrap_or_default()) {
            let what =
                "it differs from the picture that a session draws: run scripts/book-outputs.sh";
            problems.push(Problem::new(shown, what));
        }
    }
    assert_none(problems);
}

/// Whether two pictures are the same within one pixel, because the last digit of a loss may shift a point.
fn is_drawn_alike(one: &str, other: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let words = |text: &str| -> Vec<String> {
        text.split_inclusive(|c| !digit(c)).map(str::to_owned).collect()
    };
    let number = |word: &str| word.trim_end_matches(|c| !digit(c)).parse::<f64>();
    let alike = |(a, b): (&String, &String)| {
        a == b || matches!((number(a), number(b)), (Ok(a), Ok(b)) if (a - b).abs() <= 1.0)
    };
    let (one, other) = (words(one), words(other));
    !one.is_empty() && one.len() == other.len() && one.iter().zip(&other).all(alike)
}

/// The book lists exactly the variables that the emulated GPU reads.
#[test]
fn every_variable_of_the_emulated_gpu_is_explained() {
    let named = |path: &str| -> BTreeSet<String> {
        read(&repository().join(path))
            .unwrap()
            .split(|c: char| !(c.is_ascii_uppercase() || c == '_'))
            .filter(|word| word.strip_prefix("EMULATED_GPU_").is_some_and(|name| !name.is_empty()))
            .map(str::to_owned)
            .collect()
    };
    let read_by_the_program = named("crates/emulated-gpu/cuda/src/device/settings.rs");
    assert!(!read_by_the_program.is_empty());
    assert_eq!(named("book/src/gpu/driver.md"), read_by_the_program);
}

/// Whether a page begins with a title, in its own text or in the file that it includes first.
fn has_title(page: &Page) -> bool {
    let (includes, _) = include::includes(page);
    match includes.first().filter(|include| include.line == 1) {
        None => page.text.starts_with("# "),
        Some(first) => read(&page.path.with_file_name(&first.file)).unwrap().starts_with("# "),
    }
}

/// A page without a title would have no name in mdBook's search and list of headings.
#[test]
fn every_page_begins_with_its_title() {
    assert_none(
        pages()
            .into_iter()
            .filter(|page| !has_title(page))
            .map(|page| Problem::new(page.name, "the first line has to be the title")),
    );
}

/// Readers search alphabetically, and pages link to an entry by its word, so the word must be unique.
#[test]
fn the_glossary_is_sorted_and_has_each_word_once() {
    let page = read(&repository().join("book/src/glossary.md")).unwrap();
    let words: Vec<String> =
        book_check::terms::terms(&page).iter().map(|term| term.word.to_lowercase()).collect();
    assert!(words.len() > 90, "{}", words.len());
    for pair in words.windows(2) {
        assert!(pair[0] < pair[1], "{} and {}", pair[0], pair[1]);
    }
}
