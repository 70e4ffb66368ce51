//! Small kernels that NVRTC accepts, with their expected results. NVRTC's results must be equal,
//! too.

use crate::kernel::{Argument, as_words, compile_with, run, words};
use crate::reference::{both, nvrtc};

/// Runs `k(unsigned *x)` in one block, and compares `x[0..]` with the expected values. Initially,
/// `x` has 10, 20, …, 80, and zeros.
fn check(source: &str, threads: u32, expected: &[u32]) {
    let mut memory = vec![0; 64];
    for (index, word) in memory.iter_mut().take(8).enumerate() {
        *word = 10 * (index as u32 + 1);
    }
    let source = format!("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n{source}");
    let found = both(&source, "k", ([1; 3], [threads, 1, 1], 1024), &[words(&memory)]);
    let found = as_words(&found[0]);
    assert_eq!(found[..expected.len()], *expected, "{source}");
}

/// Checks a kernel that runs in one thread. `before` is the source text before the kernel.
fn check_one_thread(before: &str, body: &str, expected: &[u32]) {
    let source = format!("{before}\nextern \"C\" __global__ void k(unsigned *x) {{ {body} }}");
    check(&source, 1, expected);
}

#[test]
fn functions_with_the_name_of_a_built_in_one() {
    check_one_thread(
        "__device__ float atomicMax(float *a, float v) { return __int_as_float(atomicMax((int *)a, __float_as_int(v))); }",
        "float *f = (float *)x; f[0] = 1.5f; x[1] = (unsigned)(2 * atomicMax(f, 3.5f)); x[0] = (unsigned)(2 * f[0]);
         x[2] = atomicMax(x + 3, 90u); x[4] = atomicMax((int *)x + 3, 95); x[4] += x[3];",
        &[7, 3, 40, 95, 185],
    );
    check_one_thread(
        "__device__ float4 make_float4(float s) { return make_float4(s, s, s, s); }
         __device__ float3 make_float3(float4 a) { return make_float3(a.x, a.y, a.z); }",
        "float4 a = make_float4(2.f), b = make_float4(1, 2, 3, 4); float3 c = make_float3(b);
         x[0] = a.w; x[1] = b.w; x[2] = c.z; x[3] = make_float4(7).y;",
        &[2, 4, 3, 7],
    );
    check_one_thread(
        "struct V { float a, b; }; __device__ V max(V p, V q) { return p.a > q.a ? p : q; }
         __device__ int min(int a, int b, int c) { return min(min(a, b), c); }",
        "V p = {1, 2}, q = {3, 4}; x[0] = max(p, q).b; x[1] = max(x[2], x[3]); x[2] = (unsigned)max(1.5f, 2.5f);
         x[3] = min(3, 2, 1); x[4] = min(7, 5);",
        &[4, 40, 2, 1, 5],
    );
    // A function with the same parameter types hides the built-in function. A template is only used
    // if it fits better.
    check_one_thread(
        "template <class T> __device__ T max(T a, T b) { return a > b ? a + 100 : b + 100; }
         __device__ float fminf(float a, float b) { return a < b ? a : b + 7; }
         __device__ float expf(float a) { return a + 1; }
         __device__ float rsqrt(float a) { return a * 2; }",
        "short s = x[0], t = x[1]; x[0] = max(x[1], x[2]); x[1] = max(s, t); x[2] = max<int>(1, 2); x[3] = fminf(4, 3);
         float f = x[7]; x[4] = expf(f); x[5] = rsqrt(f); x[6] = (unsigned)(expf(f) * 10 + powf(3.f, 2.f));",
        &[30, 120, 102, 10, 81, 160, 819],
    );
    check_one_thread(
        "struct V { float a, b; };
         __device__ V __ldg(const V *p) { V r; r.a = __ldg(&p->a); r.b = __ldg(&p->b); return r; }
         __device__ float2 atomicAdd(float2 *a, float2 v) { float2 r; r.x = atomicAdd(&a->x, v.x); r.y = atomicAdd(&a->y, v.y); return r; }
         __device__ float2 floor(float2 v) { return make_float2(floor(v.x), floorf(v.y)); }
         __device__ double atomicAdd(V *a, double v) { return a->a += v; }",
        "float *f = (float *)x; f[8] = 2; f[9] = 3; V v = __ldg((V *)(x + 8)); x[0] = v.a * 10 + v.b;
         float2 o = atomicAdd((float2 *)(x + 8), make_float2(1, 2)); x[1] = o.x + 10 * o.y + 100 * f[8] + 1000 * f[9];
         x[2] = floor(make_float2(1.5f, 2.5f)).y; x[3] = atomicAdd(f + 8, 1.f); x[4] = (unsigned)floor(5.5);",
        &[23, 5332, 2, 3, 5],
    );
    check(
        "struct V { unsigned a, b; };
         __device__ V __shfl_down_sync(unsigned m, V v, unsigned d) { V r; r.a = __shfl_down_sync(m, v.a, d); r.b = __shfl_down_sync(m, v.b, d); return r; }
         extern \"C\" __global__ void k(unsigned *x) {
             unsigned t = threadIdx.x; V v = {t, t * t}; v = __shfl_down_sync(~0u, v, 3); x[t] = v.a * 10 + v.b; }",
        32,
        &[39, 56, 75, 96],
    );
    // In a struct or a namespace, a function hides all outer functions with its name. `::` finds
    // the outermost ones.
    check_one_thread(
        "namespace my { __device__ float max(float a, float b) { return a + b; } __device__ float f(float a) { return max(a, 1.f); } }
         struct S { float v; __device__ float max(float o) const { return fmaxf(v, o) + 1; } __device__ float min() { return ::min(v, 1.f); }
                    __device__ float both() { return max(2.f) + min(); } };
         __device__ int n = 4; __device__ int f() { return 7; }
         struct F { __device__ int f() { return ::f() + 1; } };",
        "S s{5}; x[0] = my::f(2) + max(1.f, 2.f); x[1] = s.both(); int n = 1; x[2] = n * 10 + ::n; F f; x[3] = f.f();",
        &[5, 7, 14, 8],
    );
}

