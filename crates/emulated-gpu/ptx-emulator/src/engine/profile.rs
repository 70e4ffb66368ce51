//! Counts for each step, when statistics are asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::access::instruction::Access;
use super::asynchronous::AsynchronousStep;
use super::code::{Action, Executable, Step};
use super::core::Core;
use super::matrix::MatrixStep;
use super::registers::lanes;
use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use super::warp::Warp;
use super::watch::Watch;
use crate::statistics::LineStatistics;

/// Bytes of a sector, the unit in which global memory is fetched.
const SECTOR: u64 = 32;
/// Shared memory has as many banks, each 4 bytes wide.
const BANKS: usize = 32;

/// One count for each step.
#[derive(Clone, Default)]
pub(super) struct Profile {
    steps: Vec<LineStatistics>,
    trace: Option<Arc<Mutex<dyn Watch>>>,
}

impl Profile {
    pub(super) fn new(executable: &Executable, trace: Option<Arc<Mutex<dyn Watch>>>) -> Self {
        Self { steps: vec![LineStatistics::default(); executable.code.len()], trace }
    }

    /// A warp comes to a step.
    pub(super) fn step(
        &mut self,
        core: &Core<'_>,
        step: &Step,
        pc: u32,
        mask: u32,
        active: u32,
        warp: &Warp,
    ) {
        if let Some(trace) = &self.trace {
            let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
            trace.step(core, pc, mask, warp);
        }
        let count = &mut self.steps[pc as usize];
        count.executions += 1;
        count.active_lanes += u64::from(active.count_ones());
        count.divergent += u64::from(mask != warp.alive);
        if active == 0 {
            return;
        }
        let of_lanes = |access: &Access, mask: u32| -> Vec<u64> {
            lanes(mask).map(|lane| access.of_lane(core, lane)).collect()
        };
        let mut counted = |access: &Access, addresses: &[u64], bytes: u64| {
            count_access(count, access.room, addresses, bytes);
        };
        match &step.action {
            Action::Transfer(_, access) => {
                counted(access, &of_lanes(access, active), access.total());
            }
            Action::Atomic(atomic) => {
                let access = &atomic.access;
                counted(access, &of_lanes(access, active), access.total());
            }
            Action::Matrix(matrix) => match &**matrix {
                MatrixStep::Moved(moved) => {
                    let (mask, bytes) = moved.extent();
                    counted(&moved.access, &of_lanes(&moved.access, mask), bytes);
                }
                MatrixStep::Tile(tile) => {
                    let (each, bytes) = tile.accesses(core);
                    each.iter().for_each(|addresses| counted(&tile.access, addresses, bytes));
                }
                MatrixStep::Product(_) | MatrixStep::Transposed(_) => {}
            },
            // What a `cp.async` moves is not counted among accesses.
            Action::Asynchronous(step) if !matches!(**step, AsynchronousStep::Copy(_)) => {
                let first = active.trailing_zeros() as usize;
                for (access, bytes, _) in step.accesses(core, first) {
                    counted(access, &of_lanes(access, active), bytes);
                }
            }
            _ => {}
        }
    }

    /// A branch sent the lanes two ways.
    pub(super) fn split(&mut self, pc: u32) {
        self.steps[pc as usize].splits += 1;
    }

    /// Adds the counts of another host thread.
    pub(super) fn add(&mut self, other: &Self) {
        for (own, other) in self.steps.iter_mut().zip(&other.steps) {
            own.add(other);
        }
    }

    /// One entry for each instruction of the text. The steps that one instruction became are all
    /// executed alike, so executions are those of its first, and accesses are added up.
    pub(super) fn lines(&self, executable: &Executable) -> Vec<LineStatistics> {
        let mut by_place: BTreeMap<u32, LineStatistics> = BTreeMap::new();
        for (place, count) in executable.places.iter().zip(&self.steps) {
            match by_place.get_mut(&place.span.start) {
                None => {
                    by_place.insert(place.span.start, count.clone());
                }
                Some(own) => {
                    let LineStatistics { executions, active_lanes, divergent, .. } = *own;
                    // The first may be one that runs whatever the guard says.
                    let alike = count.executions == executions;
                    let active_lanes =
                        if alike { active_lanes.min(count.active_lanes) } else { active_lanes };
                    own.add(count);
                    (own.executions, own.active_lanes, own.divergent) =
                        (executions, active_lanes, divergent);
                }
            }
        }
        by_place
            .into_iter()
            .filter(|(_, count)| count.executions > 0)
            .map(|(start, count)| LineStatistics {
                line: executable.source.line_of(start).0,
                ..count
            })
            .collect()
    }
}

/// An access of lanes to `bytes` bytes each.
fn count_access(count: &mut LineStatistics, room: StateSpace, addresses: &[u64], bytes: u64) {
    let shared = match room {
        StateSpace::Shared => true,
        StateSpace::Global => false,
        StateSpace::Generic => addresses.iter().any(|&address| in_window(address, SHARED_WINDOW)),
        StateSpace::Local | StateSpace::Param => return,
    };
    if !shared {
        let mut sectors: Vec<u64> = addresses
            .iter()
            .flat_map(|&address| address / SECTOR..=address.saturating_add(bytes - 1) / SECTOR)
            .collect();
        sectors.sort_unstable();
        sectors.dedup();
        count.global_requests += 1;
        count.global_sectors += sectors.len() as u64;
        return;
    }
    count.shared_requests += 1;
    // Lanes whose words together fill the banks once go in one pass.
    let together = (BANKS as u64 * 4 / bytes.max(4)).max(1) as usize;
    for group in addresses.chunks(together) {
        let mut words: Vec<u64> = group
            .iter()
            .flat_map(|&address| address / 4..=address.saturating_add(bytes - 1) / 4)
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u64; BANKS];
        words.iter().for_each(|word| banks[(word % BANKS as u64) as usize] += 1);
        count.shared_passes += banks.iter().max().copied().unwrap_or(0);
    }
}
