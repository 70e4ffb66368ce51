//! The PTX of a single instruction.

use super::arithmetic::{binary, comparison, conversion, unary};
use crate::ir::{Access, Effect, Function, Inst, Op, Space, Template, Ty, Value};

/// The function in which an instruction is written as text: it names registers and variables, and receives the lines.
pub(super) trait Names {
    /// The register of a value.
    fn register(&mut self, value: Value) -> String;
    /// The name of a variable, if `value` is its address.
    fn symbol(&self, value: Value) -> Option<String>;
    /// Appends a line of text.
    fn line(&mut self, text: &str);
    /// A new register for a temporary value.
    fn temporary(&mut self, ty: Ty) -> String;
    /// The value of result `index` of an inline PTX template, if it is used. The first result is `template` itself.
    fn template_output(&self, template: Value, index: u32) -> Option<Value>;
    /// The offset that is added to the address of an access.
    fn offset(&self, value: Value) -> i64;
    /// Whether the assembler may contract products and sums.
    fn may_contract(&self) -> bool;
}

pub(super) fn integer(ty: Ty) -> &'static str {
    match ty {
        Ty::Pred => "pred",
        Ty::I64 => "64",
        _ => "32",
    }
}

pub(super) fn float(ty: Ty) -> &'static str {
    if ty == Ty::F64 { "f64" } else { "f32" }
}

/// A constant in PTX's syntax.
pub(super) fn literal(ty: Ty, bits: u64) -> String {
    match ty {
        Ty::F32 => format!("0f{bits:08X}"),
        Ty::F64 => format!("0d{bits:016X}"),
        Ty::I32 => (bits as u32 as i32).to_string(),
        Ty::B16 => (bits as u16).to_string(),
        Ty::Pred => if bits == 0 { "0" } else { "-1" }.to_owned(),
        _ => (bits as i64).to_string(),
    }
}

/// The instruction that copies a register or a constant.
pub(super) fn copy(ty: Ty, to: &str, from: &str) -> String {
    let suffix = match ty {
        Ty::Pred => "pred",
        Ty::B16 => "b16",
        Ty::I64 => "b64",
        Ty::F32 => "f32",
        Ty::F64 => "f64",
        _ => "b32",
    };
    format!("mov.{suffix} \t{to}, {from};")
}

/// The operand for a value: its register, or a constant.
pub(super) fn operand(function: &Function, names: &mut impl Names, value: Value) -> String {
    let inst = function.inst(value);
    match inst.op {
        Op::Const(bits) if inst.ty != Ty::Pred => literal(inst.ty, bits),
        Op::Const(_) => in_register(function, names, value),
        _ => names.register(value),
    }
}

/// The register of a value. A constant is first copied to a register.
pub(super) fn in_register(function: &Function, names: &mut impl Names, value: Value) -> String {
    let inst = function.inst(value);
    let Op::Const(bits) = inst.op else { return names.register(value) };
    let register = names.temporary(inst.ty);
    let text = copy(inst.ty, &register, &literal(inst.ty, bits));
    names.line(&text);
    register
}

/// An instruction that is being written.
pub(super) struct Line<'write, N> {
    pub(super) function: &'write Function,
    pub(super) names: &'write mut N,
    pub(super) value: Value,
    pub(super) inst: &'write Inst,
}

impl<N: Names> Line<'_, N> {
    /// The register of the result.
    pub(super) fn result_register(&mut self) -> String {
        self.names.register(self.value)
    }

    /// An argument, as a register or a constant.
    pub(super) fn operand(&mut self, index: usize) -> String {
        operand(self.function, self.names, self.inst.args[index])
    }

    /// The register of an argument. A constant is first copied to a register.
    pub(super) fn in_register(&mut self, index: usize) -> String {
        in_register(self.function, self.names, self.inst.args[index])
    }

    /// All arguments, in registers.
    pub(super) fn registers(&mut self) -> Vec<String> {
        (0..self.inst.args.len()).map(|index| self.in_register(index)).collect()
    }

    /// The text of an instruction with two operands.
    pub(super) fn two_operands(&mut self, name: &str) -> String {
        let (a, b) = (self.operand(0), self.operand(1));
        format!("{name} \t{}, {a}, {b};", self.result_register())
    }

    /// The space and the address of an access.
    fn place(&mut self) -> (&'static str, String) {
        place(self.function, self.names, self.value, self.inst)
    }
}

