//! Memory pools. The emulator's memory comes from the host's allocator, which already caches memory, so these pools
//! only count their memory.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::{Devices, Home};

use crate::abi::Handle;
use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::abi::registry::{Registry, new_handle};
use crate::memory::allocations::Allocations;

enumeration! {
    /// `CUmemPool_attribute`
    Attribute, "pools have no attribute {}" {
        ReuseFollowEventDependencies = 1, ReuseAllowOpportunistic = 2, ReuseAllowInternalDependencies = 3,
        ReleaseThreshold = 4, ReservedMemCurrent = 5, ReservedMemHigh = 6, UsedMemCurrent = 7, UsedMemHigh = 8,
    }
}

impl Attribute {
    /// Whether the value is an `int` instead of a `cuuint64_t`.
    pub(crate) fn is_narrow(self) -> bool {
        self as u32 <= Self::ReuseAllowInternalDependencies as u32
    }
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    /// The ordinal of the pool's device.
    pub(crate) device: u32,
    /// The other devices that may access allocations from the pool.
    shared_with: Mutex<Devices>,
    /// The limit of allocated bytes; 0 for no limit.
    max_size: u64,
    /// The permitted kinds of reuse: following event dependencies, opportunistic, internal dependencies.
    reuse: Mutex<[i32; 3]>,
    threshold: AtomicU64,
    /// The peak of bytes in use.
    peak: AtomicU64,
    allocations: Arc<Allocations>,
}

/// The pools of all devices.
#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) registry: Registry<Pool>,
    devices: Vec<DevicePools>,
    allocations: Arc<Allocations>,
}

/// A device's default and current pool.
#[derive(Debug)]
struct DevicePools {
    /// The pool that the device has from the start.
    default: Handle,
    /// The pool from which `cuMemAllocAsync` allocates.
    current: AtomicUsize,
}

impl Pools {
    /// Makes a default pool for each device.
    pub(crate) fn new(allocations: Arc<Allocations>, devices: u32) -> Self {
        let registry = Registry::default();
        let device_pools = |device| {
            let default = new_handle();
            registry
                .insert(default, Arc::new(Pool::new(default, device, 0, Arc::clone(&allocations))));
            DevicePools { default, current: AtomicUsize::new(default) }
        };
        let devices = (0..devices).map(device_pools).collect();
        Self { registry, devices, allocations }
    }

    fn pools_of(&self, device: u32) -> Result<&DevicePools> {
        self.devices.get(device as usize).ok_or_else(|| Code::INVALID_DEVICE.into())
    }

    /// The default pool of a device.
    pub(crate) fn default_pool(&self, device: u32) -> Result<Handle> {
        Ok(self.pools_of(device)?.default)
    }

    /// The pool from which `cuMemAllocAsync` allocates.
    pub(crate) fn current(&self, device: u32) -> Result<Handle> {
        Ok(self.pools_of(device)?.current.load(Ordering::Relaxed))
    }

    /// Makes `pool` the device's current pool.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pool is on another device.
    pub(crate) fn set_current(&self, device: u32, pool: &Pool) -> Result {
        if pool.device != device {
            return Err(Code::INVALID_VALUE.because(format!(
                "the pool is on device {}, not on device {device}",
                pool.device
            )));
        }
        self.pools_of(device)?.current.store(pool.handle, Ordering::Relaxed);
        Ok(())
    }

    /// A new pool.
    pub(crate) fn create(&self, device: u32, max_size: u64) -> Handle {
        let handle = new_handle();
        let pool = Pool::new(handle, device, max_size, Arc::clone(&self.allocations));
        self.registry.insert(handle, Arc::new(pool));
        handle
    }

    /// Destroys a pool. The pool's allocations stay until they are freed.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a default pool or an unknown handle.
    pub(crate) fn destroy(&self, handle: Handle) -> Result {
        let is_default = self.devices.iter().any(|device| device.default == handle);
        if is_default || self.registry.remove(handle).is_none() {
            return Err(Code::INVALID_VALUE.because("this is a default pool or not a pool"));
        }
        for own in &self.devices {
            let (current, default) = (&own.current, own.default);
            let relaxed = Ordering::Relaxed;
            let _ = current.compare_exchange(handle, default, relaxed, relaxed);
        }
        Ok(())
    }
}

