//! Lowering of a [`Module`] to steps: each register, constant and special register gets a slot,
//! each variable a place, each label a step. Functions have fixed slots instead of frames; a
//! recursive function saves the content of its slots on a stack.

mod asynchronous;
mod calls;
pub(super) mod carried;
mod clocks;
mod compare;
mod guesses;
mod instruction;
mod lanes;
mod locals;
mod matrix;
mod memory;
mod moves;
mod pattern_reuse;
mod places;
mod polls;
mod recursion;
mod slots;
mod texture;

pub(crate) use slots::function_address;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use self::carried::Carried;
use self::guesses::Guesses;
use self::locals::{Locals, aligned};
use super::access::choose::HostSettings;
use super::code::{Action, Executable, Step, ends};
use super::defined::Uses;
use super::image::{FunctionLayout, Image, StepOrigin, VariablePlace};
use super::registers::{ALWAYS, FIRST_PREDICATE, FIRST_ROW, Slot, Width};
use crate::checks::Checks;
use crate::diagnostic::{Problem, Problems};
use crate::limits::{LOCAL_BYTES, PARAMETER_BYTES, SHARED_BYTES};
use crate::program::{Function, FunctionId, Module, Space, Special, VariableId};
use crate::source::{Source, Span};

/// The stack size of a thread, for `alloca`.
const STACK_BYTES: u64 = 16 << 10;
/// The stack size of a thread in kernels with recursive functions.
const RECURSIVE_STACK_BYTES: u64 = 32 << 10;
/// The maximum number of register rows per warp: 128 bytes each, on each of 32 warps.
const MAX_ROWS: u64 = 1 << 17;

/// The inputs that all kernels of a module share.
pub(crate) struct Loading<'module> {
    pub(crate) module: &'module Arc<Module>,
    pub(crate) source: Arc<Source>,
    /// Addresses of the module variables in global and constant memory.
    pub(crate) addresses: HashMap<VariableId, u64>,
    /// The enabled checks.
    pub(crate) checks: Checks,
    /// Whether to use only the baseline instruction set of the host's processor.
    pub(crate) portable: bool,
    /// The compute capability of the card, such as 90 for 9.0.
    pub(crate) capability: u32,
}

/// Lowers all kernels of a module.
pub(crate) fn lower(loading: &Loading<'_>) -> Result<Vec<Arc<Executable>>, Problems> {
    let mut problems = Problems::default();
    let fast = !loading.portable && super::vector::fast_host();
    let address_taken = recursion::address_taken(loading.module);
    let polls = if loading.checks.races { polls::polls(loading.module) } else { HashSet::new() };
    let mut kernels = Vec::new();
    for (index, function) in loading.module.functions.iter().enumerate() {
        if function.entry && function.body.is_some() {
            let lowering = Lowering::new(loading, (&address_taken, &polls), fast, &mut problems);
            kernels.push(Arc::new(lowering.kernel(FunctionId(index as u32))));
        }
    }
    if problems.is_empty() { Ok(kernels) } else { Err(problems) }
}

struct Lowering<'l> {
    loading: &'l Loading<'l>,
    module: &'l Module,
    fast: bool,
    problems: &'l mut Problems,
    code: Vec<Step>,
    places: Vec<StepOrigin>,
    rows: u32,
    predicates: u32,
    constants: HashMap<(u64, Width), Slot>,
    specials: HashMap<Special, Slot>,
    sites: u32,
    layouts: HashMap<FunctionId, FunctionLayout>,
    shared: u64,
    /// The offset of the shared memory that is reserved by the system.
    reserved: Option<u64>,
    module_shared: HashMap<VariableId, VariablePlace>,
    /// Constants that are set to an offset from the start of dynamic shared memory.
    dynamic_shared: HashMap<(i64, Width), Slot>,
    local: u64,
    locals: Locals,
    stack_pointer: Option<Slot>,
    stack_start: Option<Slot>,
    carry: Option<Slot>,
    /// Registers of module scope, by name.
    shared_registers: HashMap<String, Slot>,
    /// Functions whose address is taken, so that they may be called through a register.
    address_taken: &'l HashSet<FunctionId>,
    /// Volatile loads on which a loop polls, by function and index of the instruction.
    polls: &'l HashSet<(FunctionId, usize)>,
    /// Branches around calls: the branching step, and its target.
    skips: Vec<(usize, u32)>,
    /// The function whose body is being lowered.
    current: FunctionId,
    place: StepOrigin,
    guard: (u32, u32),
    /// The weight of the next emitted step.
    weight: u32,
    guesses: Guesses,
    /// Whether the current instruction loads a value that a compare-and-swap checks later.
    is_guess: bool,
    /// Whether the current instruction is a volatile load on which a loop polls.
    polled: bool,
    /// Whether the current instruction loads or stores a possibly uninitialised value that is only
    /// passed on.
    passes_on: bool,
}

