//! Invalid programs with the error messages that they must produce, and random input.

use cuda_c::{Options, Severity, compile};

/// Invalid sources, each with a part of the first error message.
const INVALID_SOURCES: &[(&str, &str)] = &[
    ("int main() { return 0; }", "`main` is host code"),
    ("void f() {}", "`f` is host code"),
    ("__global__ void k(float *x) { y[0] = 1; }", "there is no variable `y`"),
    ("__global__ void k(float *x) { x[0] = sinn(1); }", "there is no function `sinn`"),
    ("__global__ void k(float *x) { x[0] = tex2D(1); }", "`tex2D` isn't supported"),
    ("__global__ void k(float *x) { x[0] = 1 }", "expected `;`"),
    ("__global__ void k(float *x) { x[0] = 1;", "this `{` is never closed"),
    ("__global__ void k(float *x) { x[0] = (1; }", "expected `)`"),
    ("__global__ void k(flot *x) {}", "there is no type `flot`"),
    ("__global__ int k() { return 1; }", "a kernel returns nothing"),
    ("__global__ void k(const float *x) { x[0] = 1; }", "which can't be changed"),
    ("__global__ void k(float *x) { int i = x; }", "a `float *` doesn't become a `int`"),
    ("__global__ void k(float *x) { int *i = x; }", "a `float *` doesn't become a `int *`"),
    ("__global__ void k(float *x) { x[0] = x[1] % 2; }", "`%` is for integers"),
    ("__global__ void k(float *x) { x[1.5f] = 0; }", "an index is an integer"),
    ("__global__ void k(int n) { float a[n]; }", "has to be known when the kernel is compiled"),
    ("__global__ void k(int n) { n[0] = 1; }", "only arrays and pointers have elements"),
    ("__global__ void k(int n) { break; }", "`break` outside of a loop"),
    ("__global__ void k(int n) { goto out; }", "there is no label `out`"),
    ("__global__ void k(int n) { n = 1f; }", "`1f` isn't a number"),
    ("__global__ void k(float4 *v) { v[0].q = 1; }", "`float4` has no member `q`"),
    ("__global__ void k(float4 *v) { v.x = 1; }", "has no members"),
    (
        "__global__ void k(int *x) { x[0] = __match_all_sync(0xffffffff, x[1], x[2]); }",
        "`__match_all_sync` writes to an `int`",
    ),
    (
        "__device__ int f(int a) { return a; } __global__ void k(int *x) { x[0] = f(); }",
        "`f` has 1 parameter, and 0 are given",
    ),
    ("__global__ void f() {} __global__ void k() { f(); }", "which only the host can launch"),
    ("__global__ void f() {} __global__ void k() { f<<<1, 1>>>(); }", "a launch is host code"),
    ("class C {};", "classes aren't supported"),
    ("struct A { virtual void f(); };", "virtual functions aren't supported"),
    ("struct A { ~A() {} };", "destructors aren't supported"),
    ("__global__ void k(int *x) { x[0] = sizeof(void); }", "`void` has no size"),
    (
        "extern __shared__ int s[]; __global__ void k(int *x) { x[0] = sizeof s; }",
        "`int [0]` has no size",
    ),
    ("__global__ __device__ void k(int *x) {}", "`k` can't be `__global__` and `__device__`"),
    ("__global__ __host__ void k(int *x) {}", "`k` can't be `__global__` and `__host__`"),
    (
        "enum class E { a }; __global__ void k(int *x) { x[0] = E::a; }",
        "a `E` doesn't become a `int`",
    ),
    (
        "enum class E { a }; __global__ void k(int *x) { x[0] = 1 + E::a; }",
        "`+` isn't for `int` and `E`",
    ),
    (
        "enum class E { a }; __global__ void k(int *x) { if (E::a) x[0] = 1; }",
        "which isn't a condition",
    ),
    (
        "enum class E { a }; enum class F { b }; __global__ void k(int *x) { x[0] = E::a == F::b; }",
        "`==` isn't for `E` and `F`",
    ),
    (
        "__global__ void k(__nv_bfloat16 *x) { x[0] = x[1] + 1.0f; }",
        "`operator+` of `__nv_bfloat16` and `float` may mean two things",
    ),
    (
        "__global__ void k(int *x, int n) { memcpy(x, x + 8, n); }",
        "the number of bytes has to be known",
    ),
    ("__global__ void k(int *x) { memset(x, 1, 8); }", "`memset` only supports zeros"),
    (
        "__global__ void k(const int *x) { __stcs(x, 1); }",
        "this is `const int`, which can't be changed",
    ),
    ("namespace a { void f() {} }", "`a::f` is host code"),
    ("using namespace nowhere;", "there is no namespace `nowhere`"),
    (
        "template <typename T> struct A { T x; }; __global__ void k(A<int, int> a) {}",
        "the template `A` has 1 parameters, and 2 are given",
    ),
    (
        "template <typename T> struct A; __global__ void k(A<int> a) {}",
        "the template `A` is declared, but not defined for these arguments",
    ),
    (
        "template <typename T> struct A { A<T> x; }; __global__ void k(A<int> a) {}",
        "the member `x` has no size",
    ),
    (
        "template <typename T> struct A { A<T *> x; }; __global__ void k(A<int> a) {}",
        "this is nested too deeply",
    ),
    (
        "template <typename T> struct A {}; __global__ void k(int *x) { x[0] = A<int>::n; }",
        "there is no `A<int>::n`",
    ),
    (
        "template <> __device__ int f(int a) { return a; }",
        "the template arguments of this specialisation are missing",
    ),
    (
        "struct A { int a; __device__ A(int x) : b(x) {} }; __global__ void k(int *x) { A a(1); }",
        "there is no member `b`",
    ),
    (
        "struct A { int a; __device__ A(int x) : a(x) {} }; __global__ void k(int *x) { A a; }",
        "`A` has 1 parameter, and 0 are given",
    ),
    (
        "struct A { int a; __device__ explicit A(int x) : a(x) {} }; __global__ void k(int *x) { A a = x[0]; }",
        "a `int` doesn't become a `A`",
    ),
    (
        "struct A { int a; __device__ void f() {} }; __global__ void k(const A *p) { p->f(); }",
        "this is `const`, and `f` may change it",
    ),
    (
        "struct A { int a; }; __global__ void k(A *p) { p[0][1] = 2; }",
        "`A` has no function `operator[]`",
    ),
    ("struct A {}; struct B : A {};", "inheritance isn't supported"),
    ("template <typename T> using P = T *;", "alias templates aren't supported"),
    ("__global__ void k(int *x) { try { } catch (...) { } }", "exceptions aren't supported"),
    ("__global__ void k(int *x) { x = new int[4]; }", "`new` and `delete` aren't supported"),
    ("__global__ void k(int *x) { auto f = [](int a) { return a; }; }", "lambdas aren't supported"),
    ("#include <vector>\n", "the C++ library isn't supported"),
    ("#include <thrust/sort.h>\n", "isn't supported"),
    ("#include <cuComplex.h>\n", "`cuComplex.h` isn't supported"),
    ("#include <curand_kernel.h>\n", "`curand_kernel.h` isn't supported"),
    ("#include <texture_fetch_functions.h>\n", "isn't supported"),
    ("#include <cuda/std/cmath>\n", "isn't supported"),
    ("#include <cuda_fp4.h>\n", "`cuda_fp4.h` isn't supported"),
    ("#include <cuda_fp6.h>\n", "`cuda_fp6.h` isn't supported"),
    ("#include <cuda_pipeline_primitives.h>\n", "isn't supported"),
    ("#include <cuda_awbarrier_primitives.h>\n", "isn't supported"),
    ("#include <cooperative_groups/memcpy_async.h>\n", "isn't supported"),
    ("#include <limits>\n", "the C++ library isn't supported: `limits`"),
    ("__global__ void k(cudaTextureObject_t t) {}", "`cudaTextureObject_t` isn't supported"),
    ("texture<float, 1> t;", "`texture` isn't supported"),
    (
        "__global__ void k(int *x) { cudaSurfaceObject_t s; }",
        "`cudaSurfaceObject_t` isn't supported",
    ),
    ("__global__ void k(float2 *x) { surf1Dwrite(1.0f, x, 0); }", "`surf1Dwrite` isn't supported"),
    ("__global__ void k(cuFloatComplex *x) {}", "`cuFloatComplex` isn't supported"),
    ("__global__ void k(float2 *x) { x[0] = cuCmulf(x[0], x[1]); }", "`cuCmulf` isn't supported"),
    ("__global__ void k(curandState *s) {}", "`curandState` isn't supported"),
    ("__global__ void k(__nv_fp4_e2m1 *x) {}", "`__nv_fp4_e2m1` isn't supported"),
    ("#include \"nothing.h\"\n", "`nothing.h` wasn't found"),
    ("#if 1\n", "this condition has no `#endif`"),
    ("#endif\n", "`#endif` without `#if`"),
    (
        "#define F(a, b) a\n__global__ void k(int *x) { x[0] = F(1); }",
        "has 2 parameters, and 1 arguments are given",
    ),
    ("#error no\n", "#error: no"),
    ("/* no end", "this comment has no end"),
    ("__global__ void k(char *x) { x[0] = 'ab'; }", "a character literal is one byte"),
    ("__global__ void k(char *x) { x = \"ab; }", "this string has no end"),
    ("__global__ void k() { __shared__ float a[3] = {1}; }", "shared memory can't be initialised"),
    ("__global__ void k() { __shared__ float a[]; }", "shared memory has a length, or is `extern`"),
    ("__global__ void k() { static int a; }", "static variables in a function aren't supported"),
    ("int a;", "`a` is a variable of the host"),
    ("__global__ void k(int *x) { const int a = x[0]; a = 3; }", "which can't be changed"),
    (
        "__global__ void k(int *x) { switch (x[0]) { case 1: case 1: break; } }",
        "this case comes twice",
    ),
    ("__global__ void k(int *x) { int &r; }", "a reference has to refer to something"),
    ("__global__ void k(int &x) { }", "no references as parameters"),
    (
        "template <typename T, int N> __global__ void k(T *x) { }\ntemplate __global__ void k<int>(int *);",
        "no kernel `k` has these template parameters",
    ),
    (
        "template <typename T> __global__ void k(T *x) { }\ntemplate __global__ void kk<int>(int *);",
        "there is no kernel `kk`",
    ),
    ("__global__ void k(int *x, int *x) { }", "there are two parameters `x`"),
    ("__global__ void k() {} __global__ void k() {}", "there are two kernels `k`"),
    ("__global__ void k(float *x) { atomicMax(x, 1.0f); }", "`atomicMax` isn't for `float`"),
    ("__global__ void k(float *x) { x[0] = __shfl(x[0], 1); }", "`__shfl` isn't supported"),
    (
        "__global__ void k(float *x) { asm(\"add.f32 %0, %1;\" : \"=f\"(x[0])); }",
        "there is no operand %1",
    ),
    ("__global__ void k(float *x) { cudaMalloc(&x, 4); }", "`cudaMalloc` isn't supported"),
    ("__global__ void k(float *x) { x[0] = 1.0.0; }", "isn't a number"),
    ("__global__ void k(long double *x) { }", "`long double` isn't a type"),
    ("static_assert(sizeof(int) == 8, \"no\");", "no"),
    ("__global__ void k(int *x) {\n#pragma unroll\n x[0] = 1; }", "isn't followed by a loop"),
];

