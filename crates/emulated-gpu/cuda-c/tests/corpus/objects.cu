// C++ in kernels: structures, classes, templates, operators, namespaces and lambdas.

struct Point {
    float x, y, z;
    __host__ __device__ Point operator+(const Point &o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ Point operator*(float s) const { return Point{x * s, y * s, z * s}; }
    __device__ float dot(const Point &o) const { return x * o.x + y * o.y + z * o.z; }
};

// launch move_points <<<1, 16>>> f32[48]=drawn f32[48]=drawn f32=0.1
extern "C" __global__ void move_points(Point *p, const Point *v, float dt) { p[threadIdx.x] = p[threadIdx.x] + v[threadIdx.x] * dt; }

// launch dots <<<1, 16>>> f32[48]=drawn f32[48]=drawn f32[16]=zero
extern "C" __global__ void dots(const Point *a, const Point *b, float *out) { out[threadIdx.x] = a[threadIdx.x].dot(b[threadIdx.x]); }

typedef struct {
    int key;
    float value;
} Entry;

// launch update_entries <<<1, 16>>> s32[32]=iota
extern "C" __global__ void update_entries(Entry *e) {
    Entry mine = e[threadIdx.x];
    mine.key = -mine.key;
    mine.value = (float)mine.key * 0.5f;
    e[threadIdx.x] = mine;
}

template <typename T>
__device__ T square(T x) {
    return x * x;
}

// launch squares <<<1, 16>>> f32[16]=drawn s32[16]=drawn f64[16]=drawn
extern "C" __global__ void squares(float *a, int *b, double *c) {
    int i = threadIdx.x;
    a[i] = square(a[i]);
    b[i] = square<int>(b[i]);
    c[i] = square(c[i]);
}

template <typename T, int N>
struct Small {
    T data[N];
    __device__ T &operator[](int i) { return data[i]; }
    __device__ const T &operator[](int i) const { return data[i]; }
    __device__ T sum() const {
        T s = T(0);
#pragma unroll
        for (int i = 0; i < N; i++) s += data[i];
        return s;
    }
};

// launch small_sums <<<1, 8>>> f32[32]=drawn s32[24]=drawn f32[8]=zero s32[8]=zero
extern "C" __global__ void small_sums(const Small<float, 4> *a, const Small<int, 3> *b, float *c, int *d) {
    c[threadIdx.x] = a[threadIdx.x].sum();
    Small<int, 3> local = b[threadIdx.x];
    local[1] *= 2;
    d[threadIdx.x] = local.sum();
}

template <typename Op>
__global__ void map_with(float *x, Op op) {
    x[threadIdx.x] = op(x[threadIdx.x]);
}
struct Twice {
    __device__ float operator()(float v) const { return 2 * v; }
};
template __global__ void map_with<Twice>(float *, Twice);

// launch templated_sum <<<1, 32>>> f32[32]=drawn
template <int Block>
__device__ float sum_block(float v) {
    if (Block >= 32) v += __shfl_xor_sync(~0u, v, 16);
    if (Block >= 16) v += __shfl_xor_sync(~0u, v, 8);
    if (Block >= 8) v += __shfl_xor_sync(~0u, v, 4);
    return v;
}
extern "C" __global__ void templated_sum(float *x) { x[threadIdx.x] = sum_block<16>(x[threadIdx.x]); }

namespace geometry {
namespace detail {
__device__ int doubled(int x) { return 2 * x; }
}
__device__ int area(int w, int h) { return detail::doubled(w) * h; }
}

// launch areas <<<1, 16>>> s32[16]=iota s32[16]=drawn
extern "C" __global__ void areas(const int *w, int *h) {
    using namespace geometry;
    h[threadIdx.x] = area(w[threadIdx.x], h[threadIdx.x]) + geometry::detail::doubled(1);
}

enum Op { ADD, SUB, MUL = 10, DIV };
enum class Mode : unsigned char { Off, On = 3 };

// launch dispatch <<<1, 16>>> s32[16]=iota s32[16]=drawn
extern "C" __global__ void dispatch(const int *op, int *x) {
    int v = x[threadIdx.x];
    switch ((Op)(op[threadIdx.x] % 12)) {
    case ADD: v += 7; break;
    case SUB: v -= 7; break;
    case MUL: v *= 7; break;
    case DIV: v /= 7;
    default: v++;
    }
    Mode m = v > 0 ? Mode::On : Mode::Off;
    x[threadIdx.x] = v * 4 + static_cast<int>(m);
}

union Bits {
    float f;
    unsigned u;
    unsigned char bytes[4];
};

// launch union_bits <<<1, 32>>> f32[32]=drawn u32[32]=zero
extern "C" __global__ void union_bits(const float *x, unsigned *out) {
    Bits b;
    b.f = x[threadIdx.x];
    b.u ^= 0x80000000u;
    out[threadIdx.x] = b.u + b.bytes[3];
}

struct Counter {
    int n;
    __device__ Counter() : n(0) {}
    __device__ explicit Counter(int start) : n(start) {}
    __device__ Counter &operator+=(int by) {
        n += by;
        return *this;
    }
    __device__ bool operator<(const Counter &o) const { return n < o.n; }
    __device__ operator int() const { return n; }
};

// launch counters <<<1, 16>>> s32[16]=iota
extern "C" __global__ void counters(int *x) {
    Counter c, end(x[threadIdx.x]);
    int rounds = 0;
    while (c < end) {
        rounds += (int)c;
        c += 1;
    }
    x[threadIdx.x] = rounds;
}

template <int N>
struct Factorial {
    static const int value = N * Factorial<N - 1>::value;
};
template <>
struct Factorial<0> {
    static const int value = 1;
};
constexpr __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

// launch at_compile_time <<<1, 8>>> s32[8]=iota
extern "C" __global__ void at_compile_time(int *x) {
    constexpr int f = fibonacci(15);
    static_assert(f == 610, "the fifteenth");
    int table[Factorial<3>::value] = {f, Factorial<5>::value};
    x[threadIdx.x] = table[threadIdx.x % 6] + (int)sizeof(table);
}

template <typename T>
struct Traits {
    static constexpr char tag = 'o';
};
template <>
struct Traits<float> {
    static constexpr char tag = 'f';
};
template <typename T>
__device__ int tag_of(T) {
    return Traits<T>::tag;
}

// launch specialised <<<1, 4>>> s32[8]=zero
extern "C" __global__ void specialised(int *x) {
    x[2 * threadIdx.x] = tag_of(1.0f);
    x[2 * threadIdx.x + 1] = tag_of(1);
}

template <typename T>
__device__ T least(T a, T b) {
    return a < b ? a : b;
}

// launch deduced <<<1, 8>>> s32[8]=iota f32[8]=drawn
extern "C" __global__ void deduced(int *x, float *y) {
    x[threadIdx.x] = least(x[threadIdx.x], 5);
    y[threadIdx.x] = least<float>(y[threadIdx.x], 0);
}

struct Node {
    int value, next;
};

// launch linked_list <<<1, 4>>> s32[32]=iota s32[4]=zero
extern "C" __global__ void linked_list(const Node *nodes, int *out) {
    int sum = 0, steps = 0;
    for (int at = threadIdx.x; steps < 20; at = nodes[at].next & 15) {
        sum += nodes[at].value;
        ++steps;
    }
    out[threadIdx.x] = sum;
}

struct Matrix2 {
    float m[2][2];
};
__device__ Matrix2 operator*(const Matrix2 &a, const Matrix2 &b) {
    Matrix2 c = {};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) c.m[i][j] += a.m[i][k] * b.m[k][j];
    return c;
}

