//! The recorder of one block's warps, for [`Record`]. It is called before each step; the results of
//! a step are read at the warp's next step.

use std::collections::HashMap;
use std::sync::Arc;

use super::access::instruction::Access;
use super::code::{Action, BarrierKind, Executable};
use super::core::Core;
use super::registers::{LANES, lanes};
use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use super::trace::calls_function;
use super::trace::origin::{Origin, origins};
use super::trace::view::View;
use super::warp::{SplitState, Warp};
use super::watch::Watch;
use crate::program::{FunctionId, Op, Operand, Register};
use crate::record::{
    AccessKind, Accessed, OtherLanes, Record, RecordedRegister, RecordedStep, Waits, Written,
};
use crate::trace::Value;

/// The maximum bytes of a request to global memory: four sectors.
const MAX_REQUEST_BYTES: u64 = 128;

/// Lanes of a warp that have executed an instruction, but whose results have not been read yet.
struct Pending {
    origin: Origin,
    mask: u32,
}

/// The recording state of a warp.
#[derive(Default)]
struct WarpRecord {
    /// The index of the warp's latest step in the record; `None` if that step was left out.
    latest: Option<usize>,
    /// The instruction of the warp's latest step, with the lanes that executed it.
    origin: Option<(Origin, u32)>,
    pending: Vec<Pending>,
}

/// Records the steps of one block.
pub(crate) struct Recorder {
    executable: Arc<Executable>,
    /// The block's index in the grid.
    block: u64,
    /// The maximum number of recorded steps.
    max_steps: usize,
    origins: Vec<Option<(Origin, bool)>>,
    /// The index of each register in the record.
    numbers: HashMap<(FunctionId, Register), usize>,
    warps: HashMap<u32, WarpRecord>,
    view: View,
    record: Record,
}

impl Recorder {
    pub(crate) fn new(executable: &Arc<Executable>, block: u64, max_steps: usize) -> Self {
        let mut record = Record::default();
        let mut numbers = HashMap::new();
        let mut functions: Vec<FunctionId> = executable.layouts.keys().copied().collect();
        functions.sort_by_key(|id| (*id != executable.kernel, id.0));
        for id in functions {
            let Some(function) = executable.module.functions.get(id.0 as usize) else { continue };
            for (number, register) in function.registers.iter().enumerate() {
                if register.name.is_empty() {
                    continue;
                }
                numbers.insert((id, Register(number as u32)), record.registers.len());
                record.registers.push(RecordedRegister {
                    function: function.name.clone(),
                    name: register.name.clone(),
                    ty: register.ty.name().to_owned(),
                });
            }
        }
        Self {
            executable: Arc::clone(executable),
            block,
            max_steps,
            origins: origins(executable),
            numbers,
            warps: HashMap::new(),
            view: View { lane: 0, buffers: Vec::new() },
            record,
        }
    }

    /// Returns the record, after the launch.
    pub(crate) fn take(&mut self) -> Record {
        std::mem::take(&mut self.record)
    }

    /// Reads the results of the warp's latest instructions, except for lanes that still wait there.
    fn read_results(&mut self, core: &Core<'_>, warp: &Warp) {
        let Some(following) = self.warps.get_mut(&core.warp) else { return };
        let Some(latest) = following.latest else { return };
        for pending in std::mem::take(&mut following.pending) {
            let there = |pc: u32| {
                let origin = self.origins.get(pc as usize).copied().flatten();
                origin.is_some_and(|(origin, _)| origin == pending.origin)
            };
            let waiting = warp
                .splits
                .iter()
                .filter(|split| split.state != SplitState::Ready && there(split.pc))
                .fold(0, |mask, split| mask | split.mask);
            let done = pending.mask & !waiting;
            let Some(step) = self.record.steps.get_mut(latest) else { continue };
            record_results(core, &pending, done, &mut self.view, &self.numbers, &mut step.written);
            if pending.mask & waiting != 0 {
                following.pending.push(Pending { mask: pending.mask & waiting, ..pending });
            }
        }
    }

    fn line(&self, core: &Core<'_>, pc: u32) -> usize {
        let place = core.image.places.get(pc as usize);
        place.map_or(0, |place| core.image.source.line_of(place.span.start).0)
    }

    /// Creates a step of the record.
    fn begin(
        &self,
        core: &Core<'_>,
        origin: Origin,
        (pc, mask, active): (u32, u32, u32),
        warp: &Warp,
    ) -> Option<RecordedStep> {
        let (function, instruction) = origin.instruction(core)?;
        let span = instruction.span;
        let text = core.image.source.text.get(span.start as usize..span.end as usize)?;
        let others = warp.splits.iter().map(|split| OtherLanes {
            line: self.line(core, split.pc),
            mask: split.mask,
            waits: match split.state {
                SplitState::Ready => Waits::Turn,
                SplitState::AtBarrier(number) => Waits::Barrier(number),
                SplitState::AtCollective => Waits::Lanes,
            },
        });
        Some(RecordedStep {
            warp: core.warp,
            function: function.name.clone(),
            line: core.image.source.line_of(span.start).0,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            mask,
            active,
            alive: warp.alive,
            others: others.collect(),
            barrier: self.waits(pc) && active != 0,
            accesses: Vec::new(),
            written: Vec::new(),
        })
    }

    fn waits(&self, pc: u32) -> bool {
        match self.executable.code.get(pc as usize).map(|step| &step.action) {
            Some(Action::Barrier(barrier)) => !matches!(barrier.action, BarrierKind::Arrive),
            _ => false,
        }
    }

