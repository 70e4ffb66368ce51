//! Tests of the command line: its output, its files, and its errors. They run the program, without network
//! and without MNIST.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use test_support::program::{json, path, program, succeeds, text};

/// Runs the program on the built-in digits, without the variable `MNIST_DIR`.
pub(crate) fn level1(args: &[&str]) -> Output {
    program(env!("CARGO_BIN_EXE_level1-cpu"), args).output().expect("the program starts")
}

/// Runs the program, and expects this exit code and these words in its error message.
#[track_caller]
fn fails(args: &[&str], code: i32, words: &[&str]) {
    test_support::program::fails(&level1(args), code, words);
}

#[test]
fn training_prints_its_losses_and_writes_report_parameters_and_pictures() {
    let folder = TempDir::new().unwrap();
    let (report, model, pictures) =
        (path(&folder, "r.json"), path(&folder, "m.safetensors"), path(&folder, "pictures"));
    let shorter = ["--data", "digits", "--samples", "2560", "--sizes", "784-20-10"];
    let files = ["--json", &report, "--save", &model, "--plot", &pictures];
    let output = level1(&[shorter, files].concat());
    let said = succeeds(&output);
    assert!(said.starts_with("level1-cpu on cpu, preset small\n"), "{said}");
    assert!(said.contains("built-in digits: 2560 training"), "{said}");
    assert!(said.contains("batch      0   loss 0."), "{said}");
    assert!(said.contains("(") && said.contains("of 9984, full batches only)"), "{said}");

    let report = json(&report);
    assert_eq!(report["level"], "level1-cpu");
    assert_eq!(report["preset_unchanged"], false, "--samples and --sizes were given");
    assert_eq!(report["samples"], 2560);
    assert_eq!(report["stop_reason"], "epochs");
    let losses = report["losses"].as_array().unwrap();
    let batches: Vec<u64> = losses.iter().map(|l| l["batch"].as_u64().unwrap()).collect();
    assert_eq!(batches, [0, 9], "every 20th batch and the last one");
    let first = losses[0]["loss"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&first), "{first}");
    for name in ["curve.svg", "training.svg", "predictions.svg"] {
        let svg = fs::read_to_string(Path::new(&pictures).join(name)).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
    }

    let output = level1(&["predict", "--data", "digits", "--load", &model, "--count", "3"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 4);
    let more = ["--data", "digits", "--samples", "256", "--load", &model];
    let output = level1(&[&more[..], &["--sizes", "784-20-10"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    fails(&more, 2, &["w1 has the shape [20, 784]", "784-30-10"]);
}

#[test]
fn a_former_name_means_the_same_preset() {
    let folder = TempDir::new().unwrap();
    let dump = |preset: &str| {
        let out = path(&folder, &format!("{preset}.json"));
        let args = ["dump", "--data", "digits", "--preset", preset, "--inputs-only", "--out", &out];
        succeeds(&level1(&args));
        fs::read(out).unwrap()
    };
    assert_eq!(dump("ptx-mnist"), dump("race"));
}

#[test]
fn runs_with_the_same_seed_are_equal_and_others_differ() {
    let losses = |seed: &str| {
        let args = ["--data", "digits", "--samples", "1024", "--report-every", "1", "--seed", seed];
        let said = text(&level1(&args).stdout);
        said.lines().filter(|line| line.starts_with("batch")).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(losses("1"), losses("1"));
    assert_ne!(losses("1"), losses("2"));
}

#[test]
fn divergence_is_reported() {
    let args = ["--data", "digits", "--preset", "medium", "--samples", "4000", "--epochs", "1"];
    for form in ["textbook", "fast"] {
        let args = [&args[..], &["--learning-rate", "1e30", "--form", form]].concat();
        fails(&args, 1, &["training diverged: at batch 1 (epoch 1), z2 is the first tensor"]);
    }
}

#[test]
fn files_that_can_not_be_written_are_detected_before_training() {
    let folder = TempDir::new().unwrap();
    let absent = path(&folder, "absent/r.json");
    fails(&["--json", &absent], 1, &["can't write", "absent/r.json", "does not exist"]);
    fails(&["--save", &path(&folder, "")], 1, &["can't write", "it is a folder"]);
    let file = path(&folder, "file");
    fs::write(&file, "").unwrap();
    fails(&["--plot", &file], 1, &["can't write", "it is not a folder: name one for the pictures"]);
    fails(&["dump", "--preset", "softmax", "--out", &absent], 1, &["can't write"]);
}

#[test]
fn a_full_disk_is_an_error() {
    if Path::new("/dev/full").exists() {
        let args = ["dump", "--preset", "softmax", "--out", "/dev/full"];
        fails(&args, 1, &["can't write the dump /dev/full", "No space left"]);
    }
}

#[test]
fn usage_errors_name_the_remedy() {
    fails(&["--preset", "nosuch"], 2, &["nosuch", "small"]);
    fails(&["--preset", "softmax"], 2, &["softmax is a fixture for `dump`", "small"]);
    fails(&["--batch-size", "0"], 2, &["at least 1"]);
    fails(&["--epochs", "-1"], 2, &["at least 1"]);
    fails(&["bench", "--runs", "-1"], 2, &["at least 1"]);
    fails(&["--epochs", "two"], 2, &["`two` is not a whole number"]);
    fails(&["dump", "--step", "two"], 2, &["`two` is not a whole number"]);
    fails(&["--learning-rate", "NaN"], 2, &["finite number above 0"]);
    fails(&["--sizes", "784"], 2, &["at least inputs and outputs"]);
    fails(&["--sizes", "100-10"], 2, &["784 pixels", "--sizes"]);
    fails(&["--stop-at-accuracy", "0.9"], 2, &["--evaluate-every"]);
    fails(&["dump", "--preset", "softmax"], 2, &["--out"]);
    let mut command = program(env!("CARGO_BIN_EXE_level1-cpu"), &["predict"]);
    let output = command.env("MNIST_DIR", "folder").output().unwrap();
    let usage = "level1-cpu predict [OPTIONS] --load <FILE> [PNG]...\n";
    let said = test_support::program::fails(&output, 2, &[usage]);
    assert!(!said.contains("--data-dir"), "{said}");
    let long = ["dump", "--preset", "softmax", "--steps", "100000", "--out", "absent.json"];
    fails(&long, 2, &["--steps 100000", "can't be read back", "dump fewer steps"]);
    // The folder has no images, so this also tests that the check comes before reading them.
    let long = ["dump", "--data-dir", "absent", "--steps", "100000", "--out", "absent.json"];
    fails(&long, 2, &["--steps 100000", "can't be read back"]);
    let few = ["--data", "digits", "--samples", "100"];
    fails(&few, 2, &["100 training images do not fill one batch of 256", "--drop-last false"]);
}

#[test]
fn the_error_for_bad_images_has_the_reason() {
    let folder = TempDir::new().unwrap();
    let name = folder.path().to_str().unwrap();
    fails(&["--data-dir", name], 2, &["train-images", name]);

    // 100 images and labels in IDX form: magic, counts, bytes.
    let images = |magic: u32, count: u32, bytes: usize| {
        let header = [magic, count, 28, 28].map(u32::to_be_bytes).concat();
        [header, vec![7; bytes]].concat()
    };
    let labels = |magic: u32, count: u32, label: u8| {
        let header = [magic, count].map(u32::to_be_bytes).concat();
        [header, vec![label; count as usize]].concat()
    };
    let good = (images(2051, 100, 100 * 784), labels(2049, 100, 3));
    let cases: [(_, _, _, &[&str]); 5] = [
        ("cut off", images(2051, 100, 99 * 784), good.1.clone(), &["train-images"]),
        ("wrong magic", images(2052, 100, 100 * 784), good.1.clone(), &["0x00000804"]),
        ("label above 9", good.0.clone(), labels(2049, 100, 10), &["label", "10"]),
        ("wrong count", good.0.clone(), labels(2049, 99, 3), &["99", "100"]),
        ("empty", Vec::new(), good.1, &["train-images"]),
    ];
    for (case, images, labels, words) in cases {
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        for set in ["train", "t10k"] {
            write(&format!("{set}-images-idx3-ubyte"), &images);
            write(&format!("{set}-labels-idx1-ubyte"), &labels);
        }
        eprintln!("case: {case}");
        fails(&["--data-dir", name], 2, words);
    }
    let write = |name: &str| fs::write(folder.path().join(name), [0x1f, 0x8b, 8, 0, 1, 2]).unwrap();
    fs::remove_file(folder.path().join("train-images-idx3-ubyte")).unwrap();
    write("train-images-idx3-ubyte.gz");
    fails(&["--data-dir", name], 2, &["train-images-idx3-ubyte.gz"]);
}

#[test]
fn an_empty_mnist_dir_is_ignored() {
    let output = Command::new(env!("CARGO_BIN_EXE_level1-cpu"))
        .args(["--data", "digits", "--samples", "256"])
        .env("MNIST_DIR", "")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The book and the conformance suite recommend these commands to compare a later step.
#[test]
fn later_steps_can_be_dumped_and_used_as_inputs() {
    let folder = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let output = level1(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    };
    let read = |name: &str| tensor::Dump::read_run(Path::new(name)).unwrap();
    // Dumps of five steps, of only the last two, of the inputs of step 3, of three steps that are repeated from their
    // inputs, and of step 3, repeated from its inputs.
    let [whole, tail, inputs, again, one] =
        ["whole.json.gz", "tail.json", "inputs.json", "again.json", "one.json"]
            .map(|name| path(&folder, name));
    // The textbook form computes the same bits phase by phase and as a step.
    let textbook = ["dump", "--form", "textbook"];
    let fixture =
        [&textbook[..], &["--preset", "bce", "--batch-size", "5", "--samples", "13"]].concat();
    run(&[&fixture[..], &["--steps", "5", "--out", &whole]].concat());
    run(&[&fixture[..], &["--step", "3", "--steps", "2", "--out", &tail]].concat());
    let (whole, tail) = (read(&whole), read(&tail));
    let sizes: Vec<usize> = whole.iter().map(|step| step.tensors[0].shape[0]).collect();
    assert_eq!(sizes, [5, 5, 3, 5, 5], "the last batch of an epoch is smaller");
    for (step, other) in whole[3..].iter().zip(&tail) {
        assert_eq!((step.header.step, &step.tensors), (other.header.step, &other.tensors));
    }
    assert_eq!((whole[0].header.steps, tail[0].header.steps), (Some(5), Some(2)));

    // One step from the inputs of step 3 gives the same numbers.
    run(&[&fixture[..], &["--step", "3", "--inputs-only", "--out", &inputs]].concat());
    run(&[&textbook[..], &["--inputs", &inputs, "--out", &one]].concat());
    assert_eq!(read(&inputs)[0].tensors.len(), 6);
    assert_eq!((read(&one)[0].header.step, &read(&one)[0].tensors), (3, &whole[3].tensors));

    // The batches and initial parameters of a run give the same run.
    let first = path(&folder, "first.json");
    run(&[&fixture[..], &["--steps", "3", "--inputs-only", "--out", &first]].concat());
    run(&[&textbook[..], &["--inputs", &first, "--steps", "3", "--out", &again]].concat());
    for (step, other) in whole.iter().zip(&read(&again)) {
        assert_eq!(step.tensors, other.tensors);
    }
    fails(&["dump", "--preset", "bce", "--steps", "0", "--out", &again], 2, &["at least 1"]);
}

#[test]
fn a_fixture_has_the_inputs_of_the_reference() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "d.json");
    for preset in ["softmax", "one-unit", "batch-37"] {
        let output = level1(&["dump", "--preset", preset, "--inputs-only", "--out", &out]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let own = tensor::Dump::read(Path::new(&out)).unwrap();
        let reference = test_support::reference(preset);
        assert_eq!(own.header.not_materialised, []);
        for tensor in &own.tensors {
            let expected = reference.get(tensor.name).unwrap().to_tensor();
            assert_eq!(tensor.to_tensor(), expected, "{preset}: {}", tensor.name);
        }
        assert!(own.tensors.len() >= 4 && own.get(tensor::TensorName::X).is_some());
    }
}

#[test]
fn inputs_of_a_dump_are_used_and_checked() {
    let folder = TempDir::new().unwrap();
    let (first, inputs, again) =
        (path(&folder, "a.json"), path(&folder, "i.json.gz"), path(&folder, "b.json"));
    let run = |args: &[&str]| {
        let output = level1(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    };
    run(&["dump", "--preset", "three-layer", "--out", &first]);
    run(&["dump", "--preset", "three-layer", "--inputs-only", "--out", &inputs]);
    run(&["dump", "--inputs", &inputs, "--out", &again]);
    assert_eq!(fs::read(&first).unwrap(), fs::read(&again).unwrap());

    let bad = PathBuf::from(path(&folder, "bad.json"));
    let bad_name = bad.to_str().unwrap();
    let dump = ["dump", "--inputs", bad_name, "--out", &again];
    fails(&dump, 2, &["can't read the dump", "bad.json"]);
    fs::write(&bad, "not json").unwrap();
    fails(&dump, 2, &["bad.json is not a dump", "name a file that `dump` wrote"]);
    let whole = fs::read(&first).unwrap();
    fs::write(&bad, &whole[..whole.len() / 2]).unwrap();
    fails(&dump, 2, &["bad.json is not a dump", "line"]);
    // Cut off after the last tensor.
    fs::write(&bad, &whole[..whole.len() - 4]).unwrap();
    fails(&dump, 2, &["bad.json is not a dump: the file is truncated", "line"]);
    let json = String::from_utf8(whole).unwrap();
    fs::write(&bad, json.replace("\"name\":\"b2\"", "\"name\":\"b9\"")).unwrap();
    fails(&dump, 2, &["bad.json", "no tensor b2"]);
}

#[test]
fn pictures_are_recognised_or_rejected() {
    let folder = TempDir::new().unwrap();
    let (model, picture) = (path(&folder, "m.safetensors"), path(&folder, "digit.png"));
    let output = level1(&["--data", "digits", "--samples", "10240", "--save", &model]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let predict = ["predict", "--load", &model, &picture];
    fails(&predict, 2, &["can't read", "digit.png"]);
    fs::write(&picture, "no picture").unwrap();
    fails(&predict, 2, &["digit.png", "not a valid PNG"]);
    fails(&["predict", "--load", &picture, &picture], 2, &["safetensors"]);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    let program = env!("CARGO_BIN_EXE_level1-cpu");
    let output = Command::new("sh")
        .args(["-c", "\"$0\" --data digits --samples 512 | head -n 1", program])
        .output()
        .unwrap();
    assert_eq!(text(&output.stderr), "");
}
