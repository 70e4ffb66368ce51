//! Built-in variables and functions.

use std::rc::Rc;

use super::expression::Operand;
use super::mathematics::simple_function;
use super::overload::decayed;
use super::table::{Row, rows};
use super::{Lowered, Lowerer, Recognised, Typed};
use crate::ir::{Effect, Op, Template, Ty, Value};
use crate::source::Span;
use crate::syntax::{Binary, Expr};
use crate::types::{QualifiedType, Scalar, Type, header_types};

/// The special register for a member of `threadIdx`, `blockIdx`, `blockDim` or `gridDim`.
pub(super) fn coordinate(base: &str, member: &str) -> Option<&'static str> {
    let registers = match base {
        "threadIdx" => ["%tid.x", "%tid.y", "%tid.z"],
        "blockIdx" => ["%ctaid.x", "%ctaid.y", "%ctaid.z"],
        "blockDim" => ["%ntid.x", "%ntid.y", "%ntid.z"],
        "gridDim" => ["%nctaid.x", "%nctaid.y", "%nctaid.z"],
        _ => return None,
    };
    ["x", "y", "z"].iter().position(|one| *one == member).map(|index| registers[index])
}

/// The built-in functions that are not in the table.
const OTHER_NAMES: &str = "\
    min max abs labs llabs fabsf fabs fminf fmaxf fmin fmax sqrtf sqrt fmaf fma printf \
    __assert_fail __ldg __ldca __ldcg __ldcs __stwb __stcg __stcs __stwt memcpy __shfl_sync \
    __shfl_up_sync __shfl_down_sync __shfl_xor_sync atomicAdd atomicSub atomicMin atomicMax \
    atomicAnd atomicOr atomicXor atomicExch atomicCAS atomicInc atomicDec __match_any_sync \
    __match_all_sync __reduce_add_sync __reduce_min_sync __reduce_max_sync";

