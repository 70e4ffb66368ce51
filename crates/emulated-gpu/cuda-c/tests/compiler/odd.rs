//! Tests that unusual programs have the same results as with NVRTC.

use crate::kernel::{Argument, as_words, drawn, floats, word, words};
use crate::reference::both;

fn numbers(count: u32) -> Argument {
    words(&(0..count).map(|i| i.wrapping_mul(2_654_435_769).rotate_left(7)).collect::<Vec<_>>())
}

/// Compares the results of a kernel `k(out, in, n)` of 64 threads with NVRTC's.
fn compare(source: &str) {
    let arguments = [words(&[0; 256]), numbers(256), word(200)];
    let memory = both(source, "k", ([2, 1, 1], [64, 1, 1], 0), &arguments);
    assert!(as_words(&memory[0]).iter().any(|word| *word != 0), "{source}");
}

#[test]
fn constant_expressions() {
    compare(
        "__device__ constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }
         __device__ constexpr int squares(int n) { int s = 0; for (int i = 0; i < n; ++i) s += i * i; return s; }
         __device__ constexpr int picked(int n) { if (n > 3) return 8; else if (n == 3) return 4; switch (n) { case 1: return 2; default: return 1; } }
         template <int N> struct buffer { int data[N]; static constexpr int size = N; };
         enum { TILE = 16, HALF = TILE / 2, MASK = (1 << 5) - 1 };
         static constexpr float table[4] = {0.5f, 1.5f, -2.0f, 4.0f};
         extern \"C\" __global__ void k(int *out, const int *in, int n) {
             __shared__ int box[squares(4)];
             buffer<log2_of(64)> own;
             int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
             for (int j = 0; j < own.size; ++j) own.data[j] = in[(i + j) & MASK];
             if (t < squares(4)) box[t] = own.data[t % picked(7) % 6];
             __syncthreads();
             out[i] = box[t % squares(4)] + own.data[t % buffer<log2_of(64)>::size] + HALF + (int)(table[t & 3] * 8.0f) + log2_of(1000) + (int)sizeof(buffer<picked(3)>);
         }",
    );
}

#[test]
fn statements_and_declarations() {
    compare(
        "struct point { int x, y; };
         __device__ point moved(point p, int by = 3) { p.x += by; p.y -= by; return p; }
         __device__ void both_of(int &a, int *b) { a ^= *b; *b += a; }
         __device__ int count;
         __constant__ int weights[3] = {3, 5, 7};
         extern \"C\" __global__ void k(int *out, const int *in, int n) {
             const int i = blockIdx.x * blockDim.x + threadIdx.x;
             int a = in[i] % 100, b = in[i + 64] % 100, c, d;
             c = d = a + b;
             do { c -= 7; if (c % 5 == 0) continue; d ^= c; } while (c > 0);
             for (int x = 0, y = 10; x < y; ++x, --y) d += x * y;
             for (;;) { if (d < 1000 || d > 2000000000) break; d /= 2; }
             point p = {a, b}, q = moved(p), *r = &q;
             r->x += moved(point{1, 2}, 4).y;
             both_of(p.x, &q.y);
             int grid[3][2] = {{1, 2}, {3}, {}};
             grid[2][1] = a; grid[b & 1][0] += 5;
             int (*row)[2] = grid;
             unsigned char small = 250; small += 10; char sign = (char)200;
             switch (a & 7) { case 0: case 1: d += 1; break; case 2: { int z = b; d += z; } case 3: d *= 2; default: d -= 4; break; case 6: goto out; }
             d += (a > b ? a : b) + (a && b) * 2 + !a + ~b + (a, b) + sizeof(point) + small + sign + row[1][0];
         out:
             out[i] = d + p.x * 3 + q.x * 5 + q.y * 7 + grid[0][0] + grid[2][1] + weights[i % 3] + -a % 7 + (a >> 1) + (int)(1.5f * b);
             if (i == 0) { count = 5; out[0] += count; }
         }",
    );
}

