//! The PTX of a function.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use super::Offsets;
use super::instruction::{self, Names};
use super::registers::{Allocation, Copy, order_copies, prefix};
use crate::ir::{BlockId, Function, Global, Op, Target, Terminator, Ty, Value};
use crate::source::{Sources, Span};

/// The files that `.loc` refers to, and their numbers.
#[derive(Debug)]
pub(super) struct Files {
    library: u32,
    known: Vec<u32>,
    numbers: HashMap<u32, usize>,
}

impl Files {
    pub(super) fn new(library: u32) -> Self {
        Self { library, known: vec![0], numbers: HashMap::from_iter([(0, 1)]) }
    }

    fn number(&mut self, file: u32) -> Option<usize> {
        if file == self.library {
            return None;
        }
        let (known, count) = (&mut self.known, self.numbers.len() + 1);
        let number = self.numbers.entry(file).or_insert_with(|| {
            known.push(file);
            count
        });
        Some(*number)
    }

    pub(super) fn write(
        &self,
        text: &mut String,
        sources: &Sources,
        options: &crate::CompileOptions<'_>,
    ) {
        if !options.lines {
            return;
        }
        for (index, file) in self.known.iter().enumerate() {
            let name = sources.get(*file).name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(text, "\t.file\t{} \"{name}\"", index + 1);
        }
    }
}

struct Writer<'a> {
    function: &'a Function,
    globals: &'a [Global],
    allocation: &'a Allocation,
    offsets: &'a Offsets,
    body: String,
    names: HashMap<Value, String>,
    counts: HashMap<&'static str, u32>,
    used_slots: HashSet<u32>,
    spare: Vec<Value>,
    /// The results of templates, except for each template's first result.
    outputs: HashMap<(Value, u32), Value>,
    fmad: bool,
}

impl Names for Writer<'_> {
    fn register(&mut self, value: Value) -> String {
        let leader = self.leader(value);
        if let Some(known) = self.names.get(&leader) {
            return known.clone();
        }
        let ty = match self.function.values.get(leader.0 as usize) {
            Some(inst) => inst.ty,
            None => {
                self.function
                    .inst(self.spare[(leader.0 - self.function.values.len() as u32) as usize])
                    .ty
            }
        };
        let name = self.temporary(ty);
        self.names.insert(leader, name.clone());
        name
    }

    fn symbol(&self, value: Value) -> Option<String> {
        match self.function.inst(value).op {
            Op::Slot(slot) => Some(format!("__local_{slot}")),
            Op::Global(number) => Some(self.globals[number as usize].name.clone()),
            Op::ParamAddress(index) => Some(format!("{}_param_{index}", self.function.name)),
            _ => None,
        }
    }

    fn line(&mut self, text: &str) {
        self.body.push('\t');
        self.body.push_str(text);
        self.body.push('\n');
    }

    fn temporary(&mut self, ty: Ty) -> String {
        let prefix = prefix(ty);
        let count = self.counts.entry(prefix).or_insert(0);
        *count += 1;
        format!("{prefix}{count}")
    }

    fn template_output(&self, template: Value, index: u32) -> Option<Value> {
        self.outputs.get(&(template, index)).copied()
    }

    fn offset(&self, value: Value) -> i64 {
        self.offsets.get(&value).copied().unwrap_or(0)
    }

    fn may_contract(&self) -> bool {
        self.fmad
    }
}

