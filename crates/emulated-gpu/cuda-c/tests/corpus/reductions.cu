// Sums, maxima, scans and histograms, as in courses and in libraries.

#define BLOCK 64
#define FULL 0xffffffffu

// launch sum_interleaved <<<4, 64>>> s32[256]=drawn s32[4]=zero
extern "C" __global__ void sum_interleaved(const int *in, int *out) {
    __shared__ int s[BLOCK];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// launch sum_sequential <<<4, 64>>> f32[256]=drawn f32[4]=zero
extern "C" __global__ void sum_sequential(const float *in, float *out) {
    __shared__ float s[BLOCK];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// launch sum_first_add <<<2, 64>>> f32[256]=drawn f32[2]=zero
extern "C" __global__ void sum_first_add(const float *in, float *out) {
    extern __shared__ float never[];
    __shared__ float s[BLOCK];
    unsigned t = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + t;
    s[t] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned stride = blockDim.x >> 1; stride >= 1; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (!t) out[blockIdx.x] = s[0];
    (void)never;
}

__inline__ __device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
    return v;
}

__inline__ __device__ float block_sum(float v) {
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    v = warp_sum(v);
    if (lane == 0) shared[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? shared[lane] : 0.f;
    if (warp == 0) v = warp_sum(v);
    return v;
}

// launch sum_of_warps <<<2, 128>>> f32[300]=drawn f32[2]=zero s32=300
extern "C" __global__ void sum_of_warps(const float *in, float *out, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// launch max_atomic <<<4, 64>>> s32[256]=drawn s32[1]=-1000
extern "C" __global__ void max_atomic(const int *in, int *out) {
    __shared__ int best;
    if (threadIdx.x == 0) best = -2147483647 - 1;
    __syncthreads();
    atomicMax(&best, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(out, best);
}

__device__ float atomicMaxFloat(float *address, float value) {
    int *as_int = (int *)address, old = *as_int, assumed;
    do {
        assumed = old;
        old = atomicCAS(as_int, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

// launch max_by_cas <<<2, 64>>> f32[128]=drawn f32[1]=-100
extern "C" __global__ void max_by_cas(const float *in, float *out) {
    atomicMaxFloat(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

// launch argmax <<<1, 64>>> f32[64]=drawn s32[1]=zero
extern "C" __global__ void argmax(const float *x, int *out) {
    __shared__ float value[BLOCK];
    __shared__ int index[BLOCK];
    int t = threadIdx.x;
    value[t] = x[t];
    index[t] = t;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s && value[t + s] > value[t]) {
            value[t] = value[t + s];
            index[t] = index[t + s];
        }
        __syncthreads();
    }
    if (t == 0) *out = index[0];
}

// launch scan_hillis <<<1, 64>>> s32[64]=drawn
extern "C" __global__ void scan_hillis(int *x) {
    __shared__ int buffer[2][BLOCK];
    int in = 0, out = 1, t = threadIdx.x;
    buffer[out][t] = x[t];
    for (int offset = 1; offset < BLOCK; offset <<= 1) {
        __syncthreads();
        in = 1 - in;
        out = 1 - out;
        buffer[out][t] = t >= offset ? buffer[in][t] + buffer[in][t - offset] : buffer[in][t];
    }
    __syncthreads();
    x[t] = buffer[out][t];
}

// launch scan_blelloch <<<1, 32>>> s32[64]=drawn
extern "C" __global__ void scan_blelloch(int *x) {
    __shared__ int s[BLOCK];
    int t = threadIdx.x, offset = 1;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    for (int d = BLOCK >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) s[BLOCK - 1] = 0;
    for (int d = 1; d < BLOCK; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, old = s[a];
            s[a] = s[b];
            s[b] += old;
        }
    }
    __syncthreads();
    x[2 * t] = s[2 * t];
    x[2 * t + 1] = s[2 * t + 1];
}

// launch scan_warp <<<1, 32>>> u32[32]=drawn
extern "C" __global__ void scan_warp(unsigned *x) {
    unsigned v = x[threadIdx.x], lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        unsigned n = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += n;
    }
    x[threadIdx.x] = v;
}

// launch histogram_global <<<4, 64>>> u8[256]=drawn u32[16]=zero
extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins) {
    atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x] & 15], 1u);
}

// launch histogram_shared <<<2, 64>>> u8[300]=drawn u32[32]=zero s32=300
extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned local[32];
    if (threadIdx.x < 32) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i] >> 3], 1);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(bins + threadIdx.x, local[threadIdx.x]);
}

