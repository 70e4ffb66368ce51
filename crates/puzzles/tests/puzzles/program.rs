//! Tests of the program `puzzles`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use puzzles::{Language, puzzle, puzzles};

/// Runs the program in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_puzzles"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[track_caller]
fn printed(output: &Output, code: i32) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

#[test]
fn the_list_names_every_puzzle() {
    let folder = tempfile::tempdir().unwrap();
    let text = printed(&run(folder.path(), &[]), 0);
    for puzzle in puzzles() {
        assert!(
            text.contains(&format!(" {} ", puzzle.name)) && text.contains(puzzle.idea),
            "{text}"
        );
    }
    assert!(text.ends_with(&format!("0 of {} solved\n", puzzles().len())), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_puzzle_is_begun_checked_and_solved() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("puzzles/guard.cu");
    let text = printed(&run(folder.path(), &["guard"]), 0);
    assert!(text.contains("More threads than elements") && text.contains("n = 37"), "{text}");
    assert!(text.contains("The frame is now in puzzles/guard.cu"), "{text}");
    let source = puzzle("guard").unwrap().source(Language::CudaC).unwrap();
    assert_eq!(fs::read_to_string(&own).unwrap(), source.frame);

    let text = printed(&run(folder.path(), &["guard", "--check"]), 1);
    assert!(
        text.contains("guard in CUDA C: stopped") && text.contains("Threads of different blocks"),
        "{text}"
    );
    assert!(printed(&run(folder.path(), &[]), 0).contains(" begun "));

    fs::write(&own, source.solution).unwrap();
    let text = printed(&run(folder.path(), &["guard", "--check", "puzzles/guard.cu"]), 0);
    assert!(text.contains("guard in CUDA C: solved"), "{text}");
    assert!(text.contains("The same in PTX: cargo run -p puzzles -- guard --ptx"), "{text}");
    assert!(text.contains("Next: cargo run -p puzzles -- two-dimensions"), "{text}");
    let text = printed(&run(folder.path(), &[]), 0);
    assert!(text.contains(" 2  solved  -       guard"), "{text}");
    assert!(text.contains("\n1 of "), "{text}");

    // The reader's file is never overwritten.
    let text = printed(&run(folder.path(), &["guard"]), 0);
    assert!(text.contains("Your attempt is in"), "{text}");
    assert_eq!(fs::read_to_string(&own).unwrap(), source.solution);
}

#[test]
fn a_solution_outside_the_folder_is_no_progress() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.ptx");
    fs::write(&file, puzzle("relu").unwrap().source(Language::Ptx).unwrap().solution).unwrap();
    let text = printed(&run(folder.path(), &["relu", "--check", "mine.ptx"]), 0);
    assert!(text.contains("relu in PTX: solved") && text.contains("the solution"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn hints_and_solutions_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let text = printed(&run(folder.path(), &["guard", "--hint", "2"]), 0);
    assert_eq!(text.trim_end(), puzzle("guard").unwrap().hints()[1]);
    let text = printed(&run(folder.path(), &["guard", "--ptx", "--solution"]), 0);
    assert_eq!(text, puzzle("guard").unwrap().source(Language::Ptx).unwrap().solution);
}

#[test]
fn errors_name_the_problem() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("puzzles")).unwrap();
    fs::write(folder.path().join("kernel.txt"), "").unwrap();
    for (arguments, reason) in [
        (&["gard"][..], "unknown puzzle \"gard\". The puzzles are add-one, guard"),
        (&["guard", "--hint", "9"], "guard has hints 1 to 3, but no hint 9"),
        (&["guard", "--hint", "0"], "guard has hints 1 to 3, but no hint 0"),
        (&["loops", "--ptx"], "loops can't be solved in PTX"),
        (&["guard", "--check"], "no attempt in puzzles/guard.cu yet: begin with `cargo run"),
        (&["guard", "--check", "gone.cu"], "can't read gone.cu"),
        (&["guard", "--check", "puzzles"], "can't read puzzles: it is a folder"),
        (&["guard", "--check", "kernel.txt"], "unknown language: the name has to end in .cu"),
        (&["--check"], "required"),
    ] {
        let text = printed(&run(folder.path(), arguments), 2);
        assert!(text.contains(reason), "{arguments:?}: {text}");
    }
    fs::write(folder.path().join("puzzles/progress.json"), "{").unwrap();
    let text = printed(&run(folder.path(), &[]), 2);
    assert!(text.contains("remove it to start over"), "{text}");
    fs::write(folder.path().join("a-file"), "").unwrap();
    let text = printed(&run(folder.path(), &["guard", "--dir", "a-file"]), 1);
    assert!(text.contains("can't write a-file/guard.cu: a-file is not a folder"), "{text}");
}
