//! Interactive parts of the built book: the scripts of `book/page`, the kernels with their commands, and the emulator as
//! a WebAssembly module. They are copied next to the pages, which load them; without them a page can still be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bug_hunt::BUGS;
use serde_json::{Value, json};
use tensor::{Dump, DumpError};

use crate::output::Session;
use crate::page::{Page, PieceKind};
use crate::{Problem, files, read, write};

/// The list of launch commands for kernels that no session launches.
const LAUNCHES: &str = "book/page/launches.txt";
/// The folder of the built book for the interactive parts.
const FOLDER: &str = "page";
/// The languages of code blocks that hold kernels.
const LANGUAGES: [&str; 2] = ["ptx", "cpp"];
/// mdBook's label that opens the table of contents, with the ARIA role of a button added.
const SIDEBAR_LABEL: &str = "<label id=\"mdbook-sidebar-toggle\" role=\"button\" ";
/// mdBook's bar at the top of a page, with its ARIA role added.
const MENU_BAR: &str = "<div id=\"mdbook-menu-bar\" role=\"banner\" ";
/// The beginning of a page, with a link for keyboard users that skips the table of contents and the bar.
const SKIP_LINK: &str =
    "<body>\n<a class=\"fl-skip\" href=\"#mdbook-content\">skip to the text</a>";
/// The folder that has a folder for each puzzle, with its frames and solutions.
const PUZZLES: &str = "crates/puzzles/src/list/";
/// The beginning of each command that runs the emulator.
const EMULATOR: &str = "cargo run -p ptx-emulator -- ";

/// The kernels that a reader can run on the pages, by their paths in the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// The text of each kernel file.
    pub texts: BTreeMap<String, String>,
    /// For each kernel file, its commands, such as `run book/kernels/saxpy.ptx --block 4`, in the order of the outputs.
    pub commands: BTreeMap<String, Vec<String>>,
}

/// The kernel file that a command of the emulator names.
fn file_of(command: &str) -> Option<&str> {
    command
        .split_whitespace()
        .skip(1)
        .find(|word| Path::new(word).extension().is_some_and(|end| end == "ptx" || end == "cu"))
}

/// Collects the kernels in the commands of the book's outputs and in the list of launch commands.
///
/// # Errors
/// If a file of the repository can't be read, or a line of the list names no file.
pub fn kernels(repository: &Path) -> Result<Kernels, Problem> {
    let mut found = Kernels::default();
    let mut add = |command: &str, listed: Option<usize>| -> Result<(), Problem> {
        // The command before the pipe is enough: what follows the pipe only filters the output.
        let command = command.split(" | ").next().unwrap_or_default().trim();
        let file = file_of(command).filter(|file| repository.join(file).is_file());
        let Some(file) = file else {
            let Some(line) = listed else { return Ok(()) };
            let what = "a line has to be a command of ptx-emulator that names a .ptx or .cu file of this repository";
            return Err(Problem::new(format!("{LAUNCHES}:{line}"), what));
        };
        // The session itself writes this file, so it is not in the repository.
        if file.starts_with("target/") {
            return Ok(());
        }
        if !found.texts.contains_key(file) {
            found.texts.insert(file.to_owned(), read(&repository.join(file))?);
        }
        let list = found.commands.entry(file.to_owned()).or_default();
        if !list.iter().any(|known| known == command) {
            list.push(command.to_owned());
        }
        Ok(())
    };
    for session in Session::all(repository)? {
        let commands = session.commands().filter_map(|line| line.strip_prefix(EMULATOR));
        // A wrong attempt at a puzzle is explained on the page of puzzles, so the reader needs no command for it.
        for command in commands.filter(|command| !command.starts_with("puzzle ")) {
            add(command, None)?;
        }
    }
    let list = read(&repository.join(LAUNCHES))?;
    for (index, line) in list.lines().enumerate() {
        if !line.trim().is_empty() && !line.starts_with('#') {
            add(line, Some(index + 1))?;
        }
    }
    Ok(found)
}

