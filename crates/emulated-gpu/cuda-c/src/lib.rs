//! A compiler from the CUDA C of kernels to PTX.
//!
//! It needs neither CUDA nor a GPU, reads files only through a [`Resolver`], and starts no threads,
//! so it also runs in a browser. [`compile`] is the whole interface: CUDA C goes in, PTX or
//! [`Diagnostic`]s come out.
//!
//! ```
//! let source = "__global__ void twice(float *x, unsigned n) {
//!     unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) x[i] *= 2.0f;
//! }";
//! let ptx = cuda_c::compile(source, &cuda_c::CompileOptions::default()).unwrap();
//! assert!(ptx.text.contains(".visible .entry _Z5twicePfj("));
//! assert_eq!(ptx.kernels, ["_Z5twicePfj"]);
//!
//! let problems = cuda_c::compile("__global__ void k() { x = 1; }", &cuda_c::CompileOptions::default());
//! assert!(problems.unwrap_err()[0].message.contains("`x`"));
//! ```
//!
//! Each stage is a module: `lex` (text to tokens), `preprocess` (directives and macros), `parse`
//! (tokens to the tree in `syntax`), `lower` (resolves names and `types`, and makes the intermediate
//! representation in `ir`), `optimise`, and `ptx` (to text). `library` holds the functions of
//! `math.h`, written in CUDA C.
//!
//! # Supported
//!
//! - *Language*: `__global__` and `__device__` functions, overloads, default arguments, references,
//!   templates of functions, kernels and structs over types and integers, with specialisations,
//!   namespaces, `extern "C"` and C++'s mangled names, `__launch_bounds__`; `__shared__` (static and
//!   dynamic), `__constant__` and `__device__` variables with initial values; all integer types, `bool`,
//!   `float`, `double`, `__half`, `__half2`, `__nv_bfloat16`, enums, unions, arrays, pointers, vector
//!   types with `make_*`; structs with constructors, member functions, operators, conversions, anonymous
//!   members and member types and constants; `const`, `constexpr`, `auto`, `decltype`, `sizeof`,
//!   `static_assert`, `if constexpr`; all statements, including `goto`; `#define`, `#if`, `#include`,
//!   `#pragma unroll`; `asm`.
//! - *Built-in functions*, which a source may overload: indices, barriers, fences, shuffles, votes,
//!   `__match_*_sync`, `__reduce_*_sync`, atomics, `__ldg`, clocks, `printf`, `assert`, `__trap`, bit
//!   operations, operations on the halves and bytes of words, arithmetic with a rounding mode,
//!   conversions, and the hardware's approximations.
//! - *Cooperative groups* of blocks, tiles, active lanes and grids, with `reduce` and scans;
//!   `nvcuda::wmma` fragments of half, bfloat16, bytes and TF32.
//! - *Half precision*: the functions of cuda_fp16.h and cuda_bf16.h for `__half`, `__nv_bfloat16` and
//!   pairs of them. Functions without an exact result are computed in `float`.
//! - *FP8*: the C++ types of cuda_fp8.h, E4M3 and E5M2, single, in pairs and in fours.
//! - *Mathematics* of `float`: exponentials, logarithms, powers, trigonometric, hyperbolic and error
//!   functions and their inverses, gamma and Bessel functions, roots, lengths, remainders, rounding. A
//!   function without a PTX instruction is computed in `double` and rounded once. The error is half a
//!   unit in the last place except for rare ties, but this is slow on a GPU with few units for `double`. Functions
//!   of `double` stay within the error bounds in the CUDA guide.
//!   `crates/emulated-gpu/scripts/measure-mathematics.sh` measures all of them.
//! - *Optimisation*: variables in registers, constant folding, common subexpressions, loop invariants,
//!   unrolling (fully, or four iterations at once), strength reduction of addresses, if-conversion of
//!   short branches, contraction to `fma` as by nvcc, and vector loads and stores.
//!
//! Results differ in some bits from NVRTC's if NVRTC contracts a product and a sum that are in
//! different basic blocks here, or if a kernel calls a function of `math.h`. With `fmad: false`,
//! only the latter difference remains.
//!
//! # Not supported
//!
//! Each of these is an error that names the construct and says what to write instead: host code and
//! launches, classes, destructors, inheritance, virtual functions, alias templates, variadic templates,
//! lambdas, exceptions, `new`, the C++ library, function pointers, bit fields, static variables in
//! functions, declarations in conditions, range-based `for`, structured bindings, textures and
//! surfaces, `cuComplex.h`, cuRAND, FP4 and FP6.
//!
//! Calls are inlined, except calls of recursive and of `__noinline__` functions.

