//! Loads and stores. A half warp whose addresses are all the same, or are neighbours, is served by one
//! check and one copy; every other lane is checked and served by itself.

mod choose;
mod each;
mod pattern;
mod rows;

pub(crate) use choose::Host;
pub(super) use choose::transfer;
pub(super) use pattern::Stretch;

use super::core::{Core, Region};
use super::race::Manner;
use super::registers::{LANES, Registers, Slot, Width};
use super::space::Room;
use super::vector::Lane;
use crate::memory::words::Word;

/// An access to memory.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) room: Room,
    /// The register, or constant, that holds the address.
    pub(super) address: Slot,
    /// Added to it.
    pub(super) offset: u64,
    /// Bytes of one element.
    pub(super) bytes: u64,
    /// Destinations or sources, one for each element.
    pub(super) values: Vec<Slot>,
    /// Elements are sign-extended to their destination.
    pub(super) signed: bool,
    /// Its place in [`Core::sites`].
    pub(super) site: u32,
    /// A fence follows a load that acquires, and precedes a store that releases.
    pub(super) fence: bool,
    /// Every lane on its own, as volatile and atomic accesses are.
    pub(super) strong: bool,
    /// How it takes part in the memory model.
    pub(super) manner: Manner,
    /// A weak load whose value a compare-and-swap of the same address checks.
    pub(super) guess: bool,
    /// Nobody writes there while a kernel runs.
    pub(super) constant: bool,
}

impl Access {
    /// Bytes of all elements.
    pub(super) fn total(&self) -> u64 {
        self.bytes * self.values.len() as u64
    }

    /// The address of one lane.
    pub(super) fn of_lane(&self, core: &Core<'_>, lane: usize) -> u64 {
        core.registers.get(self.address, lane).wrapping_add(self.offset)
    }

    #[inline(always)]
    pub(super) fn addresses(&self, core: &Core<'_>) -> [u64; LANES] {
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

    #[inline(always)]
    fn region(&self, core: &mut Core<'_>) -> Region {
        match self.room {
            Room::Global | Room::Generic => core.sites[self.site as usize].region,
            Room::Shared => core.shared_region(0),
            Room::Param => core.parameter_region(0),
            Room::Local => Region::NONE,
        }
    }

    /// The same for a store: nobody writes to the launch's parameters.
    #[inline(always)]
    fn region_to_write(&self, core: &mut Core<'_>) -> Region {
        if self.room == Room::Param { Region::NONE } else { self.region(core) }
    }
}

/// What a row holds and memory too.
pub(super) trait Element: Lane + Word {
    /// A row, to be written.
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES];
}

impl Element for u32 {
    #[inline(always)]
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        registers.narrow_mut(index)
    }
}

impl Element for u64 {
    #[inline(always)]
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        registers.wide_mut(index)
    }
}
