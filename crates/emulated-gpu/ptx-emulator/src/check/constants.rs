//! Values of constant expressions, in 64 bits (PTX ISA, "Constant Expression Evaluation").

use crate::diagnostic::Problem;
use crate::syntax::{Binary, Expression, Node, Unary};

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// An integer of 64 bits.
    Integer { value: u64, unsigned: bool },
    /// A floating-point number.
    Float(f64),
    /// `0f…`: the exact bits are kept, because the constant may be a NaN.
    Single(u32),
}

type Result<T> = std::result::Result<T, Problem>;

fn truth(value: bool) -> Value {
    Value::Integer { value: u64::from(value), unsigned: false }
}

fn not_constant(node: &Node, what: &str) -> Problem {
    Problem::new(node.span, format!("{what} is not a constant"))
        .label("must be known when the module is loaded")
        .help("compute it with an instruction first, such as add or mad, and use the register")
}

/// Evaluates a constant expression.
///
/// # Errors
/// If a name is not a constant, integers and floats are mixed, or a divisor is 0.
pub(super) fn evaluate(node: &Node) -> Result<Value> {
    Ok(match &node.expression {
        Expression::Integer { value, unsigned } => {
            Value::Integer { value: *value, unsigned: *unsigned }
        }
        Expression::Float(value) => Value::Float(*value),
        Expression::Single(bits) => Value::Single(*bits),
        Expression::Name("WARP_SZ") => Value::Integer { value: 32, unsigned: false },
        Expression::Name(name) => return Err(not_constant(node, &format!("`{name}`"))),
        Expression::Member(name, member) => {
            return Err(not_constant(node, &format!("`{name}.{member}`")));
        }
        Expression::Generic(_) | Expression::Mask { .. } => {
            return Err(not_constant(node, "an address"));
        }
        Expression::Unary(operator, of) => unary(*operator, evaluate(of)?, node)?,
        Expression::Binary(operator, a, b) => binary(*operator, evaluate(a)?, evaluate(b)?, node)?,
        Expression::Ternary(parts) => {
            let condition = integer(evaluate(&parts[0])?, &parts[0])?.0;
            let (yes, no) = (evaluate(&parts[1])?, evaluate(&parts[2])?);
            match (yes, no) {
                // As in C, both operands are converted to one type.
                (
                    Value::Integer { value: a, unsigned: x },
                    Value::Integer { value: b, unsigned: y },
                ) => Value::Integer { value: if condition != 0 { a } else { b }, unsigned: x || y },
                (yes, no) => {
                    if condition != 0 {
                        yes
                    } else {
                        no
                    }
                }
            }
        }
        Expression::Cast { unsigned, of } => match evaluate(of)? {
            Value::Integer { value, .. } => Value::Integer { value, unsigned: *unsigned },
            Value::Float(value) => cast(value, *unsigned),
            Value::Single(bits) => cast(f64::from(f32::from_bits(bits)), *unsigned),
        },
    })
}

fn cast(value: f64, unsigned: bool) -> Value {
    let value = if unsigned { value as u64 } else { value as i64 as u64 };
    Value::Integer { value, unsigned }
}

/// An integer, and whether it is unsigned. A floating-point constant is an error.
pub(super) fn integer(value: Value, node: &Node) -> Result<(u64, bool)> {
    match value {
        Value::Integer { value, unsigned } => Ok((value, unsigned)),
        Value::Float(_) | Value::Single(_) => {
            Err(Problem::new(node.span, "expected an integer, found a floating-point constant")
                .help("write it without `.` and exponent, or cast it: (.s64)"))
        }
    }
}

fn unary(operator: Unary, value: Value, node: &Node) -> Result<Value> {
    Ok(match (operator, value) {
        (Unary::Plus, value) => value,
        (Unary::Minus, Value::Integer { value, unsigned }) => {
            Value::Integer { value: value.wrapping_neg(), unsigned }
        }
        (Unary::Minus, Value::Float(value)) => Value::Float(-value),
        (Unary::Minus, Value::Single(bits)) => Value::Single(bits ^ 0x8000_0000),
        (Unary::Complement, value) => {
            let (value, unsigned) = integer(value, node)?;
            Value::Integer { value: !value, unsigned }
        }
        (Unary::Not, value) => truth(integer(value, node)?.0 == 0),
    })
}

fn binary(operator: Binary, a: Value, b: Value, node: &Node) -> Result<Value> {
    let double = |value| match value {
        Value::Float(value) => Some(value),
        Value::Single(bits) => Some(f64::from(f32::from_bits(bits))),
        Value::Integer { .. } => None,
    };
    match (double(a), double(b)) {
        (Some(a), Some(b)) => return float(operator, a, b, node),
        (None, None) => {}
        _ => {
            return Err(Problem::new(
                node.span,
                "an integer and a floating-point constant are mixed",
            )
            .help("write both with a `.` or both without"));
        }
    }
    let ((a, x), (b, y)) = (integer(a, node)?, integer(b, node)?);
    // As in C, the result is unsigned if an operand is unsigned. Shifts and comparisons are exceptions, which are
    // handled below.
    let unsigned = x || y;
    let (sa, sb) = (a as i64, b as i64);
    let less = if unsigned { a < b } else { sa < sb };
    let divided = |quotient: Option<u64>| {
        quotient.ok_or_else(|| {
            Problem::new(node.span, "division by zero in a constant expression")
                .help("the divisor must not be 0")
        })
    };
    let value = match operator {
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide if unsigned => divided(a.checked_div(b))?,
        Binary::Divide => divided((b != 0).then(|| sa.wrapping_div(sb) as u64))?,
        Binary::Remainder if unsigned => divided(a.checked_rem(b))?,
        Binary::Remainder => divided((b != 0).then(|| sa.wrapping_rem(sb) as u64))?,
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::And => a & b,
        Binary::Xor => a ^ b,
        Binary::Or => a | b,
        Binary::ShiftLeft => {
            let value = if b < 64 { a << b } else { 0 };
            return Ok(Value::Integer { value, unsigned: x });
        }
        Binary::ShiftRight => {
            let value = if x {
                a.checked_shr(b.min(64) as u32).unwrap_or(0)
            } else {
                (sa >> b.min(63)) as u64
            };
            return Ok(Value::Integer { value, unsigned: x });
        }
        Binary::Less => return Ok(truth(less)),
        Binary::LessOrEqual => return Ok(truth(less || a == b)),
        Binary::Greater => return Ok(truth(!less && a != b)),
        Binary::GreaterOrEqual => return Ok(truth(!less)),
        Binary::Equal => return Ok(truth(a == b)),
        Binary::NotEqual => return Ok(truth(a != b)),
        Binary::LogicalAnd => return Ok(truth(a != 0 && b != 0)),
        Binary::LogicalOr => return Ok(truth(a != 0 || b != 0)),
    };
    Ok(Value::Integer { value, unsigned })
}

fn float(operator: Binary, a: f64, b: f64, node: &Node) -> Result<Value> {
    Ok(match operator {
        Binary::Multiply => Value::Float(a * b),
        Binary::Divide => Value::Float(a / b),
        Binary::Add => Value::Float(a + b),
        Binary::Subtract => Value::Float(a - b),
        Binary::Less => truth(a < b),
        Binary::LessOrEqual => truth(a <= b),
        Binary::Greater => truth(a > b),
        Binary::GreaterOrEqual => truth(a >= b),
        Binary::Equal => truth(a == b),
        Binary::NotEqual => truth(a != b),
        _ => {
            return Err(Problem::new(node.span, "this operator takes integers only")
                .help("write the constants without `.` and exponent"));
        }
    })
}
