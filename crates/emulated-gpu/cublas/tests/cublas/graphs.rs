//! Tests that captured work runs each time the graph is launched.

use cudarc::cublas::sys::{self, cublasOperation_t};

use crate::support::{Blas, Messages};

#[test]
fn a_product_is_captured_and_replayed() {
    let blas = Blas::new();
    let (a, b) = (blas.put(&[2.0f32]), blas.put(&[3.0f32]));
    let mut c = blas.put(&[1.0f32]);
    let (pa, pb, pc) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&b), blas.address(&c));
    let (one, n) = (1.0f32, cublasOperation_t::CUBLAS_OP_N);
    let operands = [(pa, 1), (pb, 1), (pc, 1)];
    // SAFETY: every operand has one element.
    let multiply = || unsafe { blas.sgemm([n; 2], [1; 3], [&raw const one; 2], operands) };
    let (status, graph) = blas.capture(multiply);
    assert_eq!(status as u32, 0);
    assert_eq!(blas.get(&c), [1.0], "nothing has run");
    for _ in 0..3 {
        graph.launch().unwrap();
    }
    assert_eq!(blas.get(&c), [19.0]);
    blas.stream.memcpy_htod(&[100.0f32], &mut c).unwrap();
    graph.launch().unwrap();
    assert_eq!(blas.get(&c), [106.0]);
}

#[test]
fn host_results_can_not_be_captured() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let x = blas.put(&[1.0f32, -2.0]);
    let px = blas.address::<_, f32>(&x);
    let mut sum = 0.0f32;
    // SAFETY: `x` has two elements, and `sum` is writable.
    let add = || unsafe { sys::cublasSasum_v2(blas.handle, 2, px, 1, &raw mut sum) };
    let (status, _) = blas.capture(add);
    messages.expect(status, 15, &["CUBLAS_POINTER_MODE_DEVICE"]);
}

/// Operands of a captured batch, including the array of pointers, are read at every launch.
#[test]
fn arrays_of_pointers_are_read_when_the_graph_runs() {
    let blas = Blas::new();
    let (a, c) = (blas.put(&[2.0f32, 3.0, 5.0]), blas.put(&[0.0f32, 0.0]));
    let (pa, pc) = (blas.address::<_, f32>(&a) as u64, blas.address::<_, f32>(&c) as u64);
    let mut inputs = blas.put(&[pa, pa + 4]);
    let outputs = blas.put(&[pc, pc + 4]);
    let (one, zero) = (1.0f32, 0.0f32);
    // SAFETY: every operand has one element.
    let (status, graph) = blas.capture(|| unsafe {
        let (inputs, outputs) = (blas.address(&inputs), blas.address(&outputs));
        let operands = [(inputs, 1), (inputs, 1), (outputs, 1)];
        blas.sgemm_batched([1; 3], [&raw const one, &raw const zero], operands, 2)
    });
    assert_eq!(status as u32, 0);
    graph.launch().unwrap();
    assert_eq!(blas.get(&c), [4.0, 9.0]);
    blas.stream.memcpy_htod(&[pa + 8, pa], &mut inputs).unwrap();
    graph.launch().unwrap();
    assert_eq!(blas.get(&c), [25.0, 4.0]);
}
