//! Tests of the program `conformance`: its output, and its exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tensor::Dump;

fn conformance(dumps: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conformance"))
        .args(["--level", "level1-cpu", "--check", "references", "--dumps"])
        .arg(dumps)
        .args(more)
        .env_remove("FOUR_LEVELS_DEVICE")
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the program writes UTF-8")
}

fn references() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps")
}

#[test]
fn a_level_that_agrees_is_a_success() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let output = conformance(&references(), &["--json", json.to_str().expect("a plain name")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.starts_with("cpu\n"), "no GPU was asked for: {said}");
    assert!(
        said.contains("level1-cpu --form fast") && said.contains("60 passed, 0 failed"),
        "{said}"
    );
    let report: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((&report["passed"], &report["failed"]), (&60.into(), &0.into()));
    assert_eq!(report["outcomes"].as_array().unwrap().len(), 60);
}

/// The program writes an index, and a page for each reference.
#[test]
fn results_are_written_as_pages() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    let output = conformance(&references(), &["--html", pages.to_str().expect("a plain name")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("pages written: "), "{}", text(&output.stdout));
    let index = fs::read_to_string(pages.join("index.html")).unwrap();
    for fixture in ["softmax", "three-layer", "units-1025"] {
        assert!(index.contains(&format!("<a href=\"{fixture}.html\">✓ {fixture}</a>")), "{index}");
        let page = fs::read_to_string(pages.join(format!("{fixture}.html"))).unwrap();
        for variant in ["level1-cpu --form textbook", "level1-cpu --form fast"] {
            assert!(page.contains(&format!("<th>{variant}</th>")), "{fixture}: {variant}");
        }
    }
}

/// One number of a reference is changed. Both forms of level 1 then differ from the reference in that tensor, and
/// nowhere else.
#[test]
fn a_level_that_differs_is_a_failure_that_names_the_tensor() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(references()).unwrap() {
        let path = entry.unwrap().path();
        let mut run = Dump::read_run(&path).unwrap();
        if path.ends_with("bce.json.gz") {
            let dw1 = run[0].tensors.iter_mut().find(|tensor| tensor.name.to_string() == "dw1");
            dw1.unwrap().data[7] += 1.0;
        }
        // The changed reference is written without gzip, because plain JSON is read too.
        let name = path.file_name().unwrap().to_str().unwrap().trim_end_matches(".gz");
        Dump::write_run(&run, &folder.path().join(name)).unwrap();
    }
    let output = conformance(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let failures: Vec<&str> = said.lines().filter(|line| line.starts_with("FAIL ")).collect();
    // Of four runs, three fail: as in training, the fast form never has dw1 in memory.
    assert_eq!(failures.len(), 3, "{said}");
    assert!(failures.iter().all(|line| line.contains(", bce") && line.contains("dw1 DIFFERS")));
    assert!(said.contains("57 passed, 3 failed"), "{said}");
}

#[test]
fn missing_references_are_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let output = conformance(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("there is no softmax.json") && said.contains("--dumps"), "{said}");
    let output = conformance(&references(), &["--level", "level9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("level4-ptx"), "{}", text(&output.stderr));
}
