//! Tests of the pages, as text and in a headless browser: what they show first, that they show the report's
//! numbers, that they need no network, and that no text of a dump is anything but text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, Start, data};
use serde_json::{Value, json};
use tempfile::TempDir;
use tensor::{Dump, Loss, TensorName};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)><svg onload=alert(2)>\"'&lt;{{ 7*7 }}";

/// Dumps, and the pages and reports that the program makes of them.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, run: &[Dump]) {
        Dump::write_run(run, &self.path(name)).unwrap();
    }

    /// The page and the report of a command line.
    fn page(&self, name: &str, files: &[&str]) -> (PathBuf, Value) {
        let (page, report) = (self.path(&format!("{name}.html")), self.path("report.json"));
        let output = Command::new(env!("CARGO_BIN_EXE_tensor-diff"))
            .current_dir(self.0.path())
            .args(files)
            .args([Path::new("--html"), &page, Path::new("--json"), &report])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
        (page, serde_json::from_slice(&fs::read(&report).unwrap()).unwrap())
    }
}

/// The report's row of a tensor, in the form for the browser's script.
fn worst(rows: &Value, pair: usize, name: &str) -> Value {
    let rows = rows.as_array().unwrap();
    let mut row = rows.iter().find(|row| row["name"] == name).unwrap().clone();
    row["tensor"] = json!(format!("t{pair}-{name}"));
    row
}

/// A network whose rows are pictures, a spoilt candidate, and a good one.
fn spoilt() -> (Start, Dump) {
    let start = Start::new(&[196, 16, 10], 8, Loss::CrossEntropy, 3);
    let mut candidate = start.candidate();
    let dz1 = data(&mut candidate, TensorName::Dz(1));
    dz1.iter_mut().for_each(|value| *value += 0.001);
    (start, candidate)
}

