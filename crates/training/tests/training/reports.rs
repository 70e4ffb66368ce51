//! Tests of the program `training`: pages of several reports, and its errors for files of other formats.

use std::fs;
use std::process::Command;

/// A report that the gold standard in Python wrote, without times, and a report of a level.
const REPORTS: [(&str, &str, &str, &str); 2] = [
    ("pytorch.json", "reference-pytorch", "small", ""),
    // This report has the former name of the same preset.
    ("level.json", "level1-cpu", "nvmath", r#", "times": [{"batches": 4, "seconds": 0.5}]"#),
];

#[test]
fn several_reports_are_compared_on_a_page() {
    let folder = tempfile::tempdir().unwrap();
    for (file, level, preset, more) in REPORTS {
        let text = format!(
            r#"{{"level": "{level}", "device": "cpu", "preset": "{preset}", "batches": 4, "seconds": 1.5,
            "samples_per_second": 700.0, "test_accuracy": 0.25, "losses": [{{"batch": 0, "loss": 2.0}},
            {{"batch": 3, "loss": 1.0}}], "accuracies": [{{"batches": 4, "accuracy": 0.25}}]{more}}}"#
        );
        fs::write(folder.path().join(file), text).unwrap();
    }
    fs::write(folder.path().join("other.json"), "[1, 2]").unwrap();
    let training = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_training"));
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let done = training(&["pytorch.json", "level.json", "--html", "page.html"]);
    assert_eq!(done, (Some(0), String::new()));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for part in ["2 training runs compared", "reference-pytorch", "level1-cpu", "25.00"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("nvmath"));
    assert_eq!(page.matches("<figcaption>").count(), 4);

    for (arguments, reason) in [
        (&["other.json", "--html", "page.html"][..], "not the report of a training run"),
        (&["none.json", "--html", "page.html"], "can't read none.json"),
        // An endless device is refused because of its first bytes.
        #[cfg(unix)]
        (&["/dev/zero", "--html", "page.html"], "not the report of a training run"),
        (&["level.json", "--html", "./level.json"], "--html would overwrite the report"),
    ] {
        let (code, said) = training(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(reason), "{said}");
    }
}
