//! `cublasLtEpilogue_t`: operations on a product before it is stored.

use emulated_blas::{Rejection, Result};

/// The operation on each element of `alpha · op(A) · op(B) + beta · C`, after the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// The identity.
    None,
    /// `max(x, 0)`
    Relu,
    /// GELU, approximated with the hyperbolic tangent.
    Gelu,
    /// The gradient of ReLU: elements whose bit in the mask is zero become 0.
    ReluGradient,
    /// The gradient of GELU at the values of the auxiliary matrix.
    GeluGradient,
}

/// The use of the vector at `CUBLASLT_MATMUL_DESC_BIAS_POINTER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bias {
    /// Not used.
    None,
    /// The vector is added to every column of the result.
    Added,
    /// The vector receives the sum of each row of the result.
    GradientOfResult,
    /// The vector receives the sum of each row of `op(A)`.
    GradientOfA,
    /// The vector receives the sum of each column of `op(B)`.
    GradientOfB,
}

/// An epilogue: its name, and its operations on the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epilogue {
    pub(crate) name: &'static str,
    pub(crate) activation: Activation,
    pub(crate) bias: Bias,
    /// Whether the auxiliary matrix is written.
    pub(crate) writes_aux: bool,
}

const fn epilogue(name: &'static str, activation: Activation, bias: Bias) -> Epilogue {
    Epilogue { name, activation, bias, writes_aux: false }
}

/// All epilogues with their `cublasLtEpilogue_t` numbers.
const EPILOGUES: [(i32, Epilogue); 16] = {
    use Activation::{Gelu, GeluGradient, None, Relu, ReluGradient};
    use Bias::{Added, GradientOfA, GradientOfB, GradientOfResult};
    [
        (1, epilogue("DEFAULT", None, Bias::None)),
        (2, epilogue("RELU", Relu, Bias::None)),
        (130, epilogue("RELU_AUX", Relu, Bias::None).writing_aux()),
        (4, epilogue("BIAS", None, Added)),
        (6, epilogue("RELU_BIAS", Relu, Added)),
        (134, epilogue("RELU_AUX_BIAS", Relu, Added).writing_aux()),
        (136, epilogue("DRELU", ReluGradient, Bias::None)),
        (152, epilogue("DRELU_BGRAD", ReluGradient, GradientOfResult)),
        (32, epilogue("GELU", Gelu, Bias::None)),
        (160, epilogue("GELU_AUX", Gelu, Bias::None).writing_aux()),
        (36, epilogue("GELU_BIAS", Gelu, Added)),
        (164, epilogue("GELU_AUX_BIAS", Gelu, Added).writing_aux()),
        (192, epilogue("DGELU", GeluGradient, Bias::None)),
        (208, epilogue("DGELU_BGRAD", GeluGradient, GradientOfResult)),
        (256, epilogue("BGRADA", None, GradientOfA)),
        (512, epilogue("BGRADB", None, GradientOfB)),
    ]
};

/// The environment variable with a comma-separated list of epilogues that are treated as missing.
/// Older versions of the library have fewer epilogues (`DRELU` came with 11.11.3, according to
/// nvmath-python's tests), so a program's fallback can be tested.
const MISSING_EPILOGUES: &str = "EMULATED_GPU_CUBLASLT_WITHOUT";

/// Whether a list of epilogues contains a name.
///
/// # Errors
/// `INVALID_VALUE` if the list contains a name that is not an epilogue.
fn contains_name(list: &str, name: &str) -> Result<bool> {
    let names = || list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let is_known = |entry: &str| EPILOGUES.iter().any(|(_, epilogue)| epilogue.name == entry);
    match names().find(|entry| !is_known(entry)) {
        Some(entry) => {
            let all = EPILOGUES.map(|(_, epilogue)| epilogue.name).join(", ");
            Err(Rejection::invalid(format!("{MISSING_EPILOGUES}: `{entry}` is not one of {all}")))
        }
        None => Ok(names().any(|entry| entry == name)),
    }
}

impl Epilogue {
    const fn writing_aux(mut self) -> Self {
        self.writes_aux = true;
        self
    }

    /// Whether `EMULATED_GPU_CUBLASLT_WITHOUT` lists this epilogue.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it lists a name that is not an epilogue.
    pub(crate) fn is_missing(self) -> Result<bool> {
        std::env::var(MISSING_EPILOGUES).map_or(Ok(false), |list| contains_name(&list, self.name))
    }

    /// The epilogue with this number.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such epilogue.
    pub(crate) fn from_code(code: i32) -> Result<Self> {
        EPILOGUES
            .into_iter()
            .find(|(number, _)| *number == code)
            .map(|(_, epilogue)| epilogue)
            .ok_or_else(|| {
                Rejection::invalid(format!(
                    "CUBLASLT_MATMUL_DESC_EPILOGUE is {code}, which is not a cublasLtEpilogue_t"
                ))
            })
    }

    /// Whether the result is stored unchanged.
    pub(crate) fn is_default(self) -> bool {
        self.activation == Activation::None && self.bias == Bias::None
    }

    /// Whether the epilogue is the gradient of an activation, which reads the auxiliary matrix.
    pub(crate) fn reads_aux(self) -> bool {
        matches!(self.activation, Activation::ReluGradient | Activation::GeluGradient)
    }

    /// Whether the epilogue uses an auxiliary matrix.
    pub(crate) fn has_aux(self) -> bool {
        self.writes_aux || self.reads_aux()
    }

    /// Whether the auxiliary matrix is a bit mask.
    pub(crate) fn has_mask(self) -> bool {
        self.has_aux() && matches!(self.activation, Activation::Relu | Activation::ReluGradient)
    }

    /// Whether the result must be column-major, because the bias and the auxiliary matrix follow
    /// its columns.
    pub(crate) fn needs_column_order(self) -> bool {
        self.has_aux() || matches!(self.bias, Bias::Added | Bias::GradientOfResult)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epilogue_numbers_combine_bits() {
        // The bits in NVIDIA's header: RELU 2, BIAS 4, DRELU 8 | AUX, BGRAD 16, GELU 32,
        // DGELU 64 | AUX, AUX 128.
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

    #[test]
    fn missing_epilogues_are_parsed_from_a_list() {
        assert!(!contains_name("", "BIAS").unwrap());
        assert!(contains_name("DRELU_BGRAD, BIAS", "BIAS").unwrap());
        assert!(!contains_name("DRELU_BGRAD,BIAS", "DRELU").unwrap());
        let wrong = contains_name("BIAS,DRELU_BIAS", "BIAS").unwrap_err();
        assert!(
            wrong.message.contains("`DRELU_BIAS` is not one of DEFAULT, RELU, "),
            "{}",
            wrong.message
        );
    }
}
