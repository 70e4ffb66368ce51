//! Tests of the program: exit codes, output, and errors about bad input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, Start, data};
use tempfile::TempDir;
use tensor::{Dump, Loss, TensorName};

/// A folder with a reference, an honest candidate and a spoilt one.
struct Folder {
    folder: TempDir,
    start: Start,
}

impl Folder {
    fn new() -> Self {
        let start = Start::new(&[13, 7, 5], 6, Loss::CrossEntropy, 1);
        let folder = Self { folder: tempfile::tempdir().unwrap(), start };
        folder.write("reference.json", &folder.start.reference());
        folder.write("good.json.gz", &folder.start.candidate());
        let mut bad = folder.start.candidate();
        let dw1 = data(&mut bad, TensorName::Dw(1));
        dw1.iter_mut().for_each(|value| *value *= 6.0);
        folder.write("bad.json", &bad);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, dump: &Dump) {
        dump.write(&self.path(name)).unwrap();
    }

    fn diff(&self, arguments: &[&str]) -> (i32, String, String) {
        support::program(self.folder.path(), arguments)
    }
}

#[test]
fn agreeing_dumps_exit_with_0() {
    let (code, out, err) = Folder::new().diff(&["reference.json", "good.json.gz"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0],
        "good.json.gz agrees with reference.json: 22 tensors within the derived tolerance"
    );
    assert_eq!(lines[1], "");
    let heading: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(
        heading.join(" "),
        "tensor shape max abs error max rel error worst at error there allowed there verdict"
    );
    let names: Vec<&str> =
        lines[3..25].iter().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(
        names.join(" "),
        "x y w1 b1 w2 b2 z1 a1 z2 p loss dz2 dw2 db2 da1 dz1 dw1 db1 w1_next b1_next w2_next b2_next"
    );
    // Aligned: every verdict starts where its heading does.
    let column = lines[2].find("verdict").unwrap();
    for line in &lines[3..25] {
        assert_eq!(&line[column..], "ok", "{line:?}");
    }
    assert!(lines[26].starts_with("reference: reference.json, made by a test on cpu, f64,"));
    assert!(lines[27].starts_with("candidate: good.json.gz, made by a test on cpu, f32,"));
    assert_eq!(lines.len(), 28);
}

#[test]
fn differing_dumps_exit_with_1_and_the_first_divergence_comes_first() {
    let (code, out, err) = Folder::new().diff(&["reference.json", "bad.json"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "bad.json differs from reference.json: 1 of 22 tensors differ, 21 within the derived \
             tolerance",
            "dw1 is the first tensor that differs. dw1 = matmul_at_b(dz1, x): dz1 and x agree, so \
             the fault is in that product. Recomputed from the candidate's own dz1 and x it is wrong by \
             itself, in 91 of 91 elements.",
            "Likely: it is 6 times what it should be, B = 6: a 1/B is missing (explains 91 wrong elements).",
        ]
    );
    let row = lines.iter().find(|line| line.starts_with("dw1  ")).unwrap();
    assert!(row.ends_with("DIFFERS, its own fault") && row.contains("[7, 13]"), "{row}");
}

