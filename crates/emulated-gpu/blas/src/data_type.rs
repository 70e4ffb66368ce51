//! Element types and compute types.

use c_abi::c_enum;

use crate::{Rejection, Result};

c_enum! {
    /// The element type of a matrix (`cudaDataType_t`).
    pub enum DataType: str {
        /// Single precision.
        F32 0 "CUDA_R_32F";
        /// Double precision.
        F64 1 "CUDA_R_64F";
        /// IEEE half precision.
        F16 2 "CUDA_R_16F";
        /// A complex number with single-precision parts.
        C32 4 "CUDA_C_32F";
        /// A complex number with double-precision parts.
        C64 5 "CUDA_C_64F";
        /// bfloat16, which is the upper half of an `f32`.
        Bf16 14 "CUDA_R_16BF";
    }
}

impl DataType {
    /// The type with this number, which is the argument `name`.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if the number identifies another CUDA type, or is unknown.
    pub fn from_argument(code: i32, name: &str) -> Result<Self> {
        Self::from_code(code).ok_or_else(|| {
            Rejection::unsupported(format!(
                "{name} is {}: the emulated library supports CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_64F, \
                 CUDA_C_32F and CUDA_C_64F",
                missing_type_name(code)
            ))
        })
    }

    /// The type's number in `cudaDataType_t`.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The size of an element in bytes.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
        }
    }

    /// Whether the elements are complex.
    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, Self::C32 | Self::C64)
    }

    /// The type's name in `cudaDataType_t`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.texts()[0]
    }
}

/// The name of a type that the emulated library doesn't support, for its `cudaDataType_t` number.
fn missing_type_name(code: i32) -> String {
    let name = match code {
        3 => "CUDA_R_8I",
        6 => "CUDA_C_16F",
        8 => "CUDA_R_8U",
        10 => "CUDA_R_32I",
        15 => "CUDA_C_16BF",
        28 => "CUDA_R_8F_E4M3",
        29 => "CUDA_R_8F_E5M2",
        _ => return format!("the unknown type {code}"),
    };
    name.to_owned()
}

/// The rounding of single-precision inputs before they are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputRounding {
    /// Not rounded.
    Full,
    /// Rounded to TF32: 10 bits of the fraction, to nearest.
    Tf32,
    /// Rounded to half precision.
    F16,
    /// Rounded to bfloat16.
    Bf16,
}

/// The precision in which products are formed and summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Half precision: tensor cores keep their sums in half precision. Without tensor cores, the
    /// emulated library sums in single precision and rounds the result once, which is at least as
    /// accurate as any GPU.
    F16,
    /// Single precision.
    F32(InputRounding),
    /// Double precision.
    F64,
}

impl Compute {
    /// The type with this `cublasComputeType_t` number. If the environment has
    /// `NVIDIA_TF32_OVERRIDE=0`, TF32 is never used, as in NVIDIA's libraries.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` for an integer type; `INVALID_VALUE` for an unknown number.
    pub fn from_code(code: i32) -> Result<Self> {
        match code {
            64 | 65 => Ok(Self::F16),
            // CUBLAS_COMPUTE_32F_EMULATED_16BFX9 is as exact as single precision.
            68 | 69 | 78 => Ok(Self::F32(InputRounding::Full)),
            74 => Ok(Self::F32(InputRounding::F16)),
            75 => Ok(Self::F32(InputRounding::Bf16)),
            77 => Ok(Self::F32(tf32())),
            70 | 71 | 79 => Ok(Self::F64),
            72 | 73 => Err(Rejection::unsupported(
                "computeType is CUBLAS_COMPUTE_32I: the emulated library does not support integer products",
            )),
            _ => Err(Rejection::invalid(format!(
                "computeType is {code}, which is not a cublasComputeType_t"
            ))),
        }
    }

