//! Tests of batches that aren't the samples of MNIST that their headers name: two dumps agree on them, and only
//! a comparison with MNIST's files finds the difference.

use std::path::Path;
use std::process::Command;

use tensor::{Dump, Loss, Samples};

use crate::support::Start;

const ROWS: [u32; 3] = [4, 0, 2];
const LABELS: [u8; 5] = [7, 1, 0, 3, 9];

/// The pixels of one of five images of 2 × 2 pixels.
fn image(row: u32) -> [u8; 4] {
    [0, 255, row as u8, 100 + 10 * row as u8]
}

/// Writes MNIST's two files, not compressed, with five images.
fn write_mnist(folder: &Path) {
    let images: Vec<u8> = (0..5).flat_map(image).collect();
    for (name, lengths, bytes) in [
        ("train-images-idx3-ubyte", &[5_u32, 2, 2][..], &images[..]),
        ("train-labels-idx1-ubyte", &[5], &LABELS),
    ] {
        let mut file = vec![0, 0, 8, lengths.len() as u8];
        file.extend(lengths.iter().flat_map(|n| n.to_be_bytes()));
        file.extend_from_slice(bytes);
        std::fs::write(folder.join(name), file).unwrap();
    }
}

/// The start of a step on these samples.
fn start() -> Start {
    let mut start = Start::new(&[4, 3, 10], 3, Loss::CrossEntropy, 1);
    let normalised = |pixel: u8| (f32::from(pixel) / 255.0 - 0.1307) / 0.3081;
    start.x = ROWS.into_iter().flat_map(image).map(normalised).collect();
    start.y.fill(0.0);
    for (i, row) in ROWS.into_iter().enumerate() {
        start.y[i * 10 + usize::from(LABELS[row as usize])] = 1.0;
    }
    start
}

/// Writes both dumps of a step and MNIST into a folder, and returns the program's exit status and output.
fn diff(start: &Start, rows: &[u32], options: &[&str], mnist: Option<&str>) -> (i32, String) {
    diff_normalised(start, ("mean-std", rows), options, mnist)
}

/// As [`diff`], with the normalisation that the headers name.
fn diff_normalised(
    start: &Start,
    (normalisation, rows): (&str, &[u32]),
    options: &[&str],
    mnist: Option<&str>,
) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    write_mnist(folder.path());
    for (name, mut dump) in [("a.json", start.reference()), ("b.json", start.candidate())] {
        let normalisation = normalisation.to_owned();
        dump.header.mnist = Some(Samples { normalisation, rows: rows.to_vec() });
        Dump::write(&dump, &folder.path().join(name)).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensor-diff"));
    command.args(["a.json", "b.json"]).args(options).current_dir(folder.path());
    match mnist {
        Some(mnist) => command.env("MNIST_DIR", folder.path().join(mnist)),
        None => command.env_remove("MNIST_DIR"),
    };
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[test]
fn the_samples_of_a_header_are_compared_with_mnist() {
    let (code, said) = diff(&start(), &ROWS, &[], Some("."));
    assert_eq!(code, 0, "{said}");

    // Sample 1 in place of 0, as if samples were counted from 1.
    let (code, said) = diff(&start(), &[4, 1, 2], &[], Some("."));
    assert_eq!(code, 1, "{said}");
    let sentences = [
        "the batch is not made of the samples that its header names:",
        "b.json, step 0: x differs from MNIST: x[1, 2] is -0.42421",
        ", and sample 1 has -0.41148",
        " there, as in 2 of 12 elements",
        "a.json, step 0: y differs from MNIST: y[1, 1] is 0, and sample 1 has 1 there, as in 2 of 30 elements",
    ];
    assert!(sentences.iter().all(|sentence| said.contains(sentence)), "{said}");
}

/// A transposed image in both dumps: they agree, but neither has MNIST's samples.
#[test]
fn two_dumps_that_agree_may_both_have_other_samples() {
    let mut start = start();
    start.x.swap(1, 2);
    let (code, said) = diff(&start, &ROWS, &[], None);
    assert_eq!(code, 0, "{said}");
    let (code, said) = diff(&start, &ROWS, &["--json"], Some("."));
    assert_eq!(code, 1, "{said}");
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["verdict"], "differ");
    let sentences = report["mnist_differences"].as_array().unwrap();
    assert_eq!(sentences.len(), 2);
    assert!(sentences[0].as_str().unwrap().contains("x[0, 1]"), "{said}");
}

#[test]
fn samples_that_cannot_be_compared_are_refused_or_reported() {
    let (code, said) = diff(&start(), &ROWS, &[], Some("none"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("can't compare the samples with MNIST, which MNIST_DIR names"), "{said}");
    for (rows, reason) in [
        (&[4, 0, 5][..], "its header names sample 5, and MNIST has 5"),
        (&[4, 0], "x has the shape [3, 4], and its header names 2 samples of MNIST"),
    ] {
        let (code, said) = diff(&start(), rows, &[], Some("."));
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(reason), "{said}");
    }
    let (code, said) = diff_normalised(&start(), ("squared", &ROWS), &[], Some("."));
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("its header names the normalisation squared, which is neither"),
        "{said}"
    );
    // The right samples with a normalisation that differs from the header's.
    let (code, said) = diff_normalised(&start(), ("unit", &ROWS), &[], Some("."));
    assert!(code == 1 && said.contains("in 12 of 12 elements"), "{said}");
}
