//! Operands of texture and surface instructions: `[a, {x, y}]`.

use super::{Check, Part, Width};
use crate::check::context::Result;
use crate::check::types;
use crate::diagnostic::Problem;
use crate::program::{Address, Geometry, Op, Operand, Ordering, Register, Space, Symbol, Type};
use crate::syntax::{self, Expression, Node, OperandKind};
use crate::texture::Opaque;

/// The PTX name of an opaque type.
pub(in crate::check) fn opaque_name(kind: Opaque) -> &'static str {
    match kind {
        Opaque::Texture => ".texref",
        Opaque::Surface => ".surfref",
    }
}

impl<'c, 'a> Check<'c, 'a> {
    /// The kind of object that a symbol represents, if it is a texture or a surface.
    pub(in crate::check) fn opaque(&self, symbol: Operand) -> Option<Opaque> {
        let variable = match symbol {
            Operand::Address(Symbol::Module(id), _) => {
                self.context.module.variables.get(id.0 as usize)
            }
            Operand::Address(Symbol::Local(id), _) => {
                self.body.function.variables.get(id.0 as usize)
            }
            _ => None,
        };
        variable?.opaque.map(|(kind, _)| kind)
    }

    /// Loads the handle that a parameter of an opaque type holds into a new register.
    pub(in crate::check) fn handle_of(&mut self, symbol: Operand) -> Operand {
        let Operand::Address(Symbol::Local(_), _) = symbol else { return symbol };
        let register = self.body.register("%handle", Type::U64, self.written.span);
        self.before.push(Op::Load {
            space: Space::Param,
            ordering: Ordering::Weak,
            scope: None,
            ty: Type::U64,
            d: vec![Some(register)],
            address: Address { base: symbol, offset: 0 },
        });
        Operand::Register(register)
    }

    /// The operand `[a, …]`: the handle, or the variable that represents one, and the remaining operands between the
    /// brackets.
    pub(in crate::check) fn reference(
        &mut self,
        index: usize,
        kind: Opaque,
    ) -> Result<(Operand, &'c [syntax::Operand<'a>])> {
        let written = self.written;
        if index >= written.operands.len() {
            self.operand(index)?;
        }
        let operand = &written.operands[index];
        let wanted = opaque_name(kind);
        let OperandKind::Address(node, more) = &operand.kind else {
            return Err(Problem::new(
                operand.span,
                format!("`{}` takes a {wanted} here", self.title()),
            )
            .help("put it, and the coordinates, into brackets: [a, {x, y}]"));
        };
        if let Expression::Name(name) = node.expression
            && let Some((symbol, _)) = self.symbol(name)
        {
            if self.opaque(symbol) != Some(kind) {
                return Err(Problem::new(node.span, format!("`{name}` is not a {wanted}"))
                    .help(format!("name a {wanted} variable, or a .u64 register with a handle")));
            }
            return Ok((self.handle_of(symbol), more));
        }
        let Some(register) = self.read_register(node)? else {
            return Err(Problem::new(node.span, format!("this is not a {wanted}"))
                .help("name a variable, or a .u64 register that holds a handle"));
        };
        self.check_handle(register, node)?;
        Ok((Operand::Register(register), more))
    }

    fn check_handle(&self, register: Register, node: &Node) -> Result<()> {
        self.context.require(node.span, "a handle in a register", 20, (3, 1))?;
        let ty = self.register_type(register);
        if types::fits(ty, Type::U64) {
            return Ok(());
        }
        Err(self.mismatch(register, Type::U64, Width::Exact, node.span))
    }

    /// The coordinates that follow a handle: as many as the geometry has. The padding of a vector to 2 or 4
    /// elements is ignored.
    pub(in crate::check) fn coordinates(
        &mut self,
        more: &'c [syntax::Operand<'a>],
        geometry: Geometry,
        ty: Type,
    ) -> Result<Vec<Operand>> {
        let operand = match more {
            [operand] => operand,
            [] => {
                return Err(Problem::new(
                    self.written.span,
                    format!("`{}` needs coordinates", self.title()),
                )
                .help("write them after the handle: [a, {x, y}]"));
            }
            [sampler, ..] => {
                return Err(Problem::new(sampler.span, "separate samplers are not emulated")
                    .help("they belong to .target texmode_independent: remove the sampler"));
            }
        };
        let parts = self.parts_of(operand);
        let count = geometry.coordinates();
        if !matches!(parts.len(), 1 | 2 | 4) || parts.len() < count {
            let wanted = if count == 3 { 4 } else { count };
            return Err(Problem::new(operand.span, format!("{} coordinates", parts.len()))
                .help(format!("`{}` takes a vector of {wanted}", self.title())));
        }
        self.same_widths(&parts, geometry, ty)
    }

    fn same_widths(
        &mut self,
        parts: &[Part<'_, 'a>],
        geometry: Geometry,
        ty: Type,
    ) -> Result<Vec<Operand>> {
        let mut list = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let layer = geometry.layered && index == 0;
            let ty = if layer { Type::U32 } else { ty };
            list.push(self.part_source(part, ty, Width::Exact)?);
        }
        list.truncate(geometry.coordinates());
        Ok(list)
    }
}
