//! The list of all variants that the suite checks.

use gpu::Choice;
use gpu::transfer::Strategy;
use tensor::Dtype;

use crate::{Check, Variant};

/// Every way to run a level, on this GPU or on the CPU. A new level has to be added here.
#[must_use]
pub fn variants(device: Choice) -> Vec<Variant> {
    let mut all = Vec::new();
    for form in ["textbook", "fast"] {
        all.push(Variant::on_cpu::<level1_cpu::Program>(&format!("--form {form}")));
    }
    for kernels in ["per-operation", "per-sample"] {
        for transfer in Strategy::ALL {
            let options = format!("--kernels {kernels} --transfer {transfer}");
            let variant = Variant::on_gpu::<level2_cuda_naive::Program>(device, &options);
            // The kernels are the same for each way to transfer a batch. So only one way runs all checks; level 2's
            // tests train with each way, and expect the same bits.
            all.push(match (transfer, kernels) {
                (Strategy::Explicit, _) => variant,
                (_, "per-operation") => {
                    variant.with_checks_only(&[Check::References, Check::TenSteps])
                }
                _ => variant.with_checks_only(&[Check::References]),
            });
        }
    }
    for kernels in ["per-operation", "per-sample"] {
        let options = format!("--kernels {kernels} --compiler built-in");
        let variant = Variant::on_gpu::<level2_cuda_naive::Program>(device, &options);
        // The host code is the same for all kernels of products, so the references are enough to check the kernels.
        all.push(variant.with_checks_only(&[Check::References, Check::Steps]));
    }
    for products in level2_cuda_naive::Products::ALL.into_iter().skip(1) {
        let options = format!("--products {products}");
        let variant = Variant::on_gpu::<level2_cuda_naive::Program>(device, &options);
        all.push(match products.dtype() {
            // Level 2's tests try these kernels on many shapes. The kernels keep nothing from step to
            // step, so comparing a few steps tensor by tensor finds as much as ten steps of larger networks.
            Dtype::F32 => variant.with_checks_only(&[Check::References, Check::Steps]),
            // Level 2's tests try these kernels on factors that are already rounded, so the bounds for rounded factors
            // are checked here.
            _ => variant,
        });
    }
    for gemm in ["cublas", "cublaslt"] {
        for more in ["", " --graph", " --tf32"] {
            let options = format!("--gemm {gemm}{more}");
            let variant = Variant::on_gpu::<level3_cublas::Program>(device, &options);
            // In the mask that cuBLASLt's epilogue writes, a z of exactly 0 counts as positive.
            all.push(if gemm == "cublaslt" { variant.without(&["kink"]) } else { variant });
        }
    }
    for rung in level4_ptx::Rung::ALL {
        let options = format!("--kernels {rung}");
        all.push(Variant::on_gpu::<level4_ptx::Program>(device, &options));
    }
    all
}
