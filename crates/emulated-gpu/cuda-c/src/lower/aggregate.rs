//! Structs and arrays as a whole: copying, clearing, constructing.

use std::rc::Rc;

use super::convert::memory_of;
use super::{Lowered, Lowerer, Lvalue, Typed};
use crate::diagnostic::Problem;
use crate::ir::{Access, Op, Ty, Value};
use crate::source::Span;
use crate::syntax::{Expr, StructDeclaration, TypeExpr};
use crate::types::{QualifiedType, Type};

/// The maximum number of elements of a struct or an array that is copied as a whole. Each takes an
/// instruction.
const MAX_PIECES: usize = 100_000;

/// The local memory of a thread, in bytes (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability").
pub(super) const MAX_LOCAL_BYTES: u64 = 512 * 1024;

/// A piece of a struct: its offset and its type.
type Piece = (u64, Type);

impl Lowerer<'_> {
    /// Appends all numbers and pointers in a type, in order. Stops when there are more than [`MAX_PIECES`] pieces.
    fn pieces(&self, ty: &Type, offset: u64, pieces: &mut Vec<Piece>) {
        if pieces.len() > MAX_PIECES {
            return;
        }
        match ty {
            Type::Struct(own) => {
                let own = self.complete(own);
                let bytes = |own: &Rc<StructDeclaration>| own.is_union || own.layout.packed;
                if own.declaration.as_ref().is_some_and(bytes) {
                    // Unions and packed structs are copied as words, whatever the types of their members.
                    let step = own.align.min(8);
                    for at in (0..own.size).step_by(step as usize).take(MAX_PIECES + 1) {
                        let scalar = match step {
                            1 => crate::types::Scalar::UnsignedChar,
                            2 => crate::types::Scalar::UnsignedShort,
                            4 => crate::types::Scalar::UnsignedInt,
                            _ => crate::types::Scalar::UnsignedLong,
                        };
                        pieces.push((offset + at, Type::Scalar(scalar)));
                    }
                    return;
                }
                for field in &own.fields {
                    self.pieces(&field.ty.ty, offset + field.offset, pieces);
                }
            }
            Type::Array(element, count) => {
                let size = element.ty.size();
                for index in 0..*count {
                    if pieces.len() > MAX_PIECES {
                        return;
                    }
                    self.pieces(&element.ty, offset + index * size, pieces);
                }
            }
            Type::Void => {}
            other => pieces.push((offset, other.clone())),
        }
    }

    /// The pieces of a value that is loaded or stored as a whole, with one instruction per piece. If there are too many
    /// pieces, reports an error.
    pub(super) fn checked_pieces(&mut self, ty: &QualifiedType) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.pieces(&ty.ty, 0, &mut pieces);
        if pieces.len() > MAX_PIECES {
            let message = format!(
                "`{}` has more than {MAX_PIECES} elements, too many to be read or written at once",
                ty.ty.name()
            );
            let span = self.place_of(self.builder.span);
            let problem = Problem::new(span, message).help("write a loop over the elements");
            self.problems.push(problem);
            pieces.clear();
        }
        pieces
    }

    /// Copies a struct from one address to another.
    pub(super) fn copy(&mut self, ty: &QualifiedType, to: Value, from: Value) {
        let pieces = self.checked_pieces(ty);
        // A vector is loaded or stored by one instruction.
        let lanes = match &ty.ty {
            Type::Struct(own)
                if own.declaration.is_none()
                    && (own.align == own.size && own.size <= 16)
                    && matches!(pieces.len(), 2 | 4) =>
            {
                pieces.len() as u8
            }
            _ => 1,
        };
        let mut values = Vec::new();
        for (index, (offset, piece)) in pieces.iter().enumerate() {
            let address = self.builder.offset(from, *offset);
            let lane = index as u8 % lanes;
            let access = Access { memory: memory_of(piece), volatile: ty.is_volatile, lane, lanes };
            values.push(self.builder.op(Op::Load(access), access.memory.ty(), vec![address]));
        }
        for (index, ((offset, piece), value)) in pieces.iter().zip(values).enumerate() {
            let address = self.builder.offset(to, *offset);
            let lane = index as u8 % lanes;
            let access = Access { memory: memory_of(piece), volatile: ty.is_volatile, lane, lanes };
            self.builder.op(Op::Store(access), Ty::None, vec![address, value]);
        }
    }

    /// Fills a value with zeros.
    pub(super) fn clear(&mut self, ty: &QualifiedType, to: Value) {
        for (offset, piece) in self.checked_pieces(ty) {
            let address = self.builder.offset(to, offset);
            let memory = memory_of(&piece);
            let zero = self.builder.function.constant(memory.ty(), 0);
            self.builder.store(memory, false, address, zero);
        }
    }

    /// Allocates local memory for a value.
    pub(super) fn temporary(&mut self, ty: &Type) -> Value {
        let ty = self.completed(&ty.clone().into()).ty;
        if ty.size() > MAX_LOCAL_BYTES {
            let message = format!(
                "a value of the type `{}` has {} bytes; a thread has 512 KiB of local memory",
                ty.name(),
                ty.size()
            );
            let problem = Problem::new(self.place_of(self.builder.span), message);
            self.problems.push(problem.help("pass a pointer to it"));
        }
        self.builder.slot(ty.size().max(1), ty.align())
    }

    /// Lowers a construction: `T(a, b)` or `T{a, b}`.
    pub(super) fn construct(
        &mut self,
        ty: &TypeExpr,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Typed> {
        let ty = self.plain_type(ty, span)?;
        let list = match arguments {
            [one] if matches!(one.kind, crate::syntax::ExprKind::List(_)) => Some(one),
            _ => None,
        };
        if ty.ty.is_aggregate() {
            let address = self.temporary(&ty.ty);
            let place = Lvalue { ty: QualifiedType::from(ty.ty.clone()), address };
            match (list, arguments) {
                (Some(list), _) => self.initialise(&place, list)?,
                (None, arguments) if Self::has_constructors(&ty.ty) => {
                    self.construct_by(&place, arguments, span)?;
                }
                (None, []) => self.clear(&place.ty, address),
                (None, [one]) => {
                    let typed = self.rvalue(one)?;
                    self.store_converted(&place, typed, one.span)?;
                }
                (None, arguments) => {
                    let elements =
                        arguments.iter().map(|argument| (None, argument.clone())).collect();
                    let kind = crate::syntax::ExprKind::List(elements);
                    self.initialise(&place, &Expr { kind, span, height: 1 })?;
                }
            }
            return Ok(Typed { ty: ty.ty, value: address });
        }
        let inner = match list.map(|list| &list.kind) {
            Some(crate::syntax::ExprKind::List(elements)) => {
                elements.iter().map(|(_, element)| element).collect::<Vec<_>>()
            }
            _ => arguments.iter().collect(),
        };
        match inner.as_slice() {
            [] => Ok(self.typed_constant(ty.ty, 0)),
            [one] => {
                let typed = self.rvalue(one)?;
                self.check_widened(&ty.ty, one, &typed);
                let value = self.cast(typed, &ty.ty, span)?;
                Ok(Typed { ty: ty.ty, value })
            }
            _ => self.error(span, format!("a `{}` is made of one value", ty.ty.name()), ""),
        }
    }
}
