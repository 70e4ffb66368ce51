//! Layout and initial values of variables (PTX ISA, "Variables").

use crate::diagnostic::Problem;
use crate::program::{AddressOf, Addressed, Initial, Linkage, Space, Type, Variable};
use crate::source::Span;
use crate::syntax::{Binary, Declaration, Declarator, Expression, Initializer, Name, Node, Unary};

use super::constants::{self, Value};
use super::context::{Global, ModuleContext, Result};
use super::{opaque, types};

/// Maximum size of a variable in bytes: larger than any memory, and far from integer overflow.
const MAX_BYTES: u64 = 1 << 40;
/// Maximum size of an initial value in bytes, which is held in host memory while a file is read.
const MAX_INITIAL_BYTES: u64 = 1 << 28;

/// The variable that a declarator declares.
///
/// # Errors
/// If its alignment, its lengths or its initial value are invalid.
pub(super) fn variable(
    context: &ModuleContext,
    declaration: &Declaration,
    declarator: &Declarator,
) -> Result<Variable> {
    let Declaration { linkage, space, lanes, ty, ty_span, .. } = *declaration;
    let name = declarator.name;
    if ty == Type::Pred {
        return Err(Problem::new(ty_span, "a predicate can't be kept in memory")
            .help("declare it .reg, or store 0 or 1 as .u8 (selp makes a number of a predicate)"));
    }
    let element = ty.bytes() * u64::from(lanes);
    if element > 16 && !(element == 32 && context.module.target >= 100) {
        return Err(Problem::new(ty_span, "a vector has at most 128 bits")
            .help("take fewer or narrower elements, or declare an array"));
    }
    let align = match declaration.align {
        Some((align, _)) if align.is_power_of_two() => align.max(1),
        Some((align, span)) => {
            return Err(Problem::new(span, format!("{align} is not an alignment"))
                .help("an alignment is a power of two, in bytes"));
        }
        None => element,
    };
    let opaque = opaque::declared_opaque(context, declaration, declarator)?;
    let lengths = lengths(declarator)?;
    if lengths.contains(&Some(0)) && linkage != Linkage::Extern && space != Space::Param {
        return Err(Problem::new(name.span, format!("`{}` has no elements", name.text))
            .help("an array has at least one"));
    }
    let initial = declarator.initial.as_ref().filter(|_| opaque.is_none());
    let open = lengths.first() == Some(&None);
    let whole = |lengths: &[Option<u64>], span: Span| {
        let count =
            lengths.iter().map(|length| length.unwrap_or(0)).try_fold(element, u64::checked_mul);
        count.filter(|size| *size <= MAX_BYTES).ok_or_else(|| {
            Problem::new(span, format!("`{}` is larger than any memory", name.text))
                .help("declare a smaller array")
        })
    };
    let size = match (open, initial) {
        (true, Some(Initializer::List(list, _))) => {
            whole(&[&[Some(list.len() as u64)], &lengths[1..]].concat(), name.span)?
        }
        (true, _) if linkage == Linkage::Extern || space == Space::Param => 0,
        (true, _) => {
            return Err(Problem::new(name.span, format!("`{}` has no length", name.text)).help(
                "write one between the brackets; only .extern .shared leaves it to the launch",
            ));
        }
        (false, _) => whole(&lengths, name.span)?,
    };
    let initial = match initial {
        None => None,
        Some(initial) => {
            if !matches!(space, Space::Global | Space::Const) || linkage == Linkage::Extern {
                return Err(Problem::new(name.span, format!("`{}` can't have an initial value", name.text))
                    .help("only .global and .const variables that are not .extern have one: store it with st"));
            }
            if size > MAX_INITIAL_BYTES {
                return Err(Problem::new(name.span, "the initial value is too large")
                    .help("copy it to the device at run time"));
            }
            let mut lengths: Vec<u64> = lengths.iter().map(|length| length.unwrap_or(0)).collect();
            if open && let Initializer::List(list, _) = initial {
                lengths[0] = list.len() as u64;
            }
            if lanes > 1 {
                lengths.push(u64::from(lanes));
            }
            let mut filler = Filler { context, ty, lanes, initial: Initial::default() };
            filler.fill(initial, &lengths, 0)?;
            Some(filler.initial)
        }
    };
    let (name, span) = (name.text.to_owned(), name.span);
    Ok(Variable { name, space, align, size, element: ty, opaque, initial, linkage, span })
}