#[test]
fn errors_name_the_mistake() {
    for (source, expected) in INVALID_SOURCES {
        let diagnostics = match compile(source, &Options::default()) {
            Err(diagnostics) => diagnostics,
            Ok(ptx) => panic!("this compiles:\n{source}\n{}", ptx.text),
        };
        let all: Vec<&str> = diagnostics.iter().map(|one| one.message.as_str()).collect();
        assert!(all[0].contains(expected), "{source}\n{all:#?}, not {expected}");
        assert_eq!(diagnostics[0].severity, Severity::Error);
        let shown = diagnostics[0].to_string();
        assert!(
            shown.starts_with("error: ") && shown.contains("kernel.cu:") && shown.contains('^'),
            "{shown}"
        );
    }
}

/// Sources that compile with a warning, each with a part of that warning.
const WARNED: &[(&str, &str)] = &[
    ("template <typename T> __global__ void k(T *x) { }", "the template `k` isn't compiled"),
    (
        "__global__ void k(float *x, int n) { size_t i = n * n; x[i] = 0; }",
        "may overflow before it becomes 64 bits wide",
    ),
    ("__global__ void k(float *x, int n) { if (n = 3) x[0] = 0; }", "this assigns"),
    ("__global__ void k(int *x) { int a[4]; a[4] = 1; x[0] = a[4]; }", "`a` has 4 elements"),
    ("__global__ void k(int *x) { x[0] = x[1] << 40; }", "is shifted by 40"),
    ("__global__ void k(int *x) { x[0] = x[1] / 0; }", "this divides by 0"),
    (
        "__global__ void k(int *x) { printf(\"%f\\n\", x[0]); }",
        "`%f` shows a floating-point number",
    ),
    (
        "__global__ void k(int *x) { printf(\"%d %d\\n\", x[0]); }",
        "has 2 placeholders, and 1 values are given",
    ),
    (
        "__global__ void k(float *x, int n) { if (threadIdx.x < n) { x[0] = 1; __syncthreads(); } }",
        "waits at a barrier that others may not reach",
    ),
    (
        "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = n; }",
        "isn't compared with a length",
    ),
    (
        "__global__ void k(float *x) { __shared__ float t[32]; t[threadIdx.x] = x[threadIdx.x]; x[threadIdx.x] = t[31 - threadIdx.x]; }",
        "without a barrier",
    ),
];

