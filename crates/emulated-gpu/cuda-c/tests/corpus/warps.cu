// Warps, blocks, atomics and memory that threads share.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// launch broadcast <<<1, 64>>> s32[64]=iota
extern "C" __global__ void broadcast(int *x) { x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 5); }

// launch rotate <<<1, 32>>> s32[32]=iota
extern "C" __global__ void rotate(int *x) {
    int lane = threadIdx.x & 31;
    x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], (lane + 1) % 32);
}

// launch butterfly8 <<<1, 32>>> f32[32]=drawn
extern "C" __global__ void butterfly8(float *x) {
    float v = x[threadIdx.x];
    for (int m = 4; m; m /= 2) v += __shfl_xor_sync(~0u, v, m, 8);
    x[threadIdx.x] = v;
}

// launch votes <<<1, 64>>> s32[64]=drawn u32[192]=zero
extern "C" __global__ void votes(const int *x, unsigned *out) {
    int p = x[threadIdx.x] > 0;
    out[3 * threadIdx.x] = __any_sync(~0u, p);
    out[3 * threadIdx.x + 1] = __all_sync(~0u, p);
    out[3 * threadIdx.x + 2] = __ballot_sync(~0u, p);
}

// launch matching <<<1, 32>>> s32[32]=drawn u32[32]=zero
extern "C" __global__ void matching(const int *x, unsigned *out) { out[threadIdx.x] = __match_any_sync(~0u, x[threadIdx.x] & 3); }

// launch aggregated <<<2, 64>>> s32[128]=drawn s32[1]=zero
extern "C" __global__ void aggregated(const int *x, int *count) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 0) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1;
        if ((threadIdx.x & 31) == leader) atomicAdd(count, __popc(active));
    }
}

// launch tiles <<<1, 64>>> s32[64]=drawn s32[64]=zero
extern "C" __global__ void tiles(const int *x, int *out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int v = x[block.thread_rank()];
    for (int i = tile.size() / 2; i > 0; i /= 2) v += tile.shfl_down(v, i);
    if (tile.thread_rank() == 0) out[block.thread_rank() / 16] = v;
}

// launch group_sync <<<1, 64>>> s32[64]=iota
extern "C" __global__ void group_sync(int *x) {
    __shared__ int s[64];
    cg::thread_block g = cg::this_thread_block();
    s[g.thread_rank()] = x[threadIdx.x];
    g.sync();
    x[threadIdx.x] = s[63 - g.thread_rank()];
}

// launch all_atomics <<<1, 64>>> s32[64]=drawn s32[8]=zero
extern "C" __global__ void all_atomics(const int *x, int *out) {
    int v = x[threadIdx.x];
    atomicAdd(&out[0], v);
    atomicSub(&out[1], v);
    atomicMin(&out[2], v);
    atomicMax(&out[3], v);
    atomicAnd(&out[4], v);
    atomicOr(&out[5], v);
    atomicXor(&out[6], v);
    atomicInc((unsigned *)&out[7], 40);
}

// launch exchange <<<1, 1>>> s32[4]=5 u64[2]=7
extern "C" __global__ void exchange(int *x, unsigned long long *y) {
    x[1] = atomicExch(&x[0], 9);
    x[2] = atomicCAS(&x[3], 5, 11);
    y[1] = atomicAdd(&y[0], 3ull);
}

__device__ int lock_word = 0;

// launch locked <<<4, 1>>> s32[1]=zero
extern "C" __global__ void locked(int *x) {
    while (atomicCAS(&lock_word, 0, 1) != 0) {}
    __threadfence();
    *x += blockIdx.x + 1;
    __threadfence();
    atomicExch(&lock_word, 0);
}

__device__ unsigned finished = 0;

