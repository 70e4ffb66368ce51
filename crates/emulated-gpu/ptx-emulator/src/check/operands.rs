//! Operands of one instruction: looked up, and checked against the type that the instruction expects (PTX ISA,
//! "Instruction Operands" and "Type Checking of Operands").

mod address;
mod register;
mod texture;
mod vector;

pub(super) use vector::Part;

use crate::diagnostic::Problem;
use crate::program::{Destination, IntBinary, Op, Operand, Space, Type};
use crate::source::Span;
use crate::syntax::{self, Binary, Expression, Instruction, Node, OperandKind, Unary};

use super::body::function::Body;
use super::context::{ModuleContext, Result};
use super::modifiers::Modifiers;
use super::{constants, types, variables};

/// The state of the check of one instruction.
pub(super) struct Check<'c, 'a> {
    pub body: &'c mut Body<'a>,
    pub context: &'c mut ModuleContext<'a>,
    pub written: &'c Instruction<'a>,
    pub modifiers: Modifiers<'a>,
    /// Operations to run before the instruction's own: the first steps of an instruction that expands to
    /// several.
    pub before: Vec<Op>,
}

/// How strictly the width of a register is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Exactly as wide as the type.
    Exact,
    /// The register must be at least as wide as the type: `ld`, `st`, `cvt`.
    Relaxed,
}

