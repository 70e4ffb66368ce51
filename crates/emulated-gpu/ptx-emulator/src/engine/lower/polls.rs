//! Detection of polling: volatile loads on which a loop waits, as in `while (*flag == 0);`. The
//! loaded value decides whether the loop continues, and the loop doesn't store it anywhere.
//! racecheck treats these loads as synchronisation, and all other volatile accesses as data.

mod loops;

use std::collections::{HashMap, HashSet};

use self::loops::{Loop, branch_target, loops, successors};
use crate::program::{
    Address, CallArgument, FunctionId, Instruction, IntBinary, Module, Op, Operand, Ordering,
    Parameter, Register, Space,
};

/// The maximum number of passes over a function that look for registers with local addresses. A pass
/// after the first finds more only if a register is copied further up in the text than it is
/// assigned; compilers don't emit that.
const MAX_PASSES: u32 = 8;

/// The polling loads of a module, by function and index of the instruction.
pub(super) fn polls(module: &Module) -> HashSet<(FunctionId, usize)> {
    let mut polls = HashSet::new();
    let bodies = || module.functions.iter().filter_map(|function| function.body.as_deref());
    if !bodies().flatten().any(is_volatile_load) {
        return polls;
    }
    // Functions whose result a loop polls. They occur in code without inlining.
    let mut awaited = Vec::new();
    for (id, function) in module.functions.iter().enumerate() {
        let id = FunctionId(id as u32);
        let body = function.body.as_deref().unwrap_or(&[]);
        let local = local_pointers(body);
        let (mut left, mut inside) = (HashSet::new(), HashSet::new());
        for each in loops(body) {
            if !each.own_instructions.iter().any(|&index| may_poll(&body[index])) {
                continue;
            }
            let [decides, stored] = slices(&each, body, &local);
            for index in
                each.own_instructions.iter().copied().filter(|&index| may_poll(&body[index]))
            {
                if decides.is_written_by(&body[index]) && !stored.is_written_by(&body[index]) {
                    record(id, index, body, &mut polls, &mut awaited);
                    left.extend(each.exits(body));
                    inside.extend(each.instructions.iter().copied());
                }
            }
        }
        let first = entry_condition_values(body, (&left, &inside), &local);
        for index in (0..body.len()).filter(|&index| first.is_written_by(&body[index])) {
            record(id, index, body, &mut polls, &mut awaited);
        }
    }
    let mut known = HashSet::new();
    while let Some(id) = awaited.pop() {
        let Some(function) = module.functions.get(id.0 as usize) else { continue };
        let Some(body) = function.body.as_deref().filter(|_| known.insert(id)) else { continue };
        let mut result = Slice::default();
        for parameter in &function.results {
            match parameter {
                Parameter::Register(register) => _ = result.registers.insert(*register),
                Parameter::Variable(_) => result.memory = true,
            }
        }
        result.extend(body.iter(), &local_pointers(body));
        for index in (0..body.len()).filter(|&index| result.is_written_by(&body[index])) {
            record(id, index, body, &mut polls, &mut awaited);
        }
    }
    polls
}

/// Records an instruction whose result a loop waits for, if it is a load or a call.
fn record(
    id: FunctionId,
    index: usize,
    body: &[Instruction],
    found: &mut HashSet<(FunctionId, usize)>,
    awaited: &mut Vec<FunctionId>,
) {
    let instruction = &body[index];
    if is_volatile_load(instruction) {
        found.insert((id, index));
    }
    if let Op::Call { callee: Operand::Function(callee), .. } = instruction.op {
        awaited.push(callee);
    }
}

fn is_volatile_load(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Load { ordering: Ordering::Volatile, .. })
}

fn may_poll(instruction: &Instruction) -> bool {
    is_volatile_load(instruction) || matches!(instruction.op, Op::Call { .. })
}

/// The values that decide whether a loop is entered: the values on which a branch depends that is before the loop and
/// jumps to an exit of the loop. Compilers move the first test of a flag to this branch.
fn entry_condition_values(
    body: &[Instruction],
    (left, inside): (&HashSet<usize>, &HashSet<usize>),
    local: &HashSet<Register>,
) -> Slice {
    let mut first = Slice::default();
    if left.is_empty() {
        return first;
    }
    for (index, Instruction { guard, op, .. }) in body.iter().enumerate() {
        let past =
            || successors(body, index).iter().any(|&to| left.contains(&branch_target(body, to)));
        if matches!(op, Op::Branch { .. }) && guard.is_some() && !inside.contains(&index) && past()
        {
            first.registers.extend(guard.map(|guard| guard.register));
        }
    }
    first.extend(body.iter(), local);
    first
}

/// A backward slice: everything that some values are computed from.
#[derive(Debug, Default)]
struct Slice {
    registers: HashSet<Register>,
    /// Whether local memory is included. It counts as a single value: parameters of calls, and
    /// variables in unoptimised code.
    memory: bool,
}

impl Slice {
    fn add(&mut self, operand: Operand) {
        self.registers.extend(register(operand));
    }

