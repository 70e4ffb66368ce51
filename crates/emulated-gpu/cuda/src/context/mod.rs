//! Contexts: what streams, modules and memory belong to, and where an error that can't be undone
//! stays until the context is gone.

pub(crate) mod coredump;
pub(crate) mod hardware;
pub(crate) mod leaks;
pub(crate) mod library_storage;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::{Devices, Home, Reach};

use crate::abi::Handle;
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::registry::fresh;
use crate::context::hardware::Hardware;
use crate::context::library_storage::Storage;
use crate::memory::allocations::Owner;
use crate::sync::queue::Order;

/// `CU_LIMIT_MALLOC_HEAP_SIZE`
pub(crate) const HEAP_LIMIT: u32 = 2;
/// The number of limits that `cuCtxSetLimit` knows.
const LIMITS: usize = 8;

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: Handle,
    /// The device that it is on.
    pub(crate) device: u32,
    pub(crate) hardware: Arc<Hardware>,
    /// Devices to whose memory it has enabled access.
    peers: Mutex<Devices>,
    /// `cuCtxGetId`
    pub(crate) id: u64,
    pub(crate) flags: AtomicU32,
    pub(crate) cache: AtomicU32,
    pub(crate) shared_banks: AtomicU32,
    /// The error that ended what it can do, or 0.
    fault: AtomicU32,
    /// Whether the program has been told.
    told: AtomicBool,
    destroyed: AtomicBool,
    /// Of the work that is put into its streams.
    pub(crate) order: Order,
    /// What libraries keep beside it.
    pub(crate) storage: Storage,
    limits: Mutex<[u64; LIMITS]>,
}

/// The primary context of a device.
#[derive(Debug)]
pub(crate) struct Primary {
    device: u32,
    pub(crate) context: Option<Arc<Context>>,
    pub(crate) retained: u64,
    pub(crate) flags: u32,
    /// The handle stays the same whenever the context is made anew.
    handle: Option<Handle>,
}

impl Context {
    /// A context of a device, which nobody knows yet.
    pub(crate) fn new(handle: Handle, flags: u32, device: u32, hardware: Arc<Hardware>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            handle,
            device,
            hardware,
            peers: Mutex::default(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            flags: AtomicU32::new(flags),
            cache: AtomicU32::new(0),
            shared_banks: AtomicU32::new(1),
            fault: AtomicU32::new(0),
            told: AtomicBool::new(false),
            destroyed: AtomicBool::new(false),
            order: Order::default(),
            storage: Storage::default(),
            // Stack, printf buffer, heap, depth and number of launches of the device's own, sector,
            // persisting cache, shared memory.
            limits: Mutex::new([1024, 1 << 20, 8 << 20, 2, 2048, 64, 0, 48 << 10]),
        }
    }

    /// Memory of its device.
    pub(crate) fn owner(&self) -> Owner {
        Owner { context: self.handle, home: Home::on(self.device) }
    }

