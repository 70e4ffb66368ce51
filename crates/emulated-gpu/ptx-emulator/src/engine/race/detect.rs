//! The race detector: records the accesses of a warp's lanes, and reports races.

use super::batch::{Batch, Racing};
use super::cell::{Conflict, Effect};
use super::event::{HOST, Semantics};
use super::shadow::Shadow;
use super::thread_clocks::ThreadClocks;
use crate::engine::access::instruction::Access;
use crate::engine::core::{Core, Outcome, Problem, RacingAccess, Stretch};
use crate::engine::registers::{LANES, Registers, lanes};
use crate::engine::space::access_name;
use crate::engine::state_space::{LOCAL_WINDOW, SHARED_WINDOW, StateSpace, in_window};
use crate::engine::turn::Stopped;
use crate::fault::FaultKind;

/// The advice for two lanes of a warp, and for two threads of a block.
const ADVICE_WITHIN_WARP: &str =
    "lanes of a warp may run apart: put bar.warp.sync (__syncwarp) between the two";
const ADVICE_WITHIN_BLOCK: &str = "put a barrier (bar.sync, __syncthreads) between the two";

impl Stopped {
    /// Whether the race is within a warp, as far as is known.
    pub(in crate::engine) fn is_race_within_warp(&self) -> bool {
        self.problem.notes.iter().any(|note| note == ADVICE_WITHIN_WARP)
    }

    /// Corrects the advice for a race within a warp, given the next warp's race `next`: if threads of two warps race at
    /// one of the same instructions, only a barrier of the block orders all of them.
    pub(in crate::engine) fn correct_advice(&mut self, next: &Self) {
        let steps =
            |stopped: &Self| [Some(stopped.pc), stopped.problem.other.map(|other| other.step)];
        let shared = steps(self).iter().flatten().any(|&step| steps(next).contains(&Some(step)));
        if shared && next.problem.notes.iter().any(|note| note == ADVICE_WITHIN_BLOCK) {
            for note in self.problem.notes.iter_mut().filter(|note| *note == ADVICE_WITHIN_WARP) {
                ADVICE_WITHIN_BLOCK.clone_into(note);
            }
        }
    }
}

