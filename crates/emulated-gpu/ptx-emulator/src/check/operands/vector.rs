//! Vectors: registers in braces, or one vector register (PTX ISA, "Vectors as Operands").

use super::{Check, Width};
use crate::check::context::Result;
use crate::check::scope::Binding;
use crate::check::types;
use crate::diagnostic::Problem;
use crate::program::{Destination, Operand, Register, Type};
use crate::source::Span;
use crate::syntax::{self, Expression, Node, OperandKind};

/// One element of a vector operand.
pub(in crate::check) enum Part<'o, 'a> {
    Written(&'o syntax::Operand<'a>),
    /// An element of a vector register.
    Register(Register, Span),
}

impl<'c, 'a> Check<'c, 'a> {
    /// The parts of a vector operand: `{a, b}`, a vector register, or a single operand.
    pub(in crate::check) fn parts(&mut self, index: usize) -> Result<Vec<Part<'c, 'a>>> {
        let written = self.written;
        let Some(operand) = written.operands.get(index) else { return Ok(Vec::new()) };
        if let OperandKind::VectorPair(_, node) = &operand.kind {
            let message = format!("`{}` returns no predicate", self.title());
            return Err(Problem::new(node.span, message).help("remove the predicate"));
        }
        Ok(self.parts_of(operand))
    }

    /// The parts of any operand. A predicate after it is left to the caller.
    pub(in crate::check) fn parts_of(
        &mut self,
        operand: &'c syntax::Operand<'a>,
    ) -> Vec<Part<'c, 'a>> {
        match &operand.kind {
            OperandKind::Vector(parts) | OperandKind::VectorPair(parts, _) => {
                parts.iter().map(Part::Written).collect()
            }
            OperandKind::Plain(Node { expression: Expression::Name(name), span }) => {
                match self.body.find(name) {
                    Some(Binding::Vector(registers)) => registers
                        .into_iter()
                        .map(|register| Part::Register(register, *span))
                        .collect(),
                    _ => vec![Part::Written(operand)],
                }
            }
            _ => vec![Part::Written(operand)],
        }
    }

    /// Returns an error unless all registers of a vector have the same width and kind.
    pub(in crate::check) fn require_same_type(&mut self, parts: &[Part<'_, 'a>]) -> Result<()> {
        let mut first: Option<Type> = None;
        for part in parts {
            let (found, span) = match part {
                Part::Register(register, span) => (Some(*register), *span),
                Part::Written(operand) => match &operand.kind {
                    OperandKind::Plain(node) => {
                        (self.read_register(node).ok().flatten(), node.span)
                    }
                    _ => (None, operand.span),
                },
            };
            let Some(register) = found else { continue };
            let ty = self.register_type(register);
            let untyped = |ty| types::class(ty) == types::Class::Bits;
            let known = first.filter(|first| untyped(ty) || !untyped(*first)).unwrap_or(ty);
            let one = first.replace(known).unwrap_or(ty);
            let float = |ty| Some(ty).filter(|ty| types::is_float(*ty));
            let mixed = float(ty) != float(known) && !untyped(ty) && !untyped(known);
            if one.bits() != ty.bits() || mixed {
                let (one, other) = (one.name(), ty.name());
                return Err(Problem::new(
                    span,
                    format!("a vector of .{one} and .{other} registers"),
                )
                .label(format!("declared .{other}"))
                .help("name registers of one type"));
            }
        }
        Ok(())
    }

    /// A part that is written.
    pub(in crate::check) fn part_destination(
        &mut self,
        part: &Part<'_, 'a>,
        ty: Type,
        width: Width,
    ) -> Result<Destination> {
        match part {
            Part::Written(operand) => self.destination_or_sink(operand, ty, width),
            Part::Register(register, span) => self.fitting(*register, ty, width, *span).map(Some),
        }
    }

    /// A part that is read.
    pub(in crate::check) fn part_source(
        &mut self,
        part: &Part<'_, 'a>,
        ty: Type,
        width: Width,
    ) -> Result<Operand> {
        match part {
            Part::Written(operand) => {
                let node = self.plain_of(operand)?;
                self.value(node, ty, width)
            }
            Part::Register(register, span) => {
                self.fitting(*register, ty, width, *span).map(Operand::Register)
            }
        }
    }

    /// All parts of a vector that is written.
    pub(in crate::check) fn part_destinations(
        &mut self,
        parts: &[Part<'_, 'a>],
        ty: Type,
        width: Width,
    ) -> Result<Vec<Destination>> {
        parts.iter().map(|part| self.part_destination(part, ty, width)).collect()
    }

    /// All parts of a vector that is read.
    pub(in crate::check) fn part_sources(
        &mut self,
        parts: &[Part<'_, 'a>],
        ty: Type,
        width: Width,
    ) -> Result<Vec<Operand>> {
        parts.iter().map(|part| self.part_source(part, ty, width)).collect()
    }

    /// The register, or an error if its width doesn't fit the type.
    pub(super) fn fitting(
        &self,
        register: Register,
        ty: Type,
        width: Width,
        span: Span,
    ) -> Result<Register> {
        let register_type = self.register_type(register);
        let fits = if width == Width::Exact {
            types::fits(register_type, ty)
        } else {
            types::fits_relaxed(register_type, ty)
        };
        if fits { Ok(register) } else { Err(self.mismatch(register, ty, width, span)) }
    }
}
