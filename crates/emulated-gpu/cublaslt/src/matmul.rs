//! `cublasLtMatmul`: matrix products with epilogues.

use std::ffi::c_void;

use c_abi::export;
use emulated_blas::{
    Column, MatrixOperation, Order, PointerMode, Product, Result, RunWork, Scalar, StreamHandle,
    StreamWork, View, check_range, scale_type,
};

use crate::algorithm::Algorithm;
use crate::attribute;
use crate::descriptor::Descriptor;
use crate::epilogue::{Activation, Bias};
use crate::finish::Sums;
use crate::handle::{Handle, open};
use crate::heuristic::ProblemPointers;
use crate::layout::Layout;
use crate::operands::{Addresses, Operands};

impl Operands {
    /// The product of matrices `index` of the batch, without the epilogue.
    fn product(&self, index: u64, (alpha, beta): (Scalar, Scalar)) -> Product {
        let problem = &self.problem;
        let (m, n, k) = problem.sizes;
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let a = View::of_matrix(&problem.a, problem.operations.0, index);
        let b = View::of_matrix(&problem.b, problem.operations.1, index);
        let c = View::of_matrix(&problem.c, MatrixOperation::None, index);
        let d = View::of_matrix(&problem.d, MatrixOperation::None, index);
        let (compute, capability, split) = (problem.compute, self.capability, self.split);
        let product = Product { m, n, k, a, b, c, d, alpha, beta, compute, capability, split };
        // A row-major result is the transpose of a column-major one. It is only allowed with epilogues that treat all
        // elements alike.
        match problem.d.order {
            Order::Column => product,
            Order::Row => product.transposed(),
        }
    }

    /// Computes matrix `index` of the batch.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory; the result is then filled with NaN.
    ///
    /// # Safety
    /// All of `accesses` must be readable or writable as declared.
    unsafe fn run(&self, index: u64, scalars: (Scalar, Scalar)) -> Result {
        let problem = &self.problem;
        let (m, n, k) = problem.sizes;
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let a = View::of_matrix(&problem.a, problem.operations.0, index);
        let b = View::of_matrix(&problem.b, problem.operations.1, index);
        let epilogue_memory = self.epilogue_memory(index);
        let product = self.product(index, scalars);
        let epilogue = problem.epilogue;
        let plain = epilogue.activation == Activation::None
            && !matches!(epilogue.bias, Bias::Added | Bias::GradientOfResult);
        // SAFETY: guaranteed by the caller.
        unsafe {
            // For an operand's bias gradient: sum the operand, before `D` is written.
            match epilogue.bias {
                Bias::GradientOfA => epilogue_memory.store_operand_sums(a, m, k)?,
                Bias::GradientOfB => epilogue_memory.store_operand_sums(b.transposed(), n, k)?,
                _ => {}
            }
            if plain {
                return product.run(None);
            }
            let mut sums = Sums::new(&epilogue_memory, m)?;
            let mut finish = |column: usize, values: Column<'_>| {
                epilogue_memory.finish(column, values, &mut sums);
            };
            product.run(Some(&mut finish))?;
            sums.store(&epilogue_memory);
        }
        Ok(())
    }
}

/// Checks that the workspace is inside an allocation, even if it is not used.
fn check_workspace(driver: &emulated_blas::Driver, workspace: *mut c_void, size: usize) -> Result {
    if workspace.is_null() || size == 0 {
        return Ok(());
    }
    check_range(driver, "workspace", workspace as u64, size as u64)
}

export! {
    /// Computes `D = epilogue(alpha · op(A) · op(B) + beta · C)`.
    fn cublasLtMatmul(
        handle: Handle,
        descriptor: *const Descriptor,
        alpha: *const c_void,
        a: *const c_void,
        a_layout: *const Layout,
        b: *const c_void,
        b_layout: *const Layout,
        beta: *const c_void,
        c: *const c_void,
        c_layout: *const Layout,
        d: *mut c_void,
        d_layout: *const Layout,
        algorithm: *const Algorithm,
        workspace: *mut c_void,
        workspace_size: usize,
        stream: StreamHandle,
    ) {
        let driver = open(handle)?;
        let pointers =
            ProblemPointers { descriptor, a: a_layout, b: b_layout, c: c_layout, d: d_layout };
        let problem = pointers.read()?;
        let algorithm = if algorithm.is_null() {
            None
        } else {
            Some(attribute::read(algorithm, "algo")?)
        };
        let mode = if problem.descriptor.pointer_mode == 0 {
            PointerMode::Host
        } else {
            PointerMode::Device
        };
        let scale = scale_type(problem.compute, problem.a.ty);
        let scalars = Scalar::alpha_and_beta(driver, (alpha, beta), mode, scale)?;
        let addresses = Addresses { a: a as u64, b: b as u64, c: c as u64, d: d as u64 };
        let mut operands =
            Operands::check(driver, problem, addresses, scalars, algorithm.as_ref())?;
        check_workspace(driver, workspace, workspace_size)?;
        if let Some(algorithm) = &algorithm {
            operands.split_sums(algorithm, (workspace as u64, workspace_size as u64))?;
        }
        operands.product(0, scalars).check_memory()?;
        let accesses = std::mem::take(&mut operands.accesses);
        let run: RunWork = Box::new(move |_| {
            for index in 0..operands.problem.d.batch {
                // SAFETY: `accesses` lists all memory that is read or written, and the driver has checked it.
                unsafe { operands.run(index, scalars)? };
            }
            Ok(())
        });
        StreamWork { name: NAME, accesses, run }.launch(driver, stream)
    }
}
