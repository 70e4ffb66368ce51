//! The parts of the language, in small kernels with known results.

use crate::kernel::{Argument, as_floats, as_words, compile, run, run_with, words};

/// Runs a kernel `k(int *out, …)` with one block of threads and returns the contents of `out`.
fn results(body: &str, threads: u32, count: usize) -> Vec<i32> {
    let text = compile(body);
    let (memory, _) = run(&text, "k", ([1, 1, 1], [threads, 1, 1]), &[words(&vec![0; count])]);
    as_words(&memory[0]).into_iter().map(|word| word as i32).collect()
}

/// Checks the values of expressions of type `int`.
pub(crate) fn check(before: &str, expressions: &[(&str, i32)]) {
    let mut source = format!("{before}\nextern \"C\" __global__ void k(int *out, int zero) {{\n");
    for (index, (expression, _)) in expressions.iter().enumerate() {
        source.push_str(&format!("    out[{index}] = {expression};\n"));
    }
    source.push('}');
    let text = compile(&source);
    let arguments = [words(&vec![0; expressions.len()]), crate::kernel::word(0)];
    let (memory, _) = run(&text, "k", ([1, 1, 1], [1, 1, 1]), &arguments);
    for ((expression, expected), found) in expressions.iter().zip(as_words(&memory[0])) {
        assert_eq!(found as i32, *expected, "{expression}\n{text}");
    }
}

#[test]
fn a_linkage_block_holds_any_items_also_another_block() {
    // PyCUDA puts every source into such a block.
    let source = "extern \"C\" {
        #pragma once
        static_assert(sizeof(int) == 4);
        using Number = int;
        extern \"C++\" { __device__ Number twice(Number x) { return 2 * x; }
            template <typename T> __device__ T thrice(T x) { return 3 * x; } }
        extern \"C\" {
            __device__ Number last;
            __global__ void k(Number *out) { last = 1; out[0] = twice(3) + thrice(5) + last; }
        }
        __global__ void unused(Number *out) { }
        }";
    let text = compile(source);
    assert!(text.contains(".entry unused("), "{text}");
    assert!(text.contains(".entry k("), "{text}");
    assert_eq!(results(source, 1, 1), [22]);
}

#[test]
fn promotions_and_conversions() {
    check(
        "",
        &[
            ("(unsigned char)(200 + zero) + (unsigned char)(100 + zero)", 300),
            ("(char)(200 + zero)", -56),
            ("(signed char)(128 + zero)", -128),
            ("(short)(70000 + zero)", 4464),
            ("(unsigned short)(-1 + zero)", 65535),
            ("-1 + zero < 1u", 0),
            ("(long long)(-1 + zero) < 1u", 1),
            ("(int)(((unsigned)(zero - 1)) >> 28)", 15),
            ("(zero - 16) >> 2", -4),
            ("(-7 + zero) / 2", -3),
            ("(-7 + zero) % 2", -1),
            ("(int)((7u + zero) / 2u)", 3),
            ("(int)(-3.9f + zero)", -3),
            ("(int)3.9 + zero", 3),
            ("(bool)(zero + 5)", 1),
            ("(zero + 5) && zero", 0),
            ("!(zero + 5)", 0),
            ("~(zero + 5)", -6),
            ("(int)sizeof(long) + zero", 8),
            ("'a' + zero", 97),
            ("zero ? 1 : 2.5 > 2", 1),
            ("(zero + 1, zero + 2)", 2),
            ("(int)(1ull << (zero + 40) >> 38)", 4),
            ("0x10 + 010 + 0b11 + zero", 27),
            ("(int)(5 + zero == 5.0f)", 1),
        ],
    );
}

#[test]
fn macros_and_conditions_are_preprocessed() {
    check(
        "#define SQUARE(x) ((x) * (x))\n#define JOIN(a, b) a##b\n#define TEXT(x) #x\n#define MANY(f, ...) f(__VA_ARGS__)\n\
         #define TWO 2\n#if TWO * 2 == 4 && defined(TWO) && !defined(NO)\n#define YES 1\n#elif 1\n#define YES 2\n#else\n\
         #define YES 3\n#endif\n#ifdef NO\nnonsense\n#endif\n__device__ int add(int a, int b) { return a + b; }",
        &[
            ("SQUARE(zero + 3)", 9),
            ("JOIN(ze, ro) + 4", 4),
            ("(int)sizeof(TEXT(a b)) + zero", 4),
            ("MANY(add, TWO, zero)", 2),
            ("YES + zero", 1),
            ("__LINE__ * 0 + zero", 0),
        ],
    );
}