    /// Whether an instruction writes a value of the slice to a register, or returns it from a call.
    fn is_written_by(&self, instruction: &Instruction) -> bool {
        let called = match &instruction.op {
            Op::Call { results, .. } if self.memory => {
                results.iter().any(|result| matches!(result, CallArgument::Variable(_)))
            }
            _ => false,
        };
        called
            || instruction.op.writes().iter().any(|(register, _)| self.registers.contains(register))
    }

    /// Adds all values from which the values in the slice are computed.
    fn extend<'b>(
        &mut self,
        instructions: impl Iterator<Item = &'b Instruction>,
        local: &HashSet<Register>,
    ) {
        let mut writers: HashMap<Register, Vec<&Instruction>> = HashMap::new();
        // Instructions that write to local memory.
        let mut local_writers = Vec::new();
        for instruction in instructions {
            for (register, _) in instruction.op.writes() {
                writers.entry(register).or_default().push(instruction);
            }
            match &instruction.op {
                Op::Store { space, address, .. } if is_local(*space, *address, local) => {
                    local_writers.push(instruction);
                }
                Op::Call { .. } => local_writers.push(instruction),
                _ => {}
            }
        }
        let mut open: Vec<Register> = self.registers.iter().copied().collect();
        let mut kept = false;
        loop {
            let next = if self.memory && !kept {
                kept = true;
                &local_writers
            } else if let Some(register) = open.pop() {
                let Some(list) = writers.get(&register) else { continue };
                list
            } else {
                return;
            };
            for instruction in next {
                let sources = self.sources(instruction, local);
                open.extend(sources.into_iter().filter(|&source| self.registers.insert(source)));
            }
        }
    }

    /// The registers from which the result of an instruction is computed. Adds local memory to the
    /// slice if it is read.
    fn sources(&mut self, instruction: &Instruction, local: &HashSet<Register>) -> Vec<Register> {
        let operands = match &instruction.op {
            Op::Load { space, address, .. } => {
                self.memory |= is_local(*space, *address, local);
                Vec::new()
            }
            Op::Store { a, .. } => a.clone(),
            Op::Atomic { .. } => Vec::new(),
            op => {
                if let Op::Call { arguments, .. } = op {
                    let variable = |given: &_| matches!(given, CallArgument::Variable(_));
                    self.memory |= arguments.iter().any(variable);
                }
                op.reads().iter().map(|&(operand, _)| operand).collect()
            }
        };
        let registers = operands.into_iter().filter_map(register);
        registers.chain(instruction.guard.map(|guard| guard.register)).collect()
    }
}

/// The register of an operand.
fn register(operand: Operand) -> Option<Register> {
    match operand {
        Operand::Register(register) | Operand::Not(register) => Some(register),
        _ => None,
    }
}

/// Whether an address is in local memory.
fn is_local(space: Space, address: Address, local: &HashSet<Register>) -> bool {
    let pointer = || matches!(address.base, Operand::Register(base) if local.contains(&base));
    match space {
        Space::Local | Space::Param => true,
        Space::Generic => pointer(),
        _ => false,
    }
}

/// Registers that hold generic addresses of local memory.
fn local_pointers(body: &[Instruction]) -> HashSet<Register> {
    let mut found = HashSet::new();
    for _ in 0..MAX_PASSES {
        let before = found.len();
        for Instruction { op, .. } in body {
            match op {
                Op::ConvertAddress { space: Space::Local, to_space: false, d, .. } => {
                    found.extend(*d);
                }
                Op::Mov { d, .. } | Op::IntBinary { op: IntBinary::Add { .. }, d, .. } => {
                    let registers =
                        op.reads().into_iter().filter_map(|(operand, _)| register(operand));
                    if registers.into_iter().any(|register| found.contains(&register)) {
                        found.extend(*d);
                    }
                }
                _ => {}
            }
        }
        if found.len() == before {
            break;
        }
    }
    found
}

