//! Tests that examples don't panic on a closed pipe or a full disk.

use std::fs::File;
use std::process::{Command, Stdio};

use book_check::{files, read, repository};

/// `std::println!` panics if it can't write; `host::println!` ends the program with an error.
#[test]
fn examples_print_through_host() {
    let crates = files(&repository().join("crates"), &["rs"]);
    let is_example = |path: &&std::path::PathBuf| path.iter().any(|name| name == "examples");
    let examples: Vec<_> = crates.iter().filter(is_example).collect();
    assert!(examples.len() > 30, "{} files", examples.len());
    for path in examples {
        let text = read(path).unwrap();
        let prints = text.contains("println!(") && !text.contains("use host::println;");
        let other = ["eprintln!(", " print!(", "eprint!("].into_iter().find(|p| text.contains(p));
        assert!(!prints && other.is_none(), "{}: `use host::println;`", path.display());
    }
}

#[test]
fn an_example_that_cannot_print_ends_without_a_panic() {
    let programs = std::env::current_exe().unwrap();
    let examples = programs.ancestors().nth(2).unwrap().join("examples");
    for name in ["by_hand", "losses", "pitfalls", "slopes"] {
        let run = |stdout: Stdio| {
            let mut command = Command::new(examples.join(name));
            command
                .stdout(stdout)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap()
        };
        // A closed pipe, as with `| head`.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = run(writer.into());
        let message = String::from_utf8_lossy(&closed.stderr).into_owned();
        assert_eq!((closed.status.code(), &*message), (Some(141), ""), "{name}");
        if let Ok(full) = File::options().write(true).open("/dev/full") {
            let full = run(full.into());
            let message = String::from_utf8_lossy(&full.stderr).into_owned();
            assert_eq!(full.status.code(), Some(1), "{name}: {message}");
            assert!(
                message.starts_with("error: can't write to standard output: No space"),
                "{message}"
            );
        }
    }
}
