// *sum += x[0] + ... + x[255], by one block of 256 threads that halves what is left, eight times.
extern "C" __global__ void sum(const float *x, float *sum)
{
    __shared__ float partial[256];
    unsigned t = threadIdx.x;
    partial[t] = x[t];
#pragma unroll 1
    for (unsigned half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            partial[t] += partial[t + half];
    }
    if (t == 0)
        atomicAdd(sum, partial[0]);
}
