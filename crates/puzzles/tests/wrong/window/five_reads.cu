// costly: fetched from global memory five times
// out[i] = x[i-2] + x[i-1] + x[i] + x[i+1] + x[i+2] for i < n, with 0 for missing elements.
// Blocks have 64 threads.
__global__ void window(unsigned n, const float *x, float *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int d = -2; d <= 2; ++d) {
        int at = (int)i + d;
        if (at >= 0 && at < (int)n)
            sum += x[at];           // five times from global memory
    }
    out[i] = sum;
}
