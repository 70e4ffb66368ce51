// dw[i] becomes limit where it is larger, -limit where it is smaller than that, for i < n.
__global__ void clip(unsigned n, float limit, float *dw)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    // Your turn.
}