#[test]
fn templates_and_operators() {
    compare(
        "template <typename T> struct complex {
             T re, im;
             __device__ complex(T r = 0, T i = 0) : re(r), im(i) {}
             __device__ complex operator*(const complex &o) const { return complex(re * o.re - im * o.im, re * o.im + im * o.re); }
             __device__ complex &operator+=(const complex &o) { re += o.re; im += o.im; return *this; }
             __device__ T norm() const { return re * re + im * im; }
         };
         template <typename T, int N> __device__ T dot(const T (&a)[N], const T *b) { T s = 0; for (int i = 0; i < N; ++i) s += a[i] * b[i]; return s; }
         template <typename F> __device__ int applied(F f, int x) { return f(x) + f(x + 1); }
         struct twice { int by; __device__ int operator()(int x) const { return x * by; } };
         template <bool B> __device__ int chosen(int x) { if constexpr (B) return x * 2; else return x - 1; }
         extern \"C\" __global__ void k(int *out, const int *in, int n) {
             int i = blockIdx.x * blockDim.x + threadIdx.x;
             complex<float> z(0.0f, 0.0f), c((in[i] & 255) / 128.0f - 1.5f, (in[i + 64] & 255) / 128.0f - 1.0f);
             int steps = 0;
             while (steps < 40 && z.norm() < 4.0f) { z = z * z; z += c; ++steps; }
             int a[4] = {1, i, 3, -i}, b[4] = {in[i] & 15, 2, 3, 4};
             complex<int> whole = complex<int>(i, 2) * complex<int>(3);
             out[i] = steps + dot(a, b) + applied(twice{3}, i) + chosen<true>(i) * chosen<false>(i) + whole.re - whole.im;
         }",
    );
}

#[test]
fn block_synchronisation() {
    compare(
        "#define WARPS 2
         __device__ int warp_sum(int v) { for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o); return v; }
         __device__ __forceinline__ int scan(int v) {
             int lane = threadIdx.x % warpSize;
             for (int o = 1; o < 32; o *= 2) { int u = __shfl_up_sync(0xffffffff, v, o); if (lane >= o) v += u; }
             return v;
         }
         extern \"C\" __global__ void k(int *out, const int *in, int n) {
             __shared__ int partial[WARPS], histogram[8];
             __shared__ struct { int most; unsigned bits; } shared;
             int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, v = in[i] & 1023;
             if (t < 8) histogram[t] = 0;
             if (t == 0) { shared.most = 0; shared.bits = 0u; }
             __syncthreads();
             atomicAdd(&histogram[v & 7], 1); atomicMax(&shared.most, v); atomicOr(&shared.bits, 1u << (v & 31));
             int s = warp_sum(v), p = scan(v);
             if (t % 32 == 0) partial[t / 32] = s;
             __syncthreads();
             int total = 0;
             for (int w = 0; w < WARPS; ++w) total += partial[w];
             unsigned mask = __ballot_sync(0xffffffff, v > 500);
             out[i] = total + p * 3 + histogram[t & 7] * 7 + shared.most + (int)shared.bits + __popc(mask) * 11 + __ffs(mask) + __clz(v) + __syncthreads_count(v & 1) + atomicCAS(&histogram[t & 7], -1, 5);
         }",
    );
}

#[test]
fn vectors_and_bits() {
    compare(
        "union bits { float f; unsigned u; };
         __device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
         extern \"C\" __global__ void k(unsigned *out, const unsigned *in, int n) {
             int i = blockIdx.x * blockDim.x + threadIdx.x;
             const uint4 *wide = reinterpret_cast<const uint4 *>(in);
             uint4 w = wide[i % 64];
             float4 f = make_float4(w.x & 255, w.y & 255, w.z & 255, w.w & 255) + make_float4(1, 2, 3, 4);
             bits b; b.f = f.x * 1.25f;
             unsigned long long l = ((unsigned long long)w.x << 32 | w.y) * 0x9e3779b97f4a7c15ull;
             uchar4 c = *reinterpret_cast<uchar4 *>(&w.z);
             double d = (double)(int)w.w / 3.0;
             long long r = (long long)d % 1000003ll;
             int3 cell = {(int)(w.x % 5u), (int)(w.y % 7u), -1};
             out[i] = b.u ^ __float_as_uint(f.y / f.z) ^ (unsigned)(l >> 29) ^ (c.x + c.y * 3u + c.z * 5u + c.w * 7u) ^ (unsigned)r
                 ^ (unsigned)__double2hiint(d) ^ (unsigned)(cell.x * 31 + cell.y * 17 + cell.z) ^ (unsigned)min(max((int)w.z, -100), 100)
                 ^ (unsigned)(short)w.x ^ (unsigned)llabs(r) ^ __brev(w.y) ^ (unsigned)fabsf(-2.5f) ^ (unsigned)(w.x > w.y ? 3 : 4u);
         }",
    );
}

