//! The list of kernels in CUDA C, one for each operation, and what is built into every program.

/// A kernel as it was when the program was built.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The operation, the function, and the name of both files.
    pub name: &'static str,
    /// `kernels/<name>.cu`.
    pub source: &'static str,
    /// `kernels/<name>.ptx`.
    pub ptx: &'static str,
}

macro_rules! kernels {
    ($($name:literal)*) => {
        /// Every kernel of the folder `kernels`, in the order of a training step.
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: $name,
            source: include_str!(concat!("../../../kernels/", $name, ".cu")),
            ptx: include_str!(concat!("../../../kernels/", $name, ".ptx")),
        }),*];
    };
}

kernels! {
    "matmul_a_bt" "add_bias" "relu" "softmax" "sigmoid"
    "cross_entropy" "bce" "squared_error"
    "output_gradient" "output_gradient_of_share" "matmul_at_b" "sum_batch" "matmul_a_b" "relu_backward"
    "update" "gather_rows"
    "train_step" "update_weights"
}

impl Kernel {
    /// The kernel of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        KERNELS.iter().copied().find(|kernel| kernel.name == name)
    }
}
