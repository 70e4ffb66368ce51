//! A thread block: its warps, barriers and shared memory.

use super::barrier::Barriers;
use super::code::{Executable, Step};
use super::core::{Bytes, Core, Problem};
use super::profile::Profile;
use super::race::ThreadClocks;
use super::registers::{LANES, Registers, Slot, lanes};
use super::run::turn;
use super::turn::{Stopped, TurnRules};
use super::warp::{SplitState, Warp, WarpSplit};
use crate::fault::FaultKind;
use crate::limits::RESERVED_SHARED;
use crate::program::Special;
use crate::room::OutOfMemory;

/// The dimensions and properties of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchShape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    /// The ordinal of the launch in the process.
    pub(super) grid_id: u64,
    /// The number of host threads, each of which acts as a multiprocessor.
    pub(super) processors: u32,
    /// The address at which the blocks of a cooperative grid synchronise; 0 if they don't.
    pub(super) workspace: u64,
}

impl LaunchShape {
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// `%ctaid` of the block with an index.
    pub(super) fn block_at(&self, index: u64) -> [u32; 3] {
        position(index, self.grid)
    }

    /// `%tid` of the thread with an index.
    pub(super) fn thread_at(&self, index: u32) -> [u32; 3] {
        position(u64::from(index), self.block)
    }
}

fn position(index: u64, shape: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = shape.map(|n| u64::from(n.max(1)));
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}

/// The first and the longest interval, in nanoseconds, by which the timer is advanced while all
/// threads wait. The longest is about an hour.
const MIN_WAIT: u64 = 1 << 19;
const MAX_WAIT: u64 = 1 << 42;

/// The result of a pass over a block's warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Finished,
    /// Some warps need another turn.
    Running,
}

/// The state of a block between two passes.
#[derive(Default)]
pub(super) struct Block {
    pub(super) warps: Vec<Warp>,
    shared: Bytes,
    /// The vector clocks of the block's threads, for racecheck.
    threads: Option<Box<ThreadClocks>>,
    barriers: Barriers,
    index: u64,
    /// State of the random generator that shuffles the warps; 0 if they keep their order.
    shuffle: u64,
    /// The interval in nanoseconds by which the timer was last advanced, because all threads
    /// waited.
    advanced_nanoseconds: u64,
    pub(super) thread_instructions: u64,
}

impl Block {
    /// Allocates a block of a shape. `track` records initialised memory, `races` records accesses.
    pub(super) fn new(
        executable: &Executable,
        shape: LaunchShape,
        track: bool,
        races: bool,
    ) -> Result<Self, OutOfMemory> {
        let warps = (0..shape.threads().div_ceil(LANES as u32)).map(|index| {
            let mut registers = Registers::new(executable.rows, executable.predicates)?;
            for &(slot, value) in &executable.constants {
                registers.broadcast(slot, value);
            }
            if track {
                registers.track()?;
            }
            let mut warp = Warp {
                registers,
                local: Bytes::tracked(executable.local_bytes as usize * LANES, track)?,
                index,
                ..Warp::default()
            };
            for &(slot, special) in &executable.specials {
                constant_special(&mut warp.registers, slot, special, shape, index, executable);
            }
            Ok(warp)
        });
        let warps = warps.collect::<Result<_, _>>()?;
        let shared = executable.shared_bytes(shape.dynamic_shared) as usize;
        let threads = if races {
            Some(Box::new(ThreadClocks::new(shape.threads(), shared as u64)?))
        } else {
            None
        };
        let shared = Bytes::tracked(shared, track)?;
        Ok(Self { warps, shared, threads, ..Self::default() })
    }

