//! The functions that are applied element by element.

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unary<T> {
    /// `−x`
    Neg,
    /// `eˣ`
    Exp,
    /// `ln x`
    Log,
    /// `max(x, 0)`
    Relu,
    /// `tanh x`
    Tanh,
    /// `1 / (1 + e⁻ˣ)`
    Sigmoid,
    /// `ln(1 + eˣ)`
    Softplus,
    /// `x` to a power
    Pow(T),
    /// `x` times a number
    Scale(T),
    /// `x` plus a number
    Shift(T),
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// `a + b`
    Add,
    /// `a − b`
    Sub,
    /// `a · b`
    Mul,
    /// `a / b`
    Div,
    /// 1 where `a = b`, else 0
    Equal,
    /// From `dy` and `x`: `dy` where `x > 0`, else 0
    ReluBackward,
    /// From `dy` and `y = tanh x`: `dy · (1 − y²)`
    TanhBackward,
    /// From `dy` and `y = sigmoid x`: `dy · y · (1 − y)`
    SigmoidBackward,
}

impl Binary {
    /// The name, as error messages write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Div => "div",
            Self::Equal => "equal",
            Self::ReluBackward => "relu_backward",
            Self::TanhBackward => "tanh_backward",
            Self::SigmoidBackward => "sigmoid_backward",
        }
    }
}
