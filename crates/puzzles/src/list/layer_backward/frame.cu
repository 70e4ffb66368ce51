// dz_before = dz w where z > 0, and 0 elsewhere; dz is [batch, n], w is [n, m], z is [batch, m].
__global__ void layer_backward(unsigned batch, unsigned m, unsigned n, const float *dz,
                               const float *w, const float *z, float *dz_before)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = blockIdx.y * blockDim.y + threadIdx.y;
    // Your turn.
}