impl Writer<'_> {
    fn leader(&self, value: Value) -> Value {
        self.allocation.leader.get(value.0 as usize).copied().unwrap_or(value)
    }

    fn copies(&mut self, copies: &[Copy]) {
        let base = self.function.values.len() as u32;
        let leaders = &self.allocation.leader;
        let same = |value: Value| leaders.get(value.0 as usize).copied().unwrap_or(value);
        let spare = &mut self.spare;
        let ordered = order_copies(copies, same, |value| {
            spare.push(value);
            Value(base + spare.len() as u32 - 1)
        });
        for (to, from) in ordered {
            let ty =
                if to.0 < base { self.function.inst(to).ty } else { self.function.inst(from).ty };
            let source = match self.function.values.get(from.0 as usize).map(|inst| &inst.op) {
                Some(Op::Const(bits)) => instruction::literal(ty, *bits),
                _ => self.register(from),
            };
            let target = self.register(to);
            let text = instruction::copy(ty, &target, &source);
            self.line(&text);
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a kernel, its module, and the output")]
pub(super) fn kernel(
    text: &mut String,
    function: &Function,
    index: usize,
    globals: &[Global],
    shared: &[&Global],
    (allocation, offsets): (Allocation, Offsets),
    files: &mut Files,
    sources: &Sources,
    options: &crate::CompileOptions<'_>,
    variables: &mut Vec<crate::Variable>,
) {
    let mut writer = Writer {
        function,
        globals,
        allocation: &allocation,
        offsets: &offsets,
        body: String::new(),
        names: HashMap::default(),
        counts: HashMap::default(),
        used_slots: HashSet::default(),
        spare: Vec::new(),
        outputs: template_outputs(function),
        fmad: options.fmad,
    };
    write_body(&mut writer, index, files, sources, options);
    write_head(text, function, files, sources, options);
    for (register, ty) in [
        ("%p", ".pred"),
        ("%rs", ".b16"),
        ("%r", ".b32"),
        ("%f", ".f32"),
        ("%rd", ".b64"),
        ("%fd", ".f64"),
    ] {
        if let Some(count) = writer.counts.get(register) {
            let _ = writeln!(text, "\t.reg {ty} \t{register}<{}>;", count + 1);
        }
    }
    for global in shared {
        let _ = writeln!(
            text,
            "\t.shared .align {} .b8 {}[{}];",
            global.align, global.name, global.size
        );
    }
    let mut slots: Vec<u32> = writer.used_slots.into_iter().collect();
    slots.sort_unstable();
    for slot in slots {
        let own = &function.slots[slot as usize];
        let _ = writeln!(text, "\t.local .align {} .b8 __local_{slot}[{}];", own.align, own.size);
    }
    text.push_str(&writer.body);
    text.push_str("}\n\n");
    variables.extend(named_registers(function, &allocation, &writer.names));
}

/// The registers that only hold values of one variable of the source, and the parameters.
fn named_registers(
    function: &Function,
    allocation: &Allocation,
    registers: &HashMap<Value, String>,
) -> Vec<crate::Variable> {
    let mut found: BTreeMap<&str, Option<&Rc<str>>> = BTreeMap::new();
    for (value, name) in &function.variables {
        let leader = allocation.leader.get(value.0 as usize).unwrap_or(value);
        if let Some(register) = registers.get(leader) {
            let known = found.entry(register).or_insert(Some(name));
            *known = known.filter(|known| *known == name);
        }
    }
    let named = found.into_iter().filter_map(|(register, name)| {
        let (function, register) = (function.name.clone(), register.to_owned());
        Some(crate::Variable { function, register, name: name?.to_string() })
    });
    let parameters = function.params.iter().enumerate().filter(|(_, own)| !own.name.is_empty());
    let parameters = parameters.map(|(index, own)| crate::Variable {
        function: function.name.clone(),
        register: format!("{}_param_{index}", function.name),
        name: own.name.to_string(),
    });
    named.chain(parameters).collect()
}

fn write_head(
    text: &mut String,
    function: &Function,
    files: &mut Files,
    sources: &Sources,
    options: &crate::CompileOptions<'_>,
) {
    if function.is_kernel {
        let _ = writeln!(text, "\t// .globl\t{}", function.name);
    }
    text.push_str(&super::call::signature(function));
    text.push('\n');
    if let Some(threads) = function.bounds.first().filter(|threads| **threads > 0) {
        let _ = writeln!(text, ".maxntid {threads}, 1, 1");
    }
    if let Some(blocks) = function.bounds.get(1).filter(|blocks| **blocks > 0) {
        let _ = writeln!(text, ".minnctapersm {blocks}");
    }
    text.push_str("{\n");
    if options.lines
        && let Some(file) = files.number(function.span.file)
    {
        let (line, _) = sources.place(function.span);
        let _ = writeln!(text, "\t.loc\t{file} {line} 0");
    }
}

fn template_outputs(function: &Function) -> HashMap<(Value, u32), Value> {
    let mut outputs = HashMap::default();
    for (number, inst) in function.values.iter().enumerate().rev() {
        if let Op::Output(index) = inst.op {
            outputs.insert((inst.args[0], index), Value(number as u32));
        }
    }
    outputs
}

/// The addresses of variables that aren't only used as addresses of accesses, so that they need a
/// register.
fn addresses(function: &Function) -> HashSet<Value> {
    let mut needed = HashSet::default();
    let symbolic = |value: Value| function.inst(value).op.is_variable_address();
    for id in function.ids() {
        let block = function.block(id);
        for value in &block.insts {
            let inst = function.inst(*value);
            let accesses = match &inst.op {
                Op::Load(_) | Op::Store(_) => true,
                Op::Template(template) => template.begins_with_address(),
                _ => false,
            };
            for (index, arg) in inst.args.iter().enumerate() {
                if symbolic(*arg) && !(accesses && index == 0) {
                    needed.insert(*arg);
                }
            }
        }
        needed.extend(block.end.values().filter(|value| symbolic(*value)));
    }
    needed
}

fn write_body(
    writer: &mut Writer<'_>,
    index: usize,
    files: &mut Files,
    sources: &Sources,
    options: &crate::CompileOptions<'_>,
) {
    let function = writer.function;
    let needed = addresses(function);
    let order = writer.allocation.order.clone();
    let targets = jump_targets(function, writer.allocation);
    let mut last: Option<(usize, usize, usize)> = None;
    let mut locate = |writer: &mut Writer<'_>, span: Span| {
        if !options.lines || span == Span::default() {
            return;
        }
        let Some(file) = files.number(span.file) else { return };
        let (line, column) = sources.place(span);
        if last != Some((file, line, column)) {
            last = Some((file, line, column));
            let _ = writeln!(writer.body, "\t.loc\t{file} {line} {column}");
        }
    };
    // The blocks with copies of a single edge, which are written after all other blocks.
    let mut edge_blocks: Vec<(String, Vec<Copy>, BlockId)> = Vec::new();
    for (place, &id) in order.iter().enumerate() {
        let block = function.block(id);
        if targets.contains(&id) {
            let _ = writeln!(writer.body, "\n$L__BB{index}_{}:", id.0);
        }
        if let Some(copies) = writer.allocation.copies_at_start.get(&id) {
            writer.copies(copies);
        }
        let mut skip = 0;
        for (at, &value) in block.insts.iter().enumerate() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let op = &function.inst(value).op;
            if let Op::Slot(slot) = op {
                writer.used_slots.insert(*slot);
            }
            if op.is_variable_address() && !needed.contains(&value) {
                continue;
            }
            if !matches!(op, Op::Param(_) | Op::ToSpace(_)) {
                locate(writer, function.inst(value).span);
            }
            match super::vector::lanes_at(function, writer.offsets, &block.insts[at..]) {
                Some(lanes) => {
                    super::vector::write(function, writer, &block.insts[at..at + lanes]);
                    skip = lanes - 1;
                }
                None => instruction::write(function, writer, value),
            }
        }
        if let Some(copies) = writer.allocation.copies_at_end.get(&id) {
            writer.copies(copies);
        }
        let next = order.get(place + 1).copied();
        locate(writer, block.span);
        write_terminator(writer, index, id, next, &mut edge_blocks);
    }
    for (label, copies, to) in edge_blocks {
        let _ = writeln!(writer.body, "\n{label}:");
        writer.copies(&copies);
        writer.line(&format!("bra \t$L__BB{index}_{};", to.0));
    }
}