// launch matrix_power <<<1, 8>>> f32[32]=drawn
extern "C" __global__ void matrix_power(Matrix2 *m) {
    Matrix2 a = m[threadIdx.x], r = {{{1, 0}, {0, 1}}};
    for (int i = 0; i < 5; i++) r = r * a;
    m[threadIdx.x] = r;
}

// launch by_reference <<<1, 16>>> s32[16]=drawn s32[16]=zero
__device__ void divide(int a, int b, int &quotient, int &rest) {
    quotient = a / b;
    rest = a % b;
}
extern "C" __global__ void by_reference(const int *in, int *out) {
    int q, r;
    divide(in[threadIdx.x], 7, q, r);
    out[threadIdx.x] = 100 * q + r;
}

// launch pointers <<<1, 8>>> f32[24]=drawn f32[8]=zero
extern "C" __global__ void pointers(float *x, float *out) {
    float *p = x + 3 * threadIdx.x, **pp = &p;
    (*pp)++;
    const float *end = p + 2;
    float s = 0;
    while (p < end) s += *p++;
    out[threadIdx.x] = s * (end - x);
}

// launch parameters_by_value <<<1, 4>>> s32[4]=zero s32=7 f32=2.5
struct Settings {
    int n;
    float scale;
};
extern "C" __global__ void parameters_by_value(int *out, Settings s) { out[threadIdx.x] = (int)(s.n * s.scale) + threadIdx.x; }
