//! Checks of the book: `pages`, which look at the sources alone and are quick; `html`, which looks at the
//! built pages. And what makes it: `runs` makes pages run, `finish` does what mdBook leaves to be done,
//! `outputs` runs the commands whose output the pages show and writes what they print now, and `readme`
//! writes the figures among them into the README.

use std::path::Path;
use std::process::ExitCode;

use book_check::output::{Session, difference};
use book_check::page::{Page, unlisted};
use book_check::{
    Problem, columns, commands, html, include, output, paths, read, readme, repository, runs,
    share, targets, terms,
};
use host::file;

const USAGE: &str = "\
Usage: book-check pages           check what needs no program of the workspace: the includes, links, commands
                                  and paths of the pages, and that each page is listed
       book-check html            check the built book in book/html
       book-check runs MODULE [EDITOR]
                                  lay what makes it run beside its pages: the emulator as
                                  WebAssembly, and the built editor, where there is one
       book-check outputs [NAME]  run the sessions of book/outputs again (those whose names begin
                                  with one of NAME) and write what they print
       book-check finish [URL]    finish the built book: link the first use of a word on a page to its
                                  entry in the glossary, mark outputs that have columns, and give each page
                                  a description and, where the site's address is named, a picture
       book-check readme          write the figures that the book shows into the README";

fn main() -> ExitCode {
    host::main(run)
}

fn run() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((command, [])) if command == "html" => html::check(&repository().join("book/html")),
        Some((command, [module, editor @ ..])) if command == "runs" && editor.len() < 2 => {
            let editor = editor.first().map(Path::new);
            let (root, module) = (repository(), Path::new(module));
            runs::lay(&root, &root.join("book/html"), module, editor).map(|()| Vec::new())
        }
        Some((command, names)) if command == "outputs" => outputs(names),
        Some((command, [])) if command == "pages" => pages(),
        Some((command, site)) if command == "finish" && site.len() < 2 => finish(site.first()),
        Some((command, [])) if command == "readme" => write_readme().map(|()| Vec::new()),
        _ => {
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

/// The quick part of this crate's tests, for whoever writes.
fn pages() -> Result<Vec<Problem>, Problem> {
    let (root, pages) = (repository(), Page::all(&repository())?);
    let mut problems = include::check(&root, &pages)?;
    problems.extend(pages.iter().flat_map(Page::broken_links).chain(unlisted(&pages)));
    problems.extend(commands::check(&root, &pages)?);
    problems.extend(targets::check(&root, &pages)?);
    problems.extend(pages.iter().flat_map(|page| paths::check(&root, page)));
    Ok(problems)
}

/// What mdBook leaves to be done.
fn finish(site: Option<&String>) -> Result<Vec<Problem>, Problem> {
    let root = repository();
    terms::link(&root)?;
    columns::mark(&root)?;
    share::describe(&root, site.map(String::as_str))?;
    Ok(Vec::new())
}

/// Writes the README with the figures of the book.
fn write_readme() -> Result<(), Problem> {
    let path = repository().join("README.md");
    let text = readme::with_figures(&repository(), &read(&path)?)?;
    file::write_atomically(&path, |writer| writer.write_all(text.as_bytes()))
        .map_err(|error| Problem::new("README.md", error.to_string()))
}

/// Runs the sessions that are named, or all, and writes each anew where it says something else.
fn outputs(names: &[String]) -> Result<Vec<Problem>, Problem> {
    output::build(&repository()).map_err(|error| Problem::new("cargo build", error.to_string()))?;
    let chosen = |name: &str| names.is_empty() || names.iter().any(|start| name.starts_with(start));
    for session in Session::all(&repository())?.into_iter().filter(|s| chosen(&s.name)) {
        let problem =
            |error: std::io::Error| Problem::new(session.path.display(), format!("{error}"));
        let text = session.run(&repository()).map_err(problem)?;
        let change = if text == session.text {
            "as before"
        } else if difference(&session.text, &text).is_none() {
            "differs only as machines do"
        } else {
            "says something else now"
        };
        file::write_atomically(&session.path, |writer| writer.write_all(text.as_bytes()))
            .map_err(problem)?;
        host::print(&format!("{}: {change}\n", session.name))
            .map_err(|error| Problem::new("standard output", error.to_string()))?;
    }
    Ok(Vec::new())
}
