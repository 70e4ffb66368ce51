//! Loaded modules, their kernels, and the parameters of a launch.

use std::sync::Arc;

use super::variables::Variables;
use crate::engine::code::Executable;
use crate::engine::image::ParameterLayout;
use crate::memory::Heap;
use crate::program::Limits;
use crate::texture::{Opaque, Sampling};

/// A module that has been loaded. Clones share the same module.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub(super) target: u32,
    pub(super) kernels: Vec<Kernel>,
    pub(super) variables: Arc<Variables>,
}

impl Loaded {
    /// The kernel with this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name).cloned()
    }

    /// The names of all kernels, in the order of the file.
    #[must_use]
    pub fn kernels(&self) -> Vec<String> {
        self.kernels.iter().map(|kernel| kernel.name().to_owned()).collect()
    }

    /// The architecture of `.target`, such as 90 for `sm_90`.
    #[must_use]
    pub fn target(&self) -> u32 {
        self.target
    }

    /// The address and size of the `.global` or `.const` variable with this name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let variable = self.variables.list.iter().find(|(own, ..)| own == name);
        variable.map(|&(_, address, size)| (address, size))
    }

    /// The handle of the `.texref` or `.surfref` variable with this name, for
    /// [`bind`](crate::texture::Bindings::bind), and its initial sampling.
    #[must_use]
    pub fn opaque(&self, name: &str, kind: Opaque) -> Option<(u64, Sampling)> {
        let mut list = self.variables.opaque.iter();
        let found = list.find(|(own, _, its, _)| own == name && *its == kind);
        found.map(|&(_, address, _, sampling)| (address, sampling))
    }
}

/// A kernel of a loaded module. Clones share the same kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) executable: Arc<Executable>,
    /// Keeps the module's variables alive.
    #[expect(dead_code, reason = "held for its `Drop`")]
    pub(super) variables: Arc<Variables>,
}

/// The shape and the parameters of a launch.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Parameters, packed at the offsets of [`Kernel::parameters`].
    pub parameters: Vec<u8>,
    /// Whether all blocks are resident at once, so that they may wait for each other.
    pub cooperative: bool,
    /// The heap that `malloc` allocates from.
    pub heap: Heap,
}

impl Kernel {
    /// The name of the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        self.executable.name()
    }

    /// The offset and size of each parameter in [`Launch::parameters`].
    #[must_use]
    pub fn parameters(&self) -> &[ParameterLayout] {
        self.executable.parameters()
    }

    /// The bytes of all parameters.
    #[must_use]
    pub fn parameter_bytes(&self) -> u32 {
        self.executable.parameter_bytes()
    }

    /// Bytes of host memory that `blocks` resident blocks of a launch take.
    pub(super) fn resident_bytes(&self, launch: &Launch, blocks: u64) -> u64 {
        let threads = launch.block.iter().fold(1, |product: u32, &n| product.saturating_mul(n));
        self.executable.block_bytes(threads, launch.dynamic_shared).saturating_mul(blocks)
    }

    /// Bytes of static shared memory of a block.
    #[must_use]
    pub fn static_shared(&self) -> u32 {
        self.executable.static_shared()
    }

    /// Bytes of local memory of a thread.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        self.executable.local_bytes() - self.executable.padding()
    }

    /// The number of 32-bit registers that the kernel's body declares.
    #[must_use]
    pub fn registers(&self) -> u32 {
        self.executable.registers()
    }

    /// Bytes of the module's `.const` variables.
    #[must_use]
    pub fn constant_bytes(&self) -> u32 {
        self.executable.constant_bytes()
    }

    /// The values of `.maxntid` and `.reqntid`.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.executable.limits()
    }

    /// The PTX version (`.version`).
    #[must_use]
    pub fn ptx_version(&self) -> (u32, u32) {
        self.executable.version()
    }

    /// The architecture of `.target`, such as 90 for `sm_90`.
    #[must_use]
    pub fn target(&self) -> u32 {
        self.executable.target()
    }
}
