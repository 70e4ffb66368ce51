// Elementwise kernels, which every course begins with.

// launch add <<<4, 64>>> f32[200]=drawn f32[200]=drawn f32[200]=zero s32=200
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// launch saxpy_stride <<<2, 32>>> f32=2.5 f32[200]=drawn f32[200]=drawn s32=200
extern "C" __global__ void saxpy_stride(float a, const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

// launch hadamard4 <<<1, 32>>> f32[128]=drawn f32[128]=drawn f32[128]=zero
extern "C" __global__ void hadamard4(const float4 *a, const float4 *b, float4 *c) {
    int i = threadIdx.x;
    float4 u = a[i], v = b[i];
    c[i] = make_float4(u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w);
}

// launch axpby_double <<<2, 64>>> f64=0.5 f64=-1.25 f64[100]=drawn f64[100]=drawn s32=100
extern "C" __global__ void axpby_double(double a, double b, const double *__restrict__ x, double *__restrict__ y,
                                        int n) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    y[i] = a * x[i] + b * y[i];
}

// launch clamp_to <<<1, 64>>> f32[64]=drawn f32=-1 f32=1
extern "C" __global__ void clamp_to(float *x, float lo, float hi) {
    x[threadIdx.x] = fminf(fmaxf(x[threadIdx.x], lo), hi);
}

// launch reverse <<<1, 96>>> s32[96]=iota s32[96]=zero s32=96
extern "C" __global__ void reverse(const int *in, int *out, int n) {
    int t = threadIdx.x;
    out[n - 1 - t] = in[t];
}

// launch gather <<<1, 64>>> f32[64]=drawn u32[64]=drawn f32[64]=zero u32=64
extern "C" __global__ void gather(const float *from, const unsigned *index, float *to, unsigned n) {
    to[threadIdx.x] = from[index[threadIdx.x] % n];
}

// launch fill2d <<<(2,3), (8,4)>>> s32[200]=zero s32=15 s32=11
extern "C" __global__ void fill2d(int *a, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) a[y * width + x] = 100 * y + x;
}

// launch index3d <<<(2,2,2), (2,3,4)>>> u32[192]=zero
extern "C" __global__ void index3d(unsigned *out) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = block * 1000u + thread;
}

// launch saturate_u8 <<<1, 64>>> s32[64]=drawn u8[64]=zero
extern "C" __global__ void saturate_u8(const int *x, unsigned char *out) {
    int v = x[threadIdx.x];
    out[threadIdx.x] = v < 0 ? 0 : v > 127 ? 255 : (unsigned char)(2 * v);
}

// launch select_where <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[64]=zero
extern "C" __global__ void select_where(const float *a, const float *b, float *c) {
    unsigned i = threadIdx.x;
    c[i] = (a[i] > b[i]) ? a[i] : (b[i] > 0.0f ? -b[i] : 0.0f);
}

// launch polynomial <<<1, 64>>> f32[64]=drawn f32[64]=zero
extern "C" __global__ void polynomial(const float *x, float *y) {
    const float c[5] = {1.0f, -0.5f, 0.25f, -0.125f, 0.0625f};
    float sum = 0.0f;
#pragma unroll
    for (int k = 4; k >= 0; --k) sum = sum * x[threadIdx.x] + c[k];
    y[threadIdx.x] = sum;
}

// launch abs_diff <<<1, 64>>> s32[64]=drawn s32[64]=drawn
extern "C" __global__ void abs_diff(const int *a, int *b) {
    int i = threadIdx.x;
    b[i] = abs(a[i] - b[i]) + max(a[i], b[i]) - min(a[i], -b[i]);
}

// launch sign_of <<<1, 64>>> f32[64]=drawn s8[64]=zero
extern "C" __global__ void sign_of(const float *x, signed char *s) {
    float v = x[threadIdx.x];
    s[threadIdx.x] = (v > 0.f) - (v < 0.f);
}

// launch interleave <<<1, 32>>> f32[32]=drawn f32[32]=drawn f32[64]=zero
extern "C" __global__ void interleave(const float *re, const float *im, float2 *out) {
    float2 z;
    z.x = re[threadIdx.x];
    z.y = im[threadIdx.x];
    out[threadIdx.x] = z;
}

