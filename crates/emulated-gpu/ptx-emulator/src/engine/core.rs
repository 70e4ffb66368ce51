//! The state that a step may touch: the registers of its warp, the memory of its block, the device's memory.

#![allow(unsafe_code, reason = "memory of blocks and threads is raw memory, viewed as bytes")]

use std::sync::Arc;

use super::image::Image;
use super::output::Output;
use super::race::{Races, Shadow as RaceShadow, ThreadClocks};
use super::registers::Registers;
use super::timer::Timer;
use crate::fault::FaultKind;
use crate::memory::{Heap, Known, Memory, OutOfMemory, Reach, Shadow};
use crate::room::Zeroed;
use crate::texture::Resource;

/// What went wrong in a step; the place is added by who runs it.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) kind: FaultKind,
    pub(super) message: String,
    /// The lane it happened to, where it is one.
    pub(super) lane: Option<usize>,
    pub(super) address: Option<u64>,
    /// The other thread of a race.
    pub(super) other: Option<Other>,
    pub(super) notes: Vec<String>,
}

/// The other side of a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    /// The block's number in the grid, the thread's in the block.
    pub(super) block: u32,
    pub(super) thread: u32,
    pub(super) step: u32,
    /// It wrote; else it read.
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

/// Whether a step could be done.
pub(super) type Outcome = Result<(), Box<Problem>>;

/// Zeroed bytes, aligned to 128.
#[derive(Default)]
pub(super) struct Bytes {
    room: Option<Zeroed>,
    len: usize,
    /// As long as the bytes where it is kept.
    shadow: Option<Known>,
    /// Nothing has been written since they were made.
    fresh: bool,
}

impl Bytes {
    /// This many.
    ///
    /// # Errors
    /// When the host has not the room.
    pub(super) fn new(len: usize) -> Result<Self, OutOfMemory> {
        Self::tracked(len, false)
    }

    /// Bytes that nothing has written yet, which is remembered where `track` says so.
    ///
    /// # Errors
    /// When the host has not the room.
    pub(super) fn tracked(len: usize, track: bool) -> Result<Self, OutOfMemory> {
        if len == 0 {
            return Ok(Self::default());
        }
        let room = Some(Zeroed::new(len.next_multiple_of(128), 128)?);
        let shadow = if track { Some(Known::new(len)?) } else { None };
        Ok(Self { room, len, shadow, fresh: true })
    }

    /// Which of them have been written, where that is remembered.
    #[inline]
    pub(super) fn shadow(&self) -> Option<&Known> {
        self.shadow.as_ref()
    }

    /// Zeroes them, as if nothing had been written.
    pub(super) fn clear(&mut self) {
        // What has never been touched takes no memory, and is not to be touched here.
        if std::mem::take(&mut self.fresh) {
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
        self.room.as_ref().map_or(std::ptr::without_provenance_mut(128), Zeroed::as_ptr)
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

/// Memory that an access may touch without asking again: `len` bytes from the address `base`, at
/// `host` in the host.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) base: u64,
    pub(super) len: u64,
    pub(super) host: *mut u8,
}

impl Region {
    pub(super) const NONE: Self = Self { base: 0, len: 0, host: std::ptr::null_mut() };

    /// Where `bytes` bytes at an address are in the host, if they are inside.
    #[inline(always)]
    pub(super) fn host(&self, address: u64, bytes: u64) -> Option<*mut u8> {
        let offset = address.wrapping_sub(self.base);
        (bytes <= self.len && offset <= self.len - bytes)
            .then(|| self.host.wrapping_add(offset as usize))
    }
}

/// The memory that half a warp accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Its first byte.
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// It is one element, which every lane accesses; else each lane has its own.
    pub(super) uniform: bool,
}

/// What an access site found last time.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) region: Region,
    pub(super) shadow: Shadow,
    pub(super) races: Option<Arc<RaceShadow>>,
}

impl Site {
    pub(super) const NONE: Self = Self { region: Region::NONE, shadow: None, races: None };
}

/// See the module's comment. One for each host thread of a launch; blocks and warps take turns in
/// it.
pub(crate) struct Core<'launch> {
    pub(super) image: &'launch Image,
    pub(super) memory: &'launch Memory,
    pub(super) output: &'launch Output,
    /// What `malloc` takes from.
    pub(super) heap: Heap,
    /// What memory it may access.
    pub(super) reach: Reach,
    /// Packed parameters.
    pub(super) parameters: &'launch Bytes,
    /// The warp's.
    pub(super) registers: Registers,
    /// The warp's: that of lane 0, then that of lane 1, ….
    pub(super) local: Bytes,
    /// The block's.
    pub(super) shared: Bytes,
    pub(super) sites: Vec<Site>,
    /// Which warp of the block this is, and which block of the grid.
    pub(super) warp: u32,
    pub(super) block: u64,
    /// Steps executed by this host thread, the device's clock.
    pub(super) clock: u64,
    /// How many times something has been looked at that others than the block change: what a strong or
    /// atomic access finds; and how many times a clock.
    pub(super) seen: u64,
    pub(super) timed: u64,
    /// The device's `%globaltimer`.
    pub(super) timer: &'launch Timer,
    pub(super) deterministic: bool,
    /// Reads of memory that nothing has written are faults.
    pub(super) initialisation: bool,
    /// The step that runs, where it accesses memory.
    pub(super) step: u32,
    /// What a site has found last for others that follow.
    pub(super) kept: Option<(u32, [Stretch; 2])>,
    /// What the launch remembers to find races, where it does.
    pub(super) races: Option<&'launch Races>,
    /// The same, of the block.
    pub(super) threads: Option<Box<ThreadClocks>>,
    /// The textures and surfaces that the launch has found, by handle.
    pub(super) resources: Vec<(u64, Arc<Resource>)>,
}

impl Core<'_> {
    /// `%globaltimer`: nanoseconds; in deterministic runs, of the device's own clock.
    pub(super) fn global_timer(&self) -> u64 {
        self.timer.read(self.clock, self.deterministic)
    }

    /// Forgets which allocations were found where.
    pub(super) fn forget_sites(&mut self) {
        self.sites.fill(Site::NONE);
    }

    /// The bytes of local memory of one thread.
    pub(super) fn thread_local_bytes(&self) -> u64 {
        u64::from(self.image.local_bytes)
    }
}
