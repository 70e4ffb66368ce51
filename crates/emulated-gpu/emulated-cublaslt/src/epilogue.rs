//! `cublasLtEpilogue_t`: what follows a product before it is stored.

use emulated_blas::Rejection;

/// What is done to an element of `alpha · op(A) · op(B) + beta · C`, after the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// Nothing.
    None,
    /// `max(x, 0)`
    Relu,
    /// GELU, in its form with the hyperbolic tangent.
    Gelu,
    /// The gradient of ReLU: kept where the mask has a one.
    ReluGradient,
    /// The gradient of GELU at what the auxiliary matrix holds.
    GeluGradient,
}

/// What the vector at `CUBLASLT_MATMUL_DESC_BIAS_POINTER` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bias {
    /// Not used.
    None,
    /// Added to every column of the result.
    Added,
    /// Gets the sum of every row of the result.
    GradientOfResult,
    /// Gets the sum of every row of `op(A)`.
    GradientOfA,
    /// Gets the sum of every column of `op(B)`.
    GradientOfB,
}

/// An epilogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epilogue {
    pub(crate) name: &'static str,
    pub(crate) activation: Activation,
    pub(crate) bias: Bias,
    /// Whether the auxiliary matrix is written.
    pub(crate) writes_aux: bool,
}

impl Epilogue {
    /// The epilogue of that number.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn from_code(code: i32) -> Result<Self, Rejection> {
        use Activation::{Gelu, GeluGradient, None, Relu, ReluGradient};
        let (name, activation, bias, writes_aux) = match code {
            1 => ("DEFAULT", None, Bias::None, false),
            2 => ("RELU", Relu, Bias::None, false),
            130 => ("RELU_AUX", Relu, Bias::None, true),
            4 => ("BIAS", None, Bias::Added, false),
            6 => ("RELU_BIAS", Relu, Bias::Added, false),
            134 => ("RELU_AUX_BIAS", Relu, Bias::Added, true),
            136 => ("DRELU", ReluGradient, Bias::None, false),
            152 => ("DRELU_BGRAD", ReluGradient, Bias::GradientOfResult, false),
            32 => ("GELU", Gelu, Bias::None, false),
            160 => ("GELU_AUX", Gelu, Bias::None, true),
            36 => ("GELU_BIAS", Gelu, Bias::Added, false),
            164 => ("GELU_AUX_BIAS", Gelu, Bias::Added, true),
            192 => ("DGELU", GeluGradient, Bias::None, false),
            208 => ("DGELU_BGRAD", GeluGradient, Bias::GradientOfResult, false),
            256 => ("BGRADA", None, Bias::GradientOfA, false),
            512 => ("BGRADB", None, Bias::GradientOfB, false),
            _ => {
                return Err(Rejection::invalid(format!(
                    "CUBLASLT_MATMUL_DESC_EPILOGUE is {code}, which is none"
                )));
            }
        };
        Ok(Self { name, activation, bias, writes_aux })
    }

    /// Whether the result is stored as it is.
    pub(crate) fn is_default(self) -> bool {
        self.activation == Activation::None && self.bias == Bias::None
    }

    /// Whether it is the gradient of an activation, and so reads the auxiliary matrix.
    pub(crate) fn reads_aux(self) -> bool {
        matches!(self.activation, Activation::ReluGradient | Activation::GeluGradient)
    }

    /// Whether there is an auxiliary matrix.
    pub(crate) fn has_aux(self) -> bool {
        self.writes_aux || self.reads_aux()
    }

    /// Whether the auxiliary matrix is a mask of bits.
    pub(crate) fn has_mask(self) -> bool {
        self.has_aux() && matches!(self.activation, Activation::Relu | Activation::ReluGradient)
    }

    /// Whether the result has to be in column order: the bias goes along its columns, and so does
    /// the auxiliary matrix.
    pub(crate) fn needs_column_order(self) -> bool {
        self.has_aux() || matches!(self.bias, Bias::Added | Bias::GradientOfResult)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_made_of_bits() {
        // NVIDIA's header: RELU 2, BIAS 4, DRELU 8 | AUX, BGRAD 16, GELU 32, DGELU 64 | AUX, AUX 128.
        for code in [1, 2, 4, 6, 32, 36, 130, 134, 136, 152, 160, 164, 192, 208, 256, 512] {
            let epilogue = Epilogue::from_code(code).unwrap();
            assert_eq!(epilogue.has_aux(), code & 128 != 0, "{}", epilogue.name);
            assert_eq!(epilogue.bias == Bias::Added, code & 4 != 0, "{}", epilogue.name);
            let gradient = epilogue.bias == Bias::GradientOfResult;
            assert_eq!(gradient, code & 16 != 0, "{}", epilogue.name);
            assert_eq!(epilogue.reads_aux(), code & (8 | 64) != 0, "{}", epilogue.name);
        }
        assert!(Epilogue::from_code(0).is_err());
        assert!(Epilogue::from_code(128).is_err());
    }
}
