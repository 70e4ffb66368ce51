//! The list of kernels in CUDA C, one for each operation, with their sources and PTX.

/// A kernel of the folder `kernels`: its source and its PTX, as they were when the program was built.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The name of both files, and of the operation and the function. A file in [`PRODUCTS`] has several functions with
    /// other names.
    pub name: &'static str,
    /// `kernels/<name>.cu`.
    pub source: &'static str,
    /// `kernels/<name>.ptx`.
    pub ptx: &'static str,
}

macro_rules! files {
    ($($name:literal)*) => {
        &[$(Kernel {
            name: $name,
            source: include_str!(concat!("../../../kernels/", $name, ".cu")),
            ptx: include_str!(concat!("../../../kernels/", $name, ".ptx")),
        }),*]
    };
}

/// Every kernel of the folder `kernels`, in the order of a training step.
pub const KERNELS: &[Kernel] = files! {
    "matmul_a_bt" "add_bias" "relu" "softmax" "sigmoid"
    "cross_entropy" "bce" "squared_error"
    "output_gradient" "output_gradient_of_share" "matmul_at_b" "sum_batch" "matmul_a_b" "relu_backward"
    "update" "gather_rows"
    "train_step" "update_weights"
};

/// Every file of the folder `kernels/products`, the simplest first. Each has the three products
/// `matmul_a_bt`, `matmul_at_b` and `matmul_a_b`.
pub const PRODUCTS: &[Kernel] = files! {
    "products/coalesced" "products/shared_tile" "products/register_tile" "products/vectorised"
    "products/wmma"
};

impl Kernel {
    /// The kernel of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        KERNELS.iter().chain(PRODUCTS).copied().find(|kernel| kernel.name == name)
    }
}