impl<'l> Lowering<'l> {
    fn new(
        loading: &'l Loading<'l>,
        (address_taken, polls): (&'l HashSet<FunctionId>, &'l HashSet<(FunctionId, usize)>),
        fast: bool,
        problems: &'l mut Problems,
    ) -> Self {
        Self {
            loading,
            module: loading.module,
            fast,
            problems,
            code: Vec::new(),
            places: Vec::new(),
            rows: FIRST_ROW,
            predicates: FIRST_PREDICATE,
            constants: HashMap::new(),
            specials: HashMap::new(),
            // Site 0 is used by the builtins.
            sites: 1,
            layouts: HashMap::new(),
            shared: 0,
            reserved: None,
            module_shared: HashMap::new(),
            dynamic_shared: HashMap::new(),
            local: 0,
            locals: Locals::default(),
            stack_pointer: None,
            stack_start: None,
            carry: None,
            shared_registers: HashMap::new(),
            address_taken,
            polls,
            skips: Vec::new(),
            current: FunctionId(0),
            place: StepOrigin { span: Span::default(), loc: None },
            guard: (ALWAYS, 0),
            weight: 0,
            guesses: Guesses::default(),
            is_guess: false,
            polled: false,
            passes_on: false,
        }
    }

    fn kernel(mut self, id: FunctionId) -> Executable {
        let function = self.function(id);
        let order = self.reachable(id);
        let recursive = order.recursive.contains(&true);
        if recursive {
            self.need_stack();
        }
        let cycles = order.cycles.iter().zip(&order.recursive);
        for (&each, (&cycle, &again)) in order.functions.iter().zip(cycles) {
            self.plan(each, cycle, again);
        }
        let order = order.functions;
        let cleared = FIRST_ROW..self.rows;
        // The start of the stack is a constant, so that it is set for every block.
        self.stack_start = self.stack_pointer.map(|_| self.new_slot(Width::Wide));
        for &each in &order {
            self.body(each);
        }
        self.link();
        pattern_reuse::mark(&mut self.code);
        let constant_bytes: u64 =
            self.module.variables.iter().filter(|v| v.space == Space::Const).map(|v| v.size).sum();
        let constant_bytes = constant_bytes as u32;
        let parameters = self.parameter_layout(function);
        let parameter_bytes =
            parameters.last().map_or(0, |last| u64::from(last.offset) + u64::from(last.size));
        let parameter_bytes =
            self.check_limit(parameter_bytes, PARAMETER_BYTES, "parameters", function);
        self.check_limit(
            u64::from(self.rows) * 128,
            MAX_ROWS * 128,
            "registers of a warp",
            function,
        );
        // Must be computed as in `Image::dynamic_start`.
        let dynamic_start = aligned(self.shared, 16);
        let mut constants: Vec<(Slot, u64)> =
            self.constants.iter().map(|(&(value, _), &slot)| (slot, value)).collect();
        constants.extend(
            self.dynamic_shared
                .iter()
                .map(|(&(offset, _), &slot)| (slot, dynamic_start.wrapping_add_signed(offset))),
        );
        let stack_start = aligned(self.local, 16);
        if let Some(slot) = self.stack_start {
            constants.push((slot, stack_start));
            let stack = if recursive { RECURSIVE_STACK_BYTES } else { STACK_BYTES };
            self.local = stack_start.saturating_add(stack);
        }
        let bits: u32 = function.registers.iter().map(|r| r.ty.bits().div_ceil(32)).sum();
        let local = aligned(self.local, 16);
        let (padding, local_variables) = std::mem::take(&mut self.locals).finish();
        let own = local.saturating_sub(padding.into());
        let own = self.check_limit(own, LOCAL_BYTES, "local memory of a thread", function);
        let local_bytes = own + padding;
        let shared_variables = self.shared_variables();
        let static_shared = self.check_limit(self.shared, SHARED_BYTES, "shared memory", function);
        let each = || self.layouts.iter().map(|(&id, plan)| (self.function(id), plan));
        let tests_objects = each().any(|(function, _)| clocks::tests_objects(function));
        let clock_independent = each()
            .filter(|_| tests_objects)
            .flat_map(|(f, plan)| clocks::clock_independent(f, plan));
        let clock_independent = clock_independent.collect();
        let image = Image {
            name: function.name.clone(),
            rows: self.rows,
            cleared,
            predicates: self.predicates,
            constants,
            specials: self.specials.iter().map(|(&special, &slot)| (slot, special)).collect(),
            sites: self.sites,
            static_shared,
            shared_variables,
            local_bytes,
            padding,
            local_variables,
            constant_bytes,
            registers: bits,
            parameters,
            parameter_bytes,
            limits: function.limits,
            version: self.module.version,
            target: self.module.target,
            source: Arc::clone(&self.loading.source),
            files: Arc::new(self.module.files.clone()),
            module: Arc::clone(self.loading.module),
            kernel: id,
            layouts: self.layouts,
            module_shared: self.module_shared,
            reserved: self.reserved,
            clock_independent,
            places: self.places,
        };
        Executable { image, code: self.code }
    }

    fn check_limit(&mut self, bytes: u64, most: u64, what: &str, function: &Function) -> u32 {
        if bytes > most {
            let message = format!("{bytes} bytes of {what}: the limit is {most}");
            self.problem(function.span, message);
            return 0;
        }
        bytes as u32
    }