#[test]
fn addresses_in_a_memory_space() {
    check(
        "extern \"C\" __global__ void k(unsigned *x) {
             __shared__ unsigned s[64]; __shared__ float4 t[32]; unsigned l[2] = {threadIdx.x, 2};
             unsigned i = threadIdx.x; s[i] = i * 3; s[i + 32] = 0; __syncthreads();
             unsigned a = (unsigned)__cvta_generic_to_shared(&s[i]), v;
             asm volatile(\"ld.shared.u32 %0, [%1];\" : \"=r\"(v) : \"r\"(a));
             asm volatile(\"st.shared.u32 [%0], %1;\" :: \"r\"(a + 128), \"r\"(v + 1) : \"memory\");
             unsigned long long g = __cvta_generic_to_global(x + i);
             v += *(unsigned *)__cvta_shared_to_generic(a) * 1000 + s[i + 32] * 1000000;
             v += *(unsigned *)__cvta_local_to_generic(__cvta_generic_to_local(l)) * 100;
             v += __isGlobal(x) * 1 + __isShared(s) * 2 + __isLocal(l) * 4 + __isShared(x) * 8 + __isLocal(s) * 16 + __isConstant(x) * 32;
             *(unsigned *)__cvta_global_to_generic(g) = v; }",
        32,
        &[1_000_007, 4_003_110, 7_006_213],
    );
    check(
        "extern \"C\" __global__ void k(unsigned *x) {
             __shared__ uint4 t[4]; unsigned i = threadIdx.x;
             if (i < 4) {
                 unsigned a = __cvta_generic_to_shared(&t[i]);
                 asm volatile(\"cp.async.cg.shared.global [%0], [%1], %2;\\n\" :: \"r\"(a), \"l\"(x + 4 * i), \"n\"(16));
                 asm volatile(\"cp.async.commit_group;\\n\" ::);
                 asm volatile(\"cp.async.wait_group %0;\\n\" :: \"n\"(0));
             }
             __syncthreads();
             x[i] = i < 16 ? ((unsigned *)t)[15 - i] : 0; }",
        32,
        &[0, 0, 0, 0, 0, 0, 0, 0, 80, 70, 60, 50, 40, 30, 20, 10],
    );
    check(
        "extern \"C\" __global__ void k(unsigned *x) {
             __shared__ __align__(16) half t[256]; unsigned i = threadIdx.x;
             for (int j = i; j < 256; j += 32) t[j] = __float2half(j);
             __syncthreads();
             unsigned a = __cvta_generic_to_shared(&t[i % 16 * 16 + i / 16 * 8]), r[4];
             asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\" : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(a));
             float c[4] = {}; unsigned b[2] = {0x3c003c00u, 0x3c003c00u};
             asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"
                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \"r\"(r[0]), \"r\"(r[1]), \"r\"(r[2]), \"r\"(r[3]), \"r\"(b[0]), \"r\"(b[1]));
             x[i] = c[0] + c[2]; }",
        32,
        // The sums of rows 0 and 8, of 1 and 9, ….
        &[2288, 2288, 2288, 2288, 2800],
    );
}

#[test]
fn asm_has_results_inputs_and_constants() {
    check_one_thread(
        "template <int N> __device__ void add(unsigned *x) { asm volatile(\"add.u32 %0, %0, %1;\" : \"+r\"(*x) : \"n\"(N * 2)); }",
        "asm volatile(\"add.s32 %0, %0, %1;\" : \"+r\"(x[0]) : \"n\"(-5)); add<3>(x + 1);
         asm(\"mad.lo.u32 %0, %1, %2, %3;\" : \"=r\"(x[2]) : \"r\"(x[3]), \"n\"(sizeof(float4)), \"r\"(x[4]));
         constexpr unsigned N = 0xffffffffu; asm(\"add.u32 %0, %1, %2;\" : \"=r\"(x[5]) : \"r\"(x[6]), \"n\"(N));",
        &[5, 26, 690, 40, 50, 69],
    );
    // An early-clobber result shares no register with an input.
    check_one_thread(
        "",
        "unsigned v = x[0], w = 0;
         for (unsigned i = 0; i < 4; i++) {
             unsigned a, b;
             asm volatile(\"add.u32 %0, %2, 1; add.u32 %1, %2, 2;\" : \"=&r\"(a), \"=&r\"(b) : \"r\"(v));
             v = a; w = w * 3 + b;
         }
         x[0] = v; x[1] = w;
         v = x[2];
         for (unsigned i = 0; i < 4; i++) {
             unsigned t = i;
             asm volatile(\"add.u32 %0, %0, %1;\" : \"+r\"(t) : \"r\"(v));
             v = t;
         }
         x[2] = v;
         for (unsigned i = 0; i < 4; i++) {
             unsigned t = i;
             asm volatile(\"add.u32 %0, %0, %1; add.u32 %0, %0, %1;\" : \"+&r\"(t) : \"r\"(v));
             v = t;
         }
         x[3] = v;",
        &[14, 498, 36, 587],
    );
    check_one_thread(
        "",
        "unsigned a; asm volatile(\"mov.u32 %0, 3;\" : \"=r\"(a)::\"memory\"); x[0] = a;
         asm volatile(\"mov.u32 %0, 4;\" : \"=r\"(a) :: \"memory\"); x[1] = a; asm volatile(\"mov.u32 %0, 5;\" : \"=r\"(a) ::); x[2] = a;
         asm volatile(\"membar.gl;\":::\"memory\"); asm volatile(\"membar.gl;\": ::\"memory\"); asm volatile(\"membar.gl;\":: :\"memory\");
         asm volatile(\"\" ::: \"memory\");
         unsigned v = x[3] + 5, old; asm volatile(\"atom.global.add.u32 %0, [%2], %1;\" : \"=r\"(old) : \"r\"(v), \"l\"(x + 4) : \"memory\");
         x[5] = old + x[4]; unsigned long long w = x[6] + 5, q;
         asm volatile(\"atom.global.add.u64 %0, [%2], %1;\" : \"=l\"(q) : \"l\"(w), \"l\"(x + 8) : \"memory\"); x[6] = x[8];",
        &[3, 4, 5, 40, 95, 145, 75],
    );
}

#[test]
fn types_without_a_name() {
    check_one_thread(
        "typedef struct Node { int a; struct Node *next; } Node, *NodePointer; typedef struct { float x; } P, *PP;",
        "struct { int a, b; } v = {1, 2}, w; w = v; union { float f; unsigned u; }; f = 1.5f; enum { A = 3, B };
         enum class E : int { X = 4 } e = E::X; const struct { int a, b; } c = {5, 6}, d = {7, 8};
         struct { int a; float b; } t[3] = {{1, 2}, {3, 4}}; Node n = {9, nullptr}, m = {1, &n}; NodePointer p = &m; P q = {2}; PP r = &q;
         x[0] = v.a + w.b; x[1] = u; x[2] = A * 10 + B; x[3] = (int)e; x[4] = c.b * 10 + d.a; x[5] = t[1].a + t[2].a;
         x[6] = p->next->a + r->x; for (struct { int i, j; } s = {0, 1}; s.i < 2; s.i++) x[7] += s.j;",
        &[3, 0x3fc0_0000, 34, 4, 67, 3, 11, 82],
    );
    check_one_thread(
        "struct U { int tag; union { struct { float x, y; }; float v[2]; unsigned u; }; enum { K = 3 } kind; };
         struct W { union { float f; unsigned u; }; __device__ W(float a) : f(a) {} };
         struct V { union { struct { float x, y, z; }; float d[3]; }; __device__ float &operator[](int i) { return d[i]; } __device__ float sum() const { return x + y + z; } };
         template <class T> struct T2 { union { struct { T x, y; }; T d[2]; }; };
         struct D { union { float f = 2.5f; unsigned u; }; int n = 3; }; struct Made { int v; __device__ Made() : v(6) {} };
         struct Holds { D d; Made made[2]; int rest = 1; };",
        "U v = {1, {{2.f, 3.f}}, U::K}; U w = {4}; w.u = 5; v.x = v.y + v.v[0]; W k(1.5f); V a; a.x = 3; a[1] = 4; a.d[2] = 5;
         T2<float> f; f.x = 1; f.y = 2; T2<int> i; i.d[0] = 3; D d; x[0] = v.v[0] * 100 + v.kind * 10 + w.u; x[1] = k.u; x[2] = a.sum();
         x[3] = f.d[1] * 10 + i.x; x[4] = d.u; x[5] = d.n * 1000 + sizeof(U) * 10 + sizeof(V);
         Holds h; x[6] = h.d.n * 100 + h.made[1].v * 10 + h.rest;",
        &[535, 0x3fc0_0000, 12, 23, 0x4020_0000, 3172, 361],
    );
}

#[test]
fn conversion_operators() {
    check_one_thread(
        "struct S { unsigned *p; __device__ operator unsigned *() const { return p; } };
         template <class T> struct Two { T *p; __device__ operator T *() { return p; } __device__ operator const T *() const { return p; } };
         struct B { int n; __device__ explicit operator bool() const { return n != 0; } };
         enum E { A, C = 5 }; struct Of { __device__ operator E() const { return C; } };
         struct T { int v; }; struct To { int n; __device__ operator T() const { return T{n + 1}; } };
         __device__ unsigned first(const unsigned *q) { return q[0]; } __device__ int get(T t) { return t.v; }",
        "S s; s.p = x; unsigned *q = s; q[0] = 1; s[1] = 2; *s += 2; x[2] = first(s); unsigned *r = s + 3; *r = 4;
         x[4] = s ? (s == x) + (s - x) : 9; Two<unsigned> t{x}; unsigned *a = t; const unsigned *b = t; t[5] = a[0] + b[1];
         B y{3}, z{0}; x[6] = 0; if (y) x[6] += 1; if (!z) x[6] += 2; x[6] += z ? 4 : 8; Of o; E e = o; switch (o) { case C: x[7] = e; }
         To u{3}; T w = u; x[8] = w.v * 10 + get(u);",
        &[3, 2, 3, 4, 1, 5, 11, 5, 44],
    );
}

#[test]
fn constant_array_elements_and_members() {
    check_one_thread(
        "constexpr int T[3] = {2, 3, 5}; constexpr int Q[2][2] = {{1, 2}, {3, 4}}; struct P { int x, y; }; constexpr P p = {3, 4};
         constexpr P r[2] = {{1, 2}, {5, 6}}; struct S { static constexpr int T[3] = {2, 4, 8}; }; constexpr char text[] = \"abc\";
         __constant__ constexpr int K[2] = {6, 7}; __device__ constexpr float F[2] = {1.5f, 2.5f};
         struct V { int a, b; __host__ __device__ constexpr V(int x, int y) : a(x), b(y) {} __host__ __device__ constexpr int sum() const { return a + b; } };
         constexpr V v(1, 2); template <int N> __device__ int f() { return N; }",
        "constexpr int L[3] = {4, 6, 9}; constexpr float G = 3.5f; float a[T[1]], b[L[1]], c[S::T[2]], d[p.x], e[r[1].x], g[(int)(G * 2)];
         unsigned i = x[0] - 8; static_assert(T[2] == 5 && text[1] == 'b' && sizeof(text) == 4, \"\");
         x[0] = sizeof(a) + sizeof(b) * 100; x[1] = sizeof(c) + sizeof(d) * 100; x[2] = sizeof(e) + sizeof(g) * 100; x[3] = f<Q[1][0]>();
         x[4] = T[i] * 100 + L[i] * 10 + S::T[i]; switch (x[5]) { case L[2] * T[0] + 42: x[5] = 1; } x[6] = f<K[1]>() + (int)sizeof(int[(int)F[1]]);
         x[7] = f<v.sum()>();",
        &[2412, 1232, 2820, 3, 598, 1, 15, 3],
    );
}

#[test]
fn alignment_and_packing_attributes() {
    check_one_thread(
        "struct __attribute__((aligned(16))) A { float x, y, z; }; struct alignas(8) B { float x; };
         struct C { float x, y, z; } __attribute__((aligned(16))); typedef struct { char c; int i; } __attribute__((packed)) D;
         struct E { char c; __align__(16) float x; alignas(8) char d; float e __attribute__((aligned(32))); };
         struct alignas(float4) F { float x; }; template <class T, int N> struct __align__(sizeof(T) * N) G { T d[N]; };
         struct __attribute__((packed)) H { char c; int i; char d; }; struct __attribute__((aligned)) I { char c; };
         __device__ __align__(64) char bytes[3]; __device__ char between;",
        "E *e = 0; H h; h.c = 1; h.d = 2; H g = h; x[0] = sizeof(A) * 100 + sizeof(B); x[1] = sizeof(C) * 100 + sizeof(D);
         x[2] = sizeof(E) + (size_t)&e->x * 1000 + (size_t)&e->d * 100000; x[3] = (size_t)&e->e + sizeof(F) * 100;
         x[4] = alignof(G<double, 2>) + sizeof(H) * 100 + g.c * 10000 + g.d * 100000; x[5] = sizeof(I); x[6] = (size_t)bytes % 64;
         __shared__ char first; __shared__ float s[32] __attribute__((aligned(128))); x[7] = (size_t)s % 128; first = 1;",
        &[1608, 1208, 2_416_064, 1632, 210_616, 16, 0, 0],
    );
    check_one_thread(
        "template <int N> struct S { static_assert(N > 0, \"positive\"); static constexpr int M = N * 2; static_assert(M % 2 == 0); int v[N]; };
         union U { static_assert(sizeof(float) == 4, \"\"); float f; int i; };
         struct V { float x, y; V() = default; V(const V &) = default; V &operator=(const V &) = default; V(V &&) = default; V &operator=(V &&) = default;
                    ~V() = default; __device__ V(float a) : x(a), y(a) {} bool operator!=(const V &) const = delete; };",
        "S<3> s; s.v[0] = 1; U u; u.f = 1; V a(1), b, c(a); b = a; x[0] = s.v[0] + S<3>::M; x[1] = u.i; x[2] = b.x + c.y * 10;",
        &[7, 0x3f80_0000, 11],
    );
}

#[test]
fn shuffles_and_atomics_of_halves() {
    check(
        "extern \"C\" __global__ void k(unsigned *x) {
             unsigned t = threadIdx.x; half2 h = __floats2half2_rn(t, t + 100); __nv_bfloat16 b = __float2bfloat16(t); __nv_bfloat162 p = __floats2bfloat162_rn(t, 2 * t);
             half2 a = __shfl_sync(~0u, h, 5), c = __shfl_up_sync(~0u, h, 1), d = __shfl_down_sync(~0u, h, 2, 8), e = __shfl_xor_sync(~0u, h, 3);
             half s = __shfl_xor_sync(~0u, __low2half(h), 1);
             float f = __low2float(a) + __high2float(c) + __low2float(d) + __high2float(e) + __half2float(s);
             f += __bfloat162float(__shfl_sync(~0u, b, 7)) + __bfloat162float(__shfl_up_sync(~0u, b, 1u)) + __bfloat162float(__shfl_down_sync(~0u, b, 3, 16))
                  + __bfloat162float(__shfl_xor_sync(~0u, b, 9));
             f += __low2float(__shfl_xor_sync(~0u, p, 4)) + __high2float(__shfl_down_sync(~0u, p, 1));
             x[t] = f; }",
        32,
        &[236, 238, 250, 254],
    );
    check(
        "extern \"C\" __global__ void k(unsigned *x) {
             unsigned t = threadIdx.x;
             if (t < 16) x[t] = 0;
             __syncthreads();
             atomicAdd((half *)x, __float2half(0.5f)); atomicAdd((half *)x + 1, __float2half(t)); atomicAdd((half2 *)(x + 1), __floats2half2_rn(1, t));
             atomicAdd((__nv_bfloat16 *)(x + 2), __float2bfloat16(1)); atomicAdd((__nv_bfloat162 *)(x + 3), __floats2bfloat162_rn(2, 0.25f));
             unsigned short *w = (unsigned short *)(x + 4) + 1, old = atomicCAS(w, (unsigned short)0, (unsigned short)(t + 1));
             atomicMax(x + 5, (unsigned)old); if (old == 0) x[6] = *w == t + 1; }",
        32,
        &[0x5fc0_4c00, 0x5fc0_5000, 0x4200, 0x4100_4280],
    );
}

/// A kernel's parameters may have at most 32,764 bytes. The kernel has a struct and, after it, an
/// address.
#[test]
fn parameters_may_have_32764_bytes() {
    let source = "struct S { unsigned v[8188]; };
        extern \"C\" __global__ void k(S s, unsigned *x) { x[0] = s.v[0]; x[1] = s.v[8187]; x[2] = s.v[x[3]]; }";
    let bytes = (0..8188u32).flat_map(|v| (v * 3).to_le_bytes()).collect();
    let arguments = [Argument::Value(bytes), words(&[0, 0, 0, 5000])];
    let found = both(source, "k", ([1; 3], [1; 3], 0), &arguments);
    assert_eq!(as_words(&found[0])[..3], [0, 3 * 8187, 15_000]);
}

/// Before sm_53, halves are computed in float.
#[test]
fn halves_without_instructions() {
    let source = "#include <cuda_fp16.h>
        extern \"C\" __global__ void k(unsigned *x) {
            half a = __float2half(1.5f), b = __float2half(0.25f); half2 c = __hadd2(__halves2half2(a, b), __half2half2(b));
            x[0] = __half2float(__hadd(a, b)) * 100; x[1] = __half2float(__hmul(a, b)) * 1000; x[2] = __half2float(a * b - b) * 1000;
            x[3] = __high2float(c) * 100 + __hlt(b, a) + __half2int_rz(a) * 10; }";
    for arch in [50, 52, 53, 80] {
        let options = cuda_c::CompileOptions { arch, ..cuda_c::CompileOptions::default() };
        let text = compile_with(source, &options);
        assert_eq!(text.contains("add.f16"), arch >= 53, "{text}");
        let (found, _) = run(&text, "k", ([1; 3], [1; 3]), &[words(&[0; 4])]);
        assert_eq!(as_words(&found[0]), [175, 375, 125, 61], "{arch}");
        let nvrtc = nvrtc().and_then(|nvrtc| {
            let target = format!("--gpu-architecture=compute_{arch}");
            nvrtc.compile(source, &[target.as_str(), "-w"]).ok()
        });
        if let Some(theirs) = nvrtc {
            assert_eq!(run(&theirs, "k", ([1; 3], [1; 3]), &[words(&[0; 4])]).0, found, "{arch}");
        }
    }
    // Atomic sums of halves need newer architectures.
    let atomic = "#include <cuda_fp16.h>
        extern \"C\" __global__ void k(half *x, half2 *y) { atomicAdd(y, y[1]); atomicAdd(x, x[1]); }";
    let options = cuda_c::CompileOptions { arch: 60, ..cuda_c::CompileOptions::default() };
    let errors = cuda_c::compile(atomic, &options).unwrap_err();
    assert!(errors[0].to_string().contains("`atomicAdd` of `__half` needs sm_70"), "{}", errors[0]);
    for (arch, wanted) in [(70, "atom.global.add.noftz.f16x2"), (90, "atom.add.noftz.bf16")] {
        let source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>
            extern \"C\" __global__ void k(half2 *x, __nv_bfloat16 *y) { atomicAdd(x, x[1]); atomicAdd(y, y[1]); }";
        let options = cuda_c::CompileOptions { arch, ..cuda_c::CompileOptions::default() };
        let text = compile_with(source, &options);
        let plain = wanted.replace(".global", "");
        assert!(text.contains(wanted) || text.contains(&plain), "{wanted}\n{text}");
    }
}

/// NVRTC has no math.h, so the expected values are those of glibc and math_constants.h.
#[test]
fn mathematical_constants() {
    let source = "#include <math.h>
        #include <math_constants.h>
        #include <stdint.h>
        #include <float.h>
        const float M_LN10 = 7;
        extern \"C\" __global__ void k(unsigned *x) {
            x[0] = (unsigned)(M_LOG2E * 1e6); x[1] = (unsigned)(M_2_SQRTPI * 1e6 + M_1_PI * 1e6); x[2] = (unsigned)M_LN10;
            x[3] = __float_as_uint(CUDART_SQRT_TWO_F); x[4] = __double2hiint(CUDART_LN2_HI); x[5] = __float_as_uint(CUDART_NEG_ZERO_F);
            x[6] = (unsigned)(UINT64_C(5) + INT8_MAX + FLT_DIG); bool b = x[0] > 1 and not (x[1] > 1u << 30) or false; x[7] = b; }";
    let text = crate::kernel::compile(source);
    let (found, _) = run(&text, "k", ([1; 3], [1; 3]), &[words(&[0; 8])]);
    let expected = [1_442_695, 1_446_689, 7, 0x3fb5_04f3, 0x3fe6_2e42, 0x8000_0000, 138, 1];
    assert_eq!(as_words(&found[0]), expected);
}

#[test]
fn member_function_templates() {
    check_one_thread(
        "template <int N> struct Mat { float d[N][N]; __device__ float &operator()(int i, int j) { return d[i][j]; }
             template <int M> __device__ float tr() const { float s = 0; for (int i = 0; i < M; i++) s += d[i][i]; return s; }
             template <class T> __device__ T as(int i) const { return (T)d[i][0]; } };",
        "Mat<3> m = {}; for (int i = 0; i < 3; i++) m(i, i) = i + 1.5f; Mat<3> *p = &m;
         x[0] = m.tr<3>() * 10; x[1] = p->template tr<2>() * 10; x[2] = m.as<int>(0) < 2; x[3] = m.as<float>(0) * 10;",
        &[75, 40, 1, 15],
    );
}

#[test]
fn attributes_pragmas_and_characters() {
    check_one_thread(
        "[[nodiscard]] __device__ float f([[maybe_unused]] float a) { return 1; }
         #define CLASS 'S'
         #if CLASS == 'S' && ('\\n' == 10) && ('\\x41' == 'A') && (L'a' == 97) && ('\\377' < 0) && 'ab' == 24930 && u8'a' == 97
         #define N 4
         #else
         #define N 5
         #endif
         #if -1 > 0u && (~0u >> 1) > 0 && __has_include(<cuda_fp16.h>) && !__has_include(\"nope.h\")
         #define M 6
         #endif",
        "[[maybe_unused]] int z = 3; x[0] = N * 10 + M;
         _Pragma(\"unroll\") for (int i = 0; i < 3; i++) x[1] += i;
         #pragma unroll(2)
         for (int i = 0; i < 3; i++) x[2] += i;
         switch (x[3]) { case 40: x[3] = 1; [[fallthrough]]; default: x[3] += 9; } x[4] = f(2);",
        &[46, 23, 33, 10, 1],
    );
}