    /// Starts the block with an index.
    pub(super) fn start(
        &mut self,
        executable: &Executable,
        shape: LaunchShape,
        index: u64,
        seed: Option<u64>,
        processor: u32,
    ) {
        self.index = index;
        self.barriers = Barriers::default();
        self.advanced_nanoseconds = 0;
        self.shared.clear();
        // The system reserves these bytes and provides them zeroed.
        if let (Some(shadow), Some(at)) = (self.shared.shadow(), executable.reserved) {
            shadow.set(at as usize, RESERVED_SHARED as usize, true);
        }
        if let Some(threads) = &mut self.threads {
            threads.start(index);
        }
        self.shuffle = seed.map_or(0, |seed| split_mix(seed ^ split_mix(index + 1)) | 1);
        let at = shape.block_at(index);
        let threads = shape.threads();
        for warp in &mut self.warps {
            let first = warp.index * LANES as u32;
            let count = (threads - first).min(LANES as u32);
            warp.start(if count == 32 { u32::MAX } else { (1 << count) - 1 });
            warp.registers.clear(executable.cleared.clone());
            warp.local.clear();
            for &(slot, special) in &executable.specials {
                match special {
                    Special::Ctaid(axis) | Special::ClusterId(axis) => {
                        let value = at.get(usize::from(axis)).copied().unwrap_or(0);
                        warp.registers.broadcast(slot, u64::from(value));
                    }
                    Special::SmId => warp.registers.broadcast(slot, u64::from(processor)),
                    _ => {}
                }
            }
        }
    }

    /// Gives each runnable warp a turn.
    pub(super) fn pass(
        &mut self,
        core: &mut Core<'_>,
        code: &[Step],
        profile: &mut Option<Profile>,
        rules: TurnRules,
    ) -> Result<Pass, (Stopped, u32)> {
        std::mem::swap(&mut core.shared, &mut self.shared);
        std::mem::swap(&mut core.threads, &mut self.threads);
        let result = self.turns(core, code, profile, rules);
        std::mem::swap(&mut core.threads, &mut self.threads);
        std::mem::swap(&mut core.shared, &mut self.shared);
        result
    }

    fn turns(
        &mut self,
        core: &mut Core<'_>,
        code: &[Step],
        profile: &mut Option<Profile>,
        rules: TurnRules,
    ) -> Result<Pass, (Stopped, u32)> {
        let count = self.warps.len();
        let timed = core.clock_polls;
        core.block = self.index;
        let (first, stride) = self.order(count);
        let mut moved = false;
        // The first race within a warp, and the index of that warp. The other warps get their turn before the race is
        // reported: if they race at the same instructions, the report gives different advice.
        let mut race: Option<(Stopped, u32)> = None;
        for turn_number in 0..count {
            let warp = &mut self.warps[(first + turn_number * stride) % count];
            if !warp.ready() {
                continue;
            }
            moved = true;
            core.warp = warp.index;
            std::mem::swap(&mut core.registers, &mut warp.registers);
            std::mem::swap(&mut core.local, &mut warp.local);
            let result = turn((core, code), warp, &mut self.barriers, profile.as_mut(), rules);
            std::mem::swap(&mut core.registers, &mut warp.registers);
            std::mem::swap(&mut core.local, &mut warp.local);
            let (_, threads) = match (result, &mut race) {
                (Ok(turn), _) => turn,
                (Err(next), Some((first, _))) => {
                    first.correct_advice(&next);
                    continue;
                }
                (Err(first), None) if count > 1 && first.is_race_within_warp() => {
                    race = Some((first, warp.index));
                    continue;
                }
                (Err(stopped), None) => return Err((stopped, warp.index)),
            };
            self.thread_instructions += threads;
            self.barriers.release(code, &mut self.warps, core.threads.as_deref_mut());
        }
        if let Some(race) = race {
            return Err(race);
        }
        if self.warps.iter().all(|warp| warp.alive == 0) {
            return Ok(Pass::Finished);
        }
        let (seen, events) = (core.memory_polls, self.barriers.events());
        if moved && !self.warps.iter().all(|warp| warp.only_polls(seen, events)) {
            self.advanced_nanoseconds = 0;
            return Ok(Pass::Running);
        }
        if moved && core.clock_polls != timed && self.advanced_nanoseconds < MAX_WAIT {
            // All threads poll the clock, so advance it: they may be waiting for a time to pass.
            self.advanced_nanoseconds = self.advanced_nanoseconds.max(MIN_WAIT) * 2;
            core.timer.skip(self.advanced_nanoseconds);
            return Ok(Pass::Running);
        }
        Err(self.deadlock(core))
    }