#[test]
fn warnings_name_the_problem() {
    for (source, expected) in WARNED {
        let ptx = compile(source, &Options::default())
            .unwrap_or_else(|errors| panic!("{source}\n{}", errors[0]));
        let all: Vec<&str> = ptx.warnings.iter().map(|one| one.message.as_str()).collect();
        assert!(
            all.iter().any(|message| message.contains(expected)),
            "{source}\n{all:#?}, not {expected}"
        );
        assert!(ptx.warnings.iter().all(|one| one.severity == Severity::Warning));
    }
}

#[test]
fn correct_kernels_give_no_warnings() {
    let source = "
        __global__ void k(const float *x, float *y, size_t n) {
            __shared__ float t[32][33];
            size_t i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = x[i];
            t[threadIdx.y][threadIdx.x] = x[i % n];
            __syncthreads();
            if (i < n) y[i] += t[threadIdx.x][threadIdx.y];
        }";
    let ptx = compile(source, &Options::default()).unwrap();
    assert!(ptx.warnings.is_empty(), "{}", ptx.warnings[0]);
}

#[test]
fn messages_show_the_line() {
    let source =
        "__global__ void k(float *x, size_t n)\n{\n    if (thread < n)\n        x[0] = 1;\n}\n";
    let shown = compile(source, &Options::default()).unwrap_err()[0].to_string();
    let expected = "error: there is no variable `thread`\n --> kernel.cu:3:9\n  |\n3 |     if (thread < n)\n  |         ^^^^^^\n  |\n  \
                    = help: did you mean `threadIdx`?\n";
    assert_eq!(shown, expected);
}

