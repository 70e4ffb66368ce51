//! Kernels as functions of the driver: attributes, and what a launch may ask of them.

use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Weak};

use ptx_emulator::Kernel;

use crate::abi::Handle;
use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::abi::registry::fresh;
use crate::context::Context;
use crate::context::hardware::Hardware;
use crate::device::limits::{SHARED, SHARED_MOST};
use crate::execution::image::Image;

/// Registers of a thread, as reported. The emulator gives a kernel as many as it declares; which of
/// them ptxas would keep is not known, so no more are reported than let a block of any size run.
const REGISTERS: u32 = 64;

/// No compiler makes do with fewer, whatever it is told (CUDA Compiler Driver NVCC,
/// `--maxrregcount`: "the ABI minimum limit").
const LEAST_REGISTERS: u32 = 16;

enumeration! {
    /// `CUfunction_attribute`
    Attribute, "functions have no attribute {} to read or to set" {
        MaxThreadsPerBlock = 0, SharedSizeBytes = 1, ConstSizeBytes = 2, LocalSizeBytes = 3, NumRegs = 4,
        PtxVersion = 5, BinaryVersion = 6, CacheModeCa = 7, MaxDynamicSharedSizeBytes = 8,
        PreferredSharedMemoryCarveout = 9, ClusterSizeMustBeSet = 10, RequiredClusterWidth = 11,
        RequiredClusterHeight = 12, RequiredClusterDepth = 13, NonPortableClusterSizeAllowed = 14,
        ClusterSchedulingPolicyPreference = 15, DeviceNodeUpdateSupported = 16, SharedMemoryMode = 17,
    }
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) handle: Handle,
    pub(crate) module: Handle,
    /// 0 of a library's.
    pub(crate) context: Handle,
    own: Weak<Context>,
    image: Arc<Image>,
    pub(crate) kernel: Kernel,
    /// The kernel's name, for C.
    pub(crate) name: CString,
    /// `CU_JIT_MAX_REGISTERS`, where the module was loaded with it.
    max_registers: Option<u32>,
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
    dynamic_shared: AtomicI32,
    /// `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`
    carveout: AtomicI32,
    /// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
    large_clusters: AtomicI32,
    /// `CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE`
    cluster_policy: AtomicI32,
}

impl Function {
    /// A kernel of a module, in a context, or of a library, in none.
    pub(crate) fn new(
        module: Handle,
        own: Weak<Context>,
        image: Arc<Image>,
        kernel: Kernel,
        max_registers: Option<u32>,
    ) -> Arc<Self> {
        let context = own.upgrade().map_or(0, |context| context.handle);
        let shared = i32::try_from(kernel.static_shared()).unwrap_or(SHARED);
        let name = CString::new(kernel.name()).unwrap_or_default();
        Arc::new(Self {
            handle: fresh(),
            module,
            context,
            own,
            image,
            name,
            max_registers,
            dynamic_shared: AtomicI32::new((SHARED - shared).max(0)),
            carveout: AtomicI32::new(-1),
            large_clusters: AtomicI32::new(0),
            cluster_policy: AtomicI32::new(0),
            kernel,
        })
    }

    /// The devices that it may run on.
    pub(crate) fn hardware(&self) -> &Hardware {
        &self.image.hardware
    }

    /// The context that it is of, while that is there; a library's runs in whichever launches it.
    pub(crate) fn own_context(&self) -> Option<Arc<Context>> {
        self.own.upgrade().filter(|context| !context.is_destroyed())
    }

    /// The kernel on a device: that of a library is there once for each.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where the library has no room there.
    pub(crate) fn kernel_on(&self, device: u32) -> Result<Kernel> {
        if self.context != 0 || device == 0 {
            return Ok(self.kernel.clone());
        }
        self.image.on(device)?.kernel(self.kernel.name()).ok_or_else(|| Code::NOT_FOUND.into())
    }

