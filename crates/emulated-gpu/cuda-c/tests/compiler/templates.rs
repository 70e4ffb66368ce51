//! Struct templates, member functions and namespaces.

use cuda_c::{CompileOptions, Severity, compile};

use crate::kernel::compile as text_of;
use crate::language::check;

const VECTOR: &str = "template <typename T, int N> struct Vector {
    static constexpr int size = N;
    using type = T;
    enum { twice = 2 * N };
    T values[N];
    __device__ T &operator[](int i) { return values[i]; }
    __device__ const T &operator[](int i) const { return values[i]; }
    __device__ T sum() const { T s = 0; for (int i = 0; i < size; ++i) s += values[i]; return s; }
    __device__ static Vector all(T v) { Vector r; for (int i = 0; i < N; ++i) r[i] = v; return r; }
    __device__ Vector operator+(const Vector &o) const {
        Vector r;
        for (int i = 0; i < N; ++i) r[i] = values[i] + o[i];
        return r;
    }
    __device__ bool operator==(const Vector &o) const { return sum() == o.sum(); }
    template <typename U> __device__ U times(U by) const { return (U)values[1] * by; }
};
template <typename T, int N> __device__ T dot(const Vector<T, N> &a, const Vector<T, N> &b) {
    T s = 0;
    for (int i = 0; i < N; ++i) s += a[i] * b[i];
    return s;
}
template <typename V> __device__ typename V::type first(const V &v) { return v[0]; }
__device__ Vector<int, 3> counted(int from) { Vector<int, 3> v; for (int i = 0; i < 3; ++i) v[i] = from + i; return v; }";

#[test]
fn struct_templates_are_instantiated() {
    check(
        VECTOR,
        &[
            ("Vector<int, 4>::size + zero", 4),
            ("Vector<short, 5>::twice + (int)sizeof(Vector<short, 5>)", 20),
            ("Vector<int, 4>::all(zero + 3).sum()", 12),
            ("(counted(zero) + counted(10)).sum()", 36),
            ("(counted(zero) + counted(10))[2]", 14),
            ("dot(counted(zero + 1), counted(2))", 20),
            ("first(counted(zero + 7))", 7),
            ("(int)(first(Vector<float, 2>::all(2.5f)) * 2)", 5),
            ("counted(zero) == counted(0)", 1),
            ("counted(zero).size", 3),
            ("(int)(counted(zero).times(2.5f) * 2)", 5),
        ],
    );
}

#[test]
fn templates_can_be_specialised() {
    check(
        "template <typename T> struct Code { static constexpr int value = 1; };
         template <> struct Code<int> { static constexpr int value = 2; };
         template <typename T> struct Code<T *> { static constexpr int value = 10 + Code<T>::value; };
         template <typename T, int N> struct Code<T[N]> { static constexpr int value = 100 * N; };
         template <int N> struct Factorial { static constexpr int value = N * Factorial<N - 1>::value; };
         template <> struct Factorial<0> { static constexpr int value = 1; };
         template <typename A, typename B> struct Same { static constexpr bool value = false; };
         template <typename A> struct Same<A, A> { static constexpr bool value = true; };
         template <typename T> __device__ int kind(T) { return 1; }
         template <> __device__ int kind<float>(float) { return 2; }
         template <typename T> struct Later;
         template <> struct Later<char> { int a = 6; };",
        &[
            ("Code<float>::value + zero", 1),
            ("Code<int>::value + zero", 2),
            ("Code<int *>::value + zero", 12),
            ("Code<float **>::value + zero", 21),
            ("Factorial<5>::value + zero", 120),
            ("Same<int, int>::value + 2 * Same<int, unsigned>::value + zero", 1),
            ("kind(zero)", 1),
            ("kind(1.0f + zero)", 2),
            ("(int)sizeof(Later<char>) + zero", 4),
        ],
    );
}