/// The lengths of an array. Only the first may be missing.
fn lengths(declarator: &Declarator) -> Result<Vec<Option<u64>>> {
    let mut lengths = Vec::new();
    for (node, span) in &declarator.lengths {
        let length = match node {
            Some(node) => {
                let (length, _) = constants::integer(constants::evaluate(node)?, node)?;
                Some(length)
            }
            None if lengths.is_empty() => None,
            None => {
                return Err(Problem::new(*span, "only the first length may be left open")
                    .help("write a number between these brackets"));
            }
        };
        lengths.push(length);
    }
    Ok(lengths)
}

struct Filler<'c, 'a> {
    context: &'c ModuleContext<'a>,
    ty: Type,
    lanes: u32,
    initial: Initial,
}

impl Filler<'_, '_> {
    fn fill(&mut self, value: &Initializer, lengths: &[u64], at: u64) -> Result<()> {
        match (value, lengths) {
            (Initializer::Value(node), []) => self.put_value(node, at),
            (Initializer::List(list, span), [length])
                if self.lanes > 1 && list.len() as u64 != *length =>
            {
                Err(Problem::new(*span, format!("{} values for a vector of {length}", list.len()))
                    .help("write one value for each element of the vector"))
            }
            (Initializer::List(list, span), [length, rest @ ..]) => {
                if list.len() as u64 > *length {
                    return Err(Problem::new(
                        *span,
                        format!("{} values for {length} elements", list.len()),
                    )
                    .help("remove values, or make the array longer"));
                }
                let stride = rest.iter().product::<u64>() * self.ty.bytes();
                for (index, value) in list.iter().enumerate() {
                    self.fill(value, rest, at + index as u64 * stride)?;
                }
                Ok(())
            }
            (Initializer::Value(node), _) => {
                Err(Problem::new(node.span, "an array needs a list of values")
                    .help("put them into braces: { … }"))
            }
            (Initializer::Fields(_, span), _) => {
                Err(Problem::new(*span, "only textures and surfaces have fields")
                    .help("write only values: { 1, 2 }"))
            }
            (Initializer::List(_, span), []) => {
                Err(Problem::new(*span, "too many braces").help("a scalar takes one value"))
            }
        }
    }

    fn put_value(&mut self, node: &Node, at: u64) -> Result<()> {
        let size = self.ty.bytes();
        if let Expression::Mask { mask, of } = &node.expression {
            return self.put_byte(*mask, of, node.span, at);
        }
        if let Some((name, offset, generic)) = address(node)? {
            if size != 8 || types::is_float(self.ty) {
                return Err(Problem::new(node.span, "an address has 64 bits")
                    .help("declare the variable .u64 or .b64"));
            }
            let variable = self.addressed(name, generic || offset != 0)?;
            let (target, version) = match variable {
                Addressed::Function(_) => (20, (2, 1)),
                Addressed::Variable(_) => (10, if generic { (3, 1) } else { (2, 1) }),
            };
            self.context.require(node.span, "an address as an initial value", target, version)?;
            self.initial.addresses.push(AddressOf {
                at,
                of: variable,
                offset,
                generic,
                byte: None,
            });
            self.bytes(at, &0u64.to_le_bytes());
            return Ok(());
        }
        let bits = immediate(constants::evaluate(node)?, self.ty, node)?;
        self.bytes(at, &bits.to_le_bytes()[..size.min(8) as usize]);
        Ok(())
    }

    fn bytes(&mut self, at: u64, bytes: &[u8]) {
        let end = at as usize + bytes.len();
        if self.initial.bytes.len() < end {
            self.initial.bytes.resize(end, 0);
        }
        self.initial.bytes[at as usize..end].copy_from_slice(bytes);
    }

    /// `0xff00(name)`: one byte of an address (PTX ISA, "Initializers").
    fn put_byte(&mut self, mask: u64, of: &Node, span: Span, at: u64) -> Result<()> {
        if !matches!(self.ty, Type::U8 | Type::U32 | Type::U64) {
            return Err(Problem::new(span, "a byte of an address can't be a value of this type")
                .help("declare the variable .u8, which holds one of its bytes"));
        }
        let shift = mask.trailing_zeros() & !7;
        if mask == 0 || mask != 0xff << shift {
            return Err(Problem::new(span, format!("{mask:#x} is not the mask of one byte"))
                .help("write 0xff, 0xff00, 0xff0000 and so on: one byte of the address each"));
        }
        let Some((name, offset, generic)) = address(of)? else {
            return Err(Problem::new(of.span, "a mask picks a byte of an address")
                .help("name a variable between the parentheses"));
        };
        let variable = self.addressed(name, generic || offset != 0)?;
        self.context.require(span, "a byte of an address", 10, (7, 1))?;
        let byte = Some((shift / 8) as u8);
        self.initial.addresses.push(AddressOf { at, of: variable, offset, generic, byte });
        self.bytes(at, &0u64.to_le_bytes()[..self.ty.bytes() as usize]);
        Ok(())
    }

