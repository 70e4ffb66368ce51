// stopped: by those of all blocks
// out[i] = x[i] x[i] for i < n, by however many threads there are.
__global__ void square(unsigned n, const float *x, float *out)
{
    unsigned threads = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
        out[i] = x[i] * x[i];
}
