// dw[j, i] = the sum of dz[s, j] a[s, i] over the samples s; dz is [batch, n], a is [batch, m].
__global__ void weight_gradient(unsigned batch, unsigned m, unsigned n, const float *dz,
                                const float *a, float *dw)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned j = blockIdx.y * blockDim.y + threadIdx.y;
    // Your turn.
}
