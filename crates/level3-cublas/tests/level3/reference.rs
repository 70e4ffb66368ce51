//! Tests of this level's particular features: autotuned products, tensors that an epilogue consumes,
//! TF32, and graphs. The conformance suite compares every fixture with PyTorch's dump.

use level3_cublas::{Gemm, Setup};
use tensor::TensorName;
use tensor_diff::Verdict;
use test_support::{gpu, reference};
use training::{Edge, Preset};

use crate::support::{GEMMS, not_materialised, step};

/// The fixtures, except for the one with z exactly 0: cuBLASLt's mask counts such a z as positive.
fn without_kink() -> impl Iterator<Item = Preset> {
    Preset::fixtures().into_iter().filter(|preset| preset.edge != Some(Edge::Kink))
}

/// Runs with `--autotune`, so every algorithm that autotuning may choose has to be correct.
#[test]
fn every_fixture_agrees_with_autotuned_products() {
    let gpu = gpu();
    for preset in without_kink() {
        let reference = reference(&preset.name);
        for (tf32, graph) in [(false, false), (true, true)] {
            let setup = Setup { autotune: true, tf32, graph, ..Setup::default() };
            let found = step(&gpu, &preset, setup, true);
            let comparison = tensor_diff::compare(&reference, &found, 1.0);
            assert!(comparison.agrees(), "{}, {setup:?}: {comparison:?}", preset.name);
        }
    }
}

/// Exactly the tensors that an epilogue consumes are listed as not materialised.
#[test]
fn tensors_that_are_never_written_are_listed() {
    let gpu = gpu();
    for preset in without_kink() {
        let of = |gemm| step(&gpu, &preset, Setup { gemm, ..Setup::default() }, false);
        assert!(not_materialised(&of(Gemm::Cublas)).is_empty());
        let found = of(Gemm::Cublaslt);
        let expected: &[&str] = match preset.name.as_str() {
            "three-layer" => &["z1", "z2", "da2", "da1"],
            _ => &["z1", "da1"],
        };
        assert_eq!(not_materialised(&found), expected, "{}", preset.name);
        let comparison = tensor_diff::compare(&reference(&preset.name), &found, 1.0);
        let row = comparison.rows.get(TensorName::Z(1)).unwrap();
        assert_eq!(row.verdict, Verdict::NotMaterialised);
        assert_eq!(comparison.rows.count(Verdict::NotMaterialised), expected.len());
    }
}

/// Results with TF32 exceed single precision's tolerance, which proves that TF32 was used.
#[test]
fn tf32_differs_from_single_precision() {
    let gpu = gpu();
    // In this network, the second product sums only 32 terms, and its rows have a length that tensor cores support.
    let preset = Preset::find("three-layer").unwrap();
    for gemm in GEMMS {
        let setup = Setup { gemm, tf32: true, ..Setup::default() };
        let mut found = step(&gpu, &preset, setup, false);
        found.header.dtype = tensor::Dtype::F32;
        let comparison = tensor_diff::compare(&reference(&preset.name), &found, 1.0);
        assert!(!comparison.agrees(), "{gemm:?}: {comparison:?}");
    }
}

/// A graph replays the same launches, so the bits are the same.
#[test]
fn a_graph_changes_no_bit() {
    let gpu = gpu();
    for preset in Preset::fixtures() {
        for (gemm, tf32) in GEMMS.into_iter().flat_map(|gemm| [(gemm, false), (gemm, true)]) {
            let of = |graph, fused| {
                let setup = Setup { gemm, tf32, graph, ..Setup::default() };
                step(&gpu, &preset, setup, fused).tensors
            };
            let launched = of(false, false);
            assert!(launched == of(true, false) && launched == of(true, true), "{}", preset.name);
        }
    }
}
