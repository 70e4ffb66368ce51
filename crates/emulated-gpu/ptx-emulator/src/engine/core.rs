//! The state that a step may access: registers of the warp, memory of the block, memory of the
//! device.

#![allow(unsafe_code, reason = "views raw memory of blocks and threads as bytes")]

use std::sync::Arc;

use super::image::Image;
use super::output::Output;
use super::race::{Races, Shadow as RaceShadow, ThreadClocks};
use super::registers::Registers;
use super::timer::Timer;
use crate::fault::FaultKind;
use crate::memory::{Heap, InitialisedBytes, Memory, OutOfMemory, Reach, Shadow};
use crate::room::Zeroed;
use crate::texture::Resource;

/// An error in a step. The caller adds its place in the program.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) kind: FaultKind,
    pub(super) message: String,
    /// The lane that caused the error, if it is a single lane.
    pub(super) lane: Option<usize>,
    pub(super) address: Option<u64>,
    /// The other thread of a race.
    pub(super) other: Option<RacingAccess>,
    pub(super) notes: Vec<String>,
}

/// The other access of a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct RacingAccess {
    /// The block's index in the grid, and the thread's in the block.
    pub(super) block: u32,
    pub(super) thread: u32,
    pub(super) step: u32,
    /// Whether the access was a write; otherwise it was a read.
    pub(super) wrote: bool,
}

impl Problem {
    pub(super) fn new(kind: FaultKind, message: impl Into<String>) -> Box<Self> {
        let message = message.into();
        let (lane, address, other, notes) = (None, None, None, Vec::new());
        Box::new(Self { kind, message, lane, address, other, notes })
    }

    pub(super) fn lane(mut self: Box<Self>, lane: usize) -> Box<Self> {
        self.lane = Some(lane);
        self
    }

    pub(super) fn address(mut self: Box<Self>, address: u64) -> Box<Self> {
        self.address = Some(address);
        self
    }

    pub(super) fn note(mut self: Box<Self>, note: impl Into<String>) -> Box<Self> {
        self.notes.push(note.into());
        self
    }
}

/// The result of a step.
pub(super) type Outcome<T = ()> = Result<T, Box<Problem>>;

/// Zeroed bytes, aligned to 128.
#[derive(Default)]
pub(super) struct Bytes {
    memory: Option<Zeroed>,
    len: usize,
    /// The initialised bytes, if initialisation is tracked.
    shadow: Option<InitialisedBytes>,
    /// Whether nothing has been written since the bytes were allocated.
    is_untouched: bool,
}

impl Bytes {
    /// Allocates `len` zeroed bytes.
    pub(super) fn new(len: usize) -> Result<Self, OutOfMemory> {
        Self::tracked(len, false)
    }

    /// Allocates `len` uninitialised (zeroed) bytes; `track` records which of them are written.
    pub(super) fn tracked(len: usize, track: bool) -> Result<Self, OutOfMemory> {
        if len == 0 {
            return Ok(Self::default());
        }
        let memory = Some(Zeroed::new(len.next_multiple_of(128), 128)?);
        let shadow = if track { Some(InitialisedBytes::new(len)?) } else { None };
        Ok(Self { memory, len, shadow, is_untouched: true })
    }

    /// The initialised bytes, if initialisation is tracked.
    #[inline]
    pub(super) fn shadow(&self) -> Option<&InitialisedBytes> {
        self.shadow.as_ref()
    }

    /// Zeroes the bytes, and marks them as uninitialised.
    pub(super) fn clear(&mut self) {
        // Pages that were never touched take no memory, and zeroing would touch them.
        if std::mem::take(&mut self.is_untouched) {
            return;
        }
        self.as_mut_slice().fill(0);
        if let Some(shadow) = &self.shadow {
            shadow.set(0, self.len, false);
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len as u64
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start()
    }

    fn start(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::without_provenance_mut(128), Zeroed::as_ptr)
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: there are at least `len` bytes of plain data, borrowed uniquely.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: there are at least `len` bytes of plain data.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }
}

/// Memory that an access may use without another check: `len` bytes from address `base`, at host
/// address `host`.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) base: u64,
    pub(super) len: u64,
    pub(super) host: *mut u8,
}

impl Region {
    pub(super) const NONE: Self = Self { base: 0, len: 0, host: std::ptr::null_mut() };

    /// The host address of `bytes` bytes at an address, if they are inside.
    #[inline(always)]
    pub(super) fn host(&self, address: u64, bytes: u64) -> Option<*mut u8> {
        let offset = address.wrapping_sub(self.base);
        (bytes <= self.len && offset <= self.len - bytes)
            .then(|| self.host.wrapping_add(offset as usize))
    }
}

/// A stretch: the contiguous memory, or the single element, that half a warp accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The address of the first byte.
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// Whether all lanes access the same element; otherwise each lane has its own.
    pub(super) uniform: bool,
}

/// The memory that an access site found last.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) region: Region,
    pub(super) shadow: Shadow,
    pub(super) races: Option<Arc<RaceShadow>>,
}

impl Site {
    pub(super) const NONE: Self = Self { region: Region::NONE, shadow: None, races: None };
}

/// The state that a step may access. There is one for each host thread of a launch; its blocks and
/// warps take turns.
pub(crate) struct Core<'launch> {
    pub(super) image: &'launch Image,
    pub(super) memory: &'launch Memory,
    pub(super) output: &'launch Output,
    /// The heap from which `malloc` allocates.
    pub(super) heap: Heap,
    /// The memory that the launch may access.
    pub(super) reach: Reach,
    /// The packed parameters of the launch.
    pub(super) parameters: &'launch Bytes,
    /// The registers of the current warp.
    pub(super) registers: Registers,
    /// The local memory of the current warp, lane after lane.
    pub(super) local: Bytes,
    /// The shared memory of the current block.
    pub(super) shared: Bytes,
    pub(super) sites: Vec<Site>,
    /// The index of the warp in the block, and of the block in the grid.
    pub(super) warp: u32,
    pub(super) block: u64,
    /// The steps executed by this host thread, which is the device's clock.
    pub(super) clock: u64,
    /// Counts of polling operations: strong or atomic reads of memory that other blocks may change
    /// (`memory_polls`), and reads of a clock (`clock_polls`).
    pub(super) memory_polls: u64,
    pub(super) clock_polls: u64,
    /// The device's `%globaltimer`.
    pub(super) timer: &'launch Timer,
    pub(super) deterministic: bool,
    /// Whether reads of uninitialised memory are faults.
    pub(super) initialisation: bool,
    /// The current step, if it accesses memory.
    pub(super) step: u32,
    /// The [`Stretch`]es of the last site whose address pattern is shared with later accesses.
    pub(super) last_pattern: Option<(u32, [Stretch; 2])>,
    /// The launch's data for racecheck, if enabled.
    pub(super) races: Option<&'launch Races>,
    /// The block's data for racecheck.
    pub(super) threads: Option<Box<ThreadClocks>>,
    /// The textures and surfaces that the launch has used, by handle.
    pub(super) resources: Vec<(u64, Arc<Resource>)>,
}

impl Core<'_> {
    /// `%globaltimer` in nanoseconds. In deterministic runs it is derived from the device's clock.
    pub(super) fn global_timer(&self) -> u64 {
        self.timer.read(self.clock, self.deterministic)
    }

    /// Clears the regions that access sites have cached.
    pub(super) fn forget_sites(&mut self) {
        self.sites.fill(Site::NONE);
    }

    /// The bytes of local memory per thread.
    pub(super) fn thread_local_bytes(&self) -> u64 {
        u64::from(self.image.local_bytes)
    }
}