fn write_terminator(
    writer: &mut Writer<'_>,
    index: usize,
    id: BlockId,
    next: Option<BlockId>,
    edge_blocks: &mut Vec<(String, Vec<Copy>, BlockId)>,
) {
    let label = |block: BlockId| format!("$L__BB{index}_{}", block.0);
    match writer.function.block(id).end.clone() {
        Terminator::Return => writer.line("ret;"),
        Terminator::Unreachable => writer.line("trap;"),
        Terminator::Jump(Target { block, .. }) => {
            if next != Some(block) {
                writer.line(&format!("bra.uni \t{};", label(block)));
            }
        }
        Terminator::Branch { condition, yes, no } => {
            let condition = writer.register(condition);
            let mut goal =
                |first: bool, block: BlockId| match writer.allocation.edge_copies.get(&(id, first))
                {
                    Some(copies) => {
                        let name =
                            format!("$L__BB{index}_{}{}", id.0, if first { "y" } else { "n" });
                        edge_blocks.push((name.clone(), copies.clone(), block));
                        (name, true)
                    }
                    None => (label(block), false),
                };
            let ((first, far), (second, farther)) = (goal(true, yes.block), goal(false, no.block));
            if next == Some(yes.block) && !far {
                writer.line(&format!("@!{condition} bra \t{second};"));
            } else {
                writer.line(&format!("@{condition} bra \t{first};"));
                if next != Some(no.block) || farther {
                    writer.line(&format!("bra.uni \t{second};"));
                }
            }
        }
    }
}

/// Blocks that need a label, because control doesn't only fall through to them.
fn jump_targets(function: &Function, allocation: &Allocation) -> HashSet<BlockId> {
    let mut targets = HashSet::default();
    for (place, &id) in allocation.order.iter().enumerate() {
        let next = allocation.order.get(place + 1).copied();
        let end = &function.block(id).end;
        for (index, target) in end.targets().enumerate() {
            let between = matches!(end, Terminator::Branch { .. })
                && allocation.edge_copies.contains_key(&(id, index == 0));
            if next != Some(target.block) || between {
                targets.insert(target.block);
            }
        }
        // A branch with two equal targets becomes an explicit jump, so its target needs a label.
        if let Terminator::Branch { yes, no, .. } = end
            && yes.block == no.block
        {
            targets.insert(yes.block);
        }
    }
    targets
}
