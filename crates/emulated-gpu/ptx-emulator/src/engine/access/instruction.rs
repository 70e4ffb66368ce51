//! An access to memory, as an instruction asks for it.

use crate::engine::core::{Core, Region};
use crate::engine::race::Semantics;
use crate::engine::registers::{LANES, Slot, Width};
use crate::engine::space::LaneAccess;
use crate::engine::state_space::{SHARED_WINDOW, StateSpace, in_window};

/// An access to memory.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Access {
    pub(in crate::engine) room: StateSpace,
    /// The register, or constant, that holds the address.
    pub(in crate::engine) address: Slot,
    /// Added to it.
    pub(in crate::engine) offset: u64,
    /// Bytes of one element.
    pub(in crate::engine) bytes: u64,
    /// Destinations or sources, one for each element.
    pub(in crate::engine) values: Vec<Slot>,
    /// Elements are sign-extended to their destination.
    pub(in crate::engine) signed: bool,
    /// Its place in [`Core::sites`].
    pub(in crate::engine) site: u32,
    /// A fence follows a load that acquires, and precedes a store that releases.
    pub(in crate::engine) fence: bool,
    /// Every lane on its own, as volatile and atomic accesses are.
    pub(in crate::engine) strong: bool,
    /// How it takes part in the memory model.
    pub(in crate::engine) semantics: Semantics,
    /// A weak load whose value a compare-and-swap of the same address checks.
    pub(in crate::engine) guess: bool,
    /// A weak load of what nothing may have written, and which is only carried on; or a store of such a value.
    pub(in crate::engine) carries: bool,
    /// Nobody writes there while a kernel runs.
    pub(in crate::engine) constant: bool,
    /// Whether another access, of the same steps without a branch, has the same address but for the offset.
    pub(in crate::engine) kept: Kept,
}

/// Whether what is found of the addresses of an access holds for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Kept {
    /// It does not.
    No,
    /// Some that come after it.
    ForOthers,
    /// It was found by the one with this site.
    By(u32),
}

impl Access {
    /// Bytes of all elements.
    pub(in crate::engine) fn total(&self) -> u64 {
        self.bytes * self.values.len() as u64
    }

    /// That of one lane to some bytes.
    #[inline(always)]
    pub(in crate::engine) fn at(&self, address: u64, bytes: u64, lane: usize) -> LaneAccess {
        LaneAccess { room: self.room, site: self.site, address, bytes, lane }
    }

    /// The address of one lane.
    pub(in crate::engine) fn of_lane(&self, core: &Core<'_>, lane: usize) -> u64 {
        core.registers.get(self.address, lane).wrapping_add(self.offset)
    }

    #[inline(always)]
    pub(in crate::engine) fn addresses(&self, core: &Core<'_>) -> [u64; LANES] {
        let mut out = [0; LANES];
        if self.address.width == Width::Wide {
            let row = core.registers.wide(self.address.index);
            for lane in 0..LANES {
                out[lane] = row[lane].wrapping_add(self.offset);
            }
        } else {
            let row = core.registers.narrow(self.address.index);
            for lane in 0..LANES {
                out[lane] = u64::from(row[lane]).wrapping_add(self.offset);
            }
        }
        out
    }

    /// The memory in which an address of this access most likely is.
    #[inline(always)]
    pub(super) fn region(&self, core: &mut Core<'_>, address: u64) -> Region {
        match self.room {
            StateSpace::Generic if in_window(address, SHARED_WINDOW) => {
                core.shared_region(SHARED_WINDOW)
            }
            StateSpace::Global | StateSpace::Generic => core.sites[self.site as usize].region,
            StateSpace::Shared => core.shared_region(0),
            StateSpace::Param => core.parameter_region(0),
            StateSpace::Local => Region::NONE,
        }
    }

    /// The same for a store: no thread writes to the launch's parameters.
    #[inline(always)]
    pub(super) fn region_to_write(&self, core: &mut Core<'_>, address: u64) -> Region {
        if self.room == StateSpace::Param { Region::NONE } else { self.region(core, address) }
    }
}