// launch complex_mul <<<1, 32>>> f32[64]=drawn f32[64]=drawn f32[64]=zero
extern "C" __global__ void complex_mul(const float2 *a, const float2 *b, float2 *c) {
    int i = threadIdx.x;
    c[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}

// launch count_down <<<1, 16>>> s32[16]=iota
extern "C" __global__ void count_down(int *x) {
    int n = x[threadIdx.x], steps = 0;
    do {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    } while (n > 1 && steps < 50);
    x[threadIdx.x] = steps;
}

// launch average_of_three <<<1, 64>>> f32[66]=drawn f32[64]=zero
extern "C" __global__ void average_of_three(const float *x, float *y) {
    int i = threadIdx.x;
    y[i] = (x[i] + x[i + 1] + x[i + 2]) / 3.0f;
}

// launch to_integers <<<1, 64>>> f32[64]=drawn s32[256]=zero
extern "C" __global__ void to_integers(const float *x, int *out) {
    float v = x[threadIdx.x] * 3.7f;
    int *row = out + 4 * threadIdx.x;
    row[0] = __float2int_rn(v);
    row[1] = __float2int_rz(v);
    row[2] = __float2int_ru(v);
    row[3] = __float2int_rd(v);
}

// launch mixed_widths <<<1, 32>>> s8[32]=drawn s16[32]=drawn s64[32]=zero
extern "C" __global__ void mixed_widths(const signed char *a, const short *b, long long *out) {
    long long wide = (long long)a[threadIdx.x] * b[threadIdx.x];
    out[threadIdx.x] = wide << 20 | (unsigned char)a[threadIdx.x];
}

// launch distance <<<1, 32>>> f32[96]=drawn f32[32]=zero f32=0.5
extern "C" __global__ void distance(const float3 *p, float *out, float at) {
    float3 d = make_float3(p[threadIdx.x].x - at, p[threadIdx.x].y - at, p[threadIdx.x].z - at);
    out[threadIdx.x] = d.x * d.x + d.y * d.y + d.z * d.z;
}

// launch swap_halves <<<1, 32>>> s32[64]=iota
extern "C" __global__ void swap_halves(int *x) {
    int t = x[threadIdx.x];
    x[threadIdx.x] = x[threadIdx.x + blockDim.x];
    x[threadIdx.x + blockDim.x] = t;
}

// launch running_max <<<1, 4>>> s32[64]=drawn
extern "C" __global__ void running_max(int *x) {
    for (int i = 1, *row = x + 16 * threadIdx.x; i < 16; i++) row[i] = max(row[i], row[i - 1]);
}

// launch tail <<<3, 32>>> f32[70]=drawn s32=70
extern "C" __global__ void tail(float *x, const int n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) x[i] = -x[i] * (i + 1u);
}

// launch outer_index <<<(3,2), (4,2)>>> u16[48]=zero
extern "C" __global__ void outer_index(unsigned short *out) {
    const uint2 at = make_uint2(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
    out[at.y * (gridDim.x * blockDim.x) + at.x] = (unsigned short)(at.x << 8 | at.y);
}

// launch squares_of_index <<<1, 50>>> s64[50]=zero
extern "C" __global__ void squares_of_index(long long *out) {
    long long i = threadIdx.x;
    out[i] = i * i * i - 100000ll * i;
}

// launch lowest_bits <<<1, 64>>> s32[64]=drawn
extern "C" __global__ void lowest_bits(int *x) { x[threadIdx.x] &= -x[threadIdx.x]; }

// launch mask_tail <<<1, 64>>> u32[64]=drawn u32=10
extern "C" __global__ void mask_tail(unsigned *x, unsigned n) { x[threadIdx.x] &= n >= 32 ? ~0u : (1u << n) - 1; }

// launch weighted <<<1, 32>>> f32[32]=drawn f32[32]=drawn f32=0.75
extern "C" __global__ void weighted(const float *a, float *b, float t) { b[threadIdx.x] = (1 - t) * a[threadIdx.x] + t * b[threadIdx.x]; }

// launch every_other <<<1, 32>>> s32[64]=iota s32[32]=zero
extern "C" __global__ void every_other(const int *in, int *out) { out[threadIdx.x] = in[2 * threadIdx.x] - in[2 * threadIdx.x + 1]; }

// launch blocks_and_threads <<<4, 8>>> s32[32]=zero
extern "C" __global__ void blocks_and_threads(int *out) {
    int first = blockIdx.x * blockDim.x;
    out[first + threadIdx.x] = (blockIdx.x << 16) + threadIdx.x - (int)gridDim.x;
}

// launch pairs_sum <<<1, 32>>> f32[64]=drawn
extern "C" __global__ void pairs_sum(float2 *x) {
    float2 &p = x[threadIdx.x];
    p.x += p.y;
    p.y = p.x - p.y;
}

// launch mod_ring <<<1, 64>>> s32[64]=iota s32=7
extern "C" __global__ void mod_ring(int *x, int m) { x[threadIdx.x] = ((x[threadIdx.x] - 30) % m + m) % m; }

// launch dot_of_bytes <<<1, 16>>> s8[64]=drawn s8[64]=drawn s32[16]=zero
extern "C" __global__ void dot_of_bytes(const char4 *a, const char4 *b, int *out) {
    char4 u = a[threadIdx.x], v = b[threadIdx.x];
    out[threadIdx.x] = u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
}

// launch last_wins <<<1, 1>>> s32[8]=zero
extern "C" __global__ void last_wins(int *x) {
    for (int i = 0; i < 24; i++) x[i & 7] = i;
}