fn in_browser(folder: &Folder, cases: &[Value]) {
    let Some(mut node) = skipped::browser() else { return };
    let list = folder.path("cases.json");
    fs::write(&list, serde_json::to_vec(cases).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser.mjs");
    let output = node.arg(script).arg(list).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A dump that is wrong, alone and against its reference; one that is right; one with NaN, another
/// shape and a tensor that it doesn't hold.
#[test]
fn a_page_names_the_first_fault_and_shows_the_reports_numbers() {
    let folder = Folder::new();
    let (start, candidate) = spoilt();
    folder.write("reference.json", &[start.reference()]);
    folder.write("bad.json", std::slice::from_ref(&candidate));
    folder.write("good.json", &[start.candidate()]);
    let mut odd = candidate;
    data(&mut odd, TensorName::Z(2))[7] = f64::NAN;
    odd.tensors.retain(|tensor| tensor.name != TensorName::Da(1));
    folder.write("odd.json", &[odd]);

    let (compared, report) = folder.page("compared", &["reference.json", "bad.json"]);
    let (alone, own) = folder.page("alone", &["bad.json"]);
    let (right, _) = folder.page("right", &["reference.json", "good.json"]);
    let (strange, _) = folder.page("strange", &["reference.json", "odd.json"]);
    let text = fs::read_to_string(&compared).unwrap();
    let first = text.split("<details").nth(1).unwrap();
    assert!(first.contains("id=\"t0-dz1\" open"), "{}", &first[..200]);
    assert!(text.contains("First fault: <a href=\"#t0-dz1\">"), "the verdict names it");
    in_browser(
        &folder,
        &[
            json!({"page": compared, "first": "dz1", "worst": worst(&report["tensors"], 0, "dz1")}),
            json!({"page": alone, "first": "dz1", "worst": worst(&own["own"]["tensors"], 0, "dz1")}),
            json!({"page": right, "first": null}),
            json!({"page": strange, "first": "z2"}),
        ],
    );
}

#[test]
fn all_levels_and_all_steps_have_a_page() {
    let folder = Folder::new();
    let (start, bad) = spoilt();
    let named = |mut dump: Dump, level: &str| {
        dump.header.level = level.into();
        dump
    };
    folder.write("reference.json", &[start.reference()]);
    folder.write("a.json", &[named(start.candidate(), "level1-cpu")]);
    folder.write("b.json", &[named(bad.clone(), "level2-cuda-naive")]);
    let (levels, report) = folder.page("levels", &["reference.json", "a.json", "b.json"]);
    let text = fs::read_to_string(&levels).unwrap();
    assert!(text.contains("<th>level1-cpu</th><th>level2-cuda-naive</th>"));
    assert!(text.contains("<td class=\"first\"><a href=\"#t1-dz1\">"));

    let later = |mut dump: Dump| {
        dump.header.step = 1;
        dump
    };
    folder.write("reference-run.json", &[start.reference(), later(start.reference())]);
    folder.write("run.json", &[start.candidate(), later(bad)]);
    let (run, steps) = folder.page("run", &["reference-run.json", "run.json"]);
    let text = fs::read_to_string(&run).unwrap();
    for part in [
        "<th>step 0</th><th>step 1</th>",
        "Step 1, the first with a fault",
        "The loss of each step",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // The parameters at the beginning of the second step differ from those after the first.
    let first = steps["steps"][1]["first_fault"]["tensor"].as_str().unwrap();
    let rows = &report["candidates"][1]["steps"][0]["tensors"];
    in_browser(
        &folder,
        &[
            json!({"page": levels, "first": "dz1", "worst": worst(rows, 1, "dz1")}),
            json!({"page": run, "first": first}),
        ],
    );
}

/// Whatever a header says is text, in the page and to the browser.
#[test]
fn texts_of_a_dump_are_never_code() {
    let folder = Folder::new();
    let (start, mut candidate) = spoilt();
    candidate.header.level = HOSTILE.into();
    candidate.header.device = HOSTILE.into();
    candidate.header.preset = HOSTILE.into();
    let mut next = candidate.clone();
    next.header.step = 1;
    let mut reference = vec![start.reference(), start.reference()];
    reference[1].header.step = 1;
    folder.write("reference.json", &reference[..1]);
    folder.write("one.json", std::slice::from_ref(&candidate));
    folder.write("two.json", std::slice::from_ref(&candidate));
    folder.write("run.json", &[candidate, next]);
    folder.write("reference-run.json", &reference);
    let pages = [
        folder.page("single", &["one.json"]).0,
        folder.page("pair", &["reference.json", "one.json"]).0,
        folder.page("levels", &["reference.json", "one.json", "two.json"]).0,
        folder.page("steps", &["reference-run.json", "run.json"]).0,
    ];
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        assert!(!text.contains("<img") && !text.contains("<svg onload"), "{}", page.display());
        assert_eq!(text.matches("</script>").count(), 2, "{}", page.display());
        assert!(text.contains("{{ 7*7 }}"), "a template in a header is not filled in");
    }
    let cases: Vec<Value> =
        pages.iter().map(|page| json!({"page": page, "first": "dz1"})).collect();
    in_browser(&folder, &cases);
}

/// The 22 tensors of a step of the default preset's network.
#[test]
fn a_page_of_the_default_network_is_small() {
    let folder = Folder::new();
    let start = Start::new(&[784, 30, 10], 256, Loss::Bce, 5);
    folder.write("reference.json", &[start.reference()]);
    folder.write("candidate.json", &[start.candidate()]);
    for files in [&["reference.json", "candidate.json"][..], &["candidate.json"]] {
        let (page, _) = folder.page("page", files);
        let size = fs::metadata(page).unwrap().len();
        assert!(size < 3_000_000, "{size} bytes");
    }
}

/// The numbers of an attribute in all elements that begin like this.
fn numbers(page: &str, begin: &str, attribute: &str) -> Vec<f64> {
    let value = |element: &str| {
        let (_, rest) = element.split_once(&format!(" {attribute}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    page.split(begin).skip(1).map(value).collect()
}

/// Tested for networks of one to five layers.
#[test]
fn no_two_boxes_of_the_drawing_overlap() {
    let folder = Folder::new();
    for layers in 1..=5 {
        let start = Start::new(&vec![3; layers + 1], 2, Loss::Bce, 5);
        folder.write("one.json", &[start.candidate()]);
        let page = fs::read_to_string(folder.page("page", &["one.json"]).0).unwrap();
        let [x, y] = ["x", "y"].map(|axis| numbers(&page, "<rect class=\"box\"", axis));
        assert_eq!(x.len(), start.candidate().tensors.len());
        for a in 0..x.len() {
            for b in 0..a {
                // A box is 86 by 30.
                let apart = (x[a] - x[b]).abs() > 94.0 || (y[a] - y[b]).abs() > 38.0;
                assert!(apart, "{layers} layers: boxes {a} and {b}");
            }
        }
    }
}

#[test]
fn a_page_never_overwrites_its_input() {
    let folder = Folder::new();
    let (start, _) = spoilt();
    folder.write("a.json", &[start.candidate()]);
    let (code, _, said) = support::program(folder.0.path(), &["a.json", "--html", "./a.json"]);
    assert_eq!(code, 2);
    assert!(said.contains("--html would overwrite ./a.json"), "{said}");
    assert!(Dump::read(&folder.path("a.json")).is_ok());
}
