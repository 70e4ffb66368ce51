//! Tests of the program: a planted line, the twelve bugs, and guesses.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in the repository's root; dumps are written to a folder of these tests.
fn bug_hunt(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_bug-hunt"))
        .args(arguments)
        .args(["--dir", env!("CARGO_TARGET_TMPDIR")])
        .current_dir(root)
        .output()
        .unwrap()
}

/// The exit code and standard output of a command.
#[track_caller]
fn prints(arguments: &[&str]) -> (Option<i32>, String) {
    let output = bug_hunt(arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn solution(bug: usize) -> String {
    let (_, text) = prints(&[&bug.to_string(), "--solution"]);
    text.lines().next().unwrap().to_owned()
}

#[test]
fn a_planted_line_is_named() {
    let (code, text) = prints(&["--plant", "dz1 = da1"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("5 of 22 tensors differ"), "{text}");
    assert!(text.contains("the mask [z1 > 0] was not applied (explains 127"), "{text}");
}

#[test]
fn the_step_without_a_bug_agrees_with_pytorch() {
    for run in ["softmax", "kink", "large-logits", "batch-67", "softmax-steps"] {
        let reference = format!("reference/dumps/{run}.json");
        let line = "da1 = dz2 @ w2";
        let (code, text) = prints(&["--plant", line, "--reference", &reference]);
        assert_eq!(code, Some(0), "{run}: {text}");
        assert!(!text.contains("warning"), "{run}: {text}");
    }
}

/// For each bug: the wrong line computes the first wrong tensor, the bug's own solution is accepted, and the next bug's
/// solution is not.
#[test]
fn each_bug_has_one_solution() {
    for bug in 1..=12 {
        let number = bug.to_string();
        let (code, text) = prints(&[&number]);
        let tensor = solution(bug).split(' ').next().unwrap().to_owned();
        assert_eq!(code, Some(0));
        assert!(text.contains(&format!("--guess '{tensor} = …'")), "bug {bug}: {text}");
        for other in [bug, bug % 12 + 1] {
            let (code, text) = prints(&[&number, "--guess", &solution(other)]);
            let expected = if bug == other { "Right: " } else { "N" };
            let is_close = text.contains("is the wrong tensor, but");
            assert!(
                text.starts_with(expected) || is_close && bug != other,
                "{bug}, {other}: {text}"
            );
            assert_eq!(code, Some(i32::from(bug != other)), "bug {bug}, solution {other}: {text}");
        }
    }
}

/// A formula that is written differently but computes the same is accepted too.
#[test]
fn another_form_of_a_solution_is_right() {
    for (bug, guess) in [
        ("3", "dz2 = (p - y) / B * 8"),
        ("5", "p = exp(z2) * (1 / sum(exp(z2), 1))"),
        ("8", "dz1 = da1 * where(z1 <= 0, 1e-2, 1)"),
    ] {
        let (code, text) = prints(&[bug, "--guess", guess]);
        assert_eq!(code, Some(0), "{guess}: {text}");
    }
}

#[test]
fn a_wrong_guess_is_explained() {
    for (guess, expected) in [
        ("da1 = dz2 @ w2", "Not this: that line of da1 has no bug."),
        ("dw1 = dz1.T @ x * 2", "No: dw1 of the dump is the result of its right formula"),
        ("z2 = a1 @ w2.T - b2", "z2 is the wrong tensor, but this formula makes other numbers."),
    ] {
        let (code, text) = prints(&["1", "--guess", guess]);
        assert_eq!(code, Some(1), "{guess}");
        assert!(text.starts_with(expected), "{guess}: {text}");
    }
}

#[test]
fn an_unusable_line_is_refused() {
    for (line, expected) in [
        ("dz1", "\"dz1\" is not `tensor = formula`"),
        ("q = x", "\"q\" is not the name of a tensor"),
        ("x = y", "x is given, and no line makes it"),
        ("z1 = x @ w1", "[8, 784] @ [30, 784] is no product: the inner lengths differ"),
        ("z1 = x @ w1.T + b2", "the shapes [8, 30] and [1, 10] don't fit each other"),
        ("z1 = b1", "z1 would have the shape [1, 30] in place of [8, 30]"),
        ("z1 = dz1", "there is no tensor \"dz1\" before this line"),
        ("z1 = x @ w1.T +", "the formula ends too early"),
        ("z1 = (x @ w1.T", "expected \")\", found \"the end\""),
        ("z1 = x @ w1.T ) ", "\")\" in \"x @ w1.T )\" is not expected there"),
        ("z1 = relu(x, 1)", "there is no function \"relu\" with 2 arguments"),
        ("b1_next = sum(x, 2)", "an axis is 0 or 1"),
        ("z1 = 1e", "\"1e\" is not a number"),
    ] {
        let output = bug_hunt(&["--plant", line]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.starts_with(&format!("error: {expected}")), "{line}: {error}");
    }
    for deep in ["(", "-", "exp("] {
        let output = bug_hunt(&["--plant", &format!("z1 = {}", deep.repeat(30_000))]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.starts_with("error: the formula is nested deeper"), "{deep}: {error}");
    }
    let three = bug_hunt(&["--plant", "p = z2", "--reference", "reference/dumps/three-layer.json"]);
    assert!(String::from_utf8_lossy(&three.stderr).contains("two layers"), "{three:?}");
    assert_eq!(bug_hunt(&["13"]).status.code(), Some(2));
}
