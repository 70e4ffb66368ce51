// wrong: The condition tests da. It has to test z
// dz[i] = da[i] where z[i] > 0, and 0 elsewhere, for i < n.
__global__ void relu_backward(unsigned n, const float *da, const float *z, float *dz)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    dz[i] = da[i] > 0.0f ? da[i] : 0.0f;
}