    fn host(&self) -> HostSettings {
        HostSettings { fast: self.fast, checks: self.loading.checks }
    }

    fn function(&self, id: FunctionId) -> &'l Function {
        &self.module.functions[id.0 as usize]
    }

    fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.problems.push(Problem::new(span, message));
    }

    fn emit(&mut self, action: Action) {
        let weight = std::mem::take(&mut self.weight);
        let before = self.code.last().map_or(0, |step| step.before + step.weight);
        self.code.push(Step {
            guard: self.guard.0,
            negation_mask: self.guard.1,
            weight,
            before,
            action,
        });
        self.places.push(self.place);
    }

    /// Emits a step without a guard.
    fn emit_always(&mut self, action: Action) {
        let guard = std::mem::replace(&mut self.guard, (ALWAYS, 0));
        self.emit(action);
        self.guard = guard;
    }

    fn body(&mut self, id: FunctionId) {
        self.current = id;
        let function = self.function(id);
        let first = self.code.len() as u32;
        self.guard = (ALWAYS, 0);
        self.place = StepOrigin { span: function.span, loc: None };
        if self.code.is_empty()
            && let (Some(pointer), Some(start)) = (self.stack_pointer, self.stack_start)
        {
            self.copy(pointer, start);
        }
        if let (Some(saved), Some(pointer)) = (self.saved_stack(), self.stack_pointer) {
            self.copy(saved, pointer);
            if let Some((d, bytes)) = self.layouts.get(&id).and_then(|plan| plan.stack_frame) {
                let align = function.variables.iter().map(|variable| variable.align).max();
                let align = align.unwrap_or(1).max(16).next_power_of_two();
                let size = self.constant(bytes, Width::Wide);
                self.emit(Action::StackAllocate { pointer, d, size, align });
            }
        }
        let body = function.body.as_deref().unwrap_or(&[]);
        let mut starts = Vec::with_capacity(body.len() + 1);
        let guesses = if self.loading.checks.races {
            self.guesses.find(self.module, id)
        } else {
            HashSet::new()
        };
        let initialisation = self.loading.checks.initialisation;
        let carried = if initialisation { Carried::analyse(function) } else { Carried::default() };
        for (index, instruction) in body.iter().enumerate() {
            self.passes_on = carried.is_carried_by(index, instruction);
            self.is_guess = guesses.contains(&index);
            self.polled = self.polls.contains(&(id, index));
            starts.push(self.code.len() as u32);
            self.place = StepOrigin { span: instruction.span, loc: instruction.loc };
            self.guard = match instruction.guard {
                None => (ALWAYS, 0),
                Some(guard) => {
                    (self.register(guard.register).index, if guard.negated { u32::MAX } else { 0 })
                }
            };
            self.weight = 1;
            if initialisation && let Some(plan) = self.layouts.get(&id) {
                let uses = Uses::new(instruction, function, &plan.registers, &carried);
                if !uses.is_empty() {
                    self.emit_always(Action::Uses(Box::new(uses)));
                }
            }
            self.instruction(instruction);
            self.weight = 0;
        }
        starts.push(self.code.len() as u32);
        self.guard = (ALWAYS, 0);
        // A final return: the target of a label at the end. It also keeps the program counter in
        // range.
        self.return_from();
        self.resolve_labels(first as usize..self.code.len(), &starts);
        if let Some(plan) = self.layouts.get_mut(&id) {
            plan.entry = Some(first);
            plan.starts = starts;
        }
        debug_assert!(self.code.last().is_some_and(|step| ends(&step.action)));
    }

    fn saved_stack(&self) -> Option<Slot> {
        self.layouts.get(&self.current).and_then(|plan| plan.saved_stack)
    }

    fn return_from(&mut self) {
        if let (Some(saved), Some(pointer)) = (self.saved_stack(), self.stack_pointer) {
            self.copy(pointer, saved);
        }
        self.emit(Action::Return);
    }

    /// Replaces the targets of branches, which were emitted as indices of instructions, by steps.
    fn resolve_labels(&mut self, range: Range<usize>, starts: &[u32]) {
        let end = starts.last().copied().unwrap_or(0);
        let step = |label: u32| starts.get(label as usize).copied().unwrap_or(end);
        for each in &mut self.code[range] {
            match &mut each.action {
                Action::Branch(target) => *target = step(*target),
                Action::BranchIndexed { targets, .. } => {
                    targets.iter_mut().for_each(|target| *target = step(*target));
                }
                _ => {}
            }
        }
        for (at, to) in std::mem::take(&mut self.skips) {
            self.code[at].action = Action::Branch(to);
        }
    }

    /// Replaces the targets of calls, which were emitted as indices of functions, by steps.
    fn link(&mut self) {
        for step in &mut self.code {
            if let Action::Call(target) = &mut step.action {
                let plan = self.layouts.get(&FunctionId(*target));
                *target = plan.and_then(|plan| plan.entry).unwrap_or(0);
            }
        }
    }
}