    /// The accesses of a step to global and shared memory.
    fn accesses(&self, core: &Core<'_>, pc: u32, active: u32, op: &Op) -> Vec<Accessed> {
        let kind = match op {
            Op::Store { .. } => AccessKind::Store,
            Op::Atomic { .. } => AccessKind::Atomic,
            _ => AccessKind::Load,
        };
        let one =
            |access: &Access, bytes: u64, kind| self.access(core, access, bytes, kind, active);
        let found = match self.executable.code.get(pc as usize).map(|step| &step.action) {
            Some(Action::Transfer(_, access)) => vec![one(access, access.total_bytes(), kind)],
            Some(Action::Atomic(atomic)) => vec![one(&atomic.access, atomic.access.bytes, kind)],
            Some(Action::Asynchronous(step)) => {
                let first = active.trailing_zeros() as usize % LANES;
                let each = step.accesses(core, first).into_iter();
                each.map(|(access, bytes, kind)| one(access, bytes, kind)).collect()
            }
            _ => Vec::new(),
        };
        found.into_iter().flatten().collect()
    }

    fn access(
        &self,
        core: &Core<'_>,
        access: &Access,
        bytes: u64,
        kind: AccessKind,
        active: u32,
    ) -> Option<Accessed> {
        let first = access.lane_address(core, lanes(active).next()?);
        let shared = match access.state_space {
            StateSpace::Shared => true,
            StateSpace::Global => false,
            StateSpace::Generic => in_window(first, SHARED_WINDOW),
            StateSpace::Local | StateSpace::Param => return None,
        };
        let base = match (shared, access.state_space) {
            (true, StateSpace::Generic) => SHARED_WINDOW,
            (true, _) => 0,
            // An invalid address belongs to no allocation; the access will fault.
            _ => core
                .memory
                .range_of(first)
                .map_or(first / MAX_REQUEST_BYTES * MAX_REQUEST_BYTES, |(base, _)| base),
        };
        let generic = if shared { first - base + SHARED_WINDOW } else { base };
        let place =
            self.view.describe_address(core, generic).unwrap_or_else(|| format!("{base:#x}"));
        let offset = |lane| access.lane_address(core, lane).wrapping_sub(base) as i64;
        Some(Accessed {
            shared,
            kind,
            bytes,
            place,
            skew: if shared { 0 } else { base % MAX_REQUEST_BYTES },
            offsets: lanes(active).map(|lane| (lane as u32, offset(lane))).collect(),
        })
    }
}

impl Watch for Recorder {
    fn step(&mut self, core: &Core<'_>, pc: u32, mask: u32, warp: &Warp) {
        if core.block != self.block {
            return;
        }
        self.read_results(core, warp);
        let Some((origin, first)) = self.origins.get(pc as usize).copied().flatten() else {
            return;
        };
        let Some((_, instruction)) = origin.instruction(core) else { return };
        let executable = Arc::clone(&self.executable);
        let Some(step) = executable.code.get(pc as usize) else { return };
        let active = mask & (core.registers.predicates[step.guard as usize] ^ step.negation_mask);
        let before = self.warps.entry(core.warp).or_default().origin;
        if first && !before.is_some_and(|before| continues(core, before, (origin, mask))) {
            if self.record.steps.is_empty() {
                self.view.name_buffers(core);
            }
            let full = self.record.steps.len() >= self.max_steps;
            self.record.left_out += u64::from(full);
            let begun =
                if full { None } else { self.begin(core, origin, (pc, mask, active), warp) };
            let latest = begun.is_some().then_some(self.record.steps.len());
            self.record.steps.extend(begun);
            self.warps.entry(core.warp).or_default().latest = latest;
        }
        let found = self.accesses(core, pc, active, &instruction.op);
        let following = self.warps.entry(core.warp).or_default();
        following.origin = Some((origin, mask));
        let Some(latest) = following.latest else { return };
        // The results of a call are available when the function returns, at a later step of the
        // call.
        if !(first && calls_function(core, instruction)) {
            following.pending.push(Pending { origin, mask: active });
        }
        if let Some(step) = self.record.steps.get_mut(latest) {
            step.accesses.extend(found);
        }
    }
}

/// Whether an instruction and the previous instruction are parts of a single instruction in the
/// text.
fn continues(core: &Core<'_>, before: (Origin, u32), now: (Origin, u32)) -> bool {
    let span = |origin: Origin| origin.instruction(core).map(|(_, found)| found.span);
    before.1 == now.1
        && before.0.function == now.0.function
        && before.0.instruction + 1 == now.0.instruction
        && span(before.0) == span(now.0)
}

/// Records the results of an instruction in the lanes `done`.
fn record_results(
    core: &Core<'_>,
    pending: &Pending,
    done: u32,
    view: &mut View,
    numbers: &HashMap<(FunctionId, Register), usize>,
    into: &mut Vec<Written>,
) {
    let Some((function, instruction)) = pending.origin.instruction(core) else { return };
    if done == 0 {
        return;
    }
    for (register, ty) in instruction.op.writes() {
        let id = pending.origin.function;
        let Some(&number) = numbers.get(&(id, register)) else { continue };
        let read = (Operand::Register(register), ty);
        let values = lanes(done).map(|lane| {
            view.lane = lane;
            match view.value(core, id, function, read, true) {
                Some(Value::Register(_, value)) => value,
                _ => String::new(),
            }
        });
        let values = values.collect();
        // Several steps of one instruction have the same results.
        into.retain(|one| (one.register, one.lanes) != (number, done));
        into.push(Written { register: number, lanes: done, values });
    }
}
