//! Tests of files with parameters, and of drawings of graphs.

use std::fs;
use std::path::Path;
use std::process::Command;

use autograd::{Activation, Element, Mlp, Module, Result, Tensor, graph, load, save};
use data::{Generator, Purpose};

use crate::neuron;

fn network<T: Element>(seed: u64, sizes: &[usize]) -> Mlp<T> {
    Mlp::new(sizes, Activation::Tanh, &mut Generator::new(seed, Purpose::Parameters, 0))
}

fn values<T: Element>(network: &Mlp<T>) -> Vec<Vec<T>> {
    network.parameters().iter().map(|(_, tensor)| tensor.to_vec().unwrap()).collect()
}

#[test]
fn saved_parameters_load_bit_for_bit() {
    fn check<T: Element>() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.json", "a.safetensors"] {
            let path = folder.path().join(name);
            let (first, second) = (network::<T>(1, &[5, 4, 3]), network::<T>(2, &[5, 4, 3]));
            assert_ne!(values(&first), values(&second));
            save(&path, &first).unwrap();
            load(&path, &second).unwrap();
            assert_eq!(values(&first), values(&second), "{name}");
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn unsuitable_files_are_rejected_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let own = network::<f32>(1, &[5, 4, 3]);
    let before = values(&own);
    let fails = |path: &Path, expected: &str| {
        let error = load(path, &own).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()) && error.contains(expected), "{error}");
        assert_eq!(values(&own), before);
    };
    for (name, truncated) in [
        ("a.json", "it is not a JSON file (EOF"),
        ("a.safetensors", "it is not a safetensors file (incomplete metadata"),
    ] {
        let path = folder.path().join(name);
        fails(&path, "it can't be read");
        save(&path, &network::<f32>(2, &[5, 6, 3])).unwrap();
        fails(&path, "w1 has the shape [6, 5], not [4, 5]");
        save(&path, &network::<f32>(2, &[5, 4, 3, 2])).unwrap();
        fails(&path, "the network has no parameter");
        save(&path, &network::<f32>(2, &[5, 4])).unwrap();
        fails(&path, "the parameter w2 is missing");
        save(&path, &network::<f64>(2, &[5, 4, 3])).unwrap();
        fails(&path, "64");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        fails(&path, truncated);
    }
    fails(&folder.path().join("a.bin"), "its name has to end in .json or .safetensors");
    let wrong = network::<f32>(1, &[2, 1]);
    wrong.layers[0].b.assign(&autograd::Array::new(&[1], vec![f32::NAN]).unwrap()).unwrap();
    let path = folder.path().join("nan.json");
    assert!(save(&path, &wrong).unwrap_err().to_string().contains("b1 contains NaN"));
    assert!(!path.exists());
}

/// The levels and PyTorch (if it is installed) can read the files.
#[test]
fn other_programs_read_saved_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let preset = training::Preset::find("small").unwrap();
    let own = network::<f32>(1, &preset.network.sizes);
    save(&path, &own).unwrap();
    let read = training::checkpoint::load(&path, &preset.network).unwrap();
    assert_eq!(read.layers[0].w.data(), values(&own)[0]);

    let script = "import sys, torch\nfrom safetensors.torch import load_file\n\
                  t = load_file(sys.argv[1])\nprint(t['w1'].double().sum().item())";
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let output = Command::new(python).args(["-c", script, path.to_str().unwrap()]).output();
    match output {
        Ok(output) if output.status.success() => {
            let sum: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
            let expected: f64 = values(&own)[0].iter().map(|&v| f64::from(v)).sum();
            assert!((sum - expected).abs() < 1e-9, "{sum} {expected}");
        }
        _ => skipped::skip("no Python with torch and safetensors (PYTHON names another one)"),
    }
}

#[test]
fn a_graph_is_drawn() -> Result<()> {
    let w = Tensor::new([1, 2], vec![0.5, -1.0]).requires_grad().named("w");
    let x = Tensor::new([3, 2], vec![1.0; 6]).named("x\"");
    let z = x.matmul(&w.transpose()).named("z");
    let loss = (&z * &z).sum().named("loss");
    assert_eq!(
        graph::dot(&loss)?,
        "digraph {\n  rankdir=TB;\n  \
         n0 [label=\"w\\n[1, 2]\", shape=box, style=filled, fillcolor=gold];\n  \
         n1 [label=\"x'\\n[3, 2]\", shape=box, style=filled, fillcolor=lightgray];\n  \
         n2 [label=\"transpose\\n[2, 1]\", shape=ellipse, style=filled, fillcolor=white];\n  \
         n0 -> n2;\n  \
         n3 [label=\"z = matmul\\n[3, 1]\", shape=ellipse, style=filled, fillcolor=white];\n  \
         n1 -> n3;\n  n2 -> n3;\n  \
         n4 [label=\"mul\\n[3, 1]\", shape=ellipse, style=filled, fillcolor=white];\n  \
         n3 -> n4;\n  n3 -> n4;\n  \
         n5 [label=\"loss = sum\\n[]\", shape=ellipse, style=filled, fillcolor=white];\n  \
         n4 -> n5;\n}\n"
    );
    let svg = graph::svg(&loss)?;
    assert!(svg.trim_start().starts_with("<?xml") || svg.trim_start().starts_with("<svg"), "{svg}");
    for text in ["matmul", "loss", "[3, 1]", "fill=\"white\"/>"] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    Ok(())
}

#[test]
fn a_graph_that_is_too_large_is_not_drawn() {
    let mut x = Tensor::scalar(1.0).requires_grad();
    for _ in 0..600 {
        x = x + 1.0;
    }
    let error = graph::dot(&x).unwrap_err().to_string();
    assert!(error.contains("more than 500 nodes"), "{error}");
    assert!(graph::svg(&x).is_err());
    let wrong = Tensor::scalar(1.0).reshape([2]);
    assert!(graph::dot(&wrong).unwrap_err().to_string().contains("reshape"));
}

/// The book shows the drawing of the example `first_steps`, which writes it to `target/neuron.svg`.
#[test]
fn the_drawing_in_the_book_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/autograd/neuron.svg");
    let drawn = graph::svg(&neuron::neuron().loss).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), drawn, "copy target/neuron.svg to the book");
}