impl Pool {
    fn new(handle: Handle, device: u32, max_size: u64, allocations: Arc<Allocations>) -> Self {
        Self {
            handle,
            device,
            shared_with: Mutex::default(),
            max_size,
            reuse: Mutex::new([1; 3]),
            threshold: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            allocations,
        }
    }

    /// The device of the pool's memory, and the devices that may access it; `cuCtxEnablePeerAccess` has no effect on
    /// pools.
    pub(crate) fn home(&self) -> Home {
        Home { device: self.device, shared_with: self.shared_with(), to_peers: false }
    }

    fn shared_with(&self) -> Devices {
        *self.shared_with.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a device may access the pool's allocations.
    pub(crate) fn allows_access(&self, device: u32) -> bool {
        device == self.device || self.shared_with().contains(device)
    }

    /// Allows or forbids a device's access to the pool's allocations, including existing allocations.
    ///
    /// # Errors
    /// `INVALID_VALUE` if access is to be forbidden for the pool's own device.
    pub(crate) fn set_access(&self, device: u32, on: bool) -> Result {
        if device == self.device {
            let why = "a device can always access its own pools";
            return if on { Ok(()) } else { Err(Code::INVALID_VALUE.because(why)) };
        }
        let mut shared = self.shared_with.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = if on { shared.with(device) } else { shared.without(device) };
        self.allocations.share_pool(self.handle, *shared);
        Ok(())
    }

    fn used(&self) -> u64 {
        self.allocations.pool_bytes(self.handle)
    }

    /// Checks that an allocation of `size` bytes stays within the pool's limit.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if it doesn't.
    pub(crate) fn check(&self, size: u64) -> Result {
        if self.max_size > 0 && self.used().saturating_add(size) > self.max_size {
            return Err(Code::OUT_OF_MEMORY
                .because(format!("the pool is limited to {} bytes", self.max_size)));
        }
        Ok(())
    }

    /// Updates the peak.
    pub(crate) fn update_peak(&self) {
        self.peak.fetch_max(self.used(), Ordering::Relaxed);
    }

    /// The value of an attribute.
    pub(crate) fn attribute(&self, attribute: Attribute) -> u64 {
        match attribute {
            Attribute::ReuseFollowEventDependencies
            | Attribute::ReuseAllowOpportunistic
            | Attribute::ReuseAllowInternalDependencies => {
                let reuse = self.reuse.lock().unwrap_or_else(PoisonError::into_inner);
                u64::from(reuse[attribute as usize - 1] != 0)
            }
            Attribute::ReleaseThreshold => self.threshold.load(Ordering::Relaxed),
            // Pools reserve no memory beyond what is in use.
            Attribute::ReservedMemCurrent | Attribute::UsedMemCurrent => self.used(),
            Attribute::ReservedMemHigh | Attribute::UsedMemHigh => {
                self.peak.load(Ordering::Relaxed)
            }
        }
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the attribute is read-only or can't have the value.
    pub(crate) fn set_attribute(&self, attribute: Attribute, value: u64) -> Result {
        match attribute {
            Attribute::ReuseFollowEventDependencies
            | Attribute::ReuseAllowOpportunistic
            | Attribute::ReuseAllowInternalDependencies => {
                let mut reuse = self.reuse.lock().unwrap_or_else(PoisonError::into_inner);
                reuse[attribute as usize - 1] = i32::from(value != 0);
            }
            Attribute::ReleaseThreshold => self.threshold.store(value, Ordering::Relaxed),
            Attribute::ReservedMemHigh | Attribute::UsedMemHigh if value == 0 => {
                self.peak.store(self.used(), Ordering::Relaxed);
            }
            _ => {
                return Err(Code::INVALID_VALUE.because(format!(
                    "attribute {} of a pool can't be set to {value}",
                    attribute as u32
                )));
            }
        }
        Ok(())
    }
}