    /// The variable or function that an initial value takes the address of. The address of a function can't
    /// have an offset.
    fn addressed(&self, name: Name, changed: bool) -> Result<Addressed> {
        match self.context.names.get(name.text) {
            Some(Global::Variable(id)) => {
                let variable = &self.context.module.variables[id.0 as usize];
                if matches!(variable.space, Space::Global | Space::Const) {
                    return Ok(Addressed::Variable(*id));
                }
                Err(Problem::new(
                    name.span,
                    format!("the address of `{}` is not known before a launch", name.text),
                )
                .help("only addresses of .global and .const variables can be initial values"))
            }
            Some(Global::Function(_))
                if changed || types::class(self.ty) != types::Class::Unsigned =>
            {
                Err(Problem::new(name.span, format!("`{}` is a function", name.text))
                    .help("only its address, without an offset, can be the initial value of a .u64 variable"))
            }
            Some(Global::Function(id)) => Ok(Addressed::Function(*id)),
            None => Err(Problem::new(name.span, format!("undeclared variable `{}`", name.text))
                .help("declare it above: PTX is read from top to bottom")
                .unknown(name.text)),
        }
    }
}

/// The variable, the offset, and whether the address is generic; `None` if the expression is not an address.
fn address<'a>(node: &Node<'a>) -> Result<Option<(Name<'a>, i64, bool)>> {
    match &node.expression {
        Expression::Name("WARP_SZ") => Ok(None),
        Expression::Name(text) => Ok(Some((Name { text, span: node.span }, 0, false))),
        Expression::Generic(name) => Ok(Some((*name, 0, true))),
        Expression::Binary(Binary::Add, left, right) => {
            let Some((name, before, generic)) = address(left)? else { return Ok(None) };
            let (offset, _) = constants::integer(constants::evaluate(right)?, right)?;
            Ok(Some((name, (offset as i64).wrapping_add(before), generic)))
        }
        Expression::Unary(Unary::Plus, of) => address(of),
        _ => Ok(None),
    }
}

/// A constant as the bits of a type. Constants of `.f16` and the packed types can only be given as bits.
///
/// # Errors
/// If an integer is given for a floating-point type, or the other way round.
pub(super) fn immediate(value: Value, ty: Type, node: &Node) -> Result<u64> {
    let wrong = |found: &str, help: String| {
        Err(Problem::new(node.span, format!("{found} constant for a .{} operand", ty.name()))
            .help(help))
    };
    match (value, types::class(ty)) {
        (Value::Integer { value, .. }, types::Class::Predicate) => Ok(u64::from(value != 0)),
        (Value::Integer { value, .. }, types::Class::Float) => {
            let help = match ty {
                Type::F32 | Type::F64 => {
                    format!("write {}.0, or its bits as 0f… or 0d…", value as i64)
                }
                _ => "put its bits into a register with mov.b16 or mov.b32 first".into(),
            };
            wrong("an integer", help)
        }
        (Value::Integer { value, .. }, _) => {
            Ok(if ty.bits() < 64 { value & ((1 << ty.bits()) - 1) } else { value })
        }
        (Value::Float(value), _) if ty == Type::F64 || ty == Type::B64 => Ok(value.to_bits()),
        (Value::Float(value), _) if ty == Type::F32 => Ok(u64::from((value as f32).to_bits())),
        (Value::Single(bits), _) if ty == Type::F32 || ty == Type::B32 => Ok(u64::from(bits)),
        (Value::Single(bits), _) if ty == Type::F64 => {
            Ok(f64::from(f32::from_bits(bits)).to_bits())
        }
        (_, types::Class::Float) => wrong(
            "a floating-point",
            "put its bits into a register with mov.b16 or mov.b32 first".into(),
        ),
        (_, types::Class::Bits) => wrong(
            "a floating-point",
            format!("write the bits: 0f… for .b32, 0d… for .b64, or 0x… for .{}", ty.name()),
        ),
        _ => wrong("a floating-point", "write an integer".into()),
    }
}