#[test]
fn member_functions_can_be_called() {
    check(
        "struct Pair {
             int a, b;
             __device__ Pair() : a(1), b(2) {}
             __device__ Pair(int x) : a(x), b{x + 1} { b += 10; }
             __device__ Pair(int x, int y) : a(x), b(y) {}
             __device__ int sum() const { return a + b; }
             __device__ Pair &operator+=(const Pair &o) { a += o.a; b += o.b; return *this; }
             __device__ int twice() const { return 2 * sum(); }
             __device__ operator int() const { return a; }
         };
         struct Add { __device__ int operator()(int a, int b) const { return a + b; } };
         struct Less { static __device__ bool holds(int a, int b) { return a < b; } };
         template <typename F> __device__ int fold(F f, int n) { int s = 0; for (int i = 1; i <= n; ++i) s = f(s, i); return s; }
         template <typename C> __device__ int best(int a, int b) { return C::holds(a, b) ? a : b; }
         template <typename F> struct Holder { F inner; __device__ int call(int a) { return inner(a, a); } };
         __device__ int of(Pair p) { return p.sum(); }
         __device__ int made(int x) { Pair p, q(x), r = x, s{x, 5}; p += q; p += r; p += s; return p.sum(); }
         __device__ int copied(int x) {
             int from[4] = {x, x + 1, x + 2, 9}, to[4];
             memcpy(to, from, 3 * sizeof(int));
             memset(&to[3], 0, sizeof(int));
             return to[0] + to[1] + to[2] + to[3];
         }
         __device__ int held(int x) { Holder<Add> h; return h.call(x); }",
        &[
            ("Pair().sum() + zero", 3),
            ("Pair(zero + 4).sum()", 19),
            ("Pair{zero + 4, 6}.twice()", 20),
            ("made(zero + 1)", 35),
            ("of(zero + 2)", 15),
            ("fold(Add{}, zero + 4)", 10),
            ("best<Less>(zero + 4, 3)", 3),
            ("held(zero + 8)", 16),
            ("Pair(zero + 4) * 2 + (int)Pair{3, 9}", 11),
            ("copied(zero + 1)", 6),
        ],
    );
}

#[test]
fn names_are_found_in_namespaces() {
    check(
        "namespace one { namespace two {
             __device__ int f() { return 1; }
             enum class Color { red, green = 5 };
             __device__ int level = 3;
         } __device__ int g() { return two::f() + 10; } }
         namespace { __device__ int hidden() { return 7; } }
         namespace three::four { __device__ int f() { return 4; } template <typename T> __device__ T id(T x) { return x; } }
         namespace short_name = three::four;
         using one::two::level;
         __device__ int inside() { namespace local = one::two; using namespace three::four; return local::f() + id(20); }",
        &[
            ("one::two::f() + zero", 1),
            ("::one::g() + zero", 11),
            ("short_name::f() + zero", 4),
            ("hidden() + zero", 7),
            ("(int)one::two::Color::green + zero", 5),
            ("level + zero", 3),
            ("inside() + zero", 21),
            ("std::max(zero, 2)", 2),
        ],
    );
}

/// Kernels get the names that NVRTC gives them.
#[test]
fn kernels_have_the_mangled_names_of_nvrtc() {
    let text = text_of(
        "template <typename T, int N> struct Vector { T v[N]; };
         namespace own { namespace inner { struct Pair { int a; }; }
         template <typename T> __global__ void named(T *x, inner::Pair *p, Vector<float, 2> v) { x[0] = p->a; }
         template __global__ void named<float>(float *, inner::Pair *, Vector<float, 2>);
         __device__ int variable = 3;
         __global__ void plain(int *x, inner::Pair *p, inner::Pair *q) { x[0] = variable; } }",
    );
    for name in [
        ".entry _ZN3own5namedIfEEvPT_PNS_5inner4PairE6VectorIfLi2EE(",
        ".entry _ZN3own5plainEPiPNS_5inner4PairES3_(",
        "_ZN3own8variableE[4]",
    ] {
        assert!(text.contains(name), "{name}\n{text}");
    }
}

#[test]
fn functions_that_may_end_without_a_value_give_a_warning() {
    let warned = |body: &str| {
        let source = format!(
            "__device__ int f(int a) {{ {body} }} __global__ void k(int *x) {{ x[0] = f(x[1]); }}"
        );
        let ptx = compile(&source, &CompileOptions::default())
            .unwrap_or_else(|all| panic!("{source}: {all:?}"));
        let warnings = ptx.warnings;
        assert!(warnings.iter().all(|warning| warning.severity == Severity::Warning));
        warnings.iter().any(|warning| warning.message.contains("may end without returning a value"))
    };
    for body in [
        "if (a) return 1;",
        "while (a) { --a; }",
        "for (;;) { if (a) break; }",
        "switch (a) { case 1: return 2; }",
    ] {
        assert!(warned(body), "{body}");
    }
    for body in [
        "return 1;",
        "if (a) return 1; else { return 2; }",
        "for (;;) { if (a) return 3; }",
        "switch (a) { case 1: return 2; default: return 3; }",
        "__trap();",
        "again: if (a) return 1; --a; goto again;",
    ] {
        assert!(!warned(body), "{body}");
    }
}
