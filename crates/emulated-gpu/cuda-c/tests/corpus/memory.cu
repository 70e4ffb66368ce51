// Data layouts: vectors, alignment, strides, caches and copies.

struct __align__(16) Particle {
    float x, y, z;
    int kind;
};
struct Packed {
    char tag;
    double value;
    short small[3];
};

// launch aligned <<<1, 8>>> f32[32]=drawn
extern "C" __global__ void aligned(Particle *p) {
    Particle q = p[threadIdx.x];
    q.x += q.y;
    q.kind = (int)sizeof(Particle) + threadIdx.x;
    p[threadIdx.x] = q;
}

// launch padded <<<1, 4>>> f64[12]=drawn s32[4]=zero
extern "C" __global__ void padded(Packed *p, int *size) {
    p[threadIdx.x].small[1] = 7;
    p[threadIdx.x].value *= 2;
    size[threadIdx.x] = (int)sizeof(Packed) * 100 + (int)alignof(Packed);
}

// launch vector_loads <<<1, 16>>> s32[64]=iota s32[64]=zero
extern "C" __global__ void vector_loads(const int4 *in, int4 *out) {
    int4 v = in[threadIdx.x];
    out[15 - threadIdx.x] = make_int4(v.w, v.z, v.y, v.x);
}

// launch reinterpret <<<1, 16>>> f32[64]=drawn f32[64]=zero
extern "C" __global__ void reinterpret(const float *in, float *out) {
    reinterpret_cast<float4 *>(out)[threadIdx.x] = *reinterpret_cast<const float4 *>(&in[4 * threadIdx.x]);
}

// launch soa <<<1, 32>>> f32[96]=drawn f32[32]=zero
extern "C" __global__ void soa(const float *data, float *out) {
    const float *x = data, *y = data + 32, *z = data + 64;
    out[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x] - z[threadIdx.x];
}

// launch strided <<<1, 32>>> f32[96]=drawn f32[32]=zero s32=3
extern "C" __global__ void strided(const float *in, float *out, int stride) { out[threadIdx.x] = in[threadIdx.x * stride]; }

// launch through_cache <<<1, 32>>> f32[32]=drawn f32[32]=zero
extern "C" __global__ void through_cache(const float *in, float *out) {
    out[threadIdx.x] = __ldg(in + threadIdx.x) + __ldcg(&in[31 - threadIdx.x]);
    __stcs(out + threadIdx.x, out[threadIdx.x] * 2);
}

// launch bytes_of <<<1, 8>>> u32[8]=drawn u8[32]=zero
extern "C" __global__ void bytes_of(const unsigned *x, unsigned char *out) {
    const unsigned char *p = (const unsigned char *)(x + threadIdx.x);
    for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = p[3 - i];
}

// launch copy_struct <<<1, 4>>> s32[16]=iota s32[16]=zero
struct Block4 {
    int v[4];
};
extern "C" __global__ void copy_struct(const Block4 *in, Block4 *out) {
    Block4 b = in[threadIdx.x];
    b.v[threadIdx.x] = -b.v[threadIdx.x];
    out[3 - threadIdx.x] = b;
}

// launch memory_functions <<<1, 4>>> u8[64]=drawn u8[64]=zero
extern "C" __global__ void memory_functions(const unsigned char *in, unsigned char *out) {
    memcpy(out + 16 * threadIdx.x, in + 16 * threadIdx.x, 12);
    memset(out + 16 * threadIdx.x + 12, 0, 4);
}

// launch pitched <<<1, (5,4)>>> u8[64]=zero u64=16
extern "C" __global__ void pitched(char *base, size_t pitch) {
    float *row = (float *)(base + threadIdx.y * (pitch / 4 * 4));
    if (threadIdx.x < 4) row[threadIdx.x] = threadIdx.y + 0.5f * threadIdx.x;
}

// launch three_dimensions <<<1, (2,3,4)>>> s32[24]=zero
extern "C" __global__ void three_dimensions(int (*a)[3][2]) { a[threadIdx.z][threadIdx.y][threadIdx.x] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z; }

// launch offset_pointers <<<1, 16>>> s32[32]=iota
extern "C" __global__ void offset_pointers(int *x) {
    int *middle = x + 16;
    middle[threadIdx.x] -= middle[-1 - (int)threadIdx.x];
}

// launch shared_struct <<<1, 32>>> f32[32]=drawn
extern "C" __global__ void shared_struct(float *x) {
    __shared__ struct {
        float v[32];
        int count;
    } s;
    if (threadIdx.x == 0) s.count = 3;
    s.v[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s.v[(threadIdx.x + s.count) % 32];
}

// launch shared_2d <<<1, (8,8)>>> s32[64]=iota
extern "C" __global__ void shared_2d(int *x) {
    __shared__ int s[8][8];
    s[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
    __syncthreads();
    x[threadIdx.y * 8 + threadIdx.x] = s[7 - threadIdx.x][threadIdx.y];
}

__device__ int counters_of_all[4];

// launch global_array <<<1, 32>>> s32[32]=drawn s32[4]=zero
extern "C" __global__ void global_array(const int *x, int *out) {
    atomicAdd(&counters_of_all[x[threadIdx.x] & 3], 1);
    __syncthreads();
    if (threadIdx.x < 4) out[threadIdx.x] = counters_of_all[threadIdx.x];
}

// launch restrict_pointers <<<1, 32>>> f32[32]=drawn f32[32]=drawn f32[32]=zero
extern "C" __global__ void __launch_bounds__(32) restrict_pointers(const float *__restrict__ a, const float *__restrict__ b,
                                                                   float *__restrict__ c) {
    c[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
    c[threadIdx.x] += a[threadIdx.x];
}

// launch doubles2 <<<1, 8>>> f64[16]=drawn
extern "C" __global__ void doubles2(double2 *x) {
    double2 v = x[threadIdx.x];
    x[threadIdx.x] = make_double2(v.y, v.x - v.y);
}

// launch chars <<<1, 16>>> u8[64]=drawn
extern "C" __global__ void chars(uchar4 *x) {
    uchar4 c = x[threadIdx.x];
    c.x += 200, c.w = c.y ^ c.z;
    x[threadIdx.x] = c;
}

// launch shorts <<<1, 16>>> s16[32]=drawn
extern "C" __global__ void shorts(short2 *x) {
    short2 v = x[threadIdx.x];
    v.x = v.x * 300;
    v.y >>= 2;
    x[threadIdx.x] = v;
}

// launch volatile_flag <<<1, 1>>> s32[2]=7
extern "C" __global__ void volatile_flag(volatile int *x) {
    x[0] = x[0] + x[1];
    x[1] = x[0];
}

// launch ring <<<1, 1>>> s32[20]=iota s32[20]=zero
extern "C" __global__ void ring(const int *in, int *out) {
    int buffer[4], head = 0, tail = 0, n = 0;
    for (int i = 0; i < 20; i++) {
        buffer[head++ & 3] = in[i];
        if (head - tail == 4) out[n++] = buffer[tail++ & 3] + buffer[tail & 3];
    }
}
