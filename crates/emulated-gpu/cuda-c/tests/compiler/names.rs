//! Tests that the names in PTX are valid, and equal to the names that NVRTC gives.

use crate::kernel::{compile, run, word, words};
use crate::reference::{compile_with_nvrtc, nvrtc};

/// The kernels of a PTX module.
fn entries(text: &str) -> Vec<&str> {
    let entry = |line: &&str| line.contains(".entry ");
    let mut names: Vec<&str> = text
        .lines()
        .filter(entry)
        .filter_map(|line| line.split(".entry ").nth(1)?.split('(').next())
        .collect();
    names.sort_unstable();
    names
}

/// An unnamed struct, union or enum takes the name of its alias, as in C++.
#[test]
fn unnamed_types_take_the_names_of_their_aliases() {
    let source = "typedef struct { float x, y; } Point;
        using Other = struct { int a; };
        typedef enum { A, B } Letter; using Digit = enum { C, D };
        typedef union { int a; float b; } Bits;
        typedef struct Tag { int t; } Tagged;
        namespace ns { typedef struct { int z; } In; enum E { P, Q }; enum class F { X, Y }; struct S { int a; }; }
        enum class G : int { R, S };
        template <class T> __global__ void t(T *p) { p[0] = p[1]; }
        template __global__ void t<Point>(Point *); template __global__ void t<Other>(Other *);
        template __global__ void t<Letter>(Letter *); template __global__ void t<ns::In>(ns::In *);
        __global__ void a(Point *p, const Other *q, Letter e, Digit f, Bits u, ns::In n, Tagged *w) {
            p[0].x = e + f + u.a + n.z + q->a; w->t = 1;
        }
        __global__ void by_value(Point p, float *o) { o[0] = p.x + p.y; }
        template <ns::E e> __global__ void k1(int *p) { *p = e; }
        template <ns::F e, ns::F g> __global__ void k2(int *p) { *p = (int)e + (int)g; }
        template <G g> __global__ void k3(int *p) { *p = (int)g; }
        template <class T> __global__ void k4(T (*p)[4]) { p[0][1] = p[1][0]; }
        template __global__ void k1<ns::Q>(int *);
        template __global__ void k2<ns::F::Y, ns::F::X>(int *);
        template __global__ void k3<G::S>(int *);
        template __global__ void k4<ns::S>(ns::S (*)[4]);
        __global__ void k5(ns::S (*p)[4], ns::E (*q)[2]) { p[0][1] = p[1][0]; q[0][0] = q[1][0]; }";
    let own = compile(source);
    assert_eq!(
        entries(&own),
        [
            "_Z1aP5PointPK5Other6Letter5Digit4BitsN2ns2InEP3Tag",
            "_Z1tI5OtherEvPT_",
            "_Z1tI5PointEvPT_",
            "_Z1tI6LetterEvPT_",
            "_Z1tIN2ns2InEEvPT_",
            "_Z2k1ILN2ns1EE1EEvPi",
            "_Z2k2ILN2ns1FE1ELS1_0EEvPi",
            "_Z2k3IL1G1EEvPi",
            "_Z2k4IN2ns1SEEvPA4_T_",
            "_Z2k5PA4_N2ns1SEPA2_NS_1EE",
            "_Z8by_value5PointPf",
        ]
    );
    if let Some(nvrtc) = nvrtc() {
        assert_eq!(entries(&compile_with_nvrtc(nvrtc, source)), entries(&own));
    }
}

/// A type without any name gets some name in PTX.
#[test]
fn types_without_a_name_compile() {
    for source in [
        "typedef struct { int r; } *Ptr; __global__ void k(Ptr p) { p->r = 1; }",
        "typedef const struct { int r; } Fixed; __global__ void k(Fixed *p, int *o) { *o = p->r; }",
        "enum { K = 3 }; template <class T> __device__ __noinline__ int f(T v) { return v + 2; }
         __global__ void k(int *p) { p[0] = f(K); }",
        "typedef struct { float x, y; } Point; __device__ Point points[4]; __constant__ Point c;
         __global__ void k(float *o) { __shared__ Point s[32]; s[threadIdx.x] = points[threadIdx.x & 3]; __syncthreads(); o[0] = s[1].x + c.y; }",
        "typedef struct { float x, y; } Point;
         __device__ __noinline__ float f(Point *p, int n) { return n ? f(p + 1, n - 1) : p->x; }
         __global__ void k(float *o) { Point q[3] = {{1, 2}, {3, 4}, {5, 6}}; o[0] = f(q, (int)o[0]); }",
        "__device__ int größer(int x); __device__ __noinline__ int größer(int x) { return x > 3; }
         __global__ void k(int *p) { __shared__ int zähler; zähler = p[1]; p[0] = größer(zähler); }",
    ] {
        assert!(compile(source).is_ascii(), "{source}");
    }
}

/// The host couldn't find a kernel or variable whose name isn't valid in PTX.
#[test]
fn names_that_are_invalid_in_ptx_are_errors() {
    for source in [
        "__global__ void größe(int *p) { *p = 1; }",
        "__device__ int größe; __global__ void k(int *p) { *p = größe; }",
    ] {
        let found = cuda_c::compile(source, &cuda_c::CompileOptions::default()).unwrap_err();
        let expected = "has a letter that PTX doesn't allow in names";
        assert!(found[0].message.contains(expected), "{}", found[0]);
    }
}

/// The name of the local memory doesn't hide a variable with the same name.
#[test]
fn local_memory_hides_no_variable() {
    let source = "__device__ int local_0 = 5;
        extern \"C\" __global__ void k(int *p, int n) {
            int own[4];
            for (int i = 0; i < 4; i++) own[i] = p[i];
            p[0] = own[n & 3] * 100 + local_0;
        }";
    let arguments = [words(&[1, 2, 3, 4]), word(2)];
    let (memory, _) = run(&compile(source), "k", ([1; 3], [1; 3]), &arguments);
    assert_eq!(crate::kernel::as_words(&memory[0])[0], 305);
}

/// Variables are found in the PTX by their names: variables in registers, and parameters.
#[test]
fn registers_have_the_names_of_their_variables() {
    let source = "extern \"C\" __global__ void sum(unsigned n, const float *x, float *out) {
            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
            float total = 0.0f;
            for (unsigned k = i; k < n; k += blockDim.x) total += x[k];
            out[i] = total;
        }";
    let ptx = cuda_c::compile(source, &cuda_c::CompileOptions::default()).unwrap();
    let named = |register: &str| {
        let one = ptx.variables.iter().find(|one| one.register == register)?;
        Some(one.name.as_str())
    };
    assert_eq!(named("sum_param_1"), Some("x"));
    let written = |start: &str| {
        let line = ptx.text.lines().find(|line| line.trim().starts_with(start)).unwrap();
        line.split_whitespace().nth(1).unwrap().trim_end_matches(',')
    };
    assert_eq!(named(written("mad.lo")), Some("i"), "{}", ptx.text);
    assert_eq!(named(written("add.f32")), Some("total"), "{}", ptx.text);
}
