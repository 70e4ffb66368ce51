//! Tests of the heuristic's candidates: their attributes, and the results of their products.

use std::ffi::c_int;

use cudarc::cublaslt::sys::{self, cublasLtMatmulHeuristicResult_t as HeuristicResult};

use crate::messages::Messages;
use crate::support::{Call, CublasLt, Shape, Type};

/// Returns up to `most` algorithms for this workspace size.
fn candidates(
    lt: &CublasLt,
    call: &Call,
    workspace: usize,
    requested: c_int,
) -> Vec<HeuristicResult> {
    let (status, results) = call.heuristic(lt, workspace, requested);
    assert_eq!(status, 0);
    results
}

fn attribute(result: &HeuristicResult, which: sys::cublasLtMatmulAlgoConfigAttributes_t) -> i32 {
    let (mut value, mut written) = (0_i32, 0);
    // SAFETY: the attribute and the buffer have 4 bytes.
    let status = unsafe {
        let place = (&raw mut value).cast();
        sys::cublasLtMatmulAlgoConfigGetAttribute(
            &raw const result.algo,
            which,
            place,
            4,
            &raw mut written,
        )
    };
    assert_eq!((status as u32, written), (0, 4));
    value
}

fn parts(result: &HeuristicResult) -> i32 {
    attribute(result, sys::cublasLtMatmulAlgoConfigAttributes_t::CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
}

const SIZES: (usize, usize, usize) = (20, 24, 300);
const WORKSPACE: usize = 1 << 20;

fn value(index: usize) -> f64 {
    let value = ((index * 7919 + 13) % 2003) as f64 / 1001.0 - 1.0;
    Type::F32.round(value)
}

#[test]
fn all_candidates_compute_the_product() {
    let lt = CublasLt::new();
    let (m, n, k) = SIZES;
    let (a, b): (Vec<f64>, Vec<f64>) =
        ((0..m * k).map(value).collect(), (0..k * n).map(|i| value(3 * i + 1)).collect());
    let c: Vec<f64> = (0..m * n).map(|i| value(5 * i)).collect();
    let (a_memory, b_memory) = (lt.numbers(Type::F32, &a), lt.numbers(Type::F32, &b));
    let c_memory = lt.numbers(Type::F32, &c);
    let workspace = lt.put(&vec![0_u8; WORKSPACE]);
    let shapes = [(m, k), (k, n), (m, n), (m, n)].map(|(r, c)| Shape::new(Type::F32, r, c));
    for (compute, unit) in [
        (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, 2_f64.powi(-24)),
        (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, 2_f64.powi(-17)),
    ] {
        let d = lt.numbers(Type::F32, &vec![0.0; m * n]);
        let addresses = [&a_memory, &b_memory, &c_memory, &d].map(|memory| lt.address(memory));
        let call = Call { compute, scalars: (1.5, 0.5), ..Call::new(shapes, addresses) };
        let all = candidates(&lt, &call, WORKSPACE, 20);
        assert_eq!(all.iter().map(parts).collect::<Vec<_>>(), [1, 1, 1, 1, 4, 4, 4, 4]);
        // Without a workspace, there are no candidates with split sums. There are never more
        // candidates than requested.
        assert_eq!(candidates(&lt, &call, 0, 20).len(), 4);
        assert_eq!(candidates(&lt, &call, WORKSPACE, 3).len(), 3);
        let mut results: Vec<Vec<f64>> = Vec::new();
        for result in &all {
            let split = parts(result) > 1;
            assert_eq!(result.workspaceSize, if split { 4 * m * n * 4 } else { 0 });
            assert_eq!(call.multiply(&lt, Some(result), (lt.address(&workspace), WORKSPACE)), 0);
            let values = lt.get_numbers(Type::F32, &d);
            for (i, &value) in values.iter().enumerate() {
                let (row, column) = (i % m, i / m);
                let products = (0..k).map(|l| a[l * m + row] * b[column * k + l]);
                let size: f64 = products.clone().map(f64::abs).sum();
                let expected = 1.5 * products.sum::<f64>() + 0.5 * c[i];
                let bound = 1.5 * (k as f64) * unit * size + 1e-6;
                assert!((value - expected).abs() <= bound, "{value}, not {expected}");
            }
            results.push(values);
        }
        // The tile doesn't change the result, and the split only changes the result's last digits.
        assert!(results[..4].iter().all(|result| *result == results[0]));
        assert!(results[4..].iter().all(|result| *result == results[4]));
        assert_ne!(results[0], results[4]);
        // A result of 20 by 24 elements needs one tile of 32 by 32, or four of 16 by 16.
        let waves: Vec<f32> = all.iter().map(|result| result.wavesCount).collect();
        assert_eq!(waves[3], 4.0 * waves[2]);
        assert_eq!(waves[7], 4.0 * waves[3]);
    }
}

#[test]
fn split_sums_without_a_workspace_are_refused() {
    let lt = CublasLt::new();
    let messages = Messages::capture();
    let (m, n, k) = SIZES;
    let shapes = [(m, k), (k, n), (m, n), (m, n)].map(|(r, c)| Shape::new(Type::F32, r, c));
    let memory: Vec<_> = shapes
        .iter()
        .map(|shape| lt.numbers(Type::F32, &vec![1.0; shape.rows * shape.columns]))
        .collect();
    let addresses = std::array::from_fn(|i| lt.address(&memory[i]));
    let call = Call::new(shapes, addresses);
    let all = candidates(&lt, &call, WORKSPACE, 8);
    let workspace = lt.put(&[0_u8; 64]);
    assert_eq!(call.multiply(&lt, Some(&all[7]), (0, 0)), 7);
    messages.expect(&["algo splits its sums into 4 parts, for which it needs 7680 bytes"]);
    assert_eq!(call.multiply(&lt, Some(&all[7]), (lt.address(&workspace), 64)), 7);
    messages.expect(&["the workspace has 64 bytes"]);
}

#[test]
fn capabilities_list_tiles_and_stages() {
    let lt = CublasLt::new();
    let shapes = [Shape::new(Type::F32, 4, 4); 4];
    let memory = lt.numbers(Type::F32, &[1.0; 32]);
    let [a, d] = [0, 64].map(|offset| lt.address(&memory) + offset);
    let results = candidates(&lt, &Call::new(shapes, [a, a, d, d]), 0, 8);
    let tile_id = sys::cublasLtMatmulAlgoConfigAttributes_t::CUBLASLT_ALGO_CONFIG_TILE_ID;
    let tiles: Vec<u32> =
        results.iter().map(|result| attribute(result, tile_id).unsigned_abs()).collect();
    use sys::cublasLtMatmulAlgoCapAttributes_t::*;
    for (which, expected) in
        [(CUBLASLT_ALGO_CAP_TILE_IDS, tiles.as_slice()), (CUBLASLT_ALGO_CAP_STAGES_IDS, &[0])]
    {
        let list = |room: usize| {
            let (mut values, mut written) = (vec![99_u32; 8], 0_usize);
            // SAFETY: there is space for 8 numbers, which is also the requested size.
            let status = unsafe {
                sys::cublasLtMatmulAlgoCapGetAttribute(
                    &raw const results[0].algo,
                    which,
                    values.as_mut_ptr().cast(),
                    room,
                    &raw mut written,
                )
            };
            assert_eq!(status as u32, 0);
            (written, values)
        };
        // With a size of 0, the required number of bytes is returned.
        assert_eq!(list(0), (4 * expected.len(), vec![99; 8]));
        let (written, values) = list(32);
        assert_eq!((written / 4, &values[..expected.len()]), (expected.len(), expected));
        assert_eq!(values[expected.len()..], vec![99; 8 - expected.len()]);
        assert_eq!(list(4), (4, [&expected[..1], &[99; 7]].concat()));
    }
}
