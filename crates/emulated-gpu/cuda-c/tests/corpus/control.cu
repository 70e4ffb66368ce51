// Loops, branches, functions and local arrays.

// launch fall_through <<<1, 16>>> s32[16]=iota
extern "C" __global__ void fall_through(int *x) {
    int v = 0;
    switch (x[threadIdx.x] % 5) {
    case 0: v += 1;
    case 1: v += 10;
    case 2: v += 100; break;
    case 3: { int w = 7; v = w * w; } break;
    default: v = -1;
    }
    x[threadIdx.x] = v;
}

// launch jump <<<1, 16>>> s32[16]=iota
extern "C" __global__ void jump(int *x) {
    int v = x[threadIdx.x], n = 0;
again:
    if (v > 3) {
        v -= 3;
        n++;
        goto again;
    }
    x[threadIdx.x] = 10 * n + v;
}

__device__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

// launch recursive <<<1, 4>>> s32[4]=iota
extern "C" __global__ void recursive(int *x) { x[threadIdx.x] = ackermann(2, x[threadIdx.x]); }

__device__ __noinline__ int apart(int a, int b) { return a * 3 - b; }
__device__ __forceinline__ int inside(int a) { return apart(a, a + 1) ^ a; }

// launch calls <<<1, 16>>> s32[16]=iota
extern "C" __global__ void calls(int *x) { x[threadIdx.x] = inside(x[threadIdx.x]) + apart(x[threadIdx.x], 2); }

// launch nested_breaks <<<1, 16>>> s32[16]=iota
extern "C" __global__ void nested_breaks(int *x) {
    int total = 0;
    for (int i = 0; i < 10; i++) {
        if (i == 7) continue;
        for (int j = 0;; j++) {
            if (j == x[threadIdx.x] % 6) break;
            if ((i + j) % 4 == 3) continue;
            total += i * j;
        }
        if (total > 150) break;
    }
    x[threadIdx.x] = total;
}

// launch local_array <<<1, 16>>> s32[16]=iota
extern "C" __global__ void local_array(int *x) {
    int a[16];
    for (int i = 0; i < 16; i++) a[i] = i * i;
    int at = x[threadIdx.x];
    a[at] = -1;
    int s = 0;
    for (int i = 15; i >= 0; i -= 3) s += a[i];
    x[threadIdx.x] = s + a[15 - at];
}

// launch table_of_structs <<<1, 8>>> s32[8]=iota
extern "C" __global__ void table_of_structs(int *x) {
    struct Row {
        short a;
        char b[3];
        int c;
    };
    const Row rows[3] = {{1, {'a', 'b', 'c'}, 10}, {2, "xy", 20}, {3, {}, 30}};
    const Row &r = rows[x[threadIdx.x] % 3];
    x[threadIdx.x] = r.a * 1000 + r.b[1] + r.c + (int)sizeof(Row);
}

// launch comma_and_ternary <<<1, 16>>> s32[16]=drawn
extern "C" __global__ void comma_and_ternary(int *x) {
    int a = x[threadIdx.x], b = (a++, a * 2), c;
    c = a > b ? (b > 0 ? a : b) : a < 0 ? -a : b;
    *(a > 0 ? &b : &c) = 5;
    x[threadIdx.x] = a + 10 * b + 100 * c;
}

__device__ bool touch(int &touched, bool r) { return touched++, r; }

// launch short_circuit <<<1, 32>>> s32[32]=iota
extern "C" __global__ void short_circuit(int *x) {
    int touched = 0;
    bool r = x[threadIdx.x] > 10 && touch(touched, true) || touch(touched, x[threadIdx.x] & 1) && !touch(touched, false);
    x[threadIdx.x] = touched * 2 + r;
}

// launch while_pointer <<<1, 4>>> u8[64]=drawn s32[4]=zero
extern "C" __global__ void while_pointer(const unsigned char *text, int *length) {
    const unsigned char *p = text + 16 * threadIdx.x, *start = p;
    while (p - start < 16 && *p > 20) p++;
    length[threadIdx.x] = (int)(p - start);
}

// launch unrolled_by_four <<<1, 8>>> f32[128]=drawn f32[8]=zero s32=14
extern "C" __global__ void unrolled_by_four(const float *x, float *out, int n) {
    float s = 0;
    const float *row = x + 16 * threadIdx.x;
#pragma unroll 4
    for (int i = 0; i < n; i++) s += row[i];
    out[threadIdx.x] = s;
}

