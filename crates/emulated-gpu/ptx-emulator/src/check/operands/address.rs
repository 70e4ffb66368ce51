//! Addresses: a register, a variable or a number, plus a constant (PTX ISA, "Addresses as
//! Operands").

use super::texture::opaque_name;
use super::{Check, space_name};
use crate::check::context::{Global, Result};
use crate::check::scope::Binding;
use crate::check::{constants, types};
use crate::diagnostic::Problem;
use crate::program::{Address, Operand, Register, Space, Symbol, Type};
use crate::source::Span;
use crate::syntax::{Binary, Expression, Name, Node, OperandKind};

impl<'a> Check<'_, 'a> {
    /// The address of the variable or function with a name, and its state space.
    pub(in crate::check) fn symbol(&mut self, name: &str) -> Option<(Operand, Space)> {
        let module = &self.context.module;
        match self.body.find(name) {
            Some(Binding::Variable(id)) => {
                let variable = &self.body.function.variables[id.0 as usize];
                Some((Operand::Address(Symbol::Local(id), 0), variable.space))
            }
            Some(Binding::Static(id)) => {
                let variable = &module.variables[id.0 as usize];
                Some((Operand::Address(Symbol::Module(id), 0), variable.space))
            }
            Some(_) => None,
            None => match self.context.names.get(name)? {
                Global::Variable(id) => {
                    let variable = &module.variables[id.0 as usize];
                    Some((Operand::Address(Symbol::Module(*id), 0), variable.space))
                }
                Global::Function(id) => Some((Operand::Function(*id), Space::Generic)),
            },
        }
    }

    /// Splits `symbol + offset` or `register + offset`. The offset is 0 for any other expression.
    pub(in crate::check) fn base_and_offset<'n>(
        &mut self,
        node: &'n Node<'a>,
    ) -> Result<(&'n Node<'a>, i64)> {
        let (mut node, mut offset) = (node, 0i64);
        // Sums are left-associative: `a + 4 + 4` is `(a + 4) + 4`.
        while let Expression::Binary(operator @ (Binary::Add | Binary::Subtract), left, right) =
            &node.expression
        {
            // A difference may follow a sum: `a + 5 - 1`.
            let bare = !matches!(left.expression, Expression::Binary(..));
            if *operator == Binary::Subtract && bare {
                break;
            }
            if !self.has_name(left) {
                if self.has_name(right) {
                    let message = "the register or variable of an address comes first";
                    return Err(Problem::new(node.span, message).help("write base+offset"));
                }
                break;
            }
            let (value, _) = match constants::evaluate(right) {
                Ok(value) => constants::integer(value, right)?,
                Err(problem) => {
                    let problem = Problem::help(
                        problem,
                        "an address is a register or a variable plus a constant: add the registers first, with add.s64",
                    );
                    return Err(problem);
                }
            };
            offset = match operator {
                Binary::Add => offset.wrapping_add(value as i64),
                _ => offset.wrapping_sub(value as i64),
            };
            node = left;
        }
        if let Expression::Binary(_, left, _) = &node.expression
            && self.has_name(left)
        {
            return Err(Problem::new(
                node.span,
                "an address is a register or a variable plus a constant",
            )
            .help("write base+offset; a negative offset is written base+-4"));
        }
        Ok((node, offset))
    }

    /// Whether the leftmost operand of an expression is a name, but not the name of a constant.
    fn has_name(&self, node: &Node<'a>) -> bool {
        match &node.expression {
            Expression::Name(name) => *name != "WARP_SZ",
            Expression::Member(..) => true,
            Expression::Binary(Binary::Add | Binary::Subtract, left, _) => self.has_name(left),
            _ => false,
        }
    }

    /// The address operand `[…]` in a state space.
    pub(in crate::check) fn address(&mut self, index: usize, space: Space) -> Result<Address> {
        let written = self.written;
        if index >= written.operands.len() {
            self.operand(index)?;
        }
        let operand = &written.operands[index];
        match &operand.kind {
            OperandKind::Address(node, more) if more.is_empty() => self.address_of(node, space),
            OperandKind::Address(..) => {
                Err(Problem::new(operand.span, format!("`{}` takes no coordinates", self.title()))
                    .help("an address is one register or variable plus a constant"))
            }
            OperandKind::Element(name, index) => self.element_of(*name, index, space),
            _ => {
                let text = match &operand.kind {
                    OperandKind::Plain(Node { expression: Expression::Name(name), .. }) => name,
                    _ => "address",
                };
                Err(Problem::new(operand.span, format!("`{}` takes an address here", self.title()))
                    .help(format!("put it into brackets: [{text}]")))
            }
        }
    }

    fn element_of(&mut self, name: Name<'a>, index: &Node<'a>, space: Space) -> Result<Address> {
        let (index, _) = constants::integer(constants::evaluate(index)?, index)?;
        let node = Node { expression: Expression::Name(name.text), span: name.span };
        let mut address = self.address_of(&node, space)?;
        let element = match address.base {
            Operand::Address(Symbol::Local(id), _) => {
                self.body.function.variables[id.0 as usize].element
            }
            Operand::Address(Symbol::Module(id), _) => {
                self.context.module.variables[id.0 as usize].element
            }
            _ => Type::B8,
        };
        address.offset = (index as i64).wrapping_mul(element.bytes() as i64);
        Ok(address)
    }

    fn address_of(&mut self, node: &Node<'a>, space: Space) -> Result<Address> {
        let (base, offset) = self.base_and_offset(node)?;
        if let Expression::Name(name) = base.expression
            && let Some((symbol, found)) = self.symbol(name)
        {
            let generic = space == Space::Generic
                && matches!(found, Space::Global | Space::Shared | Space::Local);
            if matches!(symbol, Operand::Function(_)) {
                return Err(Problem::new(base.span, format!("`{name}` is a function"))
                    .help("functions are called, with call"));
            }
            if let Some(kind) = self.opaque(symbol) {
                let kind = opaque_name(kind);
                return Err(Problem::new(base.span, format!("`{name}` is a {kind}"))
                    .help("textures are read with tex, surfaces with suld"));
            }
            if found != space && !generic {
                let (want, have) = (space_name(space), space_name(found));
                return Err(Problem::new(
                    base.span,
                    format!("`{name}` is in {have} space, `{}` accesses {want}", self.title()),
                )
                .help(format!("write {}{have}", self.opcode())));
            }
            return Ok(Address { base: symbol, offset });
        }
        if self.is_register(base) {
            let register = self.read_register(base)?;
            let Some(register) = register else { return Err(self.memory(base.span, "address")) };
            self.check_address_register(register, space, base.span)?;
            return Ok(Address { base: Operand::Register(register), offset });
        }
        if let Expression::Name(name) | Expression::Member(name, _) = base.expression
            && name != "WARP_SZ"
        {
            // Reports the problem with the name.
            self.read_register(base)?;
            return Err(self.body.undeclared(self.context, name, base.span));
        }
        let (value, _) = constants::integer(constants::evaluate(base)?, base)?;
        if space != Space::Local {
            return Err(Problem::new(base.span, "a number can't be an address here")
                .help("name a register or a variable; only .local can be addressed by numbers"));
        }
        Ok(Address { base: Operand::Immediate(value), offset })
    }

    fn check_address_register(&self, register: Register, space: Space, span: Span) -> Result<()> {
        let ty = self.register_type(register);
        let name = &self.info(register).name;
        if types::is_float(ty) || ty == Type::Pred {
            return Err(Problem::new(span, format!("`{name}` is .{}: no address", ty.name()))
                .help("addresses are in integer or untyped registers"));
        }
        if ty.bits() < 64 && matches!(space, Space::Global | Space::Generic) {
            return Err(Problem::new(
                span,
                format!("`{name}` has {} bits, an address has 64", ty.bits()),
            )
            .label(format!("declared .{}", ty.name()))
            .help("use a register of 64 bits; widen an offset with cvt.u64.u32 or mul.wide.u32"));
        }
        Ok(())
    }
}
