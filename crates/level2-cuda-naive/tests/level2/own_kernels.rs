//! Tests of `--own-kernels`: training with solved puzzles, and the puzzles that aren't used.

use std::fs;
use std::path::{Path, PathBuf};

use puzzles::{Language, puzzle};
use tempfile::TempDir;
use tensor::{Dump, TensorName};
use tensor_diff::{Comparison, compare};
use test_support::program::{EMULATED, SHORT, fails, path, succeeds, text};
use test_support::sanitizer::assert_clean;

use crate::command_line::{level2, program};

/// The ten puzzles that replace level 2's kernels, and an eleventh: a network uses either softmax
/// or sigmoid.
const STEP_PUZZLES: [&str; 11] = [
    "product",
    "broadcast",
    "relu",
    "softmax",
    "sigmoid",
    "output-gradient",
    "weight-gradient",
    "bias-gradient",
    "layer-backward",
    "relu-backward",
    "update",
];

/// A reader's folder, in which these puzzles are solved in the given language (softmax always in
/// CUDA C).
fn solved(names: &[&str], language: Language) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in names {
        let puzzle = puzzle(name).unwrap();
        let source = puzzle.source(language).or_else(|| puzzle.source(Language::CudaC)).unwrap();
        let file = format!("{name}.{}", source.language.extension());
        fs::write(folder.path().join(file), source.solution).unwrap();
    }
    folder
}

/// Replaces the only occurrence of `from` in the reader's solution of a puzzle.
fn edit(folder: &TempDir, name: &str, [from, to]: [&str; 2]) {
    let file = folder.path().join(format!("{name}.cu"));
    let source = fs::read_to_string(&file).unwrap();
    assert_eq!(source.matches(from).count(), 1, "{name}: {from}");
    fs::write(file, source.replace(from, to)).unwrap();
}

/// The option for the kernels in a folder.
fn option(folder: &TempDir) -> String {
    format!("--own-kernels={}", folder.path().display())
}

/// The reference dump of a fixture.
fn reference(fixture: &str) -> PathBuf {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    ["json", "json.gz"]
        .map(|extension| dumps.join(format!("{fixture}.{extension}")))
        .into_iter()
        .find(|path| path.exists())
        .unwrap()
}

/// Dumps a step on a fixture. Returns the standard output, and the dump.
fn dump(fixture: &str, options: &[&str]) -> (String, Dump) {
    let folder = TempDir::new().unwrap();
    let (inputs, out) = (reference(fixture), path(&folder, "dump.json"));
    let inputs = inputs.to_str().unwrap();
    let printed = succeeds(&level2(
        &[&["dump", "--inputs", inputs, "--out", &out], &EMULATED[..], options].concat(),
    ));
    (printed, Dump::read(Path::new(&out)).unwrap())
}

/// The standard output of a dump, and its comparison with the reference.
fn compared(fixture: &str, options: &[&str]) -> (String, Comparison) {
    let (printed, candidate) = dump(fixture, options);
    let reference = Dump::read(&reference(fixture)).unwrap();
    (printed, compare(&reference, &candidate, 1.0))
}

#[test]
fn every_step_with_ten_solutions_agrees_with_the_reference() {
    for language in Language::ALL {
        let folder = solved(&STEP_PUZZLES, language);
        for fixture in ["softmax", "squared-error", "bce", "three-layer", "wide", "single"] {
            let (printed, comparison) = compared(fixture, &[&option(&folder)]);
            assert!(comparison.agrees(), "{fixture}: {:?}", comparison.first_divergence);
            let count = if fixture == "squared-error" { 9 } else { 10 };
            assert_eq!(printed.matches(" yours, in ").count(), count, "{printed}");
            assert_eq!(printed.lines().count(), 1 + count, "{printed}");
        }
    }
}

#[test]
fn the_sanitizer_finds_nothing_in_ten_solutions() {
    let (folder, out) = (solved(&STEP_PUZZLES, Language::CudaC), TempDir::new().unwrap());
    let (own, out) = (option(&folder), path(&out, "dump.json"));
    for preset in ["softmax", "bce"] {
        let args = ["dump", "--preset", preset, "--out", &out, &own];
        assert_clean(&mut program(&[&args[..], &EMULATED].concat()));
    }
}

/// Trains on the built-in digits. Returns the standard output.
fn train(options: &[&str]) -> String {
    succeeds(&level2(&[&SHORT[..], &EMULATED, &["--epochs", "2"], options].concat()))
}

/// The lines with losses and the accuracy.
fn numbers(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| line.contains("loss ") || line.contains("accuracy")).collect()
}

#[test]
fn ten_solutions_train_the_network() {
    let folder = solved(&STEP_PUZZLES, Language::CudaC);
    let printed = train(&[&option(&folder)]);
    let accuracy = printed.lines().find_map(|line| line.strip_prefix("test accuracy ")).unwrap();
    let percent = accuracy.split(" (").next().unwrap();
    assert!(printed.ends_with(&format!("10 of 10 kernels are yours: {percent}\n")), "{printed}");
    // The kernels add in the same order as the book's.
    assert_eq!(numbers(&printed), numbers(&train(&[])));
}

