//! The recorder of one thread, for [`Trace`]. It is called before each step; the results of a step
//! are read at the thread's next step, because no other thread writes its registers.

pub(super) mod origin;
mod places;
mod values;
pub(super) mod view;

use super::code::{Action, Executable};
use super::core::Core;
use super::registers::LANES;
use super::warp::Warp;
use super::watch::Watch;
use crate::program::{BarrierAction, Function, Instruction, Op, Operand, Type};
use crate::trace::{Event, Trace, Value};
use origin::{Origin, origins, slot_of};
use view::View;

/// The note before the results of a call.
const RETURNED: &str = "returned";

/// The thread that is traced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedThread {
    /// The block's index in the grid.
    pub(crate) block: u64,
    /// The thread's index in the block.
    pub(crate) thread: u32,
    /// The maximum number of recorded events.
    pub(crate) max_events: usize,
}

/// Records the events of one thread.
pub(crate) struct Tracer {
    thread: TracedThread,
    /// The view of the thread's lane.
    view: View,
    trace: Trace,
    /// The instruction that each step belongs to, if any, and whether it is that instruction's
    /// first step.
    origins: Vec<Option<(Origin, bool)>>,
    /// Whether each step returns from a function.
    returns: Vec<bool>,
    /// The instruction of the thread's latest step.
    current: Option<Origin>,
    /// The instruction of the latest step, while its results have not been read.
    pending: Option<Origin>,
    depth: usize,
    other_lanes: u64,
    other_warps: u64,
}

impl Tracer {
    pub(crate) fn new(executable: &Executable, thread: TracedThread) -> Self {
        let steps = executable.code.iter();
        let returns = steps.map(|step| matches!(step.action, Action::Return)).collect();
        let lane = thread.thread as usize % LANES;
        let trace =
            Trace { warp: thread.thread / LANES as u32, lane: lane as u32, ..Trace::default() };
        Self {
            thread,
            view: View { lane, buffers: Vec::new() },
            trace,
            origins: origins(executable),
            returns,
            current: None,
            pending: None,
            depth: 0,
            other_lanes: 0,
            other_warps: 0,
        }
    }

    /// Returns the trace, after the launch.
    pub(crate) fn take(&mut self) -> Trace {
        std::mem::take(&mut self.trace)
    }

