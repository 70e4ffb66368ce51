// costly: get the others' by shuffles
// out[i] = the sum of x over the warp of thread i. n is a multiple of 32.
__global__ void warp_sum(unsigned n, const float *x, float *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)     // whole warps, or none of a warp
        return;
    float sum = 0.0f;
    for (unsigned k = 0; k < 32; ++k)
        sum += x[i / 32 * 32 + k];
    out[i] = sum;
}