#[test]
fn functions_overloads_templates_and_references() {
    check(
        "__device__ int twice(int x) { return 2 * x; }\n__device__ float twice(float x) { return 3 * x; }\n\
         template <typename T> __device__ T largest(T a, T b) { return a > b ? a : b; }\n\
         template <int N> __device__ int sum(const int (&values)[N]) { int s = 0; for (int i = 0; i < N; ++i) s += values[i]; return s; }\n\
         template <typename T, int N = 3> __device__ T power(T x) { T r = 1; for (int i = 0; i < N; ++i) r *= x; return r; }\n\
         __device__ void swap(int &a, int &b) { int t = a; a = b; b = t; }\n\
         __device__ int both(int a, int b) { swap(a, b); return 10 * a + b; }\n\
         __device__ int early(int x) { if (x > 3) return 1; if (x > 1) return 2; return 3; }\n\
         __device__ int with(int a, int b = 7) { return a + b; }\n\
         __device__ int counted(int n) { int v[3] = {1, 2}; v[2] = n; return sum(v); }",
        &[
            ("twice(zero + 2)", 4),
            ("(int)twice(zero + 2.0f)", 6),
            ("largest(zero, 4)", 4),
            ("(int)largest<float>(zero, 2.5f)", 2),
            ("power(zero + 2)", 8),
            ("power<int, 5>(zero + 2)", 32),
            ("both(zero + 1, 2)", 21),
            ("early(zero + 4) * 100 + early(zero + 2) * 10 + early(zero)", 123),
            ("with(zero) + with(zero, 1)", 8),
            ("counted(zero + 4)", 7),
        ],
    );
}

#[test]
fn structs_vectors_unions_and_operators() {
    check(
        "struct Pair { int a; float b; int sum() const { return a + (int)b; } };\n\
         struct Nested { Pair pairs[2]; char c = 5; };\nunion Bits { float f; unsigned u; };\n\
         enum Kind { FIRST, SECOND = 5, THIRD };\nenum class Color { Red, Green = 4 };\n\
         __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }\n\
         __device__ Pair make(int a) { Pair p = {a, 2.0f}; return p; }\n\
         __device__ int nested(int n) { Nested x{}; x.pairs[n].a = 3; Nested y = x; return y.pairs[1].a + y.c; }\n\
         __device__ int bits(float f) { Bits b; b.f = f; return b.u >> 23; }\n\
         __device__ int vectors(int n) { float3 v = make_float3(1, 2, n) + make_float3(1, 1, 1); int4 w = {1, 2, 3, n}; return (int)(v.x + v.y * 10 + v.z * 100) + w.w; }",
        &[
            ("make(zero + 4).sum()", 6),
            ("nested(zero + 1)", 8),
            ("nested(zero)", 5),
            ("bits(1.0f + zero)", 127),
            ("vectors(zero + 5)", 637),
            ("THIRD + zero", 6),
            ("(int)Color::Green + zero", 4),
            ("(int)sizeof(Nested) + zero", 20),
        ],
    );
}

#[test]
fn every_statement_has_its_effect() {
    let source = "
        extern \"C\" __global__ void k(int *out) {
            int n = threadIdx.x, s = 0;
            for (int i = 0; i < n; ++i) { if (i == 2) continue; if (i == 5) break; s += i; }
            int j = n;
            while (j > 0) { s += 10; --j; if (s > 60) goto done; }
            do { s += 100; } while (s < 150);
        done:
            switch (n % 4) {
                case 0: s += 1000;
                case 1: s += 2000; break;
                case 2: { s += 3000; break; }
                default: s -= 1000;
            }
            out[n] = s;
        }";
    let expected = |n: i32| {
        let mut s: i32 = (0..n.min(5)).filter(|i| *i != 2).sum();
        let mut left = false;
        for _ in 0..n {
            s += 10;
            if s > 60 {
                left = true;
                break;
            }
        }
        if !left {
            loop {
                s += 100;
                if s >= 150 {
                    break;
                }
            }
        }
        s + match n % 4 {
            0 => 3000,
            1 => 2000,
            2 => 3000,
            _ => -1000,
        }
    };
    assert_eq!(results(source, 12, 12), (0..12).map(expected).collect::<Vec<_>>());
}