    /// Updates the call depth of the thread.
    fn follow_calls(&mut self, core: &Core<'_>, origin: Origin, first: bool) {
        let Some((_, instruction)) = origin.instruction(core) else { return };
        if !first || !self.is_traced(core, origin, instruction) {
            return;
        }
        match instruction.op {
            Op::Call { .. } => self.depth += usize::from(calls_function(core, instruction)),
            Op::Return => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn is_traced(&self, core: &Core<'_>, origin: Origin, instruction: &Instruction) -> bool {
        instruction.guard.is_none_or(|guard| {
            let slot = slot_of(core, origin.function, guard.register);
            slot.is_some_and(|slot| {
                (core.registers.get(slot, self.view.lane) != 0) != guard.negated
            })
        })
    }

    fn begin(&mut self, core: &Core<'_>, origin: Origin, first: bool) {
        let Some((function, instruction)) = origin.instruction(core) else { return };
        let span = instruction.span;
        let source = &core.image.source;
        let text = source.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let mut event = Event {
            line: source.line_of(span.start).0,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            depth: self.depth,
            other_lanes: std::mem::take(&mut self.other_lanes),
            other_warps: std::mem::take(&mut self.other_warps),
            ..Event::default()
        };
        self.pending = Some(origin);
        if !first {
            // The results of a call are read at the step after it; the callee's return has already
            // been counted.
            event.before.push(Value::Note(RETURNED.into()));
            self.trace.events.push(event);
            return;
        }
        if let Some(guard) = instruction.guard {
            let read = (Operand::Register(guard.register), Some(Type::Pred));
            event.before.extend(self.view.value(core, origin.function, function, read, false));
            event.skipped = !self.is_traced(core, origin, instruction);
        }
        if event.skipped {
            self.pending = None;
            self.trace.events.push(event);
            return;
        }
        for read in instruction.op.reads() {
            let value = self.view.value(core, origin.function, function, read, false);
            // A register that is read twice is only shown once.
            event.before.extend(value.filter(|value| !event.before.contains(value)));
        }
        let (from, to) = self.view.memory(core, origin.function, function, &instruction.op);
        event.before.extend(from);
        event.after.extend(to);
        event.after.extend(self.control(core, function, &instruction.op));
        self.trace.events.push(event);
    }

    /// Another part of the same instruction: adds the values that it reads.
    fn continue_instruction(&mut self, core: &Core<'_>, origin: Origin) {
        let Some((function, instruction)) = origin.instruction(core) else { return };
        if self.trace.left_out > 0 || !self.is_traced(core, origin, instruction) {
            return;
        }
        let reads = instruction.op.reads();
        let values: Vec<Value> = reads
            .into_iter()
            .filter_map(|read| self.view.value(core, origin.function, function, read, false))
            .collect();
        if let Some(event) = self.trace.events.last_mut() {
            let new = values.into_iter().filter(|value| !event.before.contains(value));
            let new: Vec<Value> = new.collect();
            event.before.extend(new);
        }
        self.pending = Some(origin);
    }

    /// Reads the results of the previous instruction.
    fn finish(&mut self, core: &Core<'_>) {
        let Some(origin) = self.pending.take() else { return };
        let Some((function, instruction)) = origin.instruction(core) else { return };
        let returned = |event: &Event| event.before.first() == Some(&Value::Note(RETURNED.into()));
        if calls_function(core, instruction) && !self.trace.events.last().is_some_and(returned) {
            // The results are available when the function returns.
            return;
        }
        let mut values: Vec<Value> = Vec::new();
        for (register, ty) in instruction.op.writes() {
            let read = (Operand::Register(register), ty);
            values.extend(self.view.value(core, origin.function, function, read, true));
        }
        if let Some(event) = self.trace.events.last_mut() {
            // Registers are listed before control flow.
            let known = event.after.iter();
            let at = known.take_while(|value| matches!(value, Value::Register(..))).count();
            event.after.splice(at..at, values);
        }
    }

    /// Describes where an instruction sends the thread.
    fn control(&self, core: &Core<'_>, function: &Function, op: &Op) -> Option<Value> {
        let note = |text: String| Some(Value::Note(text));
        match op {
            Op::Branch { target, .. } => {
                let body = function.body.as_deref()?;
                let name = function.labels.iter().find(|(_, label)| label == target);
                let name = name.map_or("the end", |(name, _)| name);
                let line = body.get(target.0 as usize).map_or(String::new(), |instruction| {
                    format!(", line {}", core.image.source.line_of(instruction.span.start).0)
                });
                note(format!("goes to {name}{line}"))
            }
            Op::Call { callee: Operand::Function(id), .. } => {
                let name = &core.image.module.functions.get(id.0 as usize)?.name;
                note(format!("calls {name}"))
            }
            Op::Return if self.depth > 0 => note("returns".into()),
            Op::Return | Op::Exit => note("the thread ends".into()),
            Op::Barrier { action: BarrierAction::Arrive, .. } => {
                note("arrives, but does not wait".into())
            }
            Op::Barrier { .. } => note("waits until all threads have arrived".into()),
            _ => None,
        }
    }
}

impl Watch for Tracer {
    fn step(&mut self, core: &Core<'_>, pc: u32, mask: u32, _: &Warp) {
        if core.block != self.thread.block {
            return;
        }
        if core.warp != self.trace.warp {
            self.other_warps += 1;
            return;
        }
        if mask >> self.view.lane & 1 == 0 {
            self.other_lanes += 1;
            return;
        }
        let Some((origin, first)) = self.origins.get(pc as usize).copied().flatten() else {
            // The lowering added this step, as the end of a function without `ret`.
            self.finish(core);
            let returns = self.returns.get(pc as usize).copied().unwrap_or(false);
            self.depth = self.depth.saturating_sub(usize::from(returns));
            self.current = None;
            return;
        };
        let before = self.current.replace(origin);
        if !first && (before == Some(origin) || !is_call(core, origin)) {
            return;
        }
        self.finish(core);
        if first && before.is_some_and(|before| is_next_part(core, before, origin)) {
            self.continue_instruction(core, origin);
            return;
        }
        if self.trace.events.len() >= self.thread.max_events {
            self.trace.left_out += u64::from(first);
            self.follow_calls(core, origin, first);
            return;
        }
        if self.trace.events.is_empty() {
            self.view.name_buffers(core);
        }
        self.begin(core, origin, first);
        self.follow_calls(core, origin, first);
    }
}

/// Whether an operation is part of the same instruction of the text as the previous one.
fn is_next_part(core: &Core<'_>, before: Origin, origin: Origin) -> bool {
    let span = |origin: Origin| origin.instruction(core).map(|(_, found)| found.span);
    before.function == origin.function
        && before.instruction + 1 == origin.instruction
        && span(before).is_some()
        && span(before) == span(origin)
}

fn is_call(core: &Core<'_>, origin: Origin) -> bool {
    let instruction = origin.instruction(core);
    instruction.is_some_and(|(_, instruction)| matches!(instruction.op, Op::Call { .. }))
}

/// Whether an instruction calls a function of the program. Built-in functions complete in one step.
pub(super) fn calls_function(core: &Core<'_>, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Call { callee: Operand::Function(id), .. } => {
            let function = core.image.module.functions.get(id.0 as usize);
            function.is_some_and(|function| function.body.is_some())
        }
        Op::Call { .. } => true,
        _ => false,
    }
}
