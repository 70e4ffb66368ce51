//! Check that every command on a page is run by a session, by `.ci/run` or by a script, or that a list gives the reason
//! why nothing runs it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::output::Session;
use crate::page::{Page, PieceKind};
use crate::{Problem, files, read};

/// The file that lists the commands that no session, script or CI job runs, each with the reason.
const COMMANDS_FILE: &str = "book/commands.txt";

/// Checks each command that a page shows in a block of `sh`. A session has to show its result, `.ci/run` or a script
/// has to run it, or `book/commands.txt` has to give the reason why nothing runs it. A command in `book/commands.txt`
/// that is on no page is a problem too.
///
/// # Errors
/// If a file of the repository can't be read.
pub fn check(repository: &Path, pages: &[Page]) -> Result<Vec<Problem>, Problem> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for session in Session::all(repository)? {
        known.extend(session.commands().map(str::to_owned));
    }
    let mut scripts = Vec::new();
    for folder in ["scripts", "crates/emulated-gpu/scripts", "crates/emulated-gpu/clients"] {
        scripts.extend(files(&repository.join(folder), &["sh", "py"]));
    }
    let ci = repository.join(".ci/run");
    if ci.is_file() {
        scripts.push(ci);
    }
    for script in scripts {
        known.extend(read(&script)?.lines().map(|line| line.trim().to_owned()));
    }
    Ok(check_against(&known, &read(&repository.join(COMMANDS_FILE))?, pages))
}

fn check_against(known: &BTreeSet<String>, list: &str, pages: &[Page]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut excused = Vec::new();
    for (index, line) in list.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.split_once(" # ") {
            _ if line.starts_with("# ") => {}
            Some((command, reason)) if !reason.trim().is_empty() => {
                excused.push((command.trim(), index + 1, false));
            }
            _ => problems.push(Problem::new(
                format!("{COMMANDS_FILE}:{}", index + 1),
                "a line is `command # why nothing runs it`",
            )),
        }
    }
    for page in pages {
        for piece in page.pieces() {
            let commands: Vec<&str> = match &piece.kind {
                PieceKind::Block(language) if language == "sh" => piece.text.lines().collect(),
                PieceKind::Code if piece.text.starts_with("cargo ") => vec![&piece.text],
                _ => continue,
            };
            for command in commands.into_iter().map(str::trim).filter(|line| !line.is_empty()) {
                if let Some(entry) = excused.iter_mut().find(|entry| entry.0 == command) {
                    entry.2 = true;
                } else if !known.contains(command) {
                    let what =
                        format!("nothing runs `{command}`, and {COMMANDS_FILE} doesn't say why");
                    problems.push(Problem::new(page.place(piece.line), what));
                }
            }
        }
    }
    for (command, line, _) in excused.into_iter().filter(|entry| !entry.2) {
        let what = format!("no page shows `{command}`");
        problems.push(Problem::new(format!("{COMMANDS_FILE}:{line}"), what));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_nothing_runs_is_found() {
        let page = Page {
            path: "page.md".into(),
            name: "page.md".into(),
            text: "```sh\nmake a\nmake b\nmake c\n```\n`cargo d` `make e`\n".into(),
        };
        let known = BTreeSet::from(["make a".to_owned()]);
        let list = "# The list.\nmake b # takes a day\nmake x # gone\nmake y\n";
        let problems: Vec<String> =
            check_against(&known, list, &[page]).iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "book/commands.txt:4: a line is `command # why nothing runs it`",
                "page.md:1: nothing runs `make c`, and book/commands.txt doesn't say why",
                "page.md:6: nothing runs `cargo d`, and book/commands.txt doesn't say why",
                "book/commands.txt:3: no page shows `make x`",
            ]
        );
    }
}