    /// Bytes of dynamic shared memory that a launch may ask for.
    pub(crate) fn dynamic_shared(&self) -> i32 {
        self.dynamic_shared.load(Ordering::Relaxed)
    }

    /// Registers of a thread, as reported.
    pub(crate) fn registers(&self) -> u32 {
        let most =
            self.max_registers.map_or(REGISTERS, |most| most.clamp(LEAST_REGISTERS, REGISTERS));
        self.kernel.registers().clamp(1, most)
    }

    /// Threads of a block, at most.
    pub(crate) fn max_threads(&self) -> u32 {
        let limits = self.kernel.limits();
        let limit = limits.required_threads.or(limits.max_threads);
        limit.map_or(1024, |shape| {
            shape.iter().fold(1, |product: u32, &n| product.saturating_mul(n)).min(1024)
        })
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// `INVALID_VALUE` for an unknown attribute.
    pub(crate) fn attribute(&self, attribute: u32) -> Result<i32> {
        let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(match Attribute::of(attribute)? {
            Attribute::MaxThreadsPerBlock => number(self.max_threads()),
            Attribute::SharedSizeBytes => number(self.kernel.static_shared()),
            Attribute::ConstSizeBytes => number(self.kernel.constant_bytes()),
            Attribute::LocalSizeBytes => number(self.kernel.local_bytes()),
            Attribute::NumRegs => number(self.registers()),
            // CUB chooses by it what the host and the kernel have to agree on.
            Attribute::PtxVersion => number(self.kernel.target()),
            Attribute::BinaryVersion => number(self.hardware().settings.capability),
            Attribute::MaxDynamicSharedSizeBytes => self.dynamic_shared(),
            Attribute::PreferredSharedMemoryCarveout => self.carveout.load(Ordering::Relaxed),
            Attribute::NonPortableClusterSizeAllowed => self.large_clusters.load(Ordering::Relaxed),
            Attribute::ClusterSchedulingPolicyPreference => {
                self.cluster_policy.load(Ordering::Relaxed)
            }
            // No cluster is required, no kernel changes graphs, and shared memory is of one kind.
            Attribute::CacheModeCa
            | Attribute::ClusterSizeMustBeSet
            | Attribute::RequiredClusterWidth
            | Attribute::RequiredClusterHeight
            | Attribute::RequiredClusterDepth
            | Attribute::DeviceNodeUpdateSupported
            | Attribute::SharedMemoryMode => 0,
        })
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is none, can't be set, or can't be that.
    pub(crate) fn set_attribute(&self, attribute: u32, value: i32) -> Result {
        let shared = i32::try_from(self.kernel.static_shared()).unwrap_or(SHARED_MOST);
        let (slot, range) = match Attribute::of(attribute)? {
            Attribute::MaxDynamicSharedSizeBytes => {
                (&self.dynamic_shared, 0..=SHARED_MOST - shared)
            }
            Attribute::PreferredSharedMemoryCarveout => (&self.carveout, -1..=100),
            Attribute::NonPortableClusterSizeAllowed => (&self.large_clusters, 0..=1),
            Attribute::ClusterSchedulingPolicyPreference => (&self.cluster_policy, 0..=2),
            // A cluster of one block is what every kernel has.
            Attribute::ClusterSizeMustBeSet
            | Attribute::RequiredClusterWidth
            | Attribute::RequiredClusterHeight
            | Attribute::RequiredClusterDepth
            | Attribute::SharedMemoryMode
                if value == 0 =>
            {
                return Ok(());
            }
            _ => {
                return Err(Code::INVALID_VALUE
                    .because(format!("attribute {attribute} of functions can't be set")));
            }
        };
        if !range.contains(&value) {
            return Err(Code::INVALID_VALUE.because(format!(
                "attribute {attribute} of {} can be {} to {}, and not {value}",
                self.kernel.name(),
                range.start(),
                range.end()
            )));
        }
        slot.store(value, Ordering::Relaxed);
        Ok(())
    }
}