/// Writes an instruction.
pub(super) fn write(function: &Function, names: &mut impl Names, value: Value) {
    let inst = function.inst(value);
    let line = &mut Line { function, names, value, inst };
    let text = match &inst.op {
        Op::Const(_) | Op::BlockParam | Op::Output(_) => return,
        Op::Slot(_) | Op::Global(_) | Op::ParamAddress(_) => {
            let symbol = line.names.symbol(value).unwrap_or_default();
            format!("mov.u64 \t{}, {symbol};", line.result_register())
        }
        Op::Param(index) => {
            let suffix =
                function.params[*index as usize].memory.map_or("b8", |memory| memory.suffix());
            let to = line.result_register();
            format!("ld.param.{suffix} \t{to}, [{}_param_{index}];", function.name)
        }
        Op::Binary(op, _) => binary(line, *op),
        Op::Unary(op) => unary(line, *op),
        Op::Compare(compare, kind) => comparison(line, *compare, *kind),
        Op::Select => {
            let suffix = match inst.ty {
                Ty::F32 | Ty::F64 => float(inst.ty).to_owned(),
                ty => format!("b{}", ty.bits()),
            };
            let (a, b, condition) = (line.operand(1), line.operand(2), line.in_register(0));
            format!("selp.{suffix} \t{}, {a}, {b}, {condition};", line.result_register())
        }
        Op::Fma => {
            let args: Vec<String> = (0..inst.args.len()).map(|index| line.operand(index)).collect();
            format!("fma.rn.{} \t{}, {};", float(inst.ty), line.result_register(), args.join(", "))
        }
        Op::Convert(convert) => conversion(line, *convert),
        Op::PtrAdd => line.two_operands("add.s64"),
        Op::Load(access) => {
            let (space, address) = line.place();
            let volatile = volatile(access, space);
            let read_only =
                space == ".global" && access.lanes != 0 && is_read_only(function, inst.args[0]);
            let cache = if read_only { ".nc" } else { "" };
            let to = line.result_register();
            format!("ld{volatile}{space}{cache}.{} \t{to}, [{address}];", access.memory.suffix())
        }
        Op::Store(access) => {
            let from = line.operand(1);
            let (space, address) = line.place();
            let volatile = volatile(access, space);
            format!("st{volatile}{space}.{} \t[{address}], {from};", access.memory.suffix())
        }
        Op::Special(name) => format!("mov.u32 \t{}, {name};", line.result_register()),
        Op::Template(own) => return template(line, own),
        Op::Call(callee) => return super::call::call(line, callee),
        Op::Result(passed) => return super::call::result(line, passed),
        Op::ToGeneric(space) => {
            let from = line.operand(0);
            format!("cvta{}.u64 \t{}, {from};", space.name(), line.result_register())
        }
        Op::ToSpace(space) => {
            let from = line.operand(0);
            format!("cvta.to{}.u64 \t{}, {from};", space.name(), line.result_register())
        }
    };
    line.names.line(&text);
}

/// Whether an address is derived from a parameter that points to read-only memory.
pub(super) fn is_read_only(function: &Function, address: Value) -> bool {
    let mut at = address;
    for _ in 0..64 {
        let inst = function.inst(at);
        match inst.op {
            Op::PtrAdd | Op::ToSpace(_) => at = inst.args[0],
            Op::Param(index) => return function.params[index as usize].read_only,
            _ => return false,
        }
    }
    false
}

/// Returns `.volatile` for memory that is visible to other threads, if the access is volatile.
pub(super) fn volatile(access: &Access, space: &str) -> &'static str {
    let shared = !matches!(space, ".local" | ".const" | ".param");
    if access.volatile && shared { ".volatile" } else { "" }
}

/// The space and the address of an access.
pub(super) fn place(
    function: &Function,
    names: &mut impl Names,
    value: Value,
    inst: &Inst,
) -> (&'static str, String) {
    let base = inst.args[0];
    let space = function.spaces.get(base.0 as usize).copied().unwrap_or(Space::Generic);
    let name = match names.symbol(base) {
        Some(symbol) => symbol,
        None => in_register(function, names, base),
    };
    let offset = names.offset(value);
    let address = match offset {
        0 => name,
        offset => format!("{name}+{offset}"),
    };
    (space.name(), address)
}

/// Whether the operands of a template may be constants: only in a single instruction that doesn't work on halves,
/// because PTX has no constants for them ("Operand Type Checking": `.f16`, `.bf16` and their pairs).
fn takes_constants(own: &Template) -> bool {
    let plain =
        ["add", "sub", "mul", "fma", "mad", "shfl", "bar", "atom", "prmt", "shf", "sad", "vote"];
    let single = !own.text.contains("{{") && own.text.matches(';').count() == 1;
    single && !own.text.contains("f16") && plain.iter().any(|name| own.text.starts_with(name))
}

fn template(line: &mut Line<'_, impl Names>, own: &Template) {
    let mut operands: Vec<String> = Vec::new();
    if !own.results.is_empty() {
        operands.push(line.result_register());
    }
    for index in 1..own.results.len() {
        // Each result after the first one is a separate value.
        let register = match line.names.template_output(line.value, index as u32) {
            Some(output) => line.names.register(output),
            None => line.names.temporary(own.results[index]),
        };
        operands.push(register);
    }
    let constants = takes_constants(own);
    for index in 0..line.inst.args.len() {
        let is_address = index == 0 && own.begins_with_address();
        operands.push(if is_address {
            line.place().1
        } else if constants {
            line.operand(index)
        } else {
            line.in_register(index)
        });
    }
    let mut text = String::new();
    let (moves, rest) = own.moves();
    // An operand that is read and written (`+`) is first copied to the register of the result.
    for (to, from) in moves {
        if let Some(from) = from {
            let text = copy(own.results[to], &operands[to], &operands[from]);
            line.names.line(&text);
        }
    }
    let mut characters = rest.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '{' if characters.peek() == Some(&'{') => {
                characters.next();
                text.push('{');
            }
            '}' if characters.peek() == Some(&'}') => {
                characters.next();
                text.push('}');
            }
            '{' => {
                let mut digits = String::new();
                for digit in characters.by_ref() {
                    if digit == '}' {
                        break;
                    }
                    digits.push(digit);
                }
                if let Some(operand) =
                    digits.parse::<usize>().ok().and_then(|number| operands.get(number))
                {
                    text.push_str(operand);
                }
            }
            ' ' if !text.contains(' ') && !text.starts_with('{') => text.push_str(" \t"),
            other => text.push(other),
        }
    }
    debug_assert!(own.effect <= Effect::Acts);
    line.names.line(&text);
}
