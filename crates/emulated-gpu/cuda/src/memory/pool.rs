//! Memory pools. The emulator's memory comes from the host's allocator, which has caches of its own:
//! a pool here only keeps count.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::{Devices, Home};

use crate::abi::Handle;
use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::abi::registry::{Registry, fresh};
use crate::memory::allocations::Allocations;

enumeration! {
    /// `CUmemPool_attribute`
    Attribute, "pools have no attribute {}" {
        ReuseFollowEventDependencies = 1, ReuseAllowOpportunistic = 2, ReuseAllowInternalDependencies = 3,
        ReleaseThreshold = 4, ReservedMemCurrent = 5, ReservedMemHigh = 6, UsedMemCurrent = 7, UsedMemHigh = 8,
    }
}

impl Attribute {
    /// Whether the value is an `int`, and not a `cuuint64_t`.
    pub(crate) fn is_narrow(self) -> bool {
        self as u32 <= Self::ReuseAllowInternalDependencies as u32
    }
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    /// The device that its memory is on.
    pub(crate) device: u32,
    /// Other devices that may access what is allocated from it.
    shared_with: Mutex<Devices>,
    /// The most bytes that it may give out; 0 for all there are.
    max_size: u64,
    /// How it may use memory again: by events, by chance, by adding dependencies.
    reuse: Mutex<[i32; 3]>,
    threshold: AtomicU64,
    /// The most bytes that were in use.
    high: AtomicU64,
    allocations: Arc<Allocations>,
}

/// The pools of all devices.
#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) registry: Registry<Pool>,
    devices: Vec<Own>,
    allocations: Arc<Allocations>,
}

/// A device's own pools.
#[derive(Debug)]
struct Own {
    /// The one that it came with.
    default: Handle,
    /// The one that `cuMemAllocAsync` takes from.
    current: AtomicUsize,
}

impl Pools {
    /// Of all devices.
    pub(crate) fn new(allocations: Arc<Allocations>, devices: u32) -> Self {
        let registry = Registry::default();
        let own = |device| {
            let default = fresh();
            registry
                .insert(default, Arc::new(Pool::new(default, device, 0, Arc::clone(&allocations))));
            Own { default, current: AtomicUsize::new(default) }
        };
        let devices = (0..devices).map(own).collect();
        Self { registry, devices, allocations }
    }

    fn own(&self, device: u32) -> Result<&Own> {
        self.devices.get(device as usize).ok_or_else(|| Code::INVALID_DEVICE.into())
    }

    /// The one that a device came with.
    pub(crate) fn default_of(&self, device: u32) -> Result<Handle> {
        Ok(self.own(device)?.default)
    }

    /// The one that `cuMemAllocAsync` takes from.
    pub(crate) fn current(&self, device: u32) -> Result<Handle> {
        Ok(self.own(device)?.current.load(Ordering::Relaxed))
    }

    /// Takes from another one from now on.
    ///
    /// # Errors
    /// `INVALID_VALUE` for one whose memory is elsewhere.
    pub(crate) fn set_current(&self, device: u32, pool: &Pool) -> Result {
        if pool.device != device {
            return Err(Code::INVALID_VALUE
                .because(format!("the pool is of device {}, not of {device}", pool.device)));
        }
        self.own(device)?.current.store(pool.handle, Ordering::Relaxed);
        Ok(())
    }

    /// A new pool.
    pub(crate) fn create(&self, device: u32, max_size: u64) -> Handle {
        let handle = fresh();
        let pool = Pool::new(handle, device, max_size, Arc::clone(&self.allocations));
        self.registry.insert(handle, Arc::new(pool));
        handle
    }

    /// Forgets a pool; what was allocated from it stays until it is freed.
    ///
    /// # Errors
    /// `INVALID_VALUE` for the default pool and for what is none.
    pub(crate) fn destroy(&self, handle: Handle) -> Result {
        let is_default = self.devices.iter().any(|own| own.default == handle);
        if is_default || self.registry.remove(handle).is_none() {
            return Err(Code::INVALID_VALUE.because("this is the default pool, or no pool"));
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
            high: AtomicU64::new(0),
            allocations,
        }
    }

    /// Where its memory is, and who may access it: nobody by `cuCtxEnablePeerAccess`.
    pub(crate) fn home(&self) -> Home {
        Home { device: self.device, shared_with: self.shared_with(), to_peers: false }
    }

    fn shared_with(&self) -> Devices {
        *self.shared_with.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a device may access what is allocated from it.
    pub(crate) fn admits(&self, device: u32) -> bool {
        device == self.device || self.shared_with().contains(device)
    }

    /// Lets a device in, or no longer: into what has been allocated, too.
    ///
    /// # Errors
    /// `INVALID_VALUE` where its own device is to be kept out.
    pub(crate) fn admit(&self, device: u32, on: bool) -> Result {
        if device == self.device {
            let why = "a device always reads and writes its own pool";
            return if on { Ok(()) } else { Err(Code::INVALID_VALUE.because(why)) };
        }
        let mut shared = self.shared_with.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = if on { shared.with(device) } else { shared.without(device) };
        self.allocations.share_pool(self.handle, *shared);
        Ok(())
    }

    fn used(&self) -> u64 {
        self.allocations.of_pool(self.handle)
    }

    /// Fails when this many bytes are more than it may give out.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`
    pub(crate) fn check(&self, size: u64) -> Result {
        if self.max_size > 0 && self.used().saturating_add(size) > self.max_size {
            return Err(Code::OUT_OF_MEMORY
                .because(format!("the pool may give out {} bytes in all", self.max_size)));
        }
        Ok(())
    }

    /// Remembers the most that was in use.
    pub(crate) fn note(&self) {
        self.high.fetch_max(self.used(), Ordering::Relaxed);
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
            // What is in use is all that is kept.
            Attribute::ReservedMemCurrent | Attribute::UsedMemCurrent => self.used(),
            Attribute::ReservedMemHigh | Attribute::UsedMemHigh => {
                self.high.load(Ordering::Relaxed)
            }
        }
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what can't be set, or can't be that.
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
                self.high.store(self.used(), Ordering::Relaxed);
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