/// Copies the interactive parts next to the pages of the built book in `html`, and adds the tags that load them to the
/// pages. `module` is the emulator as WebAssembly; `editor` is the built editor, which is optional.
///
/// # Errors
/// If the book is not built, or a file can't be read or written.
pub fn install(
    repository: &Path,
    html: &Path,
    module: &Path,
    editor: Option<&Path>,
) -> Result<(), Problem> {
    let kernels = kernels(repository)?;
    let folder = html.join(FOLDER);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Problem::new(folder.display(), error.to_string()))?;
    let source = repository.join("book/page");
    for path in files(&source, &["js", "css"]) {
        let own = path.parent() == Some(&source);
        // The two excluded files are sources that the pages load in built form.
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if own && !["codemirror-entry.js", "languages.js"].contains(&name) {
            write(&folder.join(name), &read(&path)?)?;
        }
    }
    let bytes = std::fs::read(module)
        .map_err(|error| Problem::new(module.display(), format!("can't be read: {error}")))?;
    // Pages from a server load `module.wasm`. Pages opened from a folder may only load scripts, so they get the module
    // as a script.
    write(&folder.join("module.wasm"), &bytes)?;
    let text = format!("\"use strict\";\nfourLevels.module = \"{}\";\n", STANDARD.encode(&bytes));
    write(&folder.join("module.js"), &text)?;
    if let Some(editor) = editor {
        write(&folder.join("codemirror.js"), &read(editor)?)?;
    }
    for (file, text) in &kernels.texts {
        let path = folder.join(format!("kernels/{file}.js"));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Problem::new(folder.display(), error.to_string()))?;
        }
        write(&path, kernel_script(file, text, &kernels.commands[file]))?;
    }
    write(&folder.join("list.js"), list_script(&kernels, bytes.len()))?;
    for run in BUGS.map(|bug| bug.run) {
        write(&folder.join(format!("hunt-{run}.js")), hunt_script(repository, run)?)?;
    }
    annotate(repository, html, &kernels)
}

/// The content of a kernel's script, which a page loads before it runs the kernel: its text and its commands.
fn kernel_script(file: &str, text: &str, commands: &[String]) -> String {
    let [file, text, commands] = [json!(file), json!(text), json!(commands)].map(literal);
    format!(
        "\"use strict\";\nfourLevels.kernels[{file}] = {text};\nfourLevels.commands[{file}] = {commands};\n"
    )
}

/// The content of `hunt-RUN.js`: for each step of a run of `reference/dumps`, the dump of the given tensors, gzipped, in
/// base64. The page's module computes the others.
fn hunt_script(repository: &Path, run: &str) -> Result<String, Problem> {
    let path = repository.join(format!("reference/dumps/{run}.json"));
    let problem = |error: DumpError| Problem::new(path.display(), error.to_string());
    let packed = repository.join("target/hunt.json.gz");
    let mut steps = Vec::new();
    for mut step in Dump::read_run(&path).map_err(problem)? {
        step.tensors.retain(|tensor| tensor.name.is_given());
        step.write(&packed).map_err(problem)?;
        let bytes = std::fs::read(&packed)
            .map_err(|error| Problem::new(packed.display(), error.to_string()))?;
        steps.push(STANDARD.encode(bytes));
    }
    let steps = literal(json!(steps));
    Ok(format!("\"use strict\";\n(fourLevels.hunts ??= {{}})[\"{run}\"] = {steps};\n"))
}

/// The content of `list.js`, which every page loads: the names of the kernels, and the size of the module.
fn list_script(kernels: &Kernels, module_bytes: usize) -> String {
    let names: Vec<&String> = kernels.texts.keys().collect();
    let built = literal(json!({ "kernels": names, "moduleBytes": module_bytes }));
    format!("\"use strict\";\nglobalThis.fourLevelsBuilt = {built};\n")
}

/// Adds the scripts to every page, and to each kernel's block the name of the kernel's file.
fn annotate(repository: &Path, html: &Path, kernels: &Kernels) -> Result<(), Problem> {
    let source = repository.join("book/src");
    let mut blocks: BTreeMap<PathBuf, Vec<Option<String>>> = BTreeMap::new();
    for page in Page::all(repository)? {
        let name = page.path.strip_prefix(&source).unwrap_or(&page.path);
        blocks.insert(html.join(name).with_extension("html"), included_files(repository, &page));
    }
    for path in files(html, &["html"]) {
        let depth = path.strip_prefix(html).map_or(0, |inner| inner.components().count() - 1);
        let up = "../".repeat(depth);
        let page = read(&path)?;
        // 404.html is served at any path, so it can't have relative links. Pages without `<main>` are shown inside
        // other pages.
        if path.ends_with("404.html") || !page.contains("<main>") || page.contains("page/start.js")
        {
            continue;
        }
        let own = blocks.get(&path).map_or(&[][..], |list| &list[..]);
        let marked = mark(&page, own, kernels);
        let head = format!("<link rel=\"stylesheet\" href=\"{up}{FOLDER}/page.css\">\n</head>");
        let scripts = format!(
            "<script defer src=\"{up}{FOLDER}/list.js\"></script>\n\
             <script defer src=\"{up}{FOLDER}/start.js\"></script>\n</body>"
        );
        let whole = marked
            .replacen("</head>", &head, 1)
            .replacen("</body>", &scripts, 1)
            .replacen("<body>", SKIP_LINK, 1)
            .replacen("<div id=\"mdbook-menu-bar\" ", MENU_BAR, 1)
            // mdBook's label has the attributes of a button, but not its role.
            .replacen("<label id=\"mdbook-sidebar-toggle\" ", SIDEBAR_LABEL, 1);
        write(&path, &whole)?;
    }
    Ok(())
}