/// The slice of values that decide whether a loop continues, and the slice of values that it stores
/// in memory visible to other threads.
fn slices(each: &Loop, body: &[Instruction], local: &HashSet<Register>) -> [Slice; 2] {
    let mut slices = [Slice::default(), Slice::default()];
    let [decides, stored] = &mut slices;
    let instructions = || each.instructions.iter().map(|&index| &body[index]);
    // A loop that only waits may have several conditions: `while (*a == 0 || *b == 0);`.
    let waits = !instructions().any(|Instruction { op, .. }| match op {
        Op::Store { space, address, .. } => !is_local(*space, *address, local),
        Op::Atomic { .. } | Op::Asynchronous(_) | Op::Texture(_) | Op::Matrix(_) => true,
        op => matches!(op, Op::Call { .. }),
    });
    for &index in &each.instructions {
        let Instruction { guard, op, .. } = &body[index];
        let leaves = || {
            successors(body, index).iter().any(|to| each.instructions.binary_search(to).is_err())
        };
        match op {
            Op::Branch { .. } | Op::BranchIndexed { .. } if waits || leaves() => {
                decides.registers.extend(guard.map(|guard| guard.register));
                op.reads().iter().for_each(|&(operand, _)| decides.add(operand));
            }
            Op::Return | Op::Exit => {
                decides.registers.extend(guard.map(|guard| guard.register));
            }
            Op::Store { space, address, a, .. } if !is_local(*space, *address, local) => {
                a.iter().for_each(|&a| stored.add(a));
            }
            Op::Atomic { b, c, .. } => {
                std::iter::once(b).chain(c).for_each(|&operand| stored.add(operand));
            }
            _ => {}
        }
    }
    decides.extend(instructions(), local);
    stored.extend(instructions(), local);
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    /// The indices of the polling loads in a body.
    fn polling(functions: &str, body: &str) -> Vec<usize> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n{functions}\n.entry k(.param .u64 p)\n{{\n\
             .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{body}\nret;\n}}\n"
        );
        let source = Source { name: "a.ptx".into(), text };
        let module = crate::parse(&source).unwrap_or_else(|list| panic!("{}", list[0]));
        let mut list: Vec<usize> = polls(&module).into_iter().map(|(_, index)| index).collect();
        list.sort_unstable();
        list
    }

    #[test]
    fn load_in_a_waiting_loop_polls() {
        let spin = "A: ld.volatile.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 0; @%p bra A;";
        assert_eq!(polling("", spin), [0]);
        // The waiting part is moved out of line, as with __nanosleep.
        let apart = "bra A; S: bra A; A: ld.volatile.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 0; \
                     @%p bra S; ret;";
        assert_eq!(polling("", apart), [2]);
        // Two flags.
        let both = "A: ld.volatile.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 0; @%p bra A; \
                    ld.volatile.u32 %r1, [%d2]; setp.eq.u32 %p, %r1, 0; @%p bra A;";
        assert_eq!(polling("", both), [0, 3]);
        // Inside a loop over rounds.
        let rounds =
            format!("R: {spin} st.global.u32 [%d2], %r2; setp.lt.u32 %p, %r2, 3; @%p bra R;");
        assert_eq!(polling("", &rounds), [0]);
    }

    #[test]
    fn first_test_before_the_loop_polls() {
        let rotated = "ld.volatile.u32 %r1, [%d1]; setp.ne.u32 %p, %r1, 0; @%p bra X; \
                       A: ld.volatile.u32 %r2, [%d1]; setp.eq.u32 %p, %r2, 0; @%p bra A; X:";
        assert_eq!(polling("", rotated), [0, 3]);
        // A branch that skips something else.
        let other = rotated.replace("@%p bra X; A:", "@%p bra Y; st.global.u32 [%d2], %r3; Y: A:");
        assert_eq!(polling("", &other), [4]);
    }

    #[test]
    fn data_loads_do_not_poll() {
        // No loop; a loop with a fixed number of iterations; a value that is stored, although it
        // also ends the loop.
        let lists = [
            "ld.volatile.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 0; @%p bra A; A:",
            "A: ld.volatile.u32 %r1, [%d1]; add.u32 %r2, %r2, %r1; add.u32 %r3, %r3, 1; \
             setp.lt.u32 %p, %r3, 9; @%p bra A;",
            "A: ld.volatile.u32 %r1, [%d1]; add.u32 %r1, %r1, 1; st.volatile.u32 [%d1], %r1; \
             setp.lt.u32 %p, %r1, 9; @%p bra A;",
            "A: ld.volatile.u32 %r1, [%d1]; setp.lt.u32 %p, %r1, %r2; @%p bra B; \
             st.volatile.u32 [%d1], %r2; B: add.u32 %r3, %r3, 1; setp.lt.u32 %q, %r3, 9; @%q bra A;",
        ];
        for body in lists {
            assert_eq!(polling("", body), Vec::<usize>::new(), "{body}");
        }
    }

    #[test]
    fn load_in_a_function_polls_if_its_caller_waits() {
        let function = ".func (.param .b32 r) get(.param .b64 a)\n{\n.reg .b64 %a; .reg .b32 %v;\n\
                        ld.param.u64 %a, [a]; ld.volatile.u32 %v, [%a]; st.param.b32 [r], %v; ret;\n}";
        let call = "{ .param .b64 a; .param .b32 r; st.param.b64 [a], %d1; call (r), get, (a); \
                    ld.param.b32 %r1, [r]; }";
        let spin = format!("A: {call} setp.eq.u32 %p, %r1, 0; @%p bra A;");
        assert_eq!(polling(function, &spin), [1]);
        assert_eq!(polling(function, call), Vec::<usize>::new());
        // In unoptimised code, variables are in memory.
        let kept = ".local .b32 v; mov.u64 %d2, v; cvta.local.u64 %d3, %d2; \
                    A: ld.volatile.u32 %r1, [%d1]; st.u32 [%d3], %r1; ld.u32 %r2, [%d3]; \
                    setp.eq.u32 %p, %r2, 0; @%p bra A;";
        assert_eq!(polling("", kept), [2]);
    }
}
