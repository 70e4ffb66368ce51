// Idioms of NVIDIA's guide and samples, which no sanitizer may report.
__device__ unsigned finished;

// CUDA C++ Programming Guide, "Atomic Functions": any atomic operation by compare-and-swap.
__device__ double add(double* address, double value)
{
    unsigned long long* bits = (unsigned long long*)address;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__device__ float greatest(float* address, float value)
{
    int old = *(int*)address;
    while (value > __int_as_float(old)) {
        int assumed = old;
        old = atomicCAS((int*)address, assumed, __float_as_int(value));
        if (old == assumed) break;
    }
    return __int_as_float(old);
}

// Guide, "Memory Fence Functions", and the sample threadFenceReduction: the last block to finish sums up
// and resets the counter. total[0] sum, total[1] the maximum, total[2] sum by compare-and-swap.
extern "C" __global__ void k(double* total, volatile double* partial, const float* in)
{
    __shared__ double sums[64];
    __shared__ bool last;
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = in[i];
    add(&total[2], in[i]);
    greatest((float*)&total[1], in[i]);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        double sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b];
        total[0] = sum;
        finished = 0;
    }
}