#[test]
fn arrays_pointers_and_addresses() {
    let source = "
        __constant__ int table[4] = {5, 6, 7, 8};
        __device__ int counter = 40;
        __device__ void add(int *where, int what) { *where += what; }
        extern \"C\" __global__ void k(int *out) {
            int t = threadIdx.x;
            int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
            int local = t;
            add(&local, 10);
            int *p = &grid[1][0] + t % 3;
            p[0] *= 2;
            const int *end = grid[1] + 3;
            out[t] = local + *p + table[t & 3] * 100 + (int)(end - p) * 10000;
            if (t == 0) out[8] = atomicAdd(&counter, 2) + counter;
        }";
    let expected: Vec<i32> = (0..8)
        .map(|t| {
            t + 10 + 2 * (4 + t % 3) + [5, 6, 7, 8][t as usize & 3] * 100 + (3 - t % 3) * 10000
        })
        .collect();
    let found = results(source, 8, 9);
    assert_eq!(found[..8], expected);
    assert_eq!(found[8], 82);
}

#[test]
fn shared_memory_static_and_dynamic() {
    let source = "
        extern __shared__ int room[];
        template <int N> __device__ int total(int *values) {
            for (int step = N / 2; step > 0; step /= 2) {
                if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
                __syncthreads();
            }
            return values[0];
        }
        extern \"C\" __global__ void k(int *out) {
            __shared__ int tile[64];
            tile[threadIdx.x] = threadIdx.x;
            room[threadIdx.x] = 1;
            __syncthreads();
            int a = total<64>(tile), b = total<64>(room);
            out[threadIdx.x] = a * 1000 + b;
        }";
    let text = compile(source);
    let (memory, _) = run_with(&text, "k", ([1, 1, 1], [64, 1, 1], 256), &[words(&[0; 64])]);
    assert_eq!(as_words(&memory[0]), vec![2016 * 1000 + 64; 64]);
}

#[test]
fn warps_votes_and_atomics() {
    let source = "
        extern \"C\" __global__ void k(int *out) {
            int lane = threadIdx.x;
            unsigned odd = __ballot_sync(0xffffffff, lane & 1);
            int sum = lane;
            for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
            double wide = __shfl_down_sync(0xffffffff, (double)lane, 1);
            float up = __shfl_up_sync(0xffffffffu, (float)lane, 1, 16);
            out[lane] = sum + (odd == 0xaaaaaaaau) * 1000 + (int)wide * 10000 + (int)up * 1000000;
            atomicMax(&out[32], lane);
            atomicAdd((float *)&out[33], 0.5f);
            int old = atomicCAS(&out[34], 0, lane + 1);
            if (lane == 0) out[35] = __popc(odd) + __clz(1) + old + __all_sync(1u, 1);
            __syncwarp();
        }";
    let found = results(source, 32, 36);
    let up = |lane: i32| if lane % 16 == 0 { lane } else { lane - 1 };
    let expected: Vec<i32> = (0..32)
        .map(|l| 496 + 1000 + if l == 31 { 31 } else { l + 1 } * 10000 + up(l) * 1_000_000)
        .collect();
    assert_eq!(found[..32], expected);
    assert_eq!((found[32], f32::from_bits(found[33] as u32)), (31, 16.0));
    assert_eq!((found[34], found[35]), (1, 16 + 31 + 1));
}