impl Core<'_> {
    /// The shadow of the memory that an access by rows reaches.
    #[inline]
    fn shadow_of(&self, access: &Access) -> Option<&Shadow> {
        match access.state_space {
            StateSpace::Shared => self.threads.as_deref()?.shared.as_deref(),
            StateSpace::Global => self.sites[access.site as usize].races.as_deref(),
            _ => None,
        }
    }

    /// Whether an access by rows needs no check: it only reads words whose cells need no update.
    #[inline]
    pub(in crate::engine) fn can_skip_stretches(
        &self,
        access: &Access,
        found: &[Stretch; 2],
    ) -> bool {
        let Some(threads) = &self.threads else { return true };
        let Some(shadow) = self.shadow_of(access) else { return false };
        let stamps = threads.valid_stamps();
        let quiet = |stretch: &Stretch| shadow.all_stamped(stretch.start, stretch.bytes, stamps);
        // In tiled kernels, both halves of a warp often read the same words.
        quiet(&found[0]) && (found[0] == found[1] || quiet(&found[1]))
    }

    /// Whether an access with one address per lane needs no check: it only reads words whose cells
    /// need no update.
    #[inline]
    pub(in crate::engine) fn can_skip_lanes(
        &self,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> bool {
        let Some(threads) = &self.threads else { return true };
        let Some(shadow) = self.shadow_of(access) else { return false };
        let (stamps, bytes) = (threads.valid_stamps(), access.total_bytes());
        lanes(mask).all(|lane| shadow.all_stamped(addresses[lane], bytes, stamps))
    }

    /// Records an access by rows, whose memory has already been located, and reports a race.
    pub(in crate::engine) fn race_by_rows(
        &mut self,
        access: &Access,
        found: &[Stretch; 2],
        mask: u32,
        bytes: u64,
        effect: Effect,
    ) -> Outcome {
        let addresses = access.addresses(self);
        let Some(mut threads) = self.threads.take() else { return Ok(()) };
        let shared = threads.shared.take();
        let shadow = match access.state_space {
            StateSpace::Shared => shared.as_deref(),
            StateSpace::Global => self.sites[access.site as usize].races.as_deref(),
            _ => None,
        };
        let Some(shadow) = shadow else {
            threads.shared = shared;
            self.threads = Some(threads);
            return self.race(access, &addresses, mask, (bytes, access.semantics), effect);
        };
        let mut conflict = None;
        if threads.is_active() {
            let registers = &self.registers;
            let batch = Batch {
                shadow,
                shared: access.state_space == StateSpace::Shared,
                addresses: &addresses,
                minus: 0,
                bytes,
                semantics: access.semantics,
                effect,
                warp: self.warp,
                step: self.step,
                same_value: &|one, other| same_value(registers, access, one, other),
            };
            let group = if effect == Effect::Read { mask & kept_lanes(found, mask) } else { mask };
            conflict = batch.run(&mut threads, group);
        }
        threads.shared = shared;
        self.threads = Some(threads);
        conflict.map_or(Ok(()), |Racing { lane, conflict, across_warps }| {
            let how = (effect != Effect::Read, access.semantics);
            Err(self.race_problem(
                access.state_space,
                (addresses[lane], bytes),
                lane,
                how,
                (conflict, across_warps),
            ))
        })
    }

    /// Records the accesses of the active lanes, `bytes` bytes each, and reports a race.
    pub(in crate::engine) fn race(
        &mut self,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        (bytes, semantics): (u64, Semantics),
        effect: Effect,
    ) -> Outcome {
        let Some(mut threads) = self.threads.take() else { return Ok(()) };
        let mut result = Ok(());
        if threads.is_active()
            && bytes > 0
            && let Some(shared) = threads.shared.take()
        {
            let both = (&mut *threads, &*shared);
            result = self.race_with(both, access, addresses, mask, (bytes, semantics), effect);
            threads.shared = Some(shared);
        }
        self.threads = Some(threads);
        result
    }

    fn race_with(
        &mut self,
        (threads, shared): (&mut ThreadClocks, &Shadow),
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        (bytes, semantics): (u64, Semantics),
        effect: Effect,
    ) -> Outcome {
        let write = effect != Effect::Read;
        let mut left = mask;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let address = addresses[first];
            // Finds the allocation, or fails.
            self.resolve_bytes(access.lane_access(address, bytes, first), write)?;
            let shared_window =
                in_window(address, SHARED_WINDOW) && access.state_space == StateSpace::Generic;
            let (shadow, base, len, minus) = match access.state_space {
                StateSpace::Local | StateSpace::Param => return Ok(()),
                StateSpace::Shared => (Some(shared), 0, self.shared.len(), 0),
                StateSpace::Generic if shared_window => {
                    (Some(shared), SHARED_WINDOW, self.shared.len(), SHARED_WINDOW)
                }
                StateSpace::Generic if in_window(address, LOCAL_WINDOW) => (None, 0, 0, 0),
                StateSpace::Global | StateSpace::Generic => {
                    let site = &self.sites[access.site as usize];
                    let inside = site.region.host(address, bytes).is_some();
                    let shadow = site.races.as_deref().filter(|_| inside);
                    (shadow, site.region.base, site.region.len, 0)
                }
            };
            let Some(shadow) = shadow else {
                left &= !(1 << first);
                continue;
            };
            let max_offset = len.wrapping_sub(bytes);
            let mut group = 0;
            for (lane, address) in addresses.iter().enumerate() {
                group |=
                    u32::from(bytes <= len && address.wrapping_sub(base) <= max_offset) << lane;
            }
            group &= left;
            left &= !group;
            let group = if write { group } else { group & !redundant_lanes(addresses, group) };
            let registers = &self.registers;
            let batch = Batch {
                shadow,
                shared: std::ptr::eq(shadow, shared),
                addresses,
                minus,
                bytes,
                semantics,
                effect,
                warp: self.warp,
                step: self.step,
                same_value: &|one, other| same_value(registers, access, one, other),
            };
            if let Some(Racing { lane, conflict, across_warps }) = batch.run(threads, group) {
                return Err(self.race_problem(
                    access.state_space,
                    (addresses[lane], bytes),
                    lane,
                    (write, semantics),
                    (conflict, across_warps),
                ));
            }
        }
        Ok(())
    }

    fn race_problem(
        &self,
        state_space: StateSpace,
        (address, bytes): (u64, u64),
        lane: usize,
        (write, semantics): (bool, Semantics),
        (conflict, across_warps): (Conflict, bool),
    ) -> Box<Problem> {
        let Conflict { event, step, wrote } = conflict;
        let what = access_name(state_space, bytes, write);
        let verb = if wrote { "writes" } else { "reads" };
        let mut problem = Problem::new(
            FaultKind::Race,
            format!("{what} at {address:#x}, which another thread {verb}; nothing orders the two"),
        )
        .lane(lane)
        .address(address);
        problem.other =
            Some(RacingAccess { block: event.block(), thread: event.thread(), step, wrote });
        let same_block = u64::from(event.block()) == self.block & u64::from(HOST);
        let advice = if event.asynchronous() {
            "an asynchronous copy has not been waited for: a cp.async with cp.async.wait_group (or \
             wait_all), then a barrier; a cp.async.bulk by its barrier object, or with \
             cp.async.bulk.wait_group"
        } else if !same_block {
            "blocks of a grid run in any order: use atomics with fences around them (of .gpu scope), \
             a barrier of a cooperative grid, or two kernels"
        } else if event.warp() == self.warp && !across_warps {
            ADVICE_WITHIN_WARP
        } else {
            ADVICE_WITHIN_BLOCK
        };
        if let Some(near) = self.describe_address(state_space, address) {
            problem = problem.note(near);
        }
        if semantics.volatile && event.volatile() {
            problem = problem
                .note(
                    "both are volatile, and volatile operations \"may be re-ordered around each \
                     other\" (PTX ISA, Memory Consistency Model, \"volatile Operation\"): volatile is \
                     neither a barrier nor an atomic update",
                )
                .note(
                    "racecheck does not report a volatile load on which a loop polls, nor a volatile \
                     access that races with an atomic one",
                );
        }
        if semantics.strong != event.strong() {
            let (weak, strong) = if semantics.strong { (wrote, write) } else { (write, wrote) };
            let name = |write: bool| if write { "write" } else { "read" };
            problem = problem.note(format!(
                "the {} is weak, the {} strong (atomic, volatile or relaxed): this is a data race, because \
                 both have to be strong (PTX ISA, Memory Consistency Model, \"Data-Races\"); {}",
                name(weak),
                name(strong),
                if weak { "the final value is undefined" } else { "the value that is read is undefined" }
            ));
        }
        problem.note(advice)
    }

    /// The key under which strong accesses at an address publish and find clocks, and whether other
    /// blocks can access that address.
    fn publish_key(state_space: StateSpace, address: u64) -> (u64, bool) {
        match state_space {
            StateSpace::Shared => (address.wrapping_add(SHARED_WINDOW), false),
            _ => (address, !in_window(address, SHARED_WINDOW)),
        }
    }

    /// Publishes the thread's clock. To be called before a strong write.
    pub(in crate::engine) fn publish(&mut self, access: &Access, lane: usize, release: bool) {
        let (Some(threads), Some(races)) = (&mut self.threads, self.races) else { return };
        let address = self.registers.get(access.address, lane).wrapping_add(access.offset);
        let (place, everywhere) = Self::publish_key(access.state_space, address);
        let thread = self.warp * LANES as u32 + lane as u32;
        if let Some(clocks) = threads.clock_to_publish(thread, false, release) {
            threads.publish(place, &clocks);
        }
        if everywhere
            && access.semantics.wide
            && let Some(clocks) = threads.clock_to_publish(thread, true, release)
        {
            races.variables.publish(place, &clocks);
        }
    }

    /// Makes the thread learn the published clocks. To be called after a strong read.
    pub(in crate::engine) fn observe(
        &mut self,
        access: &Access,
        lane: usize,
        address: u64,
        acquire: bool,
    ) {
        let (Some(threads), Some(races)) = (&mut self.threads, self.races) else { return };
        let (place, everywhere) = Self::publish_key(access.state_space, address);
        let thread = self.warp * LANES as u32 + lane as u32;
        if let Some(clocks) = threads.published(place) {
            threads.learn_published_clock(thread, &clocks, false, acquire);
        }
        if everywhere
            && access.semantics.wide
            && let Some(clocks) = races.variables.find(place)
        {
            threads.learn_published_clock(thread, &clocks, true, acquire);
        }
    }
}