#[test]
fn colours_reach_a_pipe_only_if_forced() {
    let folder = Folder::new();
    let coloured = |variable: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tensor-diff"))
            .args(["reference.json", "bad.json"])
            .current_dir(folder.folder.path())
            .env_remove("NO_COLOR")
            .env(variable, "1")
            .output()
            .unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!coloured("TERM_PROGRAM"));
    assert!(coloured("CLICOLOR_FORCE"));
    let (_, out, _) = folder.diff(&["reference.json", "bad.json"]);
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn unreadable_input_exits_with_2_and_an_error() {
    let folder = Folder::new();
    let whole = fs::read(folder.path("good.json.gz")).unwrap();
    fs::write(folder.path("cut.json.gz"), &whole[..whole.len() / 2]).unwrap();
    let whole = fs::read(folder.path("bad.json")).unwrap();
    fs::write(folder.path("cut.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.path("text.json"), "not a dump").unwrap();
    fs::write(folder.path("other.json"), "{}").unwrap();
    for (name, reason) in [
        ("cut.json.gz", "can't read the dump cut.json.gz: "),
        ("cut.json", "cut.json is not a dump: the file is truncated (EOF while parsing"),
        ("text.json", "text.json is not a dump (expected"),
        ("other.json", "other.json is not a usable dump: it says it is"),
        ("absent.json", "can't read the dump absent.json: No such file"),
        (".", "can't read the dump .: "),
    ] {
        for arguments in [["reference.json", name], [name, "reference.json"]] {
            let (code, out, err) = folder.diff(&arguments);
            assert_eq!((code, out.as_str()), (2, ""), "{name}");
            assert!(err.starts_with("error: ") && err.contains(reason), "{err}");
            assert_eq!(err.lines().count(), 1, "{err}");
        }
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::new();
    for arguments in [
        &[][..],
        &["reference.json", "bad.json", "--scale-tolerance", "NaN"],
        &["reference.json", "bad.json", "--scale-tolerance", "-1"],
        &["reference.json", "bad.json", "--scale-tolerance", "inf"],
        &["reference.json", "bad.json", "--unknown"],
    ] {
        let (code, out, err) = folder.diff(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.starts_with("error: "), "{err}");
    }
    assert_eq!(folder.diff(&["--help"]).0, 0);
}

#[test]
fn a_scaled_tolerance_is_reported() {
    let folder = Folder::new();
    let bad = &["reference.json", "bad.json", "--scale-tolerance", "1e9"];
    let (code, out, _) = folder.diff(bad);
    assert_eq!(code, 0, "{out}");
    assert!(out.lines().next().unwrap().ends_with("every tolerance multiplied by 1000000000"));
    let (code, out, _) = folder.diff(&["reference.json", "good.json.gz", "--scale-tolerance", "0"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("every tolerance multiplied by 0"), "{out}");
}

#[test]
fn not_materialised_tensors_are_counted_separately() {
    let folder = Folder::new();
    let mut fused = folder.start.candidate();
    fused.tensors.retain(|tensor| tensor.name != TensorName::Z(1));
    folder.write("undeclared.json", &fused);
    fused.header.not_materialised = vec![TensorName::Z(1)];
    folder.write("fused.json", &fused);
    let (code, out, _) = folder.diff(&["reference.json", "fused.json"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.lines().next().unwrap().ends_with(
            ": 21 tensors within the derived tolerance, 1 not materialised, and not compared"
        ),
        "{out}"
    );
    let row = out.lines().find(|line| line.starts_with("z1 ")).unwrap();
    assert!(row.ends_with("not materialised") && row.contains("[6, 7]"), "{row}");
    let (code, out, _) = folder.diff(&["reference.json", "undeclared.json"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("z1 is missing from the candidate"), "{out}");
}

#[test]
fn different_inputs_are_reported() {
    let folder = Folder::new();
    let mut other = Start::new(&[13, 7, 5], 6, Loss::CrossEntropy, 2).candidate();
    other.header.preset = "other".into();
    folder.write("other.json", &other);
    let (code, out, _) = folder.diff(&["reference.json", "other.json"]);
    assert_eq!(code, 1);
    assert!(
        out.contains(
            "x is the first tensor that differs. It is given to the step, not computed by it: \
             these two dumps did not start from the same inputs."
        ),
        "{out}"
    );
    assert!(
        out.contains("warning: the reference was made with preset small and the candidate with"),
        "{out}"
    );
}

fn report(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn json_takes_the_place_of_the_table() {
    let folder = Folder::new();
    let (code, out, err) = folder.diff(&["reference.json", "bad.json", "--json"]);
    assert_eq!((code, err.as_str()), (1, ""));
    let report = report(&out);
    assert_eq!(report["verdict"], "differ");
    let first = &report["first_divergence"];
    assert_eq!(first["tensor"], "dw1");
    assert_eq!(first["operation"], "dw1 = matmul_at_b(dz1, x)");
    assert_eq!(first["pattern"]["kind"], "factor");
    assert_eq!(report["scale_tolerance"], 1.0);
    assert_eq!(report["candidate"]["file"], "bad.json");
    assert_eq!(report["candidate"]["device"], "cpu");
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 22);
    let dw1 = tensors.iter().find(|tensor| tensor["name"] == "dw1").unwrap();
    assert_eq!(dw1["shape"], serde_json::json!([7, 13]));
    assert_eq!(dw1["verdict"], "differs");
    for field in ["max_abs_error", "max_relative_error", "worst_error", "allowed", "ratio"] {
        assert!(dw1[field].as_f64().unwrap() > 0.0, "{field}");
    }
    assert_eq!(dw1["worst_index"].as_array().unwrap().len(), 2);
}

#[test]
fn json_goes_to_a_file_in_addition_to_the_table_and_has_words_for_nan() {
    let folder = Folder::new();
    let mut nan = folder.start.candidate();
    data(&mut nan, TensorName::Z(2))[7] = f64::NAN;
    folder.write("nan.json", &nan);
    let (code, out, _) = folder.diff(&["reference.json", "nan.json", "--json", "report.json"]);
    assert_eq!(code, 1);
    assert!(out.contains("Likely: the candidate holds NaN only at [1, 2]."), "{out}");
    let report = report(&fs::read_to_string(folder.path("report.json")).unwrap());
    let z2 = &report["tensors"][8];
    assert_eq!((z2["name"].as_str(), z2["verdict"].as_str()), (Some("z2"), Some("nan")));
    assert_eq!(z2["max_abs_error"], "NaN");
    assert_eq!(z2["worst_index"], serde_json::json!([1, 2]));
}

#[test]
fn a_report_that_cannot_be_written_exits_with_2() {
    let folder = Folder::new();
    let before = fs::read(folder.path("reference.json")).unwrap();
    let absent = Path::new("absent").join("report.json");
    for (report, reason) in [
        (absent.to_str().unwrap(), "can't write the report absent"),
        ("./reference.json", "--json would overwrite the dump ./reference.json"),
    ] {
        let (code, out, err) = folder.diff(&["reference.json", "good.json.gz", "--json", report]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.starts_with("error: ") && err.contains(reason), "{err}");
    }
    assert_eq!(fs::read(folder.path("reference.json")).unwrap(), before);
}