#[test]
fn asm_reads_and_writes_its_operands() {
    let source = "
        extern \"C\" __global__ void k(int *out) {
            int a = threadIdx.x, b, c = 5;
            asm(\"mul.lo.s32 %0, %1, %2;\" : \"=r\"(b) : \"r\"(a), \"r\"(7));
            asm volatile(\"add.s32 %0, %0, %1;\" : \"+r\"(c) : \"r\"(a));
            unsigned lane;
            asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));
            out[a] = b + c * 100 + (int)lane * 10000;
        }";
    let expected: Vec<i32> = (0..8).map(|a| 7 * a + (5 + a) * 100 + a * 10000).collect();
    assert_eq!(results(source, 8, 8), expected);
}

#[test]
fn small_arrays_are_held_in_registers() {
    let source = "
        extern \"C\" __global__ void k(float *c, const float *a, const float *b) {
            float sums[4][4] = {};
            for (int k = 0; k < 64; ++k) {
                float x[4], y[4];
        #pragma unroll
                for (int i = 0; i < 4; ++i) { x[i] = a[k * 4 + i]; y[i] = b[k * 4 + i]; }
        #pragma unroll
                for (int i = 0; i < 4; ++i)
        #pragma unroll
                    for (int j = 0; j < 4; ++j) sums[i][j] += x[i] * y[j];
            }
        #pragma unroll
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) c[i * 4 + j] = sums[i][j];
        }";
    let text = compile(source);
    assert!(!text.contains(".local"), "{text}");
    let (a, b) = (crate::kernel::drawn(256, 1), crate::kernel::drawn(256, 2));
    let arguments: Vec<Argument> =
        [&vec![0.0; 16], &a, &b].map(|values| crate::kernel::floats(values)).to_vec();
    let (memory, _) = run(&text, "k", ([1, 1, 1], [1, 1, 1]), &arguments);
    let expected: Vec<f32> = (0..16)
        .map(|at| (0..64).fold(0.0f32, |sum, k| a[k * 4 + at / 4].mul_add(b[k * 4 + at % 4], sum)))
        .collect();
    assert_eq!(as_floats(&memory[0]), expected);
}

#[test]
fn vectors_are_read_with_one_load() {
    let source = "extern \"C\" __global__ void k(float4 *x) { float4 v = x[threadIdx.x]; v.x += v.w; x[threadIdx.x] = v; }";
    let text = compile(source);
    assert!(text.contains("ld.global.v4.f32") && text.contains("st.global.v4.f32"), "{text}");
    let arguments = [crate::kernel::floats(&[1.0, 2.0, 3.0, 4.0])];
    let (memory, _) = run(&text, "k", ([1, 1, 1], [1, 1, 1]), &arguments);
    assert_eq!(as_floats(&memory[0]), [5.0, 2.0, 3.0, 4.0]);
}

#[test]
fn contraction_can_be_switched_off() {
    let source = "extern \"C\" __global__ void k(float *x) { x[0] = x[0] * x[1] + x[2]; }";
    assert!(compile(source).contains("fma.rn.f32"));
    let options = cuda_c::CompileOptions { fmad: false, ..cuda_c::CompileOptions::default() };
    let text = crate::kernel::compile_with(source, &options);
    assert!(text.contains("mul.rn.f32") && text.contains("add.rn.f32"), "{text}");
}

#[test]
fn names_are_mangled_as_in_cpp() {
    let source = "struct S { int a; };\n__global__ void f(const float *a, float *b, unsigned n, const float *c, S s, float *d) {}\n__global__ void g() {}";
    let ptx = cuda_c::compile(source, &cuda_c::CompileOptions::default()).unwrap();
    assert_eq!(ptx.kernels, ["_Z1fPKfPfjS0_1SS1_", "_Z1gv"]);
}

