//! Kernels as functions of the driver: their attributes, and the limits of launches.

use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use ptx_emulator::Kernel;

use crate::abi::Handle;
use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::abi::registry::new_handle;
use crate::context::Context;
use crate::context::hardware::Hardware;
use crate::device::limits::{MAX_SHARED, MAX_SHARED_OPT_IN};
use crate::execution::image::Image;
use crate::execution::legacy::LegacyLaunch;

/// The upper limit of the reported number of registers per thread. The emulator gives a kernel as many registers as it
/// declares, but it doesn't know how many ptxas would allocate. With this limit, a block of any size is possible.
const MAX_REPORTED_REGISTERS: u32 = 64;

/// The minimum number of registers that a compiler uses (CUDA Compiler Driver NVCC, `--maxrregcount`: "the ABI
/// minimum limit").
const MIN_REGISTERS: u32 = 16;

enumeration! {
    /// `CUfunction_attribute`
    Attribute, "functions have no attribute {}" {
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
    /// The handle of the context to which the kernel belongs; 0 for a library's kernel.
    pub(crate) context: Handle,
    home: Weak<Context>,
    image: Arc<Image>,
    pub(crate) kernel: Kernel,
    /// The kernel's name as a C string.
    pub(crate) name: CString,
    /// The value of `CU_JIT_MAX_REGISTERS`, if the module was loaded with that option.
    max_registers: Option<u32>,
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
    dynamic_shared: AtomicI32,
    /// `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`
    carveout: AtomicI32,
    /// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
    large_clusters: AtomicI32,
    /// `CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE`
    cluster_policy: AtomicI32,
    /// The parts that `cuFuncSetBlockShape`, `cuParamSetv` and the like have set.
    pub(crate) legacy: Mutex<LegacyLaunch>,
}

impl Function {
    /// A kernel of a module, which belongs to a context, or of a library, which doesn't.
    pub(crate) fn new(
        module: Handle,
        home: Weak<Context>,
        image: Arc<Image>,
        kernel: Kernel,
        max_registers: Option<u32>,
    ) -> Arc<Self> {
        let context = home.upgrade().map_or(0, |context| context.handle);
        let shared = i32::try_from(kernel.static_shared()).unwrap_or(MAX_SHARED);
        let name = CString::new(kernel.name()).unwrap_or_default();
        Arc::new(Self {
            handle: new_handle(),
            module,
            context,
            home,
            image,
            name,
            max_registers,
            dynamic_shared: AtomicI32::new((MAX_SHARED - shared).max(0)),
            carveout: AtomicI32::new(-1),
            large_clusters: AtomicI32::new(0),
            cluster_policy: AtomicI32::new(0),
            legacy: Mutex::default(),
            kernel,
        })
    }

    /// The hardware that the kernel runs on.
    pub(crate) fn hardware(&self) -> &Hardware {
        &self.image.hardware
    }

    /// The context of a module's kernel, unless it was destroyed. A library's kernel belongs to no context, and runs
    /// in the context that launches it.
    pub(crate) fn module_context(&self) -> Option<Arc<Context>> {
        self.home.upgrade().filter(|context| !context.is_destroyed())
    }

    /// The kernel's code on a device: a library is loaded on each device separately.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the device has no memory for the library.
    pub(crate) fn kernel_on(&self, device: u32) -> Result<Kernel> {
        if self.context != 0 || device == 0 {
            return Ok(self.kernel.clone());
        }
        self.image
            .loaded_on(device)?
            .kernel(self.kernel.name())
            .ok_or_else(|| Code::NOT_FOUND.into())
    }

    /// The maximum dynamic shared memory of a launch, in bytes.
    pub(crate) fn dynamic_shared(&self) -> i32 {
        self.dynamic_shared.load(Ordering::Relaxed)
    }

    /// The number of registers per thread, as reported.
    pub(crate) fn registers(&self) -> u32 {
        let max = self.max_registers.map_or(MAX_REPORTED_REGISTERS, |wanted| {
            wanted.clamp(MIN_REGISTERS, MAX_REPORTED_REGISTERS)
        });
        self.kernel.registers().clamp(1, max)
    }

    /// The maximum number of threads of a block.
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
        Ok(match Attribute::from_number(attribute)? {
            Attribute::MaxThreadsPerBlock => number(self.max_threads()),
            Attribute::SharedSizeBytes => number(self.kernel.static_shared()),
            Attribute::ConstSizeBytes => number(self.kernel.constant_bytes()),
            Attribute::LocalSizeBytes => number(self.kernel.local_bytes()),
            Attribute::NumRegs => number(self.registers()),
            // CUB selects its tuning parameters by this version, so the host and the kernel must agree on it.
            Attribute::PtxVersion => number(self.kernel.target()),
            Attribute::BinaryVersion => number(self.hardware().settings.capability),
            Attribute::MaxDynamicSharedSizeBytes => self.dynamic_shared(),
            Attribute::PreferredSharedMemoryCarveout => self.carveout.load(Ordering::Relaxed),
            Attribute::NonPortableClusterSizeAllowed => self.large_clusters.load(Ordering::Relaxed),
            Attribute::ClusterSchedulingPolicyPreference => {
                self.cluster_policy.load(Ordering::Relaxed)
            }
            // These attributes are 0: kernels don't require clusters and don't update graphs, and there is only one
            // kind of shared memory.
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
    /// `INVALID_VALUE` if the attribute is unknown or read-only, or the value is out of range.
    pub(crate) fn set_attribute(&self, attribute: u32, value: i32) -> Result {
        let shared = i32::try_from(self.kernel.static_shared()).unwrap_or(MAX_SHARED_OPT_IN);
        let (slot, range) = match Attribute::from_number(attribute)? {
            Attribute::MaxDynamicSharedSizeBytes => {
                (&self.dynamic_shared, 0..=MAX_SHARED_OPT_IN - shared)
            }
            Attribute::PreferredSharedMemoryCarveout => (&self.carveout, -1..=100),
            Attribute::NonPortableClusterSizeAllowed => (&self.large_clusters, 0..=1),
            Attribute::ClusterSchedulingPolicyPreference => (&self.cluster_policy, 0..=2),
            // These attributes have no effect, because every kernel has clusters of one block.
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
                "attribute {attribute} of {} must be from {} to {}, and not {value}",
                self.kernel.name(),
                range.start(),
                range.end()
            )));
        }
        slot.store(value, Ordering::Relaxed);
        Ok(())
    }
}