impl<'c, 'a> Check<'c, 'a> {
    pub(super) fn opcode(&self) -> &'a str {
        self.written.opcode.text
    }

    /// The instruction's name as written, such as `add.f32`.
    pub(super) fn title(&self) -> String {
        let mut title = self.opcode().to_owned();
        for modifier in &self.written.modifiers {
            title = format!("{title}.{}", modifier.text);
        }
        title
    }

    pub(super) fn name_span(&self) -> Span {
        self.modifiers.span()
    }

    /// An error at the name of the instruction.
    pub(super) fn error(&self, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.name_span(), message).help(help)
    }

    /// An error at an operand.
    pub(super) fn operand_error(
        &self,
        index: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Problem {
        let operand = self.operand(index);
        operand.map_or_else(|problem| problem, |o| Problem::new(o.span, message).help(help))
    }

    /// Returns an error at the instruction's name if `wrong` holds.
    pub(super) fn reject_if(
        &self,
        wrong: bool,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<()> {
        if wrong { Err(self.error(message, help)) } else { Ok(()) }
    }

    /// Returns an error at an operand if `wrong` holds.
    pub(super) fn reject_operand_if(
        &self,
        index: usize,
        wrong: bool,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<()> {
        if wrong { Err(self.operand_error(index, message, help)) } else { Ok(()) }
    }

    /// Takes a state space, one of `global|shared`. Without one, the space is generic.
    pub(super) fn space(&mut self, names: &'static str) -> Space {
        self.modifiers.word(names).map_or(Space::Generic, space_named)
    }

    /// Returns an error unless the file's target and version have the instruction.
    pub(super) fn require(&self, target: u32, version: (u32, u32)) -> Result<()> {
        if self.context.has(target, version) {
            return Ok(());
        }
        let title = format!("`{}`", self.title());
        self.context.require(self.name_span(), &title, target, version)
    }

    /// Whether an instruction on single precision flushes subnormal numbers: with `.ftz`, and always below
    /// sm_20, which did not support them (PTX ISA, "Floating-Point Instructions").
    pub(super) fn flushes(&mut self) -> bool {
        self.modifiers.flag("ftz") || self.context.module.target < 20
    }

    /// Returns an error if a modifier was not understood, or the number of operands is wrong. `shape` names the
    /// operands: `d, a, b`.
    pub(super) fn shape(&self, shape: &'static str) -> Result<()> {
        let count = |letter: u8| shape.bytes().filter(|byte| *byte == letter).count();
        let optional = count(b'{');
        let most = if shape.is_empty() { 0 } else { count(b',') + 1 };
        self.modifiers.finish()?;
        let written_count = self.written.operands.len();
        if (most - optional..=most).contains(&written_count) {
            return Ok(());
        }
        let name = |operand: &'static str| operand.split(':').next().unwrap_or_default();
        let names: Vec<&str> = shape.split(", ").map(name).collect();
        let names = names.join(", ").replace(['{', '}'], "");
        let wanted = match (most - optional, most) {
            (0, 0) => "no operands".to_owned(),
            (1, 1) => "1 operand".to_owned(),
            (least, most) if least == most => format!("{most} operands"),
            (least, most) => format!("{least} to {most} operands"),
        };
        let help = if most == 0 {
            "remove them".into()
        } else {
            format!("write {} {names};", self.title())
        };
        let message = format!("`{}` takes {wanted}, found {written_count}", self.title());
        Err(Problem::new(self.written.span, message).help(help))
    }

    pub(super) fn count(&self) -> usize {
        self.written.operands.len()
    }

    /// The operand at an index. [`Self::shape`] has already checked that it exists, but a missing operand is an error
    /// here too.
    pub(super) fn operand(&self, index: usize) -> Result<&syntax::Operand<'a>> {
        self.written.operands.get(index).ok_or_else(|| {
            Problem::new(self.written.span, format!("`{}` is missing an operand", self.title()))
                .help("write the operands that the instruction takes, separated by commas")
        })
    }

    /// An operand that is a plain expression.
    fn plain(&self, index: usize) -> Result<&'_ Node<'a>> {
        let operand = self.operand(index)?;
        self.plain_of(operand)
    }

    pub(super) fn plain_of<'o>(&self, operand: &'o syntax::Operand<'a>) -> Result<&'o Node<'a>> {
        match &operand.kind {
            OperandKind::Plain(node) => Ok(node),
            OperandKind::Vector(parts) if parts.len() == 1 => self.plain_of(&parts[0]),
            OperandKind::Vector(_) | OperandKind::VectorPair(..) => {
                Err(Problem::new(operand.span, format!("`{}` takes no vector here", self.title()))
                    .help("name one register"))
            }
            OperandKind::Address(..) | OperandKind::Element(..) => {
                Err(Problem::new(operand.span, format!("`{}` can't access memory", self.title()))
                    .help("load the value into a register with ld first, or store it with st"))
            }
            OperandKind::List(_) => Err(Problem::new(operand.span, "a list is not allowed here")
                .help("only call takes lists in parentheses")),
        }
    }

    /// The destination `d`.
    pub(super) fn destination(&mut self, index: usize, ty: Type) -> Result<Destination> {
        self.destination_as(index, ty, Width::Exact)
    }

    pub(super) fn destination_as(
        &mut self,
        index: usize,
        ty: Type,
        width: Width,
    ) -> Result<Destination> {
        let operands = &self.written.operands;
        if operands.get(index).is_some_and(|operand| is_sink(operand)) {
            return Err(Problem::new(operands[index].span, format!("`{}` can't discard its result", self.title()))
                .help("name a register; `_` is only allowed for results of atom, setp, shfl, and parts of vectors"));
        }
        let written = self.written;
        let Some(operand) = written.operands.get(index) else { return Ok(None) };
        let node = self.plain_of(operand)?;
        self.written_register(node, ty, width).map(Some)
    }

    /// A destination that may be `_` (discarded).
    pub(super) fn destination_or_sink(
        &mut self,
        operand: &syntax::Operand<'a>,
        ty: Type,
        width: Width,
    ) -> Result<Destination> {
        if is_sink(operand) {
            return Ok(None);
        }
        let node = self.plain_of(operand)?;
        self.written_register(node, ty, width).map(Some)
    }

    /// Reads a pair of destinations `d|p` (either may be `_`), or only `d`.
    pub(super) fn destination_pair(
        &mut self,
        index: usize,
        ty: Type,
    ) -> Result<(Destination, Destination)> {
        let written = self.written;
        let Some(operand) = written.operands.get(index) else { return Ok((None, None)) };
        let node = self.plain_of(operand)?;
        let mut side = |node: &Node<'a>, ty| match node.expression {
            Expression::Name("_") => Ok(None),
            _ => self.written_register(node, ty, Width::Exact).map(Some),
        };
        match &node.expression {
            Expression::Binary(Binary::Or, d, p) => Ok((side(d, ty)?, side(p, Type::Pred)?)),
            _ => Ok((side(node, ty)?, None)),
        }
    }

    /// Whether an operand is of the form `d|p`.
    pub(super) fn is_pair(&self, index: usize) -> bool {
        let node = self.written.operands.get(index).and_then(|operand| operand.node());
        matches!(node, Some(Node { expression: Expression::Binary(Binary::Or, ..), .. }))
    }

    /// A source of exactly the instruction's width.
    pub(super) fn source(&mut self, index: usize, ty: Type) -> Result<Operand> {
        self.source_as(index, ty, Width::Exact)
    }

    pub(super) fn source_as(&mut self, index: usize, ty: Type, width: Width) -> Result<Operand> {
        let written = self.written;
        if index >= written.operands.len() {
            self.operand(index)?;
        }
        let node = self.plain_of(&written.operands[index])?;
        self.value(node, ty, width)
    }

    /// A register, a constant, or (as in `ptxas`) the sum of a register and a constant, as a value of a type.
    pub(super) fn value(&mut self, node: &Node<'a>, ty: Type, width: Width) -> Result<Operand> {
        if let Expression::Binary(Binary::Add | Binary::Subtract, ..) = node.expression {
            let (base, offset) = self.base_and_offset(node)?;
            if !std::ptr::eq(base, node) {
                if let Some(address) = self.address_value(base, offset, ty) {
                    return Ok(address);
                }
                let base = self.value(base, ty, width)?;
                return self.sum(base, offset, node.span);
            }
        }
        if let Some(register) = self.read_register(node)? {
            return self.fitting(register, ty, width, node.span).map(Operand::Register);
        }
        self.constant(node, ty).map(Operand::Immediate)
    }

    /// The address of a variable plus a constant, in a new register.
    fn address_value(&mut self, base: &Node<'a>, offset: i64, ty: Type) -> Option<Operand> {
        let Expression::Name(name) = base.expression else { return None };
        let (symbol, space) = self.symbol(name)?;
        let Operand::Address(place, _) = symbol else { return None };
        let narrow = !matches!(space, Space::Global | Space::Generic);
        let ty = match ty.bits() {
            64 if !types::is_float(ty) => Type::U64,
            32 if narrow && !types::is_float(ty) => Type::U32,
            _ => return None,
        };
        if self.opaque(symbol).is_some() {
            return None;
        }
        let d = self.body.register("", ty, base.span);
        self.before.push(Op::Mov { ty, d: Some(d), a: Operand::Address(place, offset) });
        Some(Operand::Register(d))
    }

    /// A register plus a constant. The sum keeps the register's width.
    fn sum(&mut self, base: Operand, offset: i64, span: Span) -> Result<Operand> {
        let base_type = match base {
            Operand::Register(register) => self.register_type(register),
            _ => Type::Pred,
        };
        let ty = match base_type.bits() {
            16 => Type::U16,
            32 => Type::U32,
            64 => Type::U64,
            _ => Type::Pred,
        };
        if ty == Type::Pred || types::is_float(base_type) {
            return Err(Problem::new(span, "a constant is added to integer registers only")
                .label(format!("declared .{}", base_type.name()))
                .help("add it first, with add, and name the register that holds the sum"));
        }
        let d = self.body.register("", base_type, span);
        let b = Operand::Immediate(offset as u64 & (u64::MAX >> (64 - ty.bits())));
        let op = IntBinary::Add { saturate: false };
        self.before.push(Op::IntBinary { op, ty, d: Some(d), a: base, b });
        Ok(Operand::Register(d))
    }

    /// A constant as the bits of a type.
    pub(super) fn constant(&mut self, node: &Node<'a>, ty: Type) -> Result<u64> {
        if ty == Type::B128 {
            return Err(Problem::new(node.span, "there are no constants of 128 bits")
                .help("put it together with mov.b128 from two registers of 64 bits"));
        }
        variables::immediate(constants::evaluate(node)?, ty, node)
    }

    /// A constant integer, such as a table or a count.
    pub(super) fn number(&mut self, index: usize) -> Result<u64> {
        let node = self.plain(index)?;
        let (value, _) = constants::integer(constants::evaluate(node)?, node)?;
        Ok(value)
    }

    /// A predicate that is read: `p`, `!p` or a constant.
    pub(super) fn predicate(&mut self, index: usize) -> Result<Operand> {
        let written = self.written;
        if index >= written.operands.len() {
            self.operand(index)?;
        }
        let node = self.plain_of(&written.operands[index])?;
        self.predicate_of(node)
    }

    pub(super) fn predicate_of(&mut self, node: &Node<'a>) -> Result<Operand> {
        if let Expression::Unary(Unary::Not, of) = &node.expression
            && self.is_register(of)
        {
            return match self.value(of, Type::Pred, Width::Exact)? {
                Operand::Register(register) => Ok(Operand::Not(register)),
                other => Ok(other),
            };
        }
        self.value(node, Type::Pred, Width::Exact)
    }
}

/// Whether an operand is `_`.
pub(super) fn is_sink(operand: &syntax::Operand) -> bool {
    operand.name() == Some("_")
}

/// The state space that a modifier names. `.shared::cluster` is `.shared`, because a block is its whole
/// cluster.
pub(super) fn space_named(name: &str) -> Space {
    match name {
        "global" => Space::Global,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => Space::Shared,
    }
}

/// The name of a state space in messages: `.global`, `generic`, ….
pub(super) fn space_name(space: Space) -> &'static str {
    Space::NAMED[space as usize].0
}
