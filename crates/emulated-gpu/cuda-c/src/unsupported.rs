//! Alternatives for functions, types and headers of CUDA that aren't supported.

/// The advice in errors about textures and surfaces.
pub(crate) const TEXTURES: &str = "textures and surfaces aren't supported: index an array";
/// Help for cuComplex.h.
pub(crate) const COMPLEX: &str =
    "complex numbers aren't supported: use `float2` or `double2`, and write the products yourself";
/// Help for cuRAND.
pub(crate) const RANDOM: &str =
    "random number generators aren't supported: keep a counter in a variable, and hash it";

/// The advice in errors about cuda_fp4.h and cuda_fp6.h.
pub(crate) const NARROW_FLOATS: &str =
    "FP4 and FP6 aren't supported: the narrowest floating-point types are those of cuda_fp8.h";
/// The advice in errors about thrust, CUB, libcu++ and similar libraries.
pub(crate) const COLLECTIVES: &str =
    "write the parts that you need with __shfl_*_sync, atomics and shared memory";

/// The advice for a function or a type of CUDA that isn't supported; `None` for other names.
pub(crate) fn alternative(name: &str) -> Option<&'static str> {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    Some(match name {
        "texture" | "surface" => TEXTURES,
        _ if begins(&["cudaTexture", "tex1D", "tex2D", "tex3D", "texCubemap"])
            || begins(&["cudaSurface", "surf1D", "surf2D", "surf3D", "surfCubemap"]) =>
        {
            TEXTURES
        }
        _ if begins(&["cuFloatComplex", "cuDoubleComplex", "make_cu", "cuConj"])
            || begins(&["cuComplex", "cuCadd", "cuCsub", "cuCmul", "cuCdiv", "cuCfma"])
            || begins(&["cuCabs", "cuCreal", "cuCimag"]) =>
        {
            COMPLEX
        }
        _ if begins(&["curand"]) => RANDOM,
        _ if begins(&["__nv_fp4", "__nv_fp6"]) => NARROW_FLOATS,
        _ if begins(&["cuda"]) => {
            "this is host code: only `__global__` and `__device__` functions are compiled"
        }
        "malloc" | "free" | "calloc" => "allocate before the launch, and pass a pointer",
        "fprintf" | "sprintf" | "puts" | "putchar" => "use printf",
        "rand" | "srand" => RANDOM,
        "__shfl" | "__shfl_up" | "__shfl_down" | "__shfl_xor" | "__ballot" | "__any" | "__all" => {
            "write it with `_sync`, and the mask of the lanes that take part: 0xffffffff for all"
        }
        _ => return None,
    })
}