// launch not_unrolled <<<1, 8>>> s32[8]=iota
extern "C" __global__ void not_unrolled(int *x) {
    int s = 1;
#pragma unroll 1
    for (int i = 0; i < 5; ++i) s = s * 3 + x[threadIdx.x];
    x[threadIdx.x] = s;
}

// launch unsigned_down <<<1, 8>>> u32[8]=iota
extern "C" __global__ void unsigned_down(unsigned *x) {
    unsigned s = 0;
    for (unsigned i = x[threadIdx.x]; i-- > 0;) s = s * 2 + i;
    x[threadIdx.x] = s;
}

// launch long_indices <<<1, 8>>> s64[16]=drawn
extern "C" __global__ void long_indices(long long *x) {
    size_t i = threadIdx.x, j = i + blockDim.x;
    long long t = x[i];
    x[i] = x[j] - t;
    x[j] = (t << 33) >> 30;
}

// launch matrix_in_registers <<<1, 8>>> s32[72]=iota
extern "C" __global__ void matrix_in_registers(int *x) {
    int m[3][3], *mine = x + 9 * threadIdx.x;
    for (int i = 0; i < 9; i++) m[i / 3][i % 3] = mine[i];
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++) {
            int t = m[i][j];
            m[i][j] = m[j][i];
            m[j][i] = t;
        }
    for (int i = 0; i < 9; i++) mine[i] = m[i / 3][i % 3];
}

// launch state_machine <<<1, 8>>> u8[64]=drawn s32[8]=zero
extern "C" __global__ void state_machine(const unsigned char *in, int *out) {
    enum { Start, Digit, Other, Done } state = Start;
    int n = 0;
    for (int i = 0; i < 8 && state != Done; i++) {
        unsigned char c = in[8 * threadIdx.x + i];
        switch (state) {
        case Start: state = c < 100 ? Digit : Other; break;
        case Digit:
            n = n * 10 + c % 10;
            if (c > 150) state = Other;
            break;
        case Other: state = c & 1 ? Digit : Done; break;
        default: break;
        }
    }
    out[threadIdx.x] = n * 4 + state;
}

#define CHECK(condition) do { if (!(condition)) return; } while (0)
#define MAX3(a, b, c) ((a) > (b) ? ((a) > (c) ? (a) : (c)) : ((b) > (c) ? (b) : (c)))

// launch macros <<<1, 32>>> s32[32]=drawn s32=30
extern "C" __global__ void macros(int *x, int n) {
    int i = threadIdx.x;
    CHECK(i < n);
    x[i] = MAX3(x[i], -x[i], 17);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 300
    x[i] += 1;
#else
#error "no architecture"
#endif
}

// launch constants_of_all_kinds <<<1, 4>>> s64[4]=zero
extern "C" __global__ void constants_of_all_kinds(long long *x) {
    x[threadIdx.x] = 0x7fULL + 0b1011 + 017 + 'A' + '\n' + 1'000'000 + (long long)1e3 + sizeof("text") + true + 0xffffffff;
}

__device__ float2 polar(float x, float y) {
    if (x == 0 && y == 0) return make_float2(0, 0);
    float r = sqrtf(x * x + y * y);
    return make_float2(r, x / r);
}

// launch two_returns <<<1, 32>>> f32[32]=drawn
extern "C" __global__ void two_returns(float *x) {
    float2 p = polar(x[threadIdx.x], 1.0f);
    x[threadIdx.x] = p.x + p.y;
}

// launch defaults <<<1, 8>>> s32[8]=iota
__device__ int scaled(int x, int by = 3, int plus = 1) { return x * by + plus; }
extern "C" __global__ void defaults(int *x) { x[threadIdx.x] = scaled(x[threadIdx.x]) - scaled(1, 2) + scaled(1, 2, 3); }

// launch overloads <<<1, 8>>> f32[8]=drawn s32[8]=drawn
__device__ float only(float v) { return v + 0.5f; }
__device__ int only(int v) { return v + 5; }
extern "C" __global__ void overloads(float *a, int *b) {
    a[threadIdx.x] = only(a[threadIdx.x]);
    b[threadIdx.x] = only(b[threadIdx.x]);
}
