//! Sources that must be rejected: some use features that only NVRTC supports, the others have
//! mistakes that NVRTC also finds.

use cuda_c::{Options, compile};

/// Sources, and a part of the first error message.
const REFUSED: &[(&str, &str)] = &[
    (
        "template <typename T> __global__ void k(T *x, int n) { }\ntemplate __global__ void k(float *, float);",
        "no kernel `k` has these template parameters",
    ),
    (
        "__global__ void k(float *x) { float a[4] = {}; for (float v : a) x[0] += v; }",
        "range-based `for` isn't supported",
    ),
    (
        "__global__ void k(float *x) { for (auto &v : {1, 2}) x[v] = x[0] > 0 ? 1 : 2; }",
        "range-based `for` isn't supported",
    ),
    (
        "template <typename T> __global__ void k(T *x) { extern __shared__ T s[]; x[0] = s[0]; }\n\
         template __global__ void k(float *);\ntemplate __global__ void k<double>(double *);",
        "`s` has elements of type `double` here, and `float` where it was declared before",
    ),
    (
        "extern __shared__ float s[];\n__global__ void k(int *x) { extern __shared__ volatile float s[]; x[0] = s[0]; }",
        "`s` has elements of type `volatile float` here, and `float` where it was declared before",
    ),
    (
        "__global__ void k(unsigned *x, int n) { asm volatile(\"add.u32 %0, %0, %1;\" : \"+r\"(x[0]) : \"n\"(n)); }",
        "an operand \"n\" of asm has to be known",
    ),
    (
        "__global__ void k(unsigned *x) { asm(\"mov.u32 %[o], 1;\" : [o]\"=r\"(x[0])); }",
        "named operands of `asm` aren't supported",
    ),
    (
        "__global__ void k(int *x) { asm goto(\"bra %l0;\" :::: out); out: ; }",
        "`asm goto` isn't supported",
    ),
    (
        "struct P { int a, b; }; __global__ void k(P *p, int *x) { auto [a, b] = p[0]; x[0] = a + b; }",
        "structured bindings aren't supported",
    ),
    ("asm(\".global .u32 g;\");", "`asm` outside of functions isn't supported"),
    (
        "struct __attribute__((packed)) P { char c; int i; }; __global__ void k(P *p) { p->i = 1; }",
        "`i` isn't aligned in `P`, which is packed",
    ),
    (
        "typedef float F __attribute__((aligned(16))); __global__ void k(F *x) { }",
        "a `typedef` with an alignment isn't supported",
    ),
    (
        "struct S { int n; template <class T> __device__ operator T() const { return n; } };",
        "conversion templates aren't supported",
    ),
    ("struct S { int n; __device__ S(); };", "members can only be defined in their struct"),
    (
        "struct S { char v[32764]; }; __global__ void k(S s, char *x) { x[0] = s.v[1]; }",
        "32776 bytes of parameters; a kernel has 32764 on sm_80",
    ),
    (
        "template <int N> struct S { static_assert(N > 3, \"more\"); int v[N]; }; __global__ void k(int *x) { S<3> s; s.v[0] = x[0]; }",
        "more",
    ),
    (
        "__global__ void k(short *x) { atomicCAS(x, (short)1, (short)2); }",
        "`atomicCAS` isn't for `short`",
    ),
];

#[test]
fn unsupported_features_are_named() {
    for (source, expected) in REFUSED {
        let Err(problems) = compile(source, &Options::default()) else {
            panic!("this compiles:\n{source}");
        };
        assert!(problems[0].message.contains(expected), "{source}\n{}", problems[0]);
    }
}

/// NVRTC also rejects the wrong sources.
#[test]
fn nvrtc_rejects_mistakes_too() {
    let Some(nvrtc) = crate::reference::nvrtc() else { return };
    for part in
        ["where it was declared before", "has to be known", "isn't for `short`", "no kernel `k`"]
    {
        let own = REFUSED.iter().filter(|(_, message)| message.contains(part));
        for (source, _) in own {
            let found =
                nvrtc.compile(source, &["--gpu-architecture=compute_80", "--std=c++17", "-w"]);
            assert!(found.is_err(), "{source}");
        }
    }
}

/// The library checks the architecture itself, as not every caller does.
#[test]
fn unknown_architectures_are_errors() {
    for arch in [0, 20, 49, 79, 91, 429_496_730, u32::MAX] {
        let options = cuda_c::Options { arch, ..cuda_c::Options::default() };
        let refused = cuda_c::compile("__global__ void nothing() {}", &options).unwrap_err();
        assert_eq!(refused[0].message, format!("there is no architecture sm_{arch}"));
        assert!(refused[0].to_string().contains("compile for one of 50, 52, "), "{}", refused[0]);
    }
    for arch in cuda_c::ARCHITECTURES {
        let options = cuda_c::Options { arch, ..cuda_c::Options::default() };
        let made = cuda_c::compile("__global__ void nothing() {}", &options).unwrap();
        assert!(made.text.contains(&format!(".target sm_{arch}\n")), "{}", made.text);
    }
}
