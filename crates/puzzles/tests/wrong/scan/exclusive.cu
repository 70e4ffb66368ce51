// wrong: *before* it
// out[i] = x[0] + … + x[i] for i < n, by one block of 128 threads; n is at most 128.
__global__ void scan(unsigned n, const float *x, float *out)
{
    __shared__ float sum[128];
    unsigned t = threadIdx.x;
    sum[t] = t < n ? x[t] : 0.0f;
    __syncthreads();
    for (unsigned distance = 1; distance < 128; distance *= 2) {
        float before = t >= distance ? sum[t - distance] : 0.0f;
        __syncthreads();
        sum[t] += before;
        __syncthreads();
    }
    if (t < n)
        out[t] = t > 0 ? sum[t - 1] : 0.0f;
}