#[test]
fn matrix_products() {
    let source = "template <int TILE> __device__ void product(const float *a, const float *b, float *c, int n) {
             __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
             int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
             float sum = 0.0f;
             for (int start = 0; start < n; start += TILE) {
                 as[threadIdx.y][threadIdx.x] = row < n && start + threadIdx.x < n ? a[row * n + start + threadIdx.x] : 0.0f;
                 bs[threadIdx.y][threadIdx.x] = column < n && start + threadIdx.y < n ? b[(start + threadIdx.y) * n + column] : 0.0f;
                 __syncthreads();
                 #pragma unroll
                 for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
                 __syncthreads();
             }
             if (row < n && column < n) c[row * n + column] = sum;
         }
         extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n) { product<8>(a, b, c, n); }";
    let arguments = [floats(&drawn(400, 1)), floats(&drawn(400, 2)), floats(&[0.0; 400]), word(20)];
    both(source, "k", ([3, 3, 1], [8, 8, 1], 0), &arguments);
}

/// Calls of library functions are found in included files and macros. Variables may have the names of
/// library functions.
#[test]
fn library_functions_are_found_everywhere() {
    struct Header;
    impl cuda_c::Resolver for Header {
        fn resolve(&self, include: &str, _: &str) -> Option<(String, String)> {
            let text =
                "#define GROWN(x) expf(x)\n__device__ float root(float x) { return cbrtf(x); }\n";
            (include == "own.cuh").then(|| (include.to_owned(), text.to_owned()))
        }
    }
    let source = "#include \"own.cuh\"
        extern \"C\" __global__ void k(float *out) {
            int j0 = threadIdx.x, y1 = j0 + 8;
            out[j0] = GROWN(0.0f) + root((float)y1);
        }";
    let options =
        cuda_c::CompileOptions { resolver: Some(&Header), ..cuda_c::CompileOptions::default() };
    let own = crate::kernel::compile_with(source, &options);
    let one = ([1, 1, 1], [1, 1, 1]);
    let (memory, _) = crate::kernel::run(&own, "k", one, &[floats(&[0.0])]);
    assert_eq!(crate::kernel::as_floats(&memory[0]), [3.0]);
}

/// Constant expressions that never end, or that need too much memory, are errors.
#[test]
fn endless_constant_expressions_are_errors() {
    let endless = "__device__ constexpr int f(int n) { while (n >= 0) n = n / 2 + 1; return n; }";
    let deep = "__device__ constexpr int f(int n) { return n < 0 ? n : f(n / 2 + 1); }";
    let large = "__device__ constexpr int f(int n) { int a[100000] = {}; for (int i = 0; i < 100000; ++i) a[i] = n; return f(a[5]); }";
    for function in [endless, deep, large] {
        let mut source = format!("{function}\n__global__ void k(int *x) {{\n");
        for number in 0..50 {
            source.push_str(&format!("    __shared__ int a{number}[f({number})];\n"));
        }
        source.push_str("}\n");
        let errors = cuda_c::compile(&source, &cuda_c::CompileOptions::default()).unwrap_err();
        let named = |one: &cuda_c::Diagnostic| {
            one.message.contains("has to be known")
                || one.message == "constant expressions take more than 2000000 steps"
        };
        assert!(errors.iter().all(named), "{}", errors[0]);
    }
}
