//! The description of a memory access by an instruction.

use crate::engine::core::{Core, Region};
use crate::engine::race::Semantics;
use crate::engine::registers::{LANES, Slot, Width};
use crate::engine::space::LaneAccess;
use crate::engine::state_space::{SHARED_WINDOW, StateSpace, in_window};

/// A memory access.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Access {
    pub(in crate::engine) state_space: StateSpace,
    /// The register or constant that holds the base address.
    pub(in crate::engine) address: Slot,
    /// The offset that is added to the base address.
    pub(in crate::engine) offset: u64,
    /// The size of one element in bytes.
    pub(in crate::engine) bytes: u64,
    /// Destinations of a load or sources of a store, one per element.
    pub(in crate::engine) values: Vec<Slot>,
    /// Whether elements are sign-extended to their destination.
    pub(in crate::engine) signed: bool,
    /// Index of the access in [`Core::sites`].
    pub(in crate::engine) site: u32,
    /// Whether a fence follows the load (acquire) or precedes the store (release).
    pub(in crate::engine) fence: bool,
    /// Whether each lane is served separately, as for volatile and atomic accesses.
    pub(in crate::engine) strong: bool,
    /// The ordering and scope of the access in the memory model.
    pub(in crate::engine) semantics: Semantics,
    /// Whether the access is a weak load whose value is later checked by a compare-and-swap at the
    /// same address.
    pub(in crate::engine) is_guess: bool,
    /// Whether the access is a weak load of possibly uninitialised memory whose value is only
    /// passed on, or a store of such a value.
    pub(in crate::engine) passes_on: bool,
    /// Whether no thread writes this memory while a kernel runs.
    pub(in crate::engine) constant: bool,
    /// Whether the address pattern is shared with another access, in the same straight-line code,
    /// whose address differs by a constant offset.
    pub(in crate::engine) pattern: PatternReuse,
}

/// Whether the address pattern of an access is shared with other accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum PatternReuse {
    /// The pattern is not shared.
    Unshared,
    /// The pattern is computed here and reused by later accesses.
    Computed,
    /// The pattern was computed by the access with this site.
    ReusedFrom(u32),
}

impl Access {
    /// The size of all elements in bytes.
    pub(in crate::engine) fn total_bytes(&self) -> u64 {
        self.bytes * self.values.len() as u64
    }

    /// The access of one lane to `bytes` bytes.
    #[inline(always)]
    pub(in crate::engine) fn lane_access(
        &self,
        address: u64,
        bytes: u64,
        lane: usize,
    ) -> LaneAccess {
        LaneAccess { state_space: self.state_space, site: self.site, address, bytes, lane }
    }

    /// The address in one lane.
    pub(in crate::engine) fn lane_address(&self, core: &Core<'_>, lane: usize) -> u64 {
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

    /// The memory that most likely contains an address of this access.
    #[inline(always)]
    pub(super) fn region(&self, core: &mut Core<'_>, address: u64) -> Region {
        match self.state_space {
            StateSpace::Generic if in_window(address, SHARED_WINDOW) => {
                core.shared_region(SHARED_WINDOW)
            }
            StateSpace::Global | StateSpace::Generic => core.sites[self.site as usize].region,
            StateSpace::Shared => core.shared_region(0),
            StateSpace::Param => core.parameter_region(0),
            StateSpace::Local => Region::NONE,
        }
    }

    /// The region of a store's target; none for parameters of the launch, which are never written.
    #[inline(always)]
    pub(super) fn region_to_write(&self, core: &mut Core<'_>, address: u64) -> Region {
        if self.state_space == StateSpace::Param {
            Region::NONE
        } else {
            self.region(core, address)
        }
    }
}
