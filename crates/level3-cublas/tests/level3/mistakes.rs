//! The mistakes that are easily made between row- and column-major, and with the mask. Each is
//! caught: by the emulated library where memory or the rules are violated, by the diff where a
//! library would be content.
#![allow(unsafe_code, reason = "wrong rules are a promise that isn't kept")]

use crate::support::{GEMMS, blueprint, try_step};
use gpu::{Choice, Gpu};
use level3_cublas::column_major::{ColumnMajor, Matmul, Shape, column_major};
use level3_cublas::{Gemm, Level3, Rules, Setup};
use tensor::{Dump, TensorName};
use training::Preset;

/// A step with wrong rules, on the emulated GPU wherever these tests run.
fn with(rules: Rules, preset: &Preset, gemm: Gemm) -> Result<Dump, String> {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let setup = Setup { gemm, ..Setup::default() };
    // SAFETY: the emulated library checks what it is told before it reads or writes.
    let level = unsafe { Level3::with_rules(&gpu, &preset.network, setup, rules) };
    try_step(&mut level.unwrap(), preset, false).map_err(|error| error.to_string())
}

fn wrong(column_major: fn(Matmul, Shape) -> ColumnMajor) -> Rules {
    Rules { column_major, ..Rules::default() }
}

fn is_refused(rules: Rules, gemm: Gemm) {
    let said = with(rules, &Preset::find("softmax").unwrap(), gemm).unwrap_err();
    assert!(said.contains("CUBLAS_STATUS_INVALID_VALUE"), "{said}");
    assert!(said.contains("matmul_a"), "the product is named: {said}");
}

/// Where all matrices are square, a transposition too many fits everywhere.
fn square() -> Preset {
    let mut preset = Preset::find("softmax").unwrap();
    preset.network.sizes = vec![16, 16, 16];
    preset.batch_size = 16;
    preset
}

fn transposed_forward(matmul: Matmul, shape: Shape) -> ColumnMajor {
    let mut call = column_major(matmul, shape);
    call.first.transposed ^= matmul == Matmul::ABt;
    call
}

fn transposed_gradient(matmul: Matmul, shape: Shape) -> ColumnMajor {
    let mut call = column_major(matmul, shape);
    call.first.transposed ^= matmul == Matmul::AB;
    call
}

#[test]
fn a_wrong_transposition_is_refused_or_differs_where_it_was_made() {
    for gemm in GEMMS {
        for rules in [transposed_forward, transposed_gradient] {
            is_refused(wrong(rules), gemm);
        }
        let preset = square();
        let first = |rules, preset: &Preset| {
            let found = with(wrong(rules), preset, gemm).unwrap();
            let comparison = tensor_diff::compare(&blueprint(preset), &found, 1.0);
            comparison.first_divergence.unwrap().tensor
        };
        let (z, da) = match gemm {
            Gemm::Cublas => (TensorName::Z(1), TensorName::Da(1)),
            // These are never written, and so the next ones are the first that show it.
            Gemm::Cublaslt => (TensorName::A(1), TensorName::Dz(1)),
        };
        assert_eq!(first(transposed_forward, &preset), z, "{gemm}");
        assert_eq!(first(transposed_gradient, &preset), da, "{gemm}");
    }
}

#[test]
fn forgotten_columns_are_refused() {
    /// The operands as they are, told as if the library read rows.
    fn rows(matmul: Matmul, shape: Shape) -> ColumnMajor {
        let mut call = column_major(matmul, shape);
        for operand in [&mut call.first, &mut call.second, &mut call.result] {
            std::mem::swap(&mut operand.rows, &mut operand.columns);
            operand.ld = operand.rows;
        }
        call
    }
    for gemm in GEMMS {
        is_refused(wrong(rows), gemm);
    }
}

#[test]
fn a_wrong_leading_dimension_is_refused() {
    fn too_large(matmul: Matmul, shape: Shape) -> ColumnMajor {
        let mut call = column_major(matmul, shape);
        call.second.ld += 1;
        call
    }
    fn too_small(matmul: Matmul, shape: Shape) -> ColumnMajor {
        let mut call = column_major(matmul, shape);
        call.first.ld -= 1;
        call
    }
    fn of_the_result(matmul: Matmul, shape: Shape) -> ColumnMajor {
        let mut call = column_major(matmul, shape);
        call.result.ld = shape[0];
        call
    }
    for gemm in GEMMS {
        for rules in [too_large, too_small, of_the_result] {
            is_refused(wrong(rules), gemm);
        }
    }
}

/// A leading dimension that is wrong may fit, where the matrix is told to be narrower too. Then the
/// numbers are wrong.
#[test]
fn a_leading_dimension_that_fits_differs() {
    fn narrow(matmul: Matmul, shape: Shape) -> ColumnMajor {
        let mut call = column_major(matmul, shape);
        if matmul == Matmul::ABt && !call.second.transposed {
            call.second.rows -= 1;
            call.second.ld -= 1;
            call.first.rows -= 1;
            call.k -= 1;
        }
        call
    }
    let preset = Preset::find("softmax").unwrap();
    for gemm in GEMMS {
        let found = with(wrong(narrow), &preset, gemm).unwrap();
        let comparison = tensor_diff::compare(&blueprint(&preset), &found, 1.0);
        let first = comparison.first_divergence.unwrap().tensor;
        assert!(matches!(first, TensorName::Z(1) | TensorName::A(1)), "{gemm}: {first}");
    }
}

#[test]
fn an_unpadded_mask_is_refused() {
    let rules = |mask_ld| Rules { mask_ld, ..Rules::default() };
    // One bit for each of 30 units; bytes that are full; words that are full.
    for mask_ld in [|n| n, |n: usize| n.next_multiple_of(8), |n: usize| n.next_multiple_of(32)] {
        is_refused(rules(mask_ld), Gemm::Cublaslt);
    }
}