/// The names on the right come from NVRTC 12.9.
#[test]
fn kernels_are_instances_of_templates() {
    let source = "
        struct P { int a; };
        template <typename T> __global__ void copy(T *a, T *b) { a[threadIdx.x] = b[threadIdx.x]; }
        template <typename T, int N> __global__ void tile(const T *a, T *b, int n, T c) {
            for (int i = 0; i < N; ++i) b[i] = a[i] + c; }
        template <bool B, typename T, long M, typename U> __global__ void mixed(U *x, T **y, const U *z, T *w, P p) {
            if constexpr (B) w[0] = (T)M; else x[0] = (U)0; }
        extern \"C\" __global__ void plain(int *x) { x[0] = 1; }
        __global__ void other(int *x) { x[0] = 1; }
        __constant__ float table[4];
        template __global__ void copy<float4>(float4 *, float4 *);";
    let expected = [
        ("copy<float>", "_Z4copyIfEvPT_S1_"),
        ("&copy<P>", "_Z4copyI1PEvPT_S2_"),
        ("tile<float, 4>", "_Z4tileIfLi4EEvPKT_PS0_iS0_"),
        ("tile<unsigned long long, -1>", "_Z4tileIyLin1EEvPKT_PS0_iS0_"),
        ("mixed<true, float, -7, const int>", "_Z5mixedILb1EfLln7EKiEvPT2_PPT0_PKS1_S4_1P"),
        ("mixed<false, double *, 3, int>", "_Z5mixedILb0EPdLl3EiEvPT2_PPT0_PKS1_S4_1P"),
        ("plain", "plain"),
        ("other", "_Z5otherPi"),
        ("table", "table"),
    ];
    let names = expected.iter().map(|(name, _)| (*name).to_owned()).collect();
    let options = cuda_c::CompileOptions { names, ..cuda_c::CompileOptions::default() };
    let ptx = cuda_c::compile(source, &options).unwrap_or_else(|errors| panic!("{}", errors[0]));
    for (found, (name, expected)) in ptx.names.iter().zip(expected) {
        assert_eq!(found, expected, "{name}");
        assert!(ptx.text.contains(expected), "{name}");
    }
    assert!(ptx.kernels.contains(&"_Z4copyI6float4EvPT_S2_".to_owned()), "{:?}", ptx.kernels);
    assert!(ptx.warnings.is_empty());
    let arguments =
        [crate::kernel::floats(&[0.0; 4]), crate::kernel::floats(&[1.0, 2.0, 3.0, 4.0])];
    let (memory, _) = run(&ptx.text, "_Z4copyIfEvPT_S1_", ([1, 1, 1], [4, 1, 1]), &arguments);
    assert_eq!(as_floats(&memory[0]), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(cuda_c::source_name("_Z4tileIfLi4EEvPKT_PS0_iS0_"), "tile");
    for other in ["plain", "_Z", "_Z9short", "_Z4", "_Zné", "_Z99999999999999999999999x"] {
        assert_eq!(cuda_c::source_name(other), other);
    }
}

#[test]
fn pairs_of_halves_and_bfloat16() {
    let source = "#include <cuda_fp16.h>
        #include <cuda_bf16.h>
        extern \"C\" __global__ void k(float *x, __half2 *pairs, __nv_bfloat16 *short_ones) {
            __half2 a = __floats2half2_rn(x[0], x[1]), b = __float2half2_rn(x[2]);
            pairs[0] = __hfma2(a, b, a) - b;
            float2 back = __half22float2(pairs[0]);
            x[3] = back.x;
            x[4] = back.y;
            __nv_bfloat16 s = __float2bfloat16(x[5]), t = __float2bfloat16(x[6]);
            short_ones[0] = s * t;
            short_ones[1] = __hfma(s, t, s);
            x[7] = __bfloat162float(short_ones[0]);
            x[8] = __bfloat162float(short_ones[1]);
            x[9] = __bfloat162float(__float2bfloat16(x[9]));
        }";
    // 1.00390625 is halfway between two numbers of bfloat16, of which 1 is the even one.
    let x = [1.5, -2.25, 4.0, 0.0, 0.0, 3.2, 1.2345, 0.0, 0.0, 1.0 + 1.0 / 256.0];
    let arguments =
        [crate::kernel::floats(&x), crate::kernel::words(&[0]), crate::kernel::words(&[0])];
    let (memory, _) = run(&compile(source), "k", ([1, 1, 1], [1, 1, 1]), &arguments);
    let found = as_floats(&memory[0]);
    // 1.5·4 + 1.5 − 4 and −2.25·4 − 2.25 − 4; then 3.203125·1.234375 and the sum, rounded to 8 bits.
    assert_eq!(found[3..5], [3.5, -15.25]);
    assert_eq!(found[7..], [3.953_125, 7.156_25, 1.0]);
}
