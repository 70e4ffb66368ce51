//! Counters for each step, if statistics are enabled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::access::instruction::Access;
use super::code::{Action, Executable, Step};
use super::core::Core;
use super::matrix::MatrixStep;
use super::registers::lanes;
use super::traffic;
use super::warp::Warp;
use super::watch::Watch;
use crate::program::OperationCounts;
use crate::source::line_ends;
use crate::statistics::LineStatistics;

/// The counters of all steps.
#[derive(Clone, Default)]
pub(super) struct Profile {
    steps: Vec<LineStatistics>,
    trace: Option<Arc<Mutex<dyn Watch>>>,
}

impl Profile {
    pub(super) fn new(executable: &Executable, trace: Option<Arc<Mutex<dyn Watch>>>) -> Self {
        Self { steps: vec![LineStatistics::default(); executable.code.len()], trace }
    }

    /// Counts the execution of a step by a warp.
    pub(super) fn count_step(
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
            lanes(mask).map(|lane| access.lane_address(core, lane)).collect()
        };
        let mut counted = |access: &Access, addresses: &[u64], bytes: u64| {
            let parts: Vec<(u64, u64)> = addresses.iter().map(|&at| (at, bytes)).collect();
            traffic::count(count, access.state_space, &parts);
        };
        match &step.action {
            Action::Transfer(_, access) => {
                counted(access, &of_lanes(access, active), access.total_bytes());
            }
            Action::Atomic(atomic) => {
                let access = &atomic.access;
                counted(access, &of_lanes(access, active), access.total_bytes());
            }
            Action::Matrix(matrix) => match &**matrix {
                MatrixStep::RowTransfer(moved) => {
                    let (mask, bytes) = moved.extent();
                    counted(&moved.access, &of_lanes(&moved.access, mask), bytes);
                }
                MatrixStep::TileTransfer(tile) => {
                    let (each, bytes) = tile.accesses(core);
                    each.iter().for_each(|addresses| counted(&tile.access, addresses, bytes));
                }
                MatrixStep::Product(_) | MatrixStep::Transpose(_) => {}
            },
            Action::Asynchronous(step) => {
                let of_lanes: Vec<_> =
                    lanes(active).map(|lane| step.memory_ranges(core, lane)).collect();
                for which in 0..3 {
                    let moved = of_lanes.iter().filter_map(|moved| moved[which]);
                    let parts: Vec<(u64, u64)> = moved.map(|(_, at, bytes)| (at, bytes)).collect();
                    let state_space = of_lanes.iter().find_map(|moved| moved[which]);
                    if let Some((state_space, ..)) = state_space {
                        traffic::count(count, state_space, &parts);
                    }
                }
            }
            _ => {}
        }
    }

    /// Counts a divergent branch.
    pub(super) fn count_divergence(&mut self, pc: u32) {
        self.steps[pc as usize].splits += 1;
    }

    /// Adds the counts of another host thread.
    pub(super) fn add(&mut self, other: &Self) {
        for (own, other) in self.steps.iter_mut().zip(&other.steps) {
            own.add(other);
        }
    }

    /// Returns the statistics of each instruction. All steps of an instruction are executed equally
    /// often, so executions are taken from its first step, and accesses are summed.
    pub(super) fn lines(&self, executable: &Executable) -> Vec<LineStatistics> {
        let mut by_place: BTreeMap<u32, LineStatistics> = BTreeMap::new();
        for (place, count) in executable.places.iter().zip(&self.steps) {
            match by_place.get_mut(&place.span.start) {
                None => {
                    by_place.insert(place.span.start, count.clone());
                }
                Some(own) => {
                    let LineStatistics { executions, active_lanes, divergent, .. } = *own;
                    // The first step may ignore the guard and so count too many lanes; in this case
                    // the smaller count is right.
                    let alike = count.executions == executions;
                    let active_lanes =
                        if alike { active_lanes.min(count.active_lanes) } else { active_lanes };
                    own.add(count);
                    (own.executions, own.active_lanes, own.divergent) =
                        (executions, active_lanes, divergent);
                }
            }
        }
        let work_by_position = work_by_position(executable);
        // Places are sorted, so the text is only scanned once.
        let text = executable.source.text.as_bytes();
        let (mut counted, mut line) = (0, 1);
        by_place
            .into_iter()
            .filter(|(_, count)| count.executions > 0)
            .map(|(start, count)| {
                let work = work_by_position.get(&start).copied().unwrap_or_default();
                let in_all_lanes = |of_a_lane: u32| u64::from(of_a_lane) * count.active_lanes;
                line += line_ends(text.get(counted..start as usize).unwrap_or_default());
                counted = start as usize;
                LineStatistics {
                    line,
                    global_written_sectors: if work.stores { count.global_sectors } else { 0 },
                    fma_multiply_adds: in_all_lanes(work.fma),
                    tensor_multiply_adds: in_all_lanes(work.tensor),
                    other_multiply_adds: in_all_lanes(work.other),
                    single_operations: in_all_lanes(work.single),
                    ..count
                }
            })
            .collect()
    }
}

/// The arithmetic work of each instruction, by its position in the text.
fn work_by_position(executable: &Executable) -> BTreeMap<u32, OperationCounts> {
    let functions =
        executable.layouts.keys().filter_map(|id| executable.module.functions.get(id.0 as usize));
    let bodies = functions.filter_map(|function| function.body.as_deref());
    bodies.flatten().map(|each| (each.span.start, each.op.operation_counts())).collect()
}
