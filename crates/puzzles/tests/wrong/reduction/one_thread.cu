// costly: One thread does the work of the whole block
// sums[b] = the sum of x[i] over the elements of block b, for i < n. Blocks have 128 threads.
__global__ void block_sums(unsigned n, const float *x, float *sums)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (unsigned k = 0; k < 128 && i + k < n; ++k)
            sum += x[i + k];        // one thread works, 127 wait
        sums[blockIdx.x] = sum;
    }
}
