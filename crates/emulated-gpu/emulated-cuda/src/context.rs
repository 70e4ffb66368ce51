//! Contexts: what streams, modules and memory belong to, and where an error that can't be undone
//! stays until the context is gone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use ptx_emulator::memory::{Devices, Reach};

use crate::abi::Handle;
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::queue::Order;
use crate::registry::fresh;
use crate::storage::{Ended, Storage};
use crate::stream::{Stream, StreamKind};

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
    streams: Mutex<Streams>,
    limits: Mutex<[u64; LIMITS]>,
}

#[derive(Debug, Default)]
struct Streams {
    null: Option<Arc<Stream>>,
    per_thread: HashMap<ThreadId, Arc<Stream>>,
    all: Vec<Weak<Stream>>,
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

thread_local! {
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

impl Context {
    /// A context, known to the driver.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn create(handle: Handle, flags: u32, device: u32) -> Result<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let context = Arc::new(Self {
            handle,
            device,
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
            streams: Mutex::default(),
            // Stack, printf buffer, heap, depth and number of launches of the device's own, sector,
            // persisting cache, shared memory.
            limits: Mutex::new([1024, 1 << 20, 8 << 20, 2, 2048, 64, 0, 48 << 10]),
        });
        driver()?.contexts.insert(handle, Arc::clone(&context));
        Ok(context)
    }

    /// Fails when an error has ended what the context can do, and the program knows it. Until then
    /// work is taken, and not done: a kernel fails some time after it was launched, and programs
    /// should not depend on how soon. On hardware, too, it takes a while.
    pub(crate) fn check(&self) -> Result {
        if self.destroyed.load(Ordering::Relaxed) {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        if self.told.load(Ordering::Acquire) { self.tell() } else { Ok(()) }
    }

    /// Fails when an error has ended what the context can do, and tells the program: in calls that
    /// have waited for work or that ask about it.
    pub(crate) fn tell(&self) -> Result {
        if self.destroyed.load(Ordering::Relaxed) {
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

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The legacy default stream.
    pub(crate) fn null_stream(self: &Arc<Self>) -> Arc<Stream> {
        let mut streams = self.streams();
        if let Some(null) = &streams.null {
            return Arc::clone(null);
        }
        let null = Arc::new(Stream::new(1, Arc::clone(self), StreamKind::Null, 0, 0));
        streams.all.push(Arc::downgrade(&null));
        streams.null = Some(Arc::clone(&null));
        null
    }

    /// The default stream of the calling thread.
    pub(crate) fn thread_stream(self: &Arc<Self>) -> Arc<Stream> {
        let mut streams = self.streams();
        let key = thread::current().id();
        if let Some(stream) = streams.per_thread.get(&key) {
            return Arc::clone(stream);
        }
        let stream = Arc::new(Stream::new(2, Arc::clone(self), StreamKind::PerThread, 0, 0));
        streams.all.push(Arc::downgrade(&stream));
        streams.per_thread.insert(key, Arc::clone(&stream));
        stream
    }

    /// Makes a stream that belongs to this context.
    pub(crate) fn create_stream(self: &Arc<Self>, flags: u32, priority: i32) -> Arc<Stream> {
        let stream =
            Arc::new(Stream::new(fresh(), Arc::clone(self), StreamKind::Created, flags, priority));
        let mut streams = self.streams();
        streams.all.retain(|stream| stream.strong_count() > 0);
        streams.all.push(Arc::downgrade(&stream));
        stream
    }

    /// Every stream in which there may be work.
    pub(crate) fn all_streams(&self) -> Vec<Arc<Stream>> {
        self.streams().all.iter().filter_map(Weak::upgrade).collect()
    }

    /// The legacy default stream, if it was ever used.
    pub(crate) fn used_null_stream(&self) -> Option<Arc<Stream>> {
        self.streams().null.clone()
    }

    /// Waits until all work is done.
    pub(crate) fn synchronize(&self) {
        for stream in self.all_streams() {
            stream.wait_for_all();
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
        let driver = driver()?;
        if limit == HEAP_LIMIT && driver.emulator.memory().has_heap(self.handle as u64) {
            return Err(Code::INVALID_VALUE.because(
                "a kernel has called malloc already: set the size of the heap before the first does",
            ));
        }
        let free = driver.allocations.free_bytes(self.device)?;
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

    /// Takes no work any longer, waits for what it has taken, then frees what belongs to it. Its
    /// handle is not known any longer. What is given back is told when no lock is held.
    ///
    /// # Errors
    /// `CONTEXT_IS_DESTROYED` when another thread has begun to destroy it.
    pub(crate) fn destroy(&self) -> Result<Ended> {
        let driver = driver()?;
        if !self.order.end() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        self.destroyed.store(true, Ordering::Relaxed);
        // What nobody ended would go on keeping other threads from unsafe calls.
        for capture in self.all_streams().into_iter().filter_map(|stream| stream.capture()) {
            capture.abandon(driver);
        }
        self.synchronize();
        driver.contexts.remove(self.handle);
        let own = self.handle;
        driver.streams.retain(|stream| stream.context.handle != own);
        driver.events.retain(|event| event.context.handle != own);
        driver.modules.retain(|module| module.context != own);
        driver.functions.retain(|function| function.context != own);
        let stays = |module| module == 0 || driver.modules.get(module).is_some();
        driver.references.retain(|reference| stays(reference.module));
        driver.textures.end_context(own)?;
        driver.surfaces.end_context(own)?;
        // The streams hold the context, and their threads hold the streams.
        let mut streams = std::mem::take(&mut *self.streams());
        for stream in streams.all.drain(..).filter_map(|stream| stream.upgrade()) {
            stream.close();
        }
        crate::report::leaks_of(driver, own);
        driver.emulator.memory().end_heap(own as u64);
        driver.mipmaps.retain(|mipmap| mipmap.context != own);
        driver.arrays.retain(|array| array.context != own);
        driver.allocations.free_context(own)?;
        Ok(self.storage.end(own))
    }
}

impl Primary {
    /// Of a device, of which there is none yet.
    pub(crate) fn of(device: u32) -> Self {
        Self { device, context: None, retained: 0, flags: 0, handle: None }
    }

    /// The primary context, made when there is none.
    pub(crate) fn retain(&mut self) -> Result<Arc<Context>> {
        self.retained += 1;
        if let Some(context) = &self.context {
            return Ok(Arc::clone(context));
        }
        let context = Context::create(self.handle(), self.flags, self.device)?;
        self.context = Some(Arc::clone(&context));
        Ok(context)
    }

    /// Its handle, whether it is there or not.
    pub(crate) fn handle(&mut self) -> Handle {
        *self.handle.get_or_insert_with(fresh)
    }

    /// Whether the handle was given out as its.
    pub(crate) fn has(&self, handle: Handle) -> bool {
        self.handle == Some(handle)
    }

    /// Gives back one of the times it was retained; the last one ends it.
    pub(crate) fn release(&mut self) -> Result<Ended> {
        if self.retained == 0 {
            return Err(Code::INVALID_CONTEXT.because("the primary context is not retained"));
        }
        self.retained -= 1;
        if self.retained == 0 { self.reset() } else { Ok(Ended::default()) }
    }

    /// Ends the context, however often it was retained.
    pub(crate) fn reset(&mut self) -> Result<Ended> {
        self.context.take().map_or_else(|| Ok(Ended::default()), |context| context.destroy())
    }
}

/// The handle of the calling thread's context, or 0.
pub(crate) fn current_handle() -> Handle {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// The calling thread's context, usable or not.
///
/// # Errors
/// `INVALID_CONTEXT` when there is none, `CONTEXT_IS_DESTROYED`.
pub(crate) fn current_of_any_state() -> Result<Arc<Context>> {
    let handle = current_handle();
    if handle == 0 {
        return Err(Code::INVALID_CONTEXT
            .because("this thread has no context; call cuCtxSetCurrent with one"));
    }
    driver()?.contexts.get(handle).ok_or_else(|| Code::CONTEXT_IS_DESTROYED.into())
}

/// The calling thread's context.
///
/// # Errors
/// `INVALID_CONTEXT` when there is none, and the error that ended it.
pub(crate) fn current() -> Result<Arc<Context>> {
    let context = current_of_any_state()?;
    context.check()?;
    Ok(context)
}

/// Replaces the top of the calling thread's stack; 0 takes it away.
pub(crate) fn set_current(handle: Handle) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
}

pub(crate) fn push(handle: Handle) {
    STACK.with_borrow_mut(|stack| stack.push(handle));
}

pub(crate) fn pop() -> Option<Handle> {
    STACK.with_borrow_mut(Vec::pop)
}
