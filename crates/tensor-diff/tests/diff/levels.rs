//! Tests of several candidates at once: the table of tensors and levels, and its verdicts.

use std::path::Path;

use crate::support::{Start, data};
use tensor::{Dump, Loss, TensorName};
use tensor_diff::{Candidate, judge_files, write_json, write_text};

struct Case {
    reference: Dump,
    dumps: Vec<(&'static str, Dump)>,
}

impl Case {
    /// Four candidates: one that is right, one that scales `dw1`, one with NaN, one that declares
    /// `z1` not materialised.
    fn new() -> Self {
        let start = Start::new(&[13, 7, 5], 6, Loss::CrossEntropy, 1);
        let named = |level: &str| {
            let mut dump = start.candidate();
            dump.header.level = level.into();
            dump
        };
        let mut scaled = named("scaled");
        data(&mut scaled, TensorName::Dw(1)).iter_mut().for_each(|value| *value *= 6.0);
        let mut nan = named("right");
        data(&mut nan, TensorName::P)[3] = f64::NAN;
        let mut fused = named("fused");
        fused.tensors.retain(|tensor| tensor.name != TensorName::Z(1));
        fused.header.not_materialised.push(TensorName::Z(1));
        let dumps = vec![
            ("a.json", named("right")),
            ("b.json", scaled),
            ("c.json", nan),
            ("d.json", fused),
        ];
        Self { reference: start.reference(), dumps }
    }

    fn found(&self) -> Vec<Candidate<'_>> {
        let candidates =
            self.dumps.iter().map(|(path, dump)| (Path::new(path), std::slice::from_ref(dump)));
        judge_files(Some(std::slice::from_ref(&self.reference)), candidates, 1.0).unwrap()
    }
}

fn table(case: &Case) -> String {
    let mut text = Vec::new();
    let reference = (Path::new("r.json"), std::slice::from_ref(&case.reference));
    write_text(&mut text, Some(reference), &case.found()).unwrap();
    let text = String::from_utf8(text).unwrap();
    // Without the escapes that colour it.
    text.split('\u{1b}')
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once('m').unwrap().1 })
        .collect()
}

#[test]
fn each_candidate_has_its_column() {
    let text = table(&Case::new());
    // The warning about two dumps of one level that differ comes first.
    let (first, text) = text.split_once('\n').unwrap();
    assert!(
        first.starts_with("warning: a.json and c.json: both dumps are by right on cpu"),
        "{first}"
    );
    assert!(
        first.contains("differ from p on") && first.contains("none between streams"),
        "{first}"
    );
    assert!(text.starts_with("2 of 4 agree with r.json\n"), "{text}");
    let row = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    };
    // Two have one level, so that their files name them.
    assert_eq!(row("tensor  "), ["tensor", "shape", "a", "scaled", "c", "fused"], "{text}");
    assert_eq!(row("z1  ")[5], "not materialised");
    let dw1 = row("dw1  ");
    assert!(dw1[3].ends_with("DIFFERS, its own fault"), "{dw1:?}");
    for right in [dw1[2], dw1[4], dw1[5]] {
        assert!(right.parse::<f64>().unwrap() <= 1.0, "{dw1:?}");
    }
    assert_eq!(row("p  ")[4], "NaN");
    assert!(text.contains("\nscaled:\ndw1 is the first tensor that differs."), "{text}");
    assert!(text.contains("a 1/B is missing"), "{text}");
    for file in ["r.json", "a.json", "b.json", "c.json", "d.json"] {
        assert!(text.contains(&format!(": {file}, made by")), "{file}: {text}");
    }
}

#[test]
fn a_program_reads_the_same() {
    let case = Case::new();
    let mut text = Vec::new();
    let reference = (Path::new("r.json"), std::slice::from_ref(&case.reference));
    write_json(&mut text, Some(reference), &case.found()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(json["verdict"], "differ");
    let verdicts: Vec<_> =
        json["candidates"].as_array().unwrap().iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, ["agree", "differ", "differ", "agree"]);
    let fault = &json["candidates"][1]["steps"][0]["first_fault"];
    assert_eq!(fault["tensor"], "dw1");
}

/// Runs: the cell says in which step a tensor goes wrong first, and which run can't be compared.
#[test]
fn runs_are_compared_step_by_step() {
    let start = Start::new(&[13, 7, 5], 6, Loss::CrossEntropy, 1);
    let two = |dump: Dump| {
        let mut next = dump.clone();
        next.header.step = 1;
        vec![dump, next]
    };
    let (reference, mut run) = (two(start.reference()), two(start.candidate()));
    data(&mut run[1], TensorName::Db(2))[0] += 1.0;
    let other = (Path::new("other.json"), &reference[..]);
    let runs = [(Path::new("run.json"), &run[..]), other];
    let found = judge_files(Some(&reference), runs, 1.0).unwrap();
    let mut text = Vec::new();
    write_text(&mut text, Some((Path::new("r.json"), &reference[..])), &found).unwrap();
    let text = String::from_utf8(text).unwrap();
    let row = text.lines().find(|line| line.contains("db2") && line.contains("step 1")).unwrap();
    assert!(row.contains("its own fault"), "{row}");

    let late = &run[1..];
    let refused = judge_files(
        Some(&reference),
        [(Path::new("run.json"), &run[..]), (Path::new("late"), late)],
        1.0,
    );
    let (at, why) = refused.map(|_| ()).unwrap_err();
    assert_eq!(at, 1);
    assert!(why.contains("begin with different steps"), "{why}");
}
