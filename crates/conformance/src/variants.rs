//! The one list of what is held to the suite.

use gpu::Choice;
use gpu::transfer::Strategy;
use tensor::Dtype;

use crate::{Check, Variant};

/// Every way to run a level, on this GPU or on the processor. A new level joins here.
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
            // Whatever way the batch came, the kernels are the same. Level 2's own tests train with
            // each way, and expect the same bits.
            all.push(match (transfer, kernels) {
                (Strategy::Explicit, _) => variant,
                (_, "per-operation") => variant.held_to(&[Check::References, Check::TenSteps]),
                _ => variant.held_to(&[Check::References]),
            });
        }
    }
    for kernels in ["per-operation", "per-sample"] {
        let options = format!("--kernels {kernels} --compiler built-in");
        let variant = Variant::on_gpu::<level2_cuda_naive::Program>(device, &options);
        // The host is the same; what the kernels compute, the references tell.
        all.push(variant.held_to(&[Check::References, Check::Steps]));
    }
    for products in level2_cuda_naive::Products::ALL.into_iter().skip(1) {
        let options = format!("--products {products}");
        let variant = Variant::on_gpu::<level2_cuda_naive::Program>(device, &options);
        all.push(match products.dtype() {
            // Level 2's own tests try the kernels themselves on many shapes. They keep nothing from step to
            // step, so that a few steps, tensor by tensor, say as much as ten of larger networks.
            Dtype::F32 => variant.held_to(&[Check::References, Check::Steps]),
            // They do that of these too, with factors rounded before; bounds are held to here.
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