/// The pieces of random texts.
const PIECES: [&str; 48] = [
    "__global__ ",
    "void ",
    "k",
    "(",
    ")",
    "{",
    "}",
    "int ",
    "float ",
    "*",
    "x",
    "[",
    "]",
    ";",
    "=",
    "+",
    "-",
    "1",
    "0.5f",
    "if ",
    "else ",
    "for ",
    "while ",
    "return ",
    "struct ",
    "<",
    ">",
    "template ",
    "typename ",
    ",",
    "&",
    "&&",
    "?",
    ":",
    "\"text\"",
    "'c'",
    "#define ",
    "\n",
    "#if ",
    "#endif\n",
    "##",
    "/*",
    "*/",
    "__shared__ ",
    "switch ",
    "case ",
    "::",
    "\\\n",
];

#[test]
fn random_texts_do_not_crash_the_compiler() {
    let mut state = 1u64;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let right = "struct P { int a; float b[3]; };\ntemplate <int N> __device__ int f(int x) { return x * N; }\n\
        __global__ void k(int *x, P p, unsigned n) { for (int i = 0; i < 4; ++i) x[i] += f<3>(i) + p.a; if (x[0]) { do { --x[1]; } while (x[1] > 2); } }";
    for round in 0..3000 {
        let mut text = String::new();
        if round % 2 == 0 {
            for _ in 0..next(60) {
                text.push_str(PIECES[next(PIECES.len())]);
            }
        } else {
            // A correct source with some pieces removed and inserted.
            text.push_str(right);
            for _ in 0..=next(4) {
                let (at, len) = (next(text.len()), next(6));
                let end = (at + len).min(text.len());
                text.replace_range(at..end, PIECES[next(PIECES.len())]);
            }
        }
        let _ = compile(&text, &Options::default());
    }
}

#[test]
fn endless_nesting_is_rejected() {
    let nest = |open: &str, close: &str, count: usize| {
        format!(
            "__global__ void k(int *x) {{ x[0] = {}1{}; }}",
            open.repeat(count),
            close.repeat(count)
        )
    };
    for source in [
        nest("(", ")", 50_000),
        nest("-", "", 50_000),
        nest("!", "", 50_000),
        nest("1+", "", 50_000),
        nest("f(", ")", 50_000),
        format!("__global__ void k() {}", "{".repeat(50_000)),
        format!("#if {}1\n#endif", "(".repeat(50_000)),
        "#define A B B B B B B B B\n#define B C C C C C C C C\n#define C D D D D D D D D\n#define D E E E E E E E E\n\
         #define E F F F F F F F F\n#define F G G G G G G G G\n#define G H H H H H H H H\n#define H x x x x\nA"
            .to_owned(),
    ] {
        assert!(compile(&source, &Options::default()).is_err());
    }
}

#[test]
fn requested_names_are_checked() {
    let source = "template <int N> __global__ void k(int *x) { }\n__global__ void plain() { }";
    for (name, expected) in [
        ("k", "no kernel `k` has these template parameters"),
        ("k<float>", "`N` is a number, and a type is given"),
        ("plian", "there is no kernel `plian`"),
        ("k<3> + 1", "this isn't the name of a kernel"),
        ("", "expected the name of a kernel"),
        ("k<", "expected"),
        ("\"", "this string has no end"),
    ] {
        let options = Options { names: vec![name.into()], ..Options::default() };
        let errors = compile(source, &options).unwrap_err();
        assert!(errors[0].message.contains(expected), "{name}: {}", errors[0]);
        assert_eq!(errors[0].file, "name expression 1");
    }
}