    /// Whether it was destroyed; work that has found it before may still hold it.
    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Relaxed)
    }

    /// Takes no work any longer.
    ///
    /// # Errors
    /// `CONTEXT_IS_DESTROYED` when another thread has begun to destroy it.
    pub(crate) fn end(&self) -> Result {
        if !self.order.end() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        self.destroyed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Fails when an error has ended what the context can do, and the program knows it. Until then
    /// work is taken, and not done: a kernel fails some time after it was launched, and programs
    /// should not depend on how soon. On hardware, too, it takes a while.
    pub(crate) fn check(&self) -> Result {
        if self.is_destroyed() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        if self.told.load(Ordering::Acquire) { self.tell() } else { Ok(()) }
    }

    /// Fails when an error has ended what the context can do, and tells the program: in calls that
    /// have waited for work or that ask about it.
    pub(crate) fn tell(&self) -> Result {
        if self.is_destroyed() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        match self.fault() {
            Some(code) => {
                self.told.store(true, Ordering::Release);
                Err(code.because(
                    "an earlier kernel, copy or host library failed, which ended its context; the \
                     report is on standard error",
                ))
            }
            None => Ok(()),
        }
    }

    /// The error that ended it.
    pub(crate) fn fault(&self) -> Option<Code> {
        Some(self.fault.load(Ordering::Acquire)).filter(|&code| code != 0).map(Code)
    }

    /// Ends what the context can do; the first error stays.
    pub(crate) fn raise(&self, code: Code) {
        let _ = self.fault.compare_exchange(0, code.0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// What memory its work may access.
    pub(crate) fn reach(&self) -> Reach {
        let peers = *self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        Reach { device: self.device, peers }
    }

    /// Whether its work is let into the memory of another device.
    pub(crate) fn has_peer(&self, device: u32) -> bool {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).contains(device)
    }

    /// Lets its work into the memory of another device, or no longer.
    ///
    /// # Errors
    /// `PEER_ACCESS_UNSUPPORTED` where both are on one device, `PEER_ACCESS_ALREADY_ENABLED`,
    /// `PEER_ACCESS_NOT_ENABLED`.
    pub(crate) fn set_peer(&self, peer: u32, on: bool) -> Result {
        if on && peer == self.device {
            return Err(Code::PEER_ACCESS_UNSUPPORTED
                .because("both contexts are on the same device, which needs no access"));
        }
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        match (on, peers.contains(peer)) {
            (true, true) => Err(Code::PEER_ACCESS_ALREADY_ENABLED.into()),
            (false, false) => Err(Code::PEER_ACCESS_NOT_ENABLED.into()),
            (true, false) => {
                *peers = peers.with(peer);
                Ok(())
            }
            (false, true) => {
                *peers = peers.without(peer);
                Ok(())
            }
        }
    }

    pub(crate) fn limit(&self, limit: u32) -> Result<u64> {
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.get(limit as usize).copied().ok_or_else(|| Code::UNSUPPORTED_LIMIT.into())
    }

    /// Sets a limit.
    ///
    /// # Errors
    /// `UNSUPPORTED_LIMIT` for what is none; of the heap, `INVALID_VALUE` once a kernel has allocated
    /// from it, and `OUT_OF_MEMORY` for more than there is.
    pub(crate) fn set_limit(&self, limit: u32, value: u64) -> Result {
        if limit == HEAP_LIMIT && self.hardware.memory().has_heap(self.handle as u64) {
            return Err(Code::INVALID_VALUE.because(
                "a kernel has called malloc already: set the size of the heap before the first does",
            ));
        }
        let free = self.hardware.allocations.free_bytes(self.device);
        if limit == HEAP_LIMIT && value > free {
            return Err(Code::OUT_OF_MEMORY.because(format!(
                "a heap of {value} bytes, and {free} are free: free some first"
            )));
        }
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = limits.get_mut(limit as usize).ok_or(Code::UNSUPPORTED_LIMIT)?;
        *slot = value;
        Ok(())
    }
}

impl Primary {
    /// Of a device, of which there is none yet.
    pub(crate) fn of(device: u32) -> Self {
        Self { device, context: None, retained: 0, flags: 0, handle: None }
    }

    /// The primary context; where there is none, `make` makes it of a handle, flags and the device.
    pub(crate) fn retain(
        &mut self,
        make: impl FnOnce(Handle, u32, u32) -> Arc<Context>,
    ) -> Arc<Context> {
        self.retained += 1;
        let (handle, flags, device) = (self.handle(), self.flags, self.device);
        Arc::clone(self.context.get_or_insert_with(|| make(handle, flags, device)))
    }

    /// Its handle, whether it is there or not.
    pub(crate) fn handle(&mut self) -> Handle {
        *self.handle.get_or_insert_with(fresh)
    }

    /// Whether the handle was given out as its.
    pub(crate) fn has(&self, handle: Handle) -> bool {
        self.handle == Some(handle)
    }

    /// Gives back one of the times it was retained: after the last one, what has to end.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` where it is not retained.
    pub(crate) fn release(&mut self) -> Result<Option<Arc<Context>>> {
        fail_if!(self.retained == 0, INVALID_CONTEXT, "the primary context is not retained");
        self.retained -= 1;
        Ok(if self.retained == 0 { self.context.take() } else { None })
    }
}
