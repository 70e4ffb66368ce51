// stopped: A launch has whole blocks
// out[i] = 2 x[i] for i < n.
__global__ void twice(unsigned n, const float *x, float *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0f * x[i];
}
