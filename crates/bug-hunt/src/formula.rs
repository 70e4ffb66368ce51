//! Formulas in NumPy's notation, such as `dz2 @ w2` or `where(z1 > 0, da1, 0)`.
//!
//! ```text
//! formula = sum [(">" | ">=" | "<" | "<=") sum]
//! sum     = product {("+" | "-") product}
//! product = factor {("*" | "/" | "@") factor}
//! factor  = ["-"] (number | name | function "(" formula {"," formula} ")" | "(" formula ")") {".T"}
//! ```

use crate::array::Array;

/// The functions, as error messages list them.
const FUNCTIONS: &str =
    "relu, softmax, cross_entropy, exp, log, abs, where, sum, mean, max, before";

/// Looks up a tensor or constant of this step or of the previous step by its name.
pub(crate) type Lookup<'a> = dyn Fn(&str, When) -> Option<Array> + 'a;

/// The maximum nesting depth of a formula, which keeps the recursive reader from overflowing the stack.
const MAX_DEPTH: usize = 100;

/// The step from which a name's value is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    Before,
}

/// The value of a formula.
///
/// # Errors
/// If the formula can't be read, uses an unknown name, or combines shapes that don't fit. The error
/// has no full stop at its end.
pub(crate) fn evaluate(text: &str, lookup: &Lookup<'_>) -> Result<Array, String> {
    let mut reader = Reader { rest: text, lookup, depth: 0 };
    let value = reader.formula()?;
    match reader.peek() {
        None => Ok(value),
        Some(left) => Err(format!("{left:?} in {text:?} is not expected there")),
    }
}

/// A recursive-descent parser that evaluates a formula while reading it.
struct Reader<'a> {
    rest: &'a str,
    lookup: &'a Lookup<'a>,
    /// The current nesting depth of factors.
    depth: usize,
}

impl<'a> Reader<'a> {
    /// The next token: a number, a name, `.T`, or an operator.
    fn peek(&self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            _ if rest.starts_with(".T") || rest.starts_with(">=") || rest.starts_with("<=") => 2,
            '0'..='9' => number_length(rest),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        Some(&rest[..length])
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        self.rest = &self.rest.trim_start()[token.len()..];
        Some(token)
    }

    /// Takes the next token if it is one of these.
    fn take(&mut self, tokens: &[&str]) -> Option<&'a str> {
        self.peek().filter(|token| tokens.contains(token))?;
        self.next()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.next() {
            Some(found) if found == token => Ok(()),
            found => Err(format!("expected {token:?}, found {:?}", found.unwrap_or("the end"))),
        }
    }

    fn formula(&mut self) -> Result<Array, String> {
        let left = self.sum()?;
        let Some(operator) = self.take(&[">", ">=", "<", "<="]) else { return Ok(left) };
        let compare: fn(f32, f32) -> bool = match operator {
            ">" => |a, b| a > b,
            ">=" => |a, b| a >= b,
            "<" => |a, b| a < b,
            _ => |a, b| a <= b,
        };
        left.zip(&self.sum()?, |a, b| f32::from(u8::from(compare(a, b))))
    }

    fn sum(&mut self) -> Result<Array, String> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(&["+", "-"]) {
            let right = self.product()?;
            value = value.zip(&right, |a, b| if operator == "+" { a + b } else { a - b })?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Array, String> {
        let mut value = self.factor()?;
        while let Some(operator) = self.take(&["*", "/", "@"]) {
            let right = self.factor()?;
            value = match operator {
                "*" => value.zip(&right, |a, b| a * b),
                "/" => value.zip(&right, |a, b| a / b),
                _ => value.product(&right),
            }?;
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<Array, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("the formula is nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let value = if self.take(&["-"]).is_some() {
            self.factor()?.map(|value| -value)
        } else {
            let mut value = self.operand()?;
            while self.take(&[".T"]).is_some() {
                value = value.transposed();
            }
            value
        };
        self.depth -= 1;
        Ok(value)
    }

    fn operand(&mut self) -> Result<Array, String> {
        let token = self.next().ok_or("the formula ends too early")?;
        if token == "(" {
            let value = self.formula()?;
            self.expect(")")?;
            return Ok(value);
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            let number = token.parse().map_err(|_| format!("{token:?} is not a number"))?;
            return Ok(Array::number(number));
        }
        if self.take(&["("]).is_none() {
            let unknown = || format!("there is no tensor {token:?} before this line");
            return (self.lookup)(token, When::Now).ok_or_else(unknown);
        }
        if token == "before" {
            let name = self.next().unwrap_or_default();
            self.expect(")")?;
            let unknown = || format!("there is no tensor {name:?}");
            return (self.lookup)(name, When::Before).ok_or_else(unknown);
        }
        let mut arguments = vec![self.formula()?];
        while self.take(&[","]).is_some() {
            arguments.push(self.formula()?);
        }
        self.expect(")")?;
        call(token, &arguments)
    }
}

/// The length of the number that a text begins with: digits, a point, and an exponent.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let is_end = |c: char| {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        before = c;
        !(sign || c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E'))
    };
    text.find(is_end).unwrap_or(text.len())
}

/// Calls a function with these arguments, and returns its result.
fn call(name: &str, arguments: &[Array]) -> Result<Array, String> {
    match (name, arguments) {
        ("relu", [z]) => Ok(z.map(|z| if z < 0.0 { 0.0 } else { z })),
        ("exp", [z]) => Ok(z.map(libm::expf)),
        ("log", [z]) => Ok(z.map(libm::logf)),
        ("abs", [z]) => Ok(z.map(f32::abs)),
        ("sum", [z, axis]) => Ok(z.sum(index(axis)?)),
        ("max", [z, axis]) => Ok(z.max(index(axis)?)),
        ("mean", [z]) => Ok(z.sum(0).sum(1).map(|sum| sum / z.data.len() as f32)),
        ("where", [condition, yes, no]) => {
            let yes = condition.zip(yes, |c, yes| if c == 0.0 { 0.0 } else { yes })?;
            let no = condition.zip(no, |c, no| if c == 0.0 { no } else { 0.0 })?;
            yes.zip(&no, |yes, no| yes + no)
        }
        ("softmax", [z]) => {
            let e = z.zip(&z.max(1), |z, largest| libm::expf(z - largest))?;
            e.zip(&e.sum(1), |e, sum| e / sum)
        }
        ("cross_entropy", [z, y]) => {
            let shifted = z.zip(&z.max(1), |z, largest| z - largest)?;
            let log_sum = shifted.map(libm::expf).sum(1).map(libm::logf);
            let terms = log_sum.zip(&shifted, |sum, z| sum - z)?.zip(y, |term, y| term * y)?;
            Ok(terms.sum(1).sum(0).map(|sum| sum / z.rows as f32))
        }
        _ => Err(format!(
            "there is no function {name:?} with {} arguments; the functions are {FUNCTIONS}",
            arguments.len()
        )),
    }
}

/// Reads the index of an axis from a scalar.
fn index(axis: &Array) -> Result<usize, String> {
    match axis.data[..] {
        [0.0] => Ok(0),
        [1.0] => Ok(1),
        _ => Err("an axis is 0 or 1".into()),
    }
}
