//! Memory pools. The emulator's memory comes from the host's allocator, which has caches of its own:
//! a pool here only keeps count.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::Handle;
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::registry::{Registry, fresh};

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    /// The most bytes that it may give out; 0 for all there are.
    max_size: u64,
    /// How it may use memory again: by events, by chance, by adding dependencies.
    reuse: Mutex<[i32; 3]>,
    threshold: AtomicU64,
    /// The most bytes that were in use.
    high: AtomicU64,
}

/// The pools of the device.
#[derive(Debug)]
pub(crate) struct Pools {
    registry: Registry<Pool>,
    /// The one that the device came with.
    pub(crate) default: Handle,
    current: AtomicUsize,
}

impl Default for Pools {
    fn default() -> Self {
        let (registry, default) = (Registry::default(), fresh());
        registry.insert(default, Arc::new(Pool::new(default, 0)));
        Self { registry, default, current: AtomicUsize::new(default) }
    }
}

impl Pools {
    pub(crate) fn get(&self, handle: Handle) -> Option<Arc<Pool>> {
        self.registry.get(handle)
    }

    /// The one that `cuMemAllocAsync` takes from.
    pub(crate) fn current(&self) -> Handle {
        self.current.load(Ordering::Relaxed)
    }

    pub(crate) fn set_current(&self, handle: Handle) {
        self.current.store(handle, Ordering::Relaxed);
    }

    /// A new pool.
    pub(crate) fn create(&self, max_size: u64) -> Handle {
        let handle = fresh();
        self.registry.insert(handle, Arc::new(Pool::new(handle, max_size)));
        handle
    }

    /// Forgets a pool; what was allocated from it stays until it is freed.
    ///
    /// # Errors
    /// `INVALID_VALUE` for the default pool and for what is none.
    pub(crate) fn destroy(&self, handle: Handle) -> Result {
        if handle == self.default || self.registry.remove(handle).is_none() {
            return Err(Code::INVALID_VALUE.because("this is the default pool, or no pool"));
        }
        let _ = self.current.compare_exchange(
            handle,
            self.default,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        Ok(())
    }
}

impl Pool {
    fn new(handle: Handle, max_size: u64) -> Self {
        Self {
            handle,
            max_size,
            reuse: Mutex::new([1; 3]),
            threshold: AtomicU64::new(0),
            high: AtomicU64::new(0),
        }
    }

    fn used(&self) -> Result<u64> {
        Ok(driver()?.allocations.of_pool(self.handle))
    }

    /// Fails when so many bytes are more than it may give out.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`
    pub(crate) fn check(&self, size: u64) -> Result {
        if self.max_size > 0 && self.used()?.saturating_add(size) > self.max_size {
            return Err(Code::OUT_OF_MEMORY
                .because(format!("the pool may give out {} bytes in all", self.max_size)));
        }
        Ok(())
    }

    /// Remembers the most that was in use.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn note(&self) -> Result {
        self.high.fetch_max(self.used()?, Ordering::Relaxed);
        Ok(())
    }

    /// `CUmemPool_attribute`: 1 to 3 are 4 bytes wide, the others 8.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is none.
    pub(crate) fn attribute(&self, attribute: u32) -> Result<u64> {
        Ok(match attribute {
            1..=3 => {
                let reuse = self.reuse.lock().unwrap_or_else(PoisonError::into_inner);
                u64::from(reuse[attribute as usize - 1] != 0)
            }
            4 => self.threshold.load(Ordering::Relaxed),
            // What is in use is all that is kept.
            5 | 7 => self.used()?,
            6 | 8 => self.high.load(Ordering::Relaxed),
            _ => {
                return Err(
                    Code::INVALID_VALUE.because(format!("pools have no attribute {attribute}"))
                );
            }
        })
    }

    /// Sets one.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is none or can't be that.
    pub(crate) fn set_attribute(&self, attribute: u32, value: u64) -> Result {
        match attribute {
            1..=3 => {
                let mut reuse = self.reuse.lock().unwrap_or_else(PoisonError::into_inner);
                reuse[attribute as usize - 1] = i32::from(value != 0);
            }
            4 => self.threshold.store(value, Ordering::Relaxed),
            6 | 8 if value == 0 => self.high.store(self.used()?, Ordering::Relaxed),
            _ => {
                return Err(Code::INVALID_VALUE
                    .because(format!("attribute {attribute} of a pool can't be set to {value}")));
            }
        }
        Ok(())
    }
}
