//! What the table of launches and bytes says.

use level3_cublas::traffic::{steps, table};
use tensor::{Loss, Network};
use test_support::gpu;

#[test]
fn epilogues_save_launches_and_bytes() {
    let network = Network { sizes: vec![784, 30, 10], loss: Loss::Bce };
    let steps = steps(&gpu(), &network, 256).unwrap();
    let [level2, cublas, cublaslt] = &steps[..] else { panic!("{steps:?}") };
    // The same operations, of which cuBLAS computes some.
    assert_eq!(level2.operations, cublas.operations);
    assert_eq!(level2.launches(), 17);
    // add_bias twice, relu, relu_backward, and sum_batch twice are epilogues.
    assert_eq!(cublaslt.launches(), 11);
    let of = |step: &level3_cublas::traffic::Step, name: &str| {
        step.operations.iter().find(|of| of.operation == name).copied()
    };
    for name in ["add_bias", "relu", "relu_backward", "sum_batch", "matmul_a_b"] {
        assert!(of(level2, name).is_some() && of(cublaslt, name).is_none(), "{name}");
    }
    // What is no longer moved. z and a of 256 · 30, z of 256 · 10, and b: add_bias reads and writes
    // z, relu reads it; relu_backward reads z and da and sum_batch reads dz, of both layers. The
    // product writes a instead of z and dz instead of da. A mask of 128 bits is written and read.
    let (hidden, output) = (256 * 30, 256 * 10);
    let numbers = (2 * hidden + 2 * output) // add_bias
        + 2 * hidden                        // relu
        + 3 * hidden                        // relu_backward
        + (hidden + output); // sum_batch
    let masks = 2 * 256 * 128 / 8;
    assert_eq!(level2.bytes() - cublaslt.bytes(), 4 * numbers - masks);
}

#[test]
fn the_table_has_a_row_for_every_operation() {
    let network = Network { sizes: vec![20, 5, 3], loss: Loss::SquaredError };
    let lines = table(&gpu(), &network, 4).unwrap();
    assert!(lines[0].contains("20-5-3") && lines[0].contains("batch of 4"), "{}", lines[0]);
    assert!(lines[1].trim().starts_with("level 2") && lines[1].ends_with("--gemm cublaslt"));
    for name in ["add_bias", "matmul_a_b+DRELU_BGRAD", "within the device", "together"] {
        assert!(lines.iter().any(|line| line.starts_with(name)), "{name}: {lines:#?}");
    }
    assert!(table(&gpu(), &network, 0).unwrap().is_empty());
}