/// The names of all built-in functions, for suggestions.
pub(super) fn names<'a>() -> impl Iterator<Item = &'a str> {
    rows().map(|row| -> &'a str { row.0 }).chain(OTHER_NAMES.split(' '))
}

pub(super) fn is_known(name: &str) -> bool {
    let scope = name.strip_suffix("_block").or_else(|| name.strip_suffix("_system"));
    let name = scope.filter(|name| name.starts_with("atomic")).unwrap_or(name);
    names().any(|known| known == name) || is_make_function(name)
}

fn is_make_function(name: &str) -> bool {
    name.strip_prefix("make_").is_some_and(|type_name| header_types().any(|name| name == type_name))
}

fn rounds(name: &str) -> bool {
    matches!(name, "floor" | "ceil" | "trunc" | "rint" | "nearbyint")
}

/// The operator of an arithmetic function of halves; `None` for `__hfma`. These functions are never
/// contracted to a fused multiply-add.
fn half_operator(name: &str) -> Option<Option<Binary>> {
    Some(match name {
        "__hadd" => Some(Binary::Add),
        "__hsub" => Some(Binary::Subtract),
        "__hmul" => Some(Binary::Multiply),
        "__hfma" => None,
        _ => return None,
    })
}

fn type_of_letter(code: u8) -> Type {
    Type::Scalar(match code {
        b'i' => Scalar::Int,
        b'u' => Scalar::UnsignedInt,
        b'l' => Scalar::LongLong,
        b'm' => Scalar::UnsignedLongLong,
        b'f' => Scalar::Float,
        b'd' => Scalar::Double,
        b'h' => Scalar::Half,
        b'p' => return Type::pointer(QualifiedType::from(Type::Void).constant()),
        b'q' => return Type::pointer(Type::Void.into()),
        _ => return Type::Void,
    })
}

impl Lowerer<'_> {
    pub(super) fn half_to_float(&mut self, half: Value) -> Value {
        self.instruction("cvt.f32.f16 {0}, {1};", Ty::F32, vec![half], Effect::None)
    }

    pub(super) fn float_to_half(&mut self, float: Value) -> Value {
        self.instruction("cvt.rn.f16.f32 {0}, {1};", Ty::B16, vec![float], Effect::None)
    }

    /// An operation on floats that is never contracted.
    pub(super) fn exact_float(&mut self, operator: Binary, a: Value, b: Value) -> Value {
        let text = match operator {
            Binary::Add => "add.rn.f32 {0}, {1}, {2};",
            Binary::Subtract => "sub.rn.f32 {0}, {1}, {2};",
            Binary::Multiply => "mul.rn.f32 {0}, {1}, {2};",
            _ => "div.rn.f32 {0}, {1}, {2};",
        };
        self.instruction(text, Ty::F32, vec![a, b], Effect::None)
    }

    pub(super) fn instruction(
        &mut self,
        text: &str,
        ty: Ty,
        args: Vec<Value>,
        effect: Effect,
    ) -> Value {
        let results = if ty == Ty::None { Vec::new() } else { vec![ty] };
        let template = Template { text: text.to_owned(), results, effect };
        self.builder.op(Op::Template(Rc::new(template)), ty, args)
    }

    pub(super) fn built_in_variable(&mut self, name: &str) -> Option<Typed> {
        if name == "warpSize" {
            let value = self.builder.integer(Ty::I32, 32);
            return Some(Typed { ty: Type::Scalar(Scalar::Int), value });
        }
        coordinate(name, "x")?;
        let own = self.structs.get(if name.ends_with("Dim") { "dim3" } else { "uint3" })?.clone();
        let ty = Type::Struct(own);
        let address = self.temporary(&ty);
        for (index, member) in ["x", "y", "z"].iter().enumerate() {
            let special = coordinate(name, member)?;
            let value = self.builder.op(Op::Special(special), Ty::I32, Vec::new());
            let place = self.builder.offset(address, 4 * index as u64);
            self.builder.store(crate::ir::Memory::B32, false, place, value);
        }
        Some(Typed { ty, value: address })
    }

    /// Lowers a call of a built-in function; `None` if no function has this name.
    pub(super) fn built_in(&mut self, name: &str, arguments: &[Expr], span: Span) -> Recognised {
        // With a float argument, these names call the functions of float.
        let single;
        let name = match arguments {
            [one] if rounds(name) && self.type_of(one)? == Type::Scalar(Scalar::Float) => {
                single = format!("{name}f");
                &single
            }
            _ => name,
        };
        if let Some(row) = rows().find(|row| row.0 == name) {
            return self.table_function(row, arguments, span).map(Some);
        }
        if is_make_function(name) {
            return self.call_make_function(&name[5..], arguments, span).map(Some);
        }
        for kind in [Self::memory_call, Self::simple_function, Self::shuffle, Self::atomic] {
            if let Some(found) = kind(self, name, arguments, span)? {
                return Ok(Some(found));
            }
        }
        match name {
            "printf" => self.printf(arguments, span).map(Some),
            "__assert_fail" => self.assert_fail(arguments, span).map(Some),
            _ => Ok(None),
        }
    }

    /// The conversion cost of calling a built-in function with these arguments, measured as in
    /// `viable_candidates`: the lowest cost of its overloads, or `None` if none accepts the arguments.
    pub(super) fn cost_of_built_in(&self, name: &str, given: &[Operand]) -> Option<u32> {
        let types: Vec<Type> = given.iter().map(decayed).collect();
        let sum = |wanted: &[Type]| {
            let pairs = types.iter().zip(wanted);
            let all: Option<u32> = pairs.map(|(ty, wanted)| self.cost(ty, wanted)).sum();
            all.filter(|_| types.len() == wanted.len())
        };
        let alike = |wanted: Scalar| sum(&vec![Type::Scalar(wanted); types.len()]);
        if rounds(name) && types.len() == 1 {
            return alike(Scalar::Double).min(alike(Scalar::Float)).or(alike(Scalar::Double));
        }
        if let Some(row) = rows().find(|row| row.0 == name) {
            let wanted: Vec<Type> = row.1.bytes().skip(1).map(type_of_letter).collect();
            return sum(&wanted);
        }
        if is_make_function(name) {
            let own = self.structs.get(&name[5..])?;
            let wanted: Vec<Type> = own.fields.iter().map(|field| field.ty.ty.clone()).collect();
            return sum(&wanted);
        }
        if let Some((count, wanted)) = simple_function(name) {
            let common = types.iter().try_fold(None, |common: Option<Scalar>, ty| {
                let scalar = ty.scalar()?.promoted();
                Some(Some(common.map_or(scalar, |common| common.common(scalar))))
            });
            return alike(wanted.or(common?)?).filter(|_| types.len() == count);
        }
        if let Some(pointee) = types.first().and_then(Type::pointee) {
            if name.starts_with("atomic") {
                // The operands are converted to the type that the address points to.
                let operands = types[1..].iter().map(|ty| self.cost(ty, &pointee.ty));
                return operands.sum::<Option<u32>>().filter(|_| pointee.ty.scalar().is_some());
            }
            let reads = name.starts_with("__ld") || name.starts_with("__st");
            let plain = pointee.ty.scalar().is_some();
            let vector = matches!(&pointee.ty, Type::Struct(own) if own.declaration.is_none());
            return (reads && (plain || vector)).then_some(0);
        }
        // Shuffles, votes, and matches of numbers.
        let lanes = name.ends_with("_sync");
        (lanes && types.get(1).is_some_and(|ty| ty.scalar().is_some())).then_some(0)
    }

    pub(super) fn check_argument_count(
        &mut self,
        name: &str,
        arguments: &[Expr],
        needed: usize,
        span: Span,
    ) -> Lowered<()> {
        if arguments.len() == needed {
            return Ok(());
        }
        let plural = if needed == 1 { "" } else { "s" };
        let message =
            format!("`{name}` has {needed} parameter{plural}, and {} are given", arguments.len());
        self.error(span, message, "")
    }

    fn table_function(&mut self, row: &Row, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        let &(name, types, effect, least, text) = row;
        if let (true, Some(operator)) = (self.options.arch < least, half_operator(name)) {
            return self.halves(name, operator, arguments, span);
        }
        if self.library_call.is_none() {
            self.require_arch(format_args!("`{name}`"), least, span)?;
        }
        // Without an argument, `__syncwarp()` is for all lanes.
        let all = name == "__syncwarp" && arguments.is_empty();
        let mut values = Vec::new();
        if all {
            values.push(self.builder.integer(Ty::I32, -1));
        } else {
            self.check_argument_count(name, arguments, types.len() - 1, span)?;
        }
        for (argument, code) in arguments.iter().zip(&types.as_bytes()[1..]) {
            values.push(self.argument(argument, &type_of_letter(*code))?);
        }
        let result = type_of_letter(types.as_bytes()[0]);
        let ty = super::convert::ty_of(&result);
        let value = self.instruction(text, ty, values, effect);
        if name == "__trap" {
            self.unreachable();
        }
        if result == Type::Void {
            return Ok(self.void());
        }
        Ok(Typed { ty: result, value })
    }

    /// Lowers an operation on halves that has no instruction: it is computed in float and rounded to half. A float
    /// holds the exact result, or more than twice its digits.
    fn halves(
        &mut self,
        name: &str,
        operator: Option<Binary>,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Typed> {
        self.check_argument_count(name, arguments, if operator.is_some() { 2 } else { 3 }, span)?;
        let floats = arguments.iter().map(|argument| {
            let half = self.number(argument, Scalar::Half)?;
            Ok(self.half_to_float(half))
        });
        let floats = floats.collect::<Lowered<Vec<Value>>>()?;
        let float = match operator {
            Some(operator) => self.exact_float(operator, floats[0], floats[1]),
            None => self.builder.op(Op::Fma, Ty::F32, floats),
        };
        Ok(Typed { ty: Type::Scalar(Scalar::Half), value: self.float_to_half(float) })
    }

    fn call_make_function(&mut self, name: &str, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        let Some(own) = self.structs.get(name).cloned() else {
            return self.error(span, format!("there is no type `{name}`"), "");
        };
        self.check_argument_count(&format!("make_{name}"), arguments, own.fields.len(), span)?;
        let mut values = Vec::new();
        for (argument, field) in arguments.iter().zip(&own.fields) {
            values.push(self.argument(argument, &field.ty.ty)?);
        }
        let ty = Type::Struct(own.clone());
        let address = self.temporary(&ty);
        for (value, field) in values.into_iter().zip(&own.fields) {
            let place = self.builder.offset(address, field.offset);
            self.store(&field.ty, place, value);
        }
        Ok(Typed { ty, value: address })
    }
}
