// Sums by atomics, by warps and by blocks; integer and 64-bit atomics; votes and matches.
__device__ unsigned long long counter;

extern "C" __global__ void sum(float* total, const float* x, int n)
{
    __shared__ float partial[32];
    float value = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
        for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(~0u, value, step);
        if (threadIdx.x == 0) atomicAdd(total, value);
    }
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, int n)
{
    int t = threadIdx.x;
    __shared__ int bins[64];
    if (t < 64) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[t & 63], 1);
    atomicMin(&i[0], t);
    atomicMax(&i[1], -t);
    atomicInc(&u[0], 100u);
    atomicDec(&u[1], 100u);
    u[2] = atomicExch(&u[3], t) + atomicCAS(&u[4], 0u, t);
    atomicAnd(&u[5], t); atomicOr(&u[6], t); atomicXor(&u[7], t);
    atomicAdd(&l[0], 1ull);
    atomicMax(&l[1], (unsigned long long)t);
    f[t] = atomicExch(&f[0], 1.0f);
    atomicAdd(&counter, (unsigned long long)__popc(__ballot_sync(~0u, t & 1)) + __any_sync(~0u, t > 3) + __all_sync(~0u, t < 3));
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    __syncthreads();
    if (__syncthreads_or(t > 5)) i[2] = __syncthreads_count(t > 2) + __syncthreads_and(t > 1);
    u[8] = __clz(t) + __ffs(t) + __brev(t) + __byte_perm(t, n, 0x1234) + __funnelshift_l(t, n, 5) + __mulhi(t, n) + __umul24(t, n);
    i[3] = (int)clock() + __activemask() + (int)clock64();
#if __CUDA_ARCH__ >= 700
    u[9] = __match_any_sync(~0u, t);
    int all; u[10] = __match_all_sync(~0u, t, &all) + all;
    __nanosleep(10);
#endif
#if __CUDA_ARCH__ >= 800
    u[11] = __reduce_add_sync(~0u, t) + __reduce_max_sync(~0u, u[0]) + __reduce_or_sync(~0u, u[0]);
#endif
#if __CUDA_ARCH__ >= 600
    atomicAdd((double*)&l[2], 1.0);
    atomicAdd_system(&i[4], 1);
#endif
}
