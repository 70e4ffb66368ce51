// wrong: the round with distance 1 is missing
// out[i] = the sum of x over the warp of thread i. n is a multiple of 32.
__global__ void warp_sum(unsigned n, const float *x, float *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)     // whole warps, or none of a warp
        return;
    float sum = x[i];
    for (int distance = 16; distance > 1; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    out[i] = sum;
}
