// stopped: Let such threads skip the work
// sums[b] = the sum of x[i] over the elements of block b, for i < n. Blocks have 128 threads.
__global__ void block_sums(unsigned n, const float *x, float *sums)
{
    __shared__ float part[128];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * 128 + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (t < half) {
            part[t] += part[t + half];
            __syncthreads();
        }
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}