// launch dot <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[1]=zero
extern "C" __global__ void dot(const float *a, const float *b, float *c) {
    __shared__ float cache[BLOCK];
    cache[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
    __syncthreads();
    int i = blockDim.x / 2;
    while (i != 0) {
        if (threadIdx.x < i) cache[threadIdx.x] += cache[threadIdx.x + i];
        __syncthreads();
        i /= 2;
    }
    if (threadIdx.x == 0) *c = cache[0];
}

// launch column_sums <<<1, 16>>> f32[160]=drawn f32[16]=zero s32=10 s32=16
extern "C" __global__ void column_sums(const float *m, float *out, int rows, int columns) {
    float sum = 0.0f;
    for (int r = 0; r < rows; r++) sum += m[r * columns + threadIdx.x];
    out[threadIdx.x] = sum;
}

// launch row_means <<<10, 32>>> f32[320]=drawn f32[10]=zero
extern "C" __global__ void row_means(const float *m, float *out) {
    float v = m[blockIdx.x * 32 + threadIdx.x];
    for (int mask = 16; mask; mask >>= 1) v += __shfl_xor_sync(FULL, v, mask);
    if (threadIdx.x == 0) out[blockIdx.x] = v / 32;
}

// launch any_negative <<<1, 64>>> f32[64]=drawn u32[4]=zero
extern "C" __global__ void any_negative(const float *x, unsigned *out) {
    bool negative = x[threadIdx.x] < 0;
    unsigned ballot = __ballot_sync(FULL, negative);
    int any = __syncthreads_or(negative), all = __syncthreads_and(negative), count = __syncthreads_count(negative);
    if (threadIdx.x == 0) {
        out[0] = any != 0;
        out[1] = all != 0;
        out[2] = count;
        out[3] = ballot;
    }
}

// launch compact <<<1, 64>>> s32[64]=drawn s32[64]=zero s32[1]=zero
extern "C" __global__ void compact(const int *in, int *out, int *count) {
    __shared__ int base[2];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    bool keep = in[threadIdx.x] > 0;
    unsigned mask = __ballot_sync(FULL, keep);
    if (lane == 0) base[warp] = __popc(mask);
    __syncthreads();
    int before = warp ? base[0] : 0;
    if (keep) out[before + __popc(mask & ((1u << lane) - 1))] = in[threadIdx.x];
    if (threadIdx.x == 0) *count = base[0] + base[1];
}

// launch minmax <<<1, 32>>> s32[32]=drawn s32[2]=zero
extern "C" __global__ void minmax(const int *x, int *out) {
    int low = __reduce_min_sync(FULL, x[threadIdx.x]), high = __reduce_max_sync(FULL, x[threadIdx.x]);
    if (threadIdx.x == 0) {
        out[0] = low;
        out[1] = high;
    }
}

// launch kahan <<<1, 4>>> f32[400]=drawn f32[4]=zero
extern "C" __global__ void kahan(const float *x, float *out) {
    float sum = 0, c = 0;
    for (int i = 0; i < 100; ++i) {
        float y = __fsub_rn(x[100 * threadIdx.x + i], c), t = __fadd_rn(sum, y);
        c = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
    }
    out[threadIdx.x] = sum;
}
