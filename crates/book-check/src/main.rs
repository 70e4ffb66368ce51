//! The command line of `book-check`: quick checks of the book's sources (`pages`), of the built book (`html`) and of
//! the repository's prose (`style`), and the steps that build the book from the output of mdBook and of the programs.

use std::path::Path;
use std::process::ExitCode;

use book_check::output::{Session, difference};
use book_check::page::{Page, unlisted};
use book_check::{
    Problem, chapters, columns, commands, drawings, html, include, levels, numbers, output, paths,
    repository, runs, share, style, targets, terms, write,
};

const USAGE: &str = "\
Usage: book-check COMMAND

Checks:
  pages                   includes, links, commands, paths and numbers of the pages, that each has a picture and work,
                          and that SUMMARY.md lists it
  html                    the built book in book/html
  style [PATH...]         constructions that CONTRIBUTING.md rules out; with paths, all findings in those files
  style --baseline        record the number of findings on each page of the book, after it has fallen

Steps that build the book:
  outputs [NAME...]       rerun the sessions of book/outputs (those whose names begin with a NAME) and update them
  levels                  write the table of the levels, with the figures of their outputs
  runs MODULE [EDITOR]    make the built pages run: copy the emulator (WebAssembly) and the editor into book/html
  finish [URL]            draw figures, link glossary terms, mark outputs with columns, and add descriptions and a preview
                          picture to the built pages; with the site's URL, the picture's address is absolute";

fn main() -> ExitCode {
    host::main(run)
}

fn run() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["html"] => html::check(&repository().join("book/html")),
        ["runs", module, ref editor @ ..] if editor.len() < 2 => {
            let editor = editor.first().map(Path::new);
            let (root, module) = (repository(), Path::new(module));
            runs::install(&root, &root.join("book/html"), module, editor).map(|()| Vec::new())
        }
        ["outputs", ref names @ ..] => outputs(names),
        ["pages"] => pages(),
        ["style"] => style::check(&repository()),
        ["style", "--baseline"] => write_baseline().map(|()| Vec::new()),
        ["style", ref paths @ ..] => style::findings(&repository(), paths)
            .map(|findings| findings.into_values().flatten().collect()),
        ["finish", ref site @ ..] if site.len() < 2 => finish(site.first().copied()),
        ["levels"] => write_levels().map(|()| Vec::new()),
        _ => {
            host::complain("error: not a command of book-check\n");
            host::complain(USAGE);
            return ExitCode::from(2);
        }
    };
    let problems = result.unwrap_or_else(|problem| vec![problem]);
    for problem in &problems {
        host::complain(problem);
    }
    ExitCode::from(u8::from(!problems.is_empty()))
}

/// Runs the quick checks among this crate's tests, for use while writing.
fn pages() -> Result<Vec<Problem>, Problem> {
    let (root, pages) = (repository(), Page::all(&repository())?);
    let mut problems = include::check(&root, &pages)?;
    problems.extend(pages.iter().flat_map(Page::broken_links).chain(unlisted(&pages)));
    problems.extend(commands::check(&root, &pages)?);
    problems.extend(targets::check(&root, &pages)?);
    problems.extend(numbers::check(&root, &pages)?);
    problems.extend(chapters::check(&pages));
    problems.extend(pages.iter().flat_map(|page| paths::check(&root, page)));
    Ok(problems)
}

/// Post-processes the pages that mdBook built.
fn finish(site: Option<&str>) -> Result<Vec<Problem>, Problem> {
    let root = repository();
    drawings::draw(&root)?;
    terms::link(&root)?;
    columns::mark(&root)?;
    share::describe(&root, site)?;
    Ok(Vec::new())
}

/// Regenerates the table of the levels from the outputs of their training runs.
fn write_levels() -> Result<(), Problem> {
    let path = repository().join("book/outputs").join(levels::TABLE);
    write(&path, levels::table(&repository())?)
}

/// Writes the number of findings on each page of the book to the baseline, which is the maximum that later runs accept.
fn write_baseline() -> Result<(), Problem> {
    let findings = style::findings(&repository(), &[])?;
    write(&repository().join(style::BASELINE_FILE), style::baseline(&findings))
}

/// Reruns the sessions with these names, or all, and rewrites those whose output has changed.
fn outputs(names: &[&str]) -> Result<Vec<Problem>, Problem> {
    output::build(&repository()).map_err(|error| Problem::new("cargo build", error.to_string()))?;
    let chosen = |name: &str| names.is_empty() || names.iter().any(|start| name.starts_with(start));
    for session in Session::all(&repository())?.into_iter().filter(|s| chosen(&s.name)) {
        let text = session
            .run(&repository())
            .map_err(|error| Problem::new(session.path.display(), format!("bash: {error}")))?;
        let change = if text == session.text {
            "unchanged"
        } else if difference(&session.text, &text).is_none() {
            "only differs as machines do"
        } else {
            "changed"
        };
        write(&session.path, &text)?;
        host::print(&format!("{}: {change}\n", session.name))
            .map_err(|error| Problem::new("standard output", error.to_string()))?;
    }
    Ok(Vec::new())
}
