//! Tests that common mistakes with row- and column-major and with the mask are caught: by the emulated library if they
//! lead outside a buffer or break the library's rules, otherwise by tensor-diff.

use crate::support::{GEMMS, blueprint, try_step};
use gpu::{Choice, Gpu};
use level3_cublas::column_major::Matmul;
use level3_cublas::library::Problem;
use level3_cublas::{Gemm, Setup};
use tensor::{Dump, TensorName};
use training::Preset;

#[path = "../../examples/mistaken/mod.rs"]
mod mistaken;

/// Runs a step of level 3 with a mistake, always on the emulated GPU.
fn step_with(
    mistake: impl Fn(&mut Problem) + 'static,
    preset: &Preset,
    gemm: Gemm,
) -> Result<Dump, String> {
    let gpu = Gpu::open(Choice::Emulated).unwrap();
    let setup = Setup { gemm, ..Setup::default() };
    let mut level = mistaken::level3(&gpu, &preset.network, setup, mistake).unwrap();
    try_step(&mut level, preset, false).map_err(|error| error.to_string())
}

fn is_refused(mistake: impl Fn(&mut Problem) + 'static, gemm: Gemm) {
    let said = step_with(mistake, &Preset::find("softmax").unwrap(), gemm).unwrap_err();
    assert!(said.contains("CUBLAS_STATUS_INVALID_VALUE"), "{said}");
    assert!(said.contains("matmul_a"), "the product is named: {said}");
}

/// A network whose matrices are all square, so that a wrong transposition always has valid sizes.
fn square() -> Preset {
    let mut preset = Preset::find("softmax").unwrap();
    preset.network.sizes = vec![16, 16, 16];
    preset.batch_size = 16;
    preset
}

fn transposed_forward(Problem { matmul, call, .. }: &mut Problem) {
    call.first.transposed ^= *matmul == Matmul::ABt;
}

fn transposed_gradient(Problem { matmul, call, .. }: &mut Problem) {
    call.first.transposed ^= *matmul == Matmul::AB;
}

#[test]
fn a_wrong_transposition_is_refused_or_found_in_its_tensor() {
    for gemm in GEMMS {
        is_refused(transposed_forward, gemm);
        is_refused(transposed_gradient, gemm);
        let preset = square();
        let first = |mistake: fn(&mut Problem), preset: &Preset| {
            let found = step_with(mistake, preset, gemm).unwrap();
            let comparison = tensor_diff::compare(&blueprint(preset), &found, 1.0);
            comparison.first_divergence.unwrap().tensor
        };
        let (z, da) = match gemm {
            Gemm::Cublas => (TensorName::Z(1), TensorName::Da(1)),
            // cuBLASLt's epilogues never write z and da, so the tensors computed from them are the first to differ.
            Gemm::Cublaslt => (TensorName::A(1), TensorName::Dz(1)),
        };
        assert_eq!(first(transposed_forward, &preset), z, "{gemm:?}");
        assert_eq!(first(transposed_gradient, &preset), da, "{gemm:?}");
    }
}

/// The operands are described to the library as row-major.
#[test]
fn row_major_operands_are_refused() {
    for gemm in GEMMS {
        is_refused(
            |Problem { call, .. }| {
                for operand in [&mut call.first, &mut call.second, &mut call.result] {
                    std::mem::swap(&mut operand.rows, &mut operand.columns);
                    operand.ld = operand.rows;
                }
            },
            gemm,
        );
    }
}

/// The leading dimension is too large for one operand, too small for the other, and of another length for the result.
#[test]
fn a_wrong_leading_dimension_is_refused() {
    for gemm in GEMMS {
        is_refused(|problem| problem.call.second.ld += 1, gemm);
        is_refused(|problem| problem.call.first.ld -= 1, gemm);
        is_refused(|problem| problem.call.result.ld = problem.shape[0], gemm);
    }
}

/// A wrong leading dimension is accepted if the matrix is also described as narrower. Then the numbers are wrong.
#[test]
fn a_valid_but_wrong_leading_dimension_is_found() {
    fn describe_as_narrower(Problem { matmul, call, .. }: &mut Problem) {
        if *matmul == Matmul::ABt && !call.second.transposed {
            call.second.rows -= 1;
            call.second.ld -= 1;
            call.first.rows -= 1;
            call.k -= 1;
        }
    }
    let preset = Preset::find("softmax").unwrap();
    for gemm in GEMMS {
        let found = step_with(describe_as_narrower, &preset, gemm).unwrap();
        let comparison = tensor_diff::compare(&blueprint(&preset), &found, 1.0);
        let first = comparison.first_divergence.unwrap().tensor;
        assert!(matches!(first, TensorName::Z(1) | TensorName::A(1)), "{gemm:?}: {first}");
    }
}

/// The masks' rows have 30 bits, or are padded only to whole bytes or whole words.
#[test]
fn an_unpadded_mask_is_refused() {
    for multiple in [1, 8, 32] {
        let mistake = move |problem: &mut Problem| {
            problem.mask_ld = problem.shape[1].next_multiple_of(multiple)
        };
        is_refused(mistake, Gemm::Cublaslt);
    }
}