    /// The order in which the warps take turns: the first warp, and the distance to the next.
    fn order(&mut self, count: usize) -> (usize, usize) {
        if self.shuffle == 0 {
            return (0, 1);
        }
        self.shuffle = split_mix(self.shuffle) | 1;
        let first = (self.shuffle >> 32) as usize % count;
        // The distance must be coprime to the count, so that every warp gets a turn.
        let wanted = (self.shuffle >> 8) as usize % count + 1;
        let stride = (wanted..).find(|&stride| gcd(stride, count) == 1).unwrap_or(1);
        (first, stride)
    }

    fn deadlock(&self, core: &Core<'_>) -> (Stopped, u32) {
        let (image, events) = (core.image, self.barriers.events());
        let waiting: Vec<_> = self
            .warps
            .iter()
            .flat_map(|warp| warp.splits.iter().map(move |split| (warp, split)))
            .collect();
        let message = "all threads of the block that still run are waiting, and none can continue";
        let mut problem = Problem::new(FaultKind::Deadlock, message);
        // A split that polls an object is already one step past the test.
        let object = |(warp, split): &(&Warp, &WarpSplit)| {
            warp.polled_object(split, core.memory_polls, events)
        };
        let place = |at: &(&Warp, &WarpSplit)| at.1.pc - u32::from(object(at).is_some());
        for at in waiting.iter().take(8) {
            let (warp, split) = at;
            let line = image.source.line_of(image.places[place(at) as usize].span.start);
            let what = match (split.state, object(at)) {
                (SplitState::AtBarrier(index), _) => format!("at barrier {index}"),
                (SplitState::Ready, Some(object)) => format!(
                    "at the barrier object at {object:#x} of shared memory, {}",
                    self.barriers.objects.waits_for(object)
                ),
                _ => "for other lanes of the warp".to_owned(),
            };
            problem = problem.note(format!(
                "warp {}, lanes {:#010x}: wait {what}, line {}: {}",
                warp.index,
                split.mask,
                line.0,
                line.2.trim()
            ));
        }
        let (pc, mask, index) =
            waiting.first().map_or((0, 1, 0), |at| (place(at), at.1.mask, at.0.index));
        problem.lane = Some(mask.trailing_zeros() as usize);
        (Stopped { problem, pc, mask }, index)
    }
}

/// Sets a special register that is the same for all blocks of a launch.
fn constant_special(
    registers: &mut Registers,
    slot: Slot,
    special: Special,
    shape: LaunchShape,
    warp: u32,
    executable: &Executable,
) {
    let axis_of = |values: [u32; 3], axis: u8| values.get(usize::from(axis)).copied().unwrap_or(0);
    for lane in lanes(u32::MAX) {
        let bit = 1u32 << lane;
        let value = match special {
            Special::Tid(axis) => axis_of(shape.thread_at(warp * LANES as u32 + lane as u32), axis),
            Special::Ntid(axis) => axis_of(shape.block, axis),
            Special::Nctaid(axis) | Special::NClusterId(axis) => axis_of(shape.grid, axis),
            Special::LaneId => lane as u32,
            Special::WarpId => warp,
            Special::NWarpId => shape.threads().div_ceil(LANES as u32),
            Special::NSmId => shape.processors,
            Special::LanemaskEq => bit,
            Special::LanemaskLt => bit - 1,
            Special::LanemaskLe => bit | (bit - 1),
            Special::LanemaskGe => !(bit - 1),
            Special::LanemaskGt => !(bit | (bit - 1)),
            Special::DynamicSharedSize => shape.dynamic_shared,
            Special::TotalSharedSize => executable.shared_bytes(shape.dynamic_shared) as u32,
            Special::ClusterNCtaId(_) | Special::ClusterNCtaRank => 1,
            Special::Workspace { high: true } => (shape.workspace >> 32) as u32,
            Special::Workspace { high: false } => shape.workspace as u32,
            Special::GridId => {
                registers.set(slot, lane, shape.grid_id);
                continue;
            }
            _ => 0,
        };
        registers.set(slot, lane, u64::from(value));
    }
}

/// The SplitMix64 generator.
fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