// launch last_block <<<4, 32>>> f32[128]=drawn f32[5]=zero
extern "C" __global__ void last_block(const float *x, float *out) {
    __shared__ bool last;
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        volatile float *seen = out;
        float s = 0;
        for (int i = 0; i < gridDim.x; i++) s += seen[i];
        out[4] = s;
    }
}

// launch dynamic_shared <<<1, 32, 256>>> s32[32]=iota f32[32]=drawn
extern "C" __global__ void dynamic_shared(int *a, float *b) {
    extern __shared__ char raw[];
    int *ints = (int *)raw;
    float *floats = (float *)(raw + 128);
    ints[threadIdx.x] = a[threadIdx.x];
    floats[31 - threadIdx.x] = b[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = ints[threadIdx.x ^ 1];
    b[threadIdx.x] = floats[threadIdx.x];
}

__constant__ int table[8] = {1, 1, 2, 3, 5, 8, 13, 21};
__device__ float state[4] = {0.5f, 1.5f};

// launch constants <<<1, 16>>> s32[16]=iota f32[16]=zero
extern "C" __global__ void constants(int *x, float *y) {
    y[threadIdx.x] = state[threadIdx.x & 3] + table[7 - (threadIdx.x & 7)];
    x[threadIdx.x] = table[x[threadIdx.x] & 7];
}

// launch named_barrier <<<1, 64>>> s32[64]=iota
extern "C" __global__ void named_barrier(int *x) {
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 32;" ::: "memory");
    else
        asm volatile("bar.sync 2, 32;" ::: "memory");
    x[threadIdx.x] = s[threadIdx.x ^ 31];
}

// launch lane_registers <<<1, 64>>> u32[128]=zero
extern "C" __global__ void lane_registers(unsigned *out) {
    unsigned lane, below;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    out[2 * threadIdx.x] = lane;
    out[2 * threadIdx.x + 1] = below;
}

// launch divergent <<<1, 32>>> s32[32]=iota
extern "C" __global__ void divergent(int *x) {
    int v = x[threadIdx.x];
    if (v % 2) {
        if (v % 3)
            v *= 10;
        else
            v += 1000;
    } else if (v > 16) {
        for (int i = 0; i < v % 5; i++) v += i;
    }
    x[threadIdx.x] = v;
}

// launch early_exit <<<2, 32>>> s32[64]=iota s32=40
extern "C" __global__ void early_exit(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] = n - x[i];
}

// launch producer <<<1, 64>>> s32[32]=drawn s32[32]=zero
extern "C" __global__ void producer(const int *in, int *out) {
    __shared__ int slot[32];
    if (threadIdx.x < 32) slot[threadIdx.x] = in[threadIdx.x] * 3;
    __syncthreads();
    if (threadIdx.x >= 32) out[threadIdx.x - 32] = slot[63 - threadIdx.x];
}

// launch double_buffer <<<1, 32>>> f32[128]=drawn f32[32]=zero
extern "C" __global__ void double_buffer(const float *in, float *out) {
    __shared__ float buffer[2][32];
    float sum = 0;
    buffer[0][threadIdx.x] = in[threadIdx.x];
    for (int i = 0; i < 4; i++) {
        __syncthreads();
        if (i < 3) buffer[(i + 1) & 1][threadIdx.x] = in[(i + 1) * 32 + threadIdx.x];
        sum += buffer[i & 1][31 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// launch block_atomics <<<2, 32>>> u32[2]=zero u64[1]=zero
extern "C" __global__ void block_atomics(unsigned *x, unsigned long long *most) {
    atomicAdd_block(&x[blockIdx.x], threadIdx.x);
    atomicMax(most, (unsigned long long)threadIdx.x * blockIdx.x);
}

// launch float_atomics <<<1, 32>>> f32[2]=zero f64[1]=zero
extern "C" __global__ void float_atomics(float *x, double *y) {
    atomicAdd(x, 0.25f * threadIdx.x);
    atomicExch(x + 1, 3.0f);
    atomicAdd(y, 0.5);
}
