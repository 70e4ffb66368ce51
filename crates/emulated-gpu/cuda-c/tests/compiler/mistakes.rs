//! Common mistakes, each with the beginning of its message. `messages.rs` tests those about unsupported
//! features.

use cuda_c::{Options, Severity, compile};

const MISTAKES: &[(&str, &str)] = &[
    ("__global__ void k(int *x) { x[0] = ~1.5f; }", "`~` is for integers"),
    ("__global__ void k(float *x) { x[0] = 1.0f << 2; }", "shifts are for integers"),
    (
        "__global__ void k(int *x) { int a[2]; int b[2]; a = b; }",
        "an array can't be assigned as a whole",
    ),
    ("__global__ void k(int *x) { if (x == 3) x[0] = 1; }", "a pointer is compared with a number"),
    (
        "__global__ void k(int *x) { if (int a = x[0]) x[1] = a; }",
        "a variable in a condition isn't supported",
    ),
    ("__global__ void k(int *x) { auto a; }", "`auto` needs an initial value"),
    ("__global__ void k(int *x) { case 1: x[0] = 1; }", "a case outside of `switch`"),
    ("__global__ void k(int *x) { continue; }", "`continue` outside of a loop"),
    ("__global__ void k(int *x) { x(1); }", "`x` is a variable, not a function"),
    ("__global__ void k(int *x) { 3(1); }", "only functions can be called"),
    ("__device__ void f(); __global__ void k(int *x) { f(); }", "`f` is declared, but not defined"),
    (
        "__device__ void f(int &a) { a = 1; } __global__ void k(int *x) { f(3); }",
        "`f` doesn't take (int)",
    ),
    ("struct A { int a : 3; };", "bit fields aren't supported"),
    ("struct A { static int a; };", "static members aren't supported"),
    ("struct A { A b; };", "the member `b` has no size"),
    (
        "struct P { int a; }; __global__ void k(P p, int *x) { x[0] = p; }",
        "a `P` doesn't become a `int`",
    ),
    (
        "struct P { int a; }; struct Q { int a; }; __global__ void k(P *p, Q q) { p[0] = q; }",
        "a `Q` doesn't become a `P`",
    ),
    ("__device__ void f(int a, ...) { }", "variadic functions aren't supported"),
    ("__device__ void f(int &&a) { }", "references to temporaries (`&&`) aren't supported"),
    (
        "__global__ void k(int *x) { printf(x); }",
        "the format of `printf` has to be a text in quotes",
    ),
    ("__global__ void k(int *x) { printf(); }", "`printf` needs a text"),
    (
        "__global__ void k(int *x) { __syncthreads(1); }",
        "`__syncthreads` has 0 parameters, and 1 are given",
    ),
    ("__global__ void k(int *x) { x[0] = max(1); }", "`max` has 2 parameters, and 1 are given"),
    (
        "__global__ void k(int *x) { x[0] = __shfl_sync(0xffffffff); }",
        "`__shfl_sync` takes a mask, a value and a lane",
    ),
    (
        "__global__ void k(float *x) { x[0] = *3; }",
        "`*` reads the target of a pointer, and this is `int`",
    ),
    ("__global__ void k(float *x) { x[0] = &3; }", "`&` needs a variable, an element or a member"),
    ("__global__ void k(int *x) { 1 = x[0]; }", "`=` needs a variable, an element or a member"),
    ("__global__ void k(int *x) { x[0]++++; }", "a step needs a variable, an element or a member"),
    (
        "__global__ void k(int *x) { threadIdx.x = 1; }",
        "`=` needs a variable, an element or a member",
    ),
    ("__global__ void k(int *x) { x[0] = threadIdx.w; }", "`uint3` has no member `w`"),
    ("__global__ void k(int *x) { x[0] = y ? 1 : 2; }", "there is no variable `y`"),
    ("__global__ void k(int *x) { return 1; }", "`k` returns nothing, and a value is given"),
    (
        "__device__ int f() { return; } __global__ void k(int *x) { x[0] = f(); }",
        "`f` returns `int`, and nothing is given",
    ),
    (
        "__constant__ float c[3] = {1, 2, 3, 4}; __global__ void k(float *x) { x[0] = c[0]; }",
        "4 values for an array of 3",
    ),
    (
        "__constant__ float c; __global__ void k(float *x) { c = 1; }",
        "this is `const float`, which can't be changed",
    ),
    ("__global__ void k(int *x) { int a[-1]; }", "the length of an array can't be negative"),
    (
        "__global__ void k(int *x) { int a[1 << 30]; a[x[0]] = 1; x[0] = a[x[1]]; }",
        "`a` has 4294967296 bytes; a thread has 512 KiB of local memory",
    ),
    ("__global__ void k(int *x) { #define A 1\n }", "expected an expression, found `#`"),
    ("#define\n__global__ void k() {}", "`#define` needs a name"),
    ("#include\n", "`#include` needs a file"),
    ("#elif 1\n", "`#elif` without `#if`"),
    ("#else\n", "`#else` without `#if`"),
    ("#unknown\n", "there is no directive `#unknown`"),
    ("#if 1 +\n#endif\n", "a value is missing in this condition"),
    (
        "#define F(a) a a\n__global__ void k(int *x) { x[0] = F(1; }",
        "the arguments of the macro `F` have no `)`",
    ),
    (
        "__global__ void k(int *x) { x[0] = 99999999999999999999999; }",
        "`99999999999999999999999` isn't a number",
    ),
    ("__global__ void k(int *x) { x[0] = 08; }", "`08` isn't a number"),
    ("__global__ void k(int *x) { x[0] = '\\q'; }", "unknown escape sequence"),
    ("__global__ void k(int *x) { x[0] = 1 ` 2; }", "expected `;` after the statement, found ```"),
    ("__global__ void k(void *x) { x[0] = 1; }", "a `void *` has no elements of a known size"),
    ("__global__ void k(void x) { }", "a parameter can't be `void`"),
    ("__global__ void k(int *x) { goto a; a: x[0] = 1; a: x[0] = 2; }", "there are two labels `a`"),
    (
        "__global__ void k(int *x) { switch (1.5f) { case 1: break; } }",
        "`switch` is over an integer, and this is `float`",
    ),
    (
        "__global__ void k(int *x) { switch (x[0]) { case x[1]: break; } }",
        "a case has to be known when the kernel is compiled",
    ),
    (
        "__global__ void k(int *x) { switch (x[0]) { default: break; default: break; } }",
        "this case comes twice",
    ),
    ("__global__ void k(half *x) { atomicXor(x, x[0]); }", "`atomicXor` isn't for `__half`"),
    (
        "__global__ void k(int *x) { asm(\"mov.u32 %0, 1;\" : \"=q\"(x[0])); }",
        "the constraint \"=q\" is unknown",
    ),
    ("__global__ void k(int *x) { std::sort(x, x + 1); }", "there is no function `sort`"),
    ("__global__ void k(int *x) { throw 1; }", "exceptions aren't supported"),
    (
        "template <typename T> __device__ T f(int a) { return a; } __global__ void k(int *x) { x[0] = f(1); }",
        "`f` doesn't take (int)",
    ),
    (
        "template <int N> __device__ int f() { return N; } __global__ void k(int *x) { x[0] = f<x[0]>(); }",
        "a template argument has to be known when the kernel is compiled",
    ),
    (
        "typedef int T; __global__ void k(int *x) { x[0] = T; }",
        "`T` is a type; a value is expected",
    ),
    ("enum class E { a }; __global__ void k(int *x) { x[0] = E::b; }", "there is no `E::b`"),
    (
        "__global__ void k(int *x) { __shared__ int &a = x[0]; }",
        "shared memory holds no references",
    ),
    ("__global__ void k(int n) { x: ; goto *n; }", "expected a label, found `*`"),
    ("__global__ void k(int *x) { x[0] = tex1Dfetch(x, 1); }", "`tex1Dfetch` isn't supported"),
    ("__global__ void k(int *x) { x = malloc(4); }", "`malloc` isn't supported"),
    ("__global__ void k(int *x) { x = (int *)malloc(4); }", "`malloc` isn't supported"),
    ("__global__ void k(int *x) { x[0] = rand(); }", "`rand` isn't supported"),
    ("__global__ void k(int *x) { fprintf(stderr, \"a\"); }", "`fprintf` isn't supported"),
    ("__global__ void k(int *x) { x[0] = __ldg(3); }", "`__ldg` reads the target of a pointer"),
    (
        "__global__ void k(float *x) { x[0] = \"text\"; }",
        "a `const char *` doesn't become a `float`",
    ),
    (
        "__global__ void k(int *x) { float4 v = {1, 2, 3, 4, 5}; x[0] = v.x; }",
        "5 values for a struct of 4",
    ),
    ("__global__ void k(int *x) { int a = {1, 2}; x[0] = a; }", "a `int` has one initial value"),
    ("__global__ void k(int *x) { x->a = 1; }", "a `int` has no members"),
    ("__global__ void k(float4 *x) { x[0].x.y = 1; }", "a `float` has no members"),
    ("__global__ void k(int *x) { double d = x; }", "a `int *` doesn't become a `double`"),
    ("__global__ void k(int *x) { x[0] = x + x; }", "`+` isn't for `int *` and `int *`"),
    (
        "__global__ void k(int *x, float *y) { x[0] = x - y; }",
        "`-` isn't for `int *` and `float *`",
    ),
    (
        "__global__ void k(int *x) { x[0] = -x; }",
        "this operator is for numbers, and this is `int *`",
    ),
    ("__global__ void k(int *x) { x[0] = x[0] && ; }", "expected an expression, found `;`"),
    (
        "__global__ void k(int *x) { do x[0] = 1; }",
        "expected `while` after the body of do, found `}`",
    ),
    ("__global__ void k(int *x) { else x[0] = 1; }", "expected an expression, found `else`"),
    ("__global__ void k(int *x) { int if = 3; }", "expected the name of a variable"),
    ("__global__ k(int *x) { }", "there is no type `k`"),
    ("__global__ void k(int *x { }", "expected `)` after the parameters, found `{`"),
    ("}", "this `}` closes nothing"),
    ("__global__ void k(int x[]) { x[0] = blockIdx; }", "a `uint3` doesn't become a `int`"),
    (
        "__global__ void k(unsigned *x) { x[0] = __byte_perm(1, 2, 3, 4, 5); }",
        "`__byte_perm` has 3 parameters, and 5 are given",
    ),
    ("__global__ void k(int *x) { int y = 1; int y = 2; }", "there are two variables `y` here"),
    ("#if 1\n#else\n#else\n#endif\n", "`#else` after `#else`"),
    ("#if 1\n#else\n#elif 1\n#endif\n", "`#elif` after `#else`"),
    ("__global__ void (int *x) { }", "this function has no name"),
];

#[test]
fn mistakes_are_reported() {
    for (source, expected) in MISTAKES {
        let diagnostics = match compile(source, &Options::default()) {
            Err(diagnostics) => diagnostics,
            Ok(ptx) => panic!("this compiles:\n{source}\n{}", ptx.text),
        };
        let first = &diagnostics[0];
        assert_eq!(
            (first.message.as_str(), first.severity),
            (*expected, Severity::Error),
            "{source}"
        );
        let line = source.lines().nth(first.line - 1).unwrap_or_default();
        assert_eq!(first.text, line, "{source}: the line is shown");
        assert!(
            first.column <= line.chars().count() + 1 && first.width >= 1,
            "{source}: {first:?}"
        );
    }
}
