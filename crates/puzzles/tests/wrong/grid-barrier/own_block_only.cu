// wrong: only divided by the sum of its block
// out[i] = x[i] / the sum of x, for i < n. Blocks of 32 threads, all resident at once.
// parts has an element for each block; *arrived holds 0, and in the end the number of blocks.
__global__ void normalise(unsigned n, const float *x, float *parts, unsigned *arrived, float *out)
{
    unsigned i = blockIdx.x * 32 + threadIdx.x;
    float mine = i < n ? x[i] : 0.0f;
    float sum = mine;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);

    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();                                // visible before I arrive
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < gridDim.x)
            ;
        __threadfence();                                // and fresh when I read
    }
    __syncthreads();

    float total = 0.0f;
    for (unsigned b = 0; b < gridDim.x; ++b)
        total += b == blockIdx.x ? parts[b] : 0.0f;
    if (i < n)
        out[i] = mine / total;
}