/// Whether two lanes store the same value.
fn same_value(registers: &Registers, access: &Access, one: usize, other: usize) -> bool {
    access.values.iter().all(|&slot| {
        let (low, high) = slot.halves();
        registers.get(low, one) == registers.get(low, other)
            && registers.get(high, one) == registers.get(high, other)
    })
}

/// The lanes that are recorded: the first and the last lane of each half that reads a single element, and all lanes of
/// other halves (see [`redundant_lanes`]).
fn kept_lanes(found: &[Stretch; 2], mask: u32) -> u32 {
    let mut kept = 0;
    for (stretch, half) in found.iter().zip([0xffff, 0xffff_0000]) {
        let own = mask & half;
        let both = own & own.wrapping_neg() | own & (1 << 31) >> own.leading_zeros().min(31);
        kept |= if stretch.uniform { both } else { own };
    }
    kept
}

/// The lanes that need not be recorded: all except the first and the last of consecutive lanes that
/// read the same address.
fn redundant_lanes(addresses: &[u64; LANES], mask: u32) -> u32 {
    let mut same = 0;
    for lane in 1..LANES {
        same |= u32::from(addresses[lane] == addresses[lane - 1]) << lane;
    }
    // Lanes with the same address as the previous and the next lane, if all three are active.
    same & same >> 1 & mask << 1 & mask >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lanes_are_kept_of_a_half_that_reads_one_element() {
        let row = Stretch { start: 0, bytes: 64, uniform: false };
        let one = Stretch { start: 0, bytes: 4, uniform: true };
        assert_eq!(kept_lanes(&[row, one], u32::MAX), 0x8001_ffff);
        assert_eq!(kept_lanes(&[one, row], 0xffff_0ff0), 0xffff_0810);
        assert_eq!(kept_lanes(&[one, one], 0x0100_0000), 0x0100_0000);
        assert_eq!(kept_lanes(&[one, one], 0), 0);
    }

    #[test]
    fn two_lanes_are_kept_of_those_that_read_the_same_word() {
        let mut addresses = [4; LANES];
        addresses[3] = 8;
        addresses[4] = 12;
        addresses[5] = 12;
        assert_eq!(redundant_lanes(&addresses, 0b111_1111), 0b10);
        assert_eq!(redundant_lanes(&addresses, u32::MAX), 0b10 | (u32::MAX >> 8 << 7 & !(1 << 31)));
    }
}
