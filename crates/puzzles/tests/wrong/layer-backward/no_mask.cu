// wrong: the backward step of ReLU is missing
// dz_before = dz w where z > 0, and 0 elsewhere; dz is [batch, n], w is [n, m], z is [batch, m].
__global__ void layer_backward(unsigned batch, unsigned m, unsigned n, const float *dz,
                               const float *w, const float *z, float *dz_before)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || s >= batch)
        return;
    float da = 0.0f;
    for (unsigned j = 0; j < n; ++j)
        da += dz[s * n + j] * w[j * m + i];
    dz_before[s * m + i] = da;
}