/// The file of each kernel block of a page, in order; `None` for a block that includes several files.
fn included_files(repository: &Path, page: &Page) -> Vec<Option<String>> {
    let blocks = page.pieces().into_iter().filter(
        |piece| matches!(&piece.kind, PieceKind::Block(language) if LANGUAGES.contains(&&language[..])),
    );
    let file = |text: &str| {
        let names: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("{{#include ")?.strip_suffix("}}"))
            .map(|target| target.split(':').next().unwrap_or_default().trim())
            .collect();
        let mut names = names.into_iter();
        let (name, more) = (names.next()?, names.next());
        let path = page.path.parent()?.join(name).canonicalize().ok()?;
        let root = repository.canonicalize().ok()?;
        let inside = path.strip_prefix(root).ok()?.to_str()?.to_owned();
        more.is_none().then_some(inside)
    };
    blocks.map(|piece| file(&piece.text)).collect()
}

/// Adds attributes to a page's code blocks: `data-file` to runnable kernels, and to frames and solutions of puzzles
/// `data-puzzle` (the puzzle's name) and `data-text` (the name of the text).
fn mark(page: &str, blocks: &[Option<String>], kernels: &Kernels) -> String {
    let starts = LANGUAGES.map(|language| format!("<code class=\"language-{language}"));
    let mut marked = String::with_capacity(page.len());
    let (mut rest, mut blocks) = (page, blocks.iter());
    loop {
        let next = starts.iter().filter_map(|start| rest.find(start.as_str())).min();
        let Some(at) = next else { break };
        let (before, after) = rest.split_at(at + "<code".len());
        marked.push_str(before);
        if let Some(Some(file)) = blocks.next() {
            let attempt = file.strip_prefix(PUZZLES).and_then(|file| file.split_once('/'));
            if kernels.texts.contains_key(file) {
                let _ = write!(marked, " data-file=\"{file}\"");
            } else if let Some((folder, text)) = attempt {
                let name = folder.replace('_', "-");
                let _ = write!(marked, " data-puzzle=\"{name}\" data-text=\"{text}\"");
            }
        }
        rest = after;
    }
    marked + rest
}

/// A JavaScript literal, which is also safe inside a `<script>` element.
fn literal(value: Value) -> String {
    // JSON is valid JavaScript, except that older versions don't allow U+2028 and U+2029 in strings.
    let json = value.to_string().replace('<', "\\u003c");
    json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels_named(names: &[&str]) -> Kernels {
        let texts = names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        Kernels { texts, commands: BTreeMap::new() }
    }

    #[test]
    fn blocks_get_the_name_of_their_file() {
        let page = "<code class=\"language-ptx\">a</code><code class=\"language-rust\">b</code>\
                    <code class=\"language-cpp\">c</code><code class=\"language-ptx\">d</code>";
        let blocks = [Some("a.ptx".to_owned()), None, Some("gone.ptx".to_owned())];
        assert_eq!(
            mark(page, &blocks, &kernels_named(&["a.ptx", "d.ptx"])),
            page.replacen("<code ", "<code data-file=\"a.ptx\" ", 1)
        );
        let page = "<code class=\"language-cpp\">e</code>";
        let blocks = [Some(format!("{PUZZLES}add_one/frame.cu"))];
        assert_eq!(
            mark(page, &blocks, &kernels_named(&[])),
            page.replacen("<code", "<code data-puzzle=\"add-one\" data-text=\"frame.cu\"", 1)
        );
    }

    #[test]
    fn no_text_ends_a_script() {
        assert_eq!(literal("a\"</script>\\\n\u{1}".into()), r#""a\"\u003c/script>\\\n\u0001""#);
    }

    #[test]
    fn the_file_of_a_command_is_found() {
        assert_eq!(file_of("run --grid 2 a/b.ptx --arg u32:1"), Some("a/b.ptx"));
        assert_eq!(file_of("check x.cu"), Some("x.cu"));
        assert_eq!(file_of("run"), None);
    }
}