#[test]
fn without_a_solution_the_book_s_kernels_train() {
    let folder = solved(&[], Language::CudaC);
    let own = option(&folder);
    let printed = train(&[&own]);
    assert!(printed.contains("not begun: cargo run -p puzzles -- relu --dir "), "{printed}");
    assert!(printed.contains("\n0 of 10 kernels are yours: "), "{printed}");
    assert_eq!(numbers(&printed), numbers(&train(&[])));
    let bits = |options: &[&str]| -> Vec<_> {
        let tensors = dump("softmax", options).1.tensors.into_iter();
        tensors.flat_map(|tensor| tensor.data).map(f64::to_bits).collect()
    };
    assert_eq!(bits(&[&own]), bits(&[]));
}

/// A reader's folder with correct solutions, except that relu's backward pass has the wrong sign.
fn one_wrong() -> TempDir {
    let folder = solved(&STEP_PUZZLES, Language::CudaC);
    edit(&folder, "relu-backward", ["> 0.0f ?", "< 0.0f ?"]);
    folder
}

#[test]
fn a_wrong_kernel_is_named_and_not_used() {
    let folder = one_wrong();
    let (printed, comparison) = compared("softmax", &[&option(&folder)]);
    assert!(comparison.agrees(), "{:?}", comparison.first_divergence);
    assert_eq!(printed.matches(" yours, in ").count(), 9, "{printed}");
    let line = printed.lines().find(|line| line.contains("relu-backward")).unwrap();
    let command = format!(
        "the book's; not yours (wrong numbers): cargo run -p puzzles -- relu-backward --check --dir {}",
        folder.path().display()
    );
    assert!(line.ends_with(&command), "{line}");
}

#[test]
fn tensor_diff_names_a_wrong_kernel_that_is_used_unchecked() {
    let folder = one_wrong();
    let (printed, comparison) = compared("softmax", &[&option(&folder), "--unchecked"]);
    assert!(printed.contains("yours, in CUDA C, unchecked (wrong numbers)\n"), "{printed}");
    let first = comparison.first_divergence.unwrap();
    assert_eq!(first.tensor, TensorName::Dz(1));
    assert_eq!(first.operation.unwrap(), "dz1 = relu_backward(da1, z1)");
}

/// The book's kernel computes the loss, even though the same operation (a sum over the batch) also
/// computes the bias's gradient.
#[test]
fn a_wrong_bias_gradient_leaves_the_loss() {
    let folder = solved(&STEP_PUZZLES, Language::CudaC);
    edit(&folder, "bias-gradient", ["db[j] = sum;", "db[j] = 2.0f * sum;"]);
    let (_, comparison) = compared("softmax", &[&option(&folder), "--unchecked"]);
    assert_eq!(comparison.first_divergence.unwrap().tensor, TensorName::Db(2));
}

#[test]
fn a_kernel_with_other_parameters_is_never_used() {
    let folder = solved(&STEP_PUZZLES, Language::CudaC);
    edit(&folder, "relu", ["unsigned n, const float *z", "const float *z, unsigned n"]);
    let (printed, comparison) = compared("softmax", &[&option(&folder), "--unchecked"]);
    assert!(comparison.agrees());
    assert!(printed.contains("the book's; not yours (does not compile): "), "{printed}");
}

/// `z` is written before `x` is read: that is right for the puzzle, where they are two buffers.
#[test]
fn the_bias_may_be_added_after_a_first_store() {
    let folder = solved(&STEP_PUZZLES, Language::CudaC);
    edit(
        &folder,
        "broadcast",
        [
            "z[i * n + j] = x[i * n + j] + b[j];",
            "z[i * n + j] = b[j]; z[i * n + j] += x[i * n + j];",
        ],
    );
    let (printed, comparison) = compared("softmax", &[&option(&folder)]);
    assert!(comparison.agrees(), "{:?}", comparison.first_divergence);
    assert_eq!(printed.matches(" yours, in ").count(), 10, "{printed}");
}

#[test]
fn a_missing_folder_is_an_error_with_the_next_command() {
    let folder = TempDir::new().unwrap();
    let missing = path(&folder, "nothing");
    let output = level2(&[&SHORT[..], &EMULATED, &[&format!("--own-kernels={missing}")]].concat());
    let command = format!("`cargo run -p puzzles -- product --dir {missing}`");
    fails(&output, 2, &["there is no folder", &command]);
}

#[test]
fn a_file_in_place_of_a_folder_is_an_error() {
    let folder = solved(&["relu"], Language::CudaC);
    let file = path(&folder, "relu.cu");
    let output = level2(&[&SHORT[..], &EMULATED, &[&format!("--own-kernels={file}")]].concat());
    fails(&output, 2, &["--own-kernels takes a folder", "is a file"]);
}

#[test]
fn a_kernel_without_the_name_of_a_puzzle_is_reported() {
    let folder = solved(&["relu", "guard"], Language::CudaC);
    let file = path(&folder, "relu_backward.cu");
    fs::copy(folder.path().join("relu.cu"), &file).unwrap();
    let output = level2(&[&SHORT[..], &EMULATED, &[&option(&folder)]].concat());
    let note = format!("note: {file} is not used, because no puzzle has this name\n");
    assert_eq!(text(&output.stderr), note);
}

#[test]
fn options_that_choose_other_kernels_are_refused() {
    for other in ["--kernels=per-sample", "--products=coalesced"] {
        let output = level2(&[&SHORT[..], &EMULATED, &["--own-kernels", other]].concat());
        fails(&output, 2, &["cannot be used with"]);
    }
}
