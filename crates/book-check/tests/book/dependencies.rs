//! Tests that the emulated GPU depends on nothing outside its folder, and that other crates of the workspace use only
//! its libraries. Of a library that is loaded at run time, they may use only the path.

use std::path::{Path, PathBuf};
use std::process::Command;

use book_check::{Problem, files, read, repository};
use serde_json::Value;

/// Libraries of the emulated GPU that the levels may use.
const LIBRARIES: [&str; 5] = ["ptx-emulator", "cuda-c", "tensor-core", "host", "skipped"];
/// Helpers for tests: which may be a dev-dependency, or a dependency of a crate that is only for tests.
const TEST_SUPPORT: &str = "emulated-gpu-test-support";
const ONLY_FOR_TESTS: [&str; 2] = ["fuzz-targets", "test-support"];
/// The only items that the levels may use from a crate whose shared library they load.
const ALLOWED_ITEMS: [&str; 2] = ["library_path", "NotFound"];
/// Packages and folders of the levels and of the book, which the emulated GPU must not depend on.
const FORBIDDEN_DEPENDENCIES: [&str; 11] = [
    "level1-cpu",
    "level2-cuda-naive",
    "level3-cublas",
    "level4-ptx",
    "book-check",
    "crates/autograd",
    "crates/conformance",
    "crates/playground",
    "crates/puzzles",
    "reference/",
    "book/",
];
/// A script that compares other libraries with level 3, and may therefore name levels.
const COMPARES_WITH_LEVELS: &str = "crates/emulated-gpu/clients/clients.py";

fn emulated_gpu() -> PathBuf {
    repository().join("crates/emulated-gpu")
}

/// The packages of a workspace, as cargo reads their manifests.
fn packages(manifest: &Path) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Dependencies within this repository. For each: the package's folder and name, the dependency, and the dependency's
/// folder.
fn edges(manifest: &Path) -> Vec<(PathBuf, String, Value, PathBuf)> {
    let edges_of = |package: Value| {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let (folder, name) = (folder.to_owned(), package["name"].as_str().unwrap().to_owned());
        let dependencies = package["dependencies"].as_array().unwrap().clone();
        dependencies.into_iter().filter_map(move |dependency| {
            let path = PathBuf::from(dependency["path"].as_str()?);
            Some((folder.clone(), name.clone(), dependency, path))
        })
    };
    packages(manifest).into_iter().flat_map(edges_of).collect()
}

#[track_caller]
fn assert_empty(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn manifests_of_the_emulated_gpu_name_nothing_outside() {
    let root = emulated_gpu();
    let mut edges = edges(&repository().join("Cargo.toml"));
    edges.extend(self::edges(&root.join("fuzz/Cargo.toml")));
    edges.retain(|(folder, ..)| folder.starts_with(&root));
    assert!(edges.len() > 40, "{edges:?}");
    edges.retain(|(.., path)| !path.starts_with(&root));
    assert_empty(
        &edges.iter().map(|(_, name, _, path)| format!("{name}: {path:?}")).collect::<Vec<_>>(),
    );
}

#[test]
fn the_levels_use_only_the_libraries_of_the_emulated_gpu() {
    let root = emulated_gpu();
    let mut problems = Vec::new();
    for (folder, name, dependency, path) in edges(&repository().join("Cargo.toml")) {
        if folder.starts_with(&root) || !path.starts_with(&root) {
            continue;
        }
        let used = dependency["name"].as_str().unwrap();
        let for_tests = dependency["kind"] == "dev" || ONLY_FOR_TESTS.contains(&&*name);
        let allowed = match used {
            TEST_SUPPORT => for_tests,
            used => LIBRARIES.contains(&used) || used.starts_with("emulated-"),
        };
        if !allowed {
            problems.push(format!("{name} depends on {used}"));
        }
    }
    for file in files(&repository().join("crates"), &["rs"]) {
        if file.starts_with(&root) {
            continue;
        }
        let text = read(&file).unwrap_or_else(|problem| panic!("{problem}"));
        for used in text.split("emulated_").skip(1) {
            let Some((library, rest)) = used.split_once("::") else { continue };
            let a_crate = library.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            let name: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if a_crate && library != "gpu_test_support" && !ALLOWED_ITEMS.contains(&&*name) {
                problems.push(format!("{}: emulated_{library}::{name}", file.display()));
            }
        }
    }
    assert_empty(&problems);
}

#[test]
fn sources_of_the_emulated_gpu_name_no_file_outside() {
    let root = emulated_gpu();
    let own = files(&root, &["rs", "sh", "py", "toml"]);
    assert!(own.len() > 500, "{}", own.len());
    let mut problems = Vec::new();
    for file in own {
        let shown = file.strip_prefix(repository()).unwrap().display().to_string();
        let text = read(&file).unwrap_or_else(|problem| panic!("{problem}"));
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("//") || line.trim_start().starts_with('#') {
                // `#[path = "…"]` is looked for too, because it names a source file.
                if !line.contains("#[path") {
                    continue;
                }
            }
            let outside = FORBIDDEN_DEPENDENCIES.iter().any(|name| line.contains(name));
            if outside && shown != COMPARES_WITH_LEVELS || leads_outside(&root, &file, line) {
                problems.push(Problem::new(format!("{shown}:{}", number + 1), line).to_string());
            }
        }
    }
    assert_empty(&problems);
    for file in files(&root, &["toml"]) {
        let text = read(&file).unwrap_or_else(|problem| panic!("{problem}"));
        let is_workspace = text.lines().any(|line| line == "[workspace]");
        assert_eq!(is_workspace, file == root.join("fuzz/Cargo.toml"), "{}", file.display());
    }
}

/// Whether a line of Rust contains a path that leads out of the folder `root`. Paths in includes are relative to the
/// file, all others to the package.
fn leads_outside(root: &Path, file: &Path, line: &str) -> bool {
    if file.extension().is_none_or(|extension| extension != "rs") {
        return false;
    }
    let included = line.contains("include") || line.contains("#[path");
    let package = || file.ancestors().find(|folder| folder.join("Cargo.toml").is_file());
    let base = if included { file.parent() } else { package() };
    let depth = base.unwrap().strip_prefix(root).unwrap().components().count();
    line.split('"').skip(1).step_by(2).any(|literal| {
        let up =
            literal.trim_start_matches('/').split('/').take_while(|part| *part == "..").count();
        up > depth
    })
}
