//! Tests that the driver's folders form few layers, which are determined from the imports of their
//! files.

use std::collections::{BTreeMap, BTreeSet};

use emulated_gpu_test_support::layers::{imports, modules};

/// The maximum number of layers of folders. A layer may only import from lower layers.
const MAX_LAYERS: usize = 7;

/// The folder of a module's file: the first part of its path.
fn folder(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

/// The folders named in a file's paths from the crate's root, except in its unit tests.
fn folders_in_paths(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let paths = code.flat_map(|line| line.split("crate::").skip(1));
    paths.filter_map(|path| path.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next())
}

#[test]
fn folders_are_in_seven_layers_without_a_cycle() {
    let modules = modules(env!("CARGO_MANIFEST_DIR"));
    let mut left: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let imports = imports(&modules);
    for (module, text) in modules.iter().filter(|(module, _)| !module.is_empty()) {
        let imported = imports[module].iter().map(|target| folder(target));
        let current = folder(module);
        let others = imported.chain(folders_in_paths(text)).filter(|other| *other != current);
        left.entry(current).or_default().extend(others);
    }
    assert!(left.len() > 10, "{left:#?}");
    let mut layers = Vec::new();
    while !left.is_empty() {
        let imports_none_left =
            |others: &BTreeSet<&str>| others.iter().all(|other| !left.contains_key(other));
        let bottom = left.iter().filter(|(_, others)| imports_none_left(others));
        let bottom: Vec<&str> = bottom.map(|(folder, _)| *folder).collect();
        assert!(!bottom.is_empty(), "folders that import each other in a cycle: {left:#?}");
        left.retain(|folder, _| !bottom.contains(folder));
        layers.push(bottom);
    }
    assert!(layers.len() <= MAX_LAYERS, "{layers:#?}");
}