/// Declares an enum, and `ROWS`: values that belong to its members, in the members' order.
macro_rules! with_rows {
    (
        $(#[$meta:meta])*
        enum $name:ident: $row:ty {
            $($(#[$member_meta:meta])* $member:ident = $values:expr;)*
        }
    ) => {
        $(#[$meta])*
        pub(crate) enum $name {
            $($(#[$member_meta])* $member,)*
        }

        impl $name {
            const ROWS: &[$row] = &[$($values),*];
        }
    };
}

mod diagnostic;
mod ir;
mod lex;
mod library;
mod lower;
mod mistakes;
mod optimise;
mod parse;
mod preprocess;
mod ptx;
mod returns;
mod source;
#[allow(missing_docs, reason = "operators are named by the source syntax")]
mod syntax;
#[allow(missing_docs, reason = "the types have their usual names")]
mod types;
mod unsupported;

pub use diagnostic::{Diagnostic, Severity};
pub use preprocess::{Folders, Resolver};

use diagnostic::Problems;
use source::Sources;

/// Options of a compilation.
#[derive(Clone)]
pub struct CompileOptions<'a> {
    /// The name of the source in messages and in `.file`.
    pub name: &'a str,
    /// The architecture, one of [`ARCHITECTURES`]: 80 for `sm_80`.
    pub arch: u32,
    /// Whether a multiplication and an addition are contracted to `fma`, which rounds once.
    pub fmad: bool,
    /// Whether the PTX has `.loc` directives with the source line of each instruction.
    pub lines: bool,
    /// Predefined macros and their values.
    pub defines: Vec<(String, String)>,
    /// Finds the files for `#include`; without it, no file is found.
    pub resolver: Option<&'a dyn Resolver>,
    /// Name expressions, such as `copy<float, 4>`: names of kernels and variables as the host
    /// writes them. They instantiate templates, and [`Ptx::names`] has the mangled names.
    pub names: Vec<String>,
}

impl Default for CompileOptions<'_> {
    fn default() -> Self {
        Self {
            name: "kernel.cu",
            arch: 80,
            fmad: true,
            lines: true,
            defines: Vec::new(),
            resolver: None,
            names: Vec::new(),
        }
    }
}

impl std::fmt::Debug for CompileOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompileOptions")
            .field("name", &self.name)
            .field("arch", &self.arch)
            .field("fmad", &self.fmad)
            .field("lines", &self.lines)
            .field("defines", &self.defines)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// The result of a compilation.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The PTX.
    pub text: String,
    /// Warnings: the source was compiled, but probably doesn't do what was meant.
    pub warnings: Vec<Diagnostic>,
    /// The mangled names of the kernels.
    pub kernels: Vec<String>,
    /// The mangled names of [`CompileOptions::names`].
    pub names: Vec<String>,
    /// The registers and parameters that contain variables of the source.
    pub variables: Vec<Variable>,
}

/// A register of the PTX that only holds values of one variable, or a parameter. A variable can have several registers, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The mangled name of the function that declares the variable.
    pub function: String,
    /// The register, such as `%r1`, or the parameter, such as `saxpy_param_0`.
    pub register: String,
    /// The name of the variable or parameter in the source.
    pub name: String,
}

/// The name of a kernel in its source: `saxpy` for the mangled name `_Z5saxpyjfPKfPf`. A name that
/// isn't mangled is returned unchanged.
#[must_use]
pub fn source_name(kernel: &str) -> &str {
    let plain = || {
        let rest = kernel.strip_prefix("_Z")?;
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[digits..].get(..rest[..digits].parse().ok()?)
    };
    plain().filter(|name| !name.is_empty()).unwrap_or(kernel)
}

/// The architectures that kernels can be compiled for, as NVRTC 12.0 lists them; 80 is `sm_80`.
pub const ARCHITECTURES: [u32; 14] = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90];

/// Compiles CUDA C to PTX.
///
/// # Errors
///
/// The errors in the source in the order of the text, followed by the warnings. An architecture
/// that isn't one of [`ARCHITECTURES`] is an error at the start of the text.
pub fn compile(source: &str, options: &CompileOptions<'_>) -> Result<Ptx, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let mut sources = Sources::default();
    let file = sources.add(options.name, source);
    if !ARCHITECTURES.contains(&options.arch) {
        let message = format!("there is no architecture sm_{}", options.arch);
        let known = ARCHITECTURES.map(|arch| arch.to_string()).join(", ");
        let start = source::Span { file, ..source::Span::default() };
        problems.push(
            diagnostic::Problem::new(start, message).help(format!("compile for one of {known}")),
        );
        return Err(problems.into_diagnostics(&sources));
    }
    let macros = library::macros(&mut sources, &mut problems);
    let mut defines = vec![
        ("__CUDACC__".to_owned(), "1".to_owned()),
        ("__NVCC__".to_owned(), "1".to_owned()),
        ("__cplusplus".to_owned(), "201703L".to_owned()),
        ("__CUDA_ARCH__".to_owned(), format!("{}", options.arch * 10)),
    ];
    defines.extend(options.defines.iter().cloned());
    let (own, _) = preprocess::preprocess(
        file,
        macros.clone(),
        &defines,
        options.resolver,
        &mut sources,
        &mut problems,
    );
    // After a wrong macro or a missing file, further errors would be misleading.
    if problems.has_errors() {
        return Err(problems.into_diagnostics(&sources));
    }
    let (library, mut tokens) =
        library::tokens(&own, macros, options.arch, &mut sources, &mut problems);
    tokens.extend(own);
    let names = options.names.iter().enumerate().map(|(number, name)| {
        let file = sources.add(&format!("name expression {}", number + 1), name);
        lex::lex(name, file, &mut problems)
    });
    let names: Vec<_> = names.collect();
    if problems.has_errors() {
        return Err(problems.into_diagnostics(&sources));
    }
    let items = parse::parse(tokens, names, &mut problems);
    returns::check(&items, library, &mut problems);
    let (mut module, names) = lower::lower(items, library, options, &mut problems);
    if problems.has_errors() {
        return Err(problems.into_diagnostics(&sources));
    }
    optimise::optimise(&mut module, options);
    let (text, variables) = ptx::write(&mut module, &sources, library, options);
    let kernels = module.functions.iter().filter(|function| function.is_kernel);
    let kernels = kernels.map(|function| function.name.clone()).collect();
    Ok(Ptx { text, warnings: problems.into_diagnostics(&sources), kernels, names, variables })
}
