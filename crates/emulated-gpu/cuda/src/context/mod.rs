//! Contexts, which own streams, modules and memory, and record sticky errors: an error that makes a context unusable
//! until it is destroyed.

pub(crate) mod coredump;
pub(crate) mod fault_file;
pub(crate) mod hardware;
pub(crate) mod leaks;
pub(crate) mod library_storage;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::{Devices, Home, Reach};

use crate::abi::Handle;
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::registry::new_handle;
use crate::context::hardware::Hardware;
use crate::context::library_storage::Storage;
use crate::memory::allocations::Owner;
use crate::sync::queue::SubmissionOrder;

/// `CU_LIMIT_MALLOC_HEAP_SIZE`
pub(crate) const HEAP_LIMIT: u32 = 2;
/// The number of `CUlimit` values.
const LIMITS: usize = 8;

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: Handle,
    /// The ordinal of the context's device.
    pub(crate) device: u32,
    pub(crate) hardware: Arc<Hardware>,
    /// The devices to whose memory this context has enabled peer access.
    peers: Mutex<Devices>,
    /// `cuCtxGetId`
    pub(crate) id: u64,
    pub(crate) flags: AtomicU32,
    pub(crate) cache: AtomicU32,
    pub(crate) shared_banks: AtomicU32,
    /// The sticky error that made the context unusable, or 0.
    fault: AtomicU32,
    /// Whether that error was reported to the program.
    fault_reported: AtomicBool,
    destroyed: AtomicBool,
    /// The lock that orders submissions of work to the streams of this context.
    pub(crate) order: SubmissionOrder,
    /// Values that libraries store with the context.
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
    /// The handle, which stays the same when the context is created again.
    handle: Option<Handle>,
}

impl Context {
    /// A context of a device, not registered yet.
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
            fault_reported: AtomicBool::new(false),
            destroyed: AtomicBool::new(false),
            order: SubmissionOrder::default(),
            storage: Storage::default(),
            // The default limits: stack, printf buffer, heap, depth and number of device-side launches, L2 fetch
            // granularity, persisting cache, shared memory.
            limits: Mutex::new([1024, 1 << 20, 8 << 20, 2, 2048, 64, 0, 48 << 10]),
        }
    }

    /// The owner to record for memory on this context's device.
    pub(crate) fn owner(&self) -> Owner {
        Owner { context: self.handle, home: Home::on(self.device) }
    }

    /// Whether the context was destroyed. Work that began before may still refer to it.
    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Relaxed)
    }

    /// Makes the context accept no more work.
    ///
    /// # Errors
    /// `CONTEXT_IS_DESTROYED` if another thread has begun to destroy it.
    pub(crate) fn end(&self) -> Result {
        if !self.order.end() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        self.destroyed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Checks that the context is usable. After a fault, it only becomes unusable once the fault was reported; until
    /// then, work is accepted but not executed. A kernel fails some time after its launch, also on hardware, and
    /// programs should not depend on how soon an asynchronous error shows up.
    pub(crate) fn check(&self) -> Result {
        if self.is_destroyed() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        if self.fault_reported.load(Ordering::Acquire) { self.report_fault() } else { Ok(()) }
    }

    /// Reports a fault to the program, if one occurred: in calls that wait for work or query it.
    pub(crate) fn report_fault(&self) -> Result {
        if self.is_destroyed() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        match self.fault() {
            Some(code) => {
                self.fault_reported.store(true, Ordering::Release);
                Err(code.because(
                    "an earlier kernel, copy or host library failed and made its context unusable; the \
                     report is on standard error",
                ))
            }
            None => Ok(()),
        }
    }

    /// The sticky error.
    pub(crate) fn fault(&self) -> Option<Code> {
        Some(self.fault.load(Ordering::Acquire)).filter(|&code| code != 0).map(Code)
    }

    /// Records an error that makes the context unusable; only the first error is kept.
    pub(crate) fn raise(&self, code: Code) {
        let _ = self.fault.compare_exchange(0, code.0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The memory that work of this context may access.
    pub(crate) fn reach(&self) -> Reach {
        let peers = *self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        Reach { device: self.device, peers }
    }

    /// Whether peer access to another device is enabled.
    pub(crate) fn has_peer(&self, device: u32) -> bool {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).contains(device)
    }

    /// Enables or disables peer access to another device.
    ///
    /// # Errors
    /// If `on`, `PEER_ACCESS_UNSUPPORTED` if `peer` is the context's device, and `PEER_ACCESS_ALREADY_ENABLED` if the
    /// access is already enabled; otherwise `PEER_ACCESS_NOT_ENABLED` if it is not enabled.
    pub(crate) fn set_peer(&self, peer: u32, on: bool) -> Result {
        if on && peer == self.device {
            return Err(Code::PEER_ACCESS_UNSUPPORTED
                .because("both contexts are on the same device, so no peer access is needed"));
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
    /// `UNSUPPORTED_LIMIT` for an unknown limit. For the heap, `INVALID_VALUE` once a kernel has allocated from it,
    /// and `OUT_OF_MEMORY` if the size exceeds the free memory.
    pub(crate) fn set_limit(&self, limit: u32, value: u64) -> Result {
        if limit == HEAP_LIMIT && self.hardware.memory().has_heap(self.handle as u64) {
            return Err(Code::INVALID_VALUE
                .because("a kernel has already called malloc; set the heap size before that"));
        }
        let free = self.hardware.allocations.free_bytes(self.device);
        if limit == HEAP_LIMIT && value > free {
            return Err(Code::OUT_OF_MEMORY.because(format!(
                "a heap of {value} bytes was requested, but only {free} are free; free memory first"
            )));
        }
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = limits.get_mut(limit as usize).ok_or(Code::UNSUPPORTED_LIMIT)?;
        *slot = value;
        Ok(())
    }
}

impl Primary {
    /// A primary context that hasn't been created yet.
    pub(crate) fn new(device: u32) -> Self {
        Self { device, context: None, retained: 0, flags: 0, handle: None }
    }

    /// Retains the context. If it doesn't exist, `make` creates it from the handle, the flags and the device.
    pub(crate) fn retain(
        &mut self,
        make: impl FnOnce(Handle, u32, u32) -> Arc<Context>,
    ) -> Arc<Context> {
        self.retained += 1;
        let (handle, flags, device) = (self.handle(), self.flags, self.device);
        Arc::clone(self.context.get_or_insert_with(|| make(handle, flags, device)))
    }

    /// The handle of the primary context, which is reserved even if the context doesn't exist yet.
    pub(crate) fn handle(&mut self) -> Handle {
        *self.handle.get_or_insert_with(new_handle)
    }

    /// Whether a handle is the reserved handle of this primary context.
    pub(crate) fn has(&self, handle: Handle) -> bool {
        self.handle == Some(handle)
    }

    /// Releases the context once. Returns the context if it must now be destroyed.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` if the context is not retained.
    pub(crate) fn release(&mut self) -> Result<Option<Arc<Context>>> {
        fail_if!(self.retained == 0, INVALID_CONTEXT, "the primary context is not retained");
        self.retained -= 1;
        Ok(if self.retained == 0 { self.context.take() } else { None })
    }
}
