//! Import cycles among the files of a crate, found by their `use` lines. At most three files may form a cycle,
//! so that each file can be read separately.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The maximum number of files in a cycle: a module and its submodules.
const MAX_CYCLE: usize = 3;

/// The text of each file of a crate's library, by its module path, such as `engine::race::cell`.
pub fn modules(manifest: &str) -> BTreeMap<String, String> {
    fn read_modules(directory: &Path, module: &str, files: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(directory).expect("the sources") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().expect("a name").to_str().expect("ASCII");
            let child = match (module, stem) {
                (_, "mod" | "lib") => module.to_owned(),
                ("", stem) => stem.to_owned(),
                (module, stem) => format!("{module}::{stem}"),
            };
            if path.is_dir() {
                read_modules(&path, &child, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.insert(child, std::fs::read_to_string(&path).expect("a source"));
            }
        }
    }
    let mut files = BTreeMap::new();
    read_modules(&Path::new(manifest).join("src"), "", &mut files);
    files
}

/// Expands `a::{b, c::{d, e}}` to `a::b`, `a::c::d` and `a::c::e`.
fn expand_use(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.trim().to_owned()];
    };
    let inner = &rest[..rest.rfind('}').expect("a closed brace")];
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| expand_use(&format!("{}{part}", prefix.trim()))).collect()
}

/// The `use` items of a file, except for those of its unit tests.
fn use_items(text: &str) -> Vec<String> {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut items = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let item = line.strip_prefix("pub").map_or(line, |rest| {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, r)| r)
        });
        let Some(tree) = item.trim_start().strip_prefix("use ") else { continue };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            tree += lines.next().expect("the end of a use").trim();
        }
        items.push(tree.split(';').next().unwrap_or_default().to_owned());
    }
    items
}

/// The module that contains the item at a path: the longest prefix of the path that is a file.
fn module_of(path: &[&str], modules: &BTreeMap<String, String>) -> Option<String> {
    (1..=path.len()).rev().map(|len| path[..len].join("::")).find(|name| modules.contains_key(name))
}

/// The modules that each module imports from, given the texts of all modules.
#[must_use]
pub fn imports(modules: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let imports_of = |name: &String, text: &String| {
        let own: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
        let mut imports = BTreeSet::new();
        for path in use_items(text).iter().flat_map(|tree| expand_use(tree)) {
            let parts: Vec<&str> = path.split("::").map(str::trim).collect();
            let up = parts.iter().take_while(|part| **part == "super").count();
            let full: Vec<&str> = match parts[0] {
                "crate" => parts[1..].to_vec(),
                "self" => own.iter().chain(&parts[1..]).copied().collect(),
                "super" => own[..own.len() - up].iter().chain(&parts[up..]).copied().collect(),
                // A path without a prefix begins with a child module or with another crate.
                _ => own.iter().chain(&parts).copied().collect(),
            };
            let bare = !matches!(parts[0], "crate" | "self" | "super");
            if let Some(target) = module_of(&full, modules)
                && target != *name
                && !(bare && own.starts_with(&target.split("::").collect::<Vec<_>>()))
            {
                imports.insert(target);
            }
        }
        imports
    };
    modules.iter().map(|(name, text)| (name.clone(), imports_of(name, text))).collect()
}

/// All modules that can be reached from a module.
fn reachable_modules<'g>(
    from: &'g str,
    graph: &'g BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<&'g str> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(name) = left.pop() {
        for next in graph.get(name).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                left.push(next);
            }
        }
    }
    seen
}

/// The cycles of a graph: sets of modules that reach each other.
#[must_use]
pub fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|name| (name.as_str(), reachable_modules(name, graph))).collect();
    reached
        .iter()
        .map(|(name, others)| {
            let back =
                |other: &&&str| reached.get(**other).is_some_and(|module| module.contains(name));
            others.iter().filter(back).copied().collect::<Vec<_>>()
        })
        .filter(|circle| circle.len() > 1)
        .collect()
}

/// Checks that a crate, given the folder of its manifest, has no cycle of more than three files.
#[track_caller]
pub fn assert_no_large_cycle(manifest: &str) {
    let modules = modules(manifest);
    let graph = imports(&modules);
    let edges: usize = graph.values().map(BTreeSet::len).sum();
    assert!(modules.len() > 100 && edges > 400, "{} files, {edges} imports", modules.len());
    let large: Vec<_> = cycles(&graph).into_iter().filter(|one| one.len() > MAX_CYCLE).collect();
    assert!(large.is_empty(), "files that form an import cycle: {large:#?}");
}
