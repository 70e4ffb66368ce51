//! Tests of saved models: reproducible, readable from pipes, and rejected if they don't fit.
#![cfg(unix)]

use std::fs;

use tempfile::TempDir;
use test_support::program::{path, text};

use crate::command_line::level1;
use crate::hostile::{fails, save_model, shell};

#[test]
fn the_same_run_saves_the_same_bytes() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [first, second] = folders.each_ref().map(|folder| fs::read(save_model(folder)).unwrap());
    assert!(first == second);
}

/// A network with unsuitable shapes, or none at all.
#[test]
fn a_model_of_another_network_is_rejected() {
    let folder = TempDir::new().unwrap();
    let (model, picture) = (path(&folder, "m.safetensors"), path(&folder, "p.png"));
    let predict = ["predict", "--load", &model, &picture];
    // A safetensors file with zeros: the header's length, the header, the numbers.
    let write = |sizes: &[usize]| {
        let mut at = 0;
        let mut tensor = |name: String, shape: &[usize]| {
            let (start, end) = (at, at + 4 * shape.iter().product::<usize>());
            at = end;
            format!(
                r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
            )
        };
        let mut header = Vec::new();
        for (n, layer) in sizes.windows(2).zip(1..) {
            header.push(tensor(format!("w{layer}"), &[n[1], n[0]]));
            header.push(tensor(format!("b{layer}"), &[n[1]]));
        }
        let header = format!("{{{}}}", header.join(","));
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; at]];
        fs::write(&model, bytes.concat()).unwrap();
    };
    for (sizes, words) in [
        (&[784, 0, 10][..], "w1 has the shape [0, 784]: a layer can't be empty"),
        (&[784, 30, 11], "11, bce, but pictures of digits have 784 pixels and 10 classes"),
        (&[784, 30, 300], "but pictures of digits have 784 pixels and 10 classes"),
        (&[100, 10], "100-10, bce, but pictures of digits have 784 pixels and 10 classes"),
        (&[784], "it has no matrix w1"),
    ] {
        write(sizes);
        fails(&level1(&predict), 2, &["can't read", "m.safetensors", words]);
        fails(&level1(&predict[..3]), 2, &["m.safetensors", words]);
    }
}

/// A model may be read from a pipe, as with `<(zcat m.safetensors.gz)`.
#[test]
fn a_model_can_be_read_from_a_pipe() {
    let folder = TempDir::new().unwrap();
    let model = save_model(&folder);
    let script = "cat \"$1\" | \"$0\" predict --data digits --load /dev/stdin";
    let output = shell(script, &[&model]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