    /// The type's name in `cublasComputeType_t`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "CUBLAS_COMPUTE_16F",
            Self::F32(InputRounding::Full) => "CUBLAS_COMPUTE_32F",
            Self::F32(InputRounding::Tf32) => "CUBLAS_COMPUTE_32F_FAST_TF32",
            Self::F32(InputRounding::F16) => "CUBLAS_COMPUTE_32F_FAST_16F",
            Self::F32(InputRounding::Bf16) => "CUBLAS_COMPUTE_32F_FAST_16BF",
            Self::F64 => "CUBLAS_COMPUTE_64F",
        }
    }

    /// Whether the compute type supports products of matrices A and B with elements of type `ab`,
    /// added to a matrix C with elements of type `c`. This follows the tables of `cublasGemmEx` and
    /// `cublasLtMatmul` in NVIDIA's cuBLAS documentation, restricted to the types that this library
    /// supports.
    #[must_use]
    pub fn supports(self, ab: DataType, c: DataType) -> bool {
        use DataType::{Bf16, C32, C64, F16, F32, F64};
        match self {
            Self::F16 => (ab, c) == (F16, F16),
            Self::F32(InputRounding::Full) => {
                matches!((ab, c), (Bf16, Bf16) | (F16, F16) | (Bf16 | F16 | F32, F32) | (C32, C32))
            }
            Self::F32(_) => matches!((ab, c), (F32, F32) | (C32, C32)),
            Self::F64 => matches!((ab, c), (F64, F64) | (C64, C64)),
        }
    }

    /// The type of the sums if `a` and `b` have the element type `ab`.
    #[must_use]
    pub fn sum_type(self, ab: DataType) -> DataType {
        match (self, ab.is_complex()) {
            (Self::F64, false) => DataType::F64,
            (Self::F64, true) => DataType::C64,
            (Self::F16 | Self::F32(_), false) => DataType::F32,
            (Self::F16 | Self::F32(_), true) => DataType::C32,
        }
    }
}

/// TF32, unless `NVIDIA_TF32_OVERRIDE=0` forbids it.
pub(crate) fn tf32() -> InputRounding {
    let forbidden = std::env::var_os("NVIDIA_TF32_OVERRIDE").is_some_and(|value| value == "0");
    if forbidden { InputRounding::Full } else { InputRounding::Tf32 }
}

/// The type of `alpha` and `beta` for a compute type and the element type `ab` of `a` and `b`.
#[must_use]
pub fn scale_type(compute: Compute, ab: DataType) -> DataType {
    match compute {
        Compute::F16 => DataType::F16,
        Compute::F32(_) | Compute::F64 => compute.sum_type(ab),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_types_are_named() {
        let refused = DataType::from_argument(28, "B's type").unwrap_err();
        assert_eq!(refused.status, crate::Status::NotSupported);
        assert!(refused.message.contains("B's type is CUDA_R_8F_E4M3"), "{refused}");
    }

    #[test]
    fn fast_compute_types_only_support_single_precision() {
        let tf32 = Compute::F32(InputRounding::Tf32);
        assert!(tf32.supports(DataType::F32, DataType::F32));
        assert!(!tf32.supports(DataType::F16, DataType::F16));
        let full = Compute::F32(InputRounding::Full);
        assert!(full.supports(DataType::F16, DataType::F32));
        assert!(!full.supports(DataType::F32, DataType::F16));
        assert!(!full.supports(DataType::F64, DataType::F64));
    }

    #[test]
    fn complex_matrices_have_complex_scalars() {
        let (single, double) = (Compute::F32(InputRounding::Tf32), Compute::F64);
        assert!(single.supports(DataType::C32, DataType::C32));
        assert!(!single.supports(DataType::C32, DataType::F32));
        assert!(!single.supports(DataType::F32, DataType::C32));
        assert!(!double.supports(DataType::C32, DataType::C32));
        assert!(double.supports(DataType::C64, DataType::C64));
        assert!(!Compute::F16.supports(DataType::C32, DataType::C32));
        assert_eq!(scale_type(single, DataType::C32), DataType::C32);
        assert_eq!(scale_type(double, DataType::C64), DataType::C64);
        assert_eq!(scale_type(single, DataType::F16), DataType::F32);
        assert_eq!(scale_type(Compute::F16, DataType::F16), DataType::F16);
    }
}
