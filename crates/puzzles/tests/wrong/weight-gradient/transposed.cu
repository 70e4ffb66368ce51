// wrong: right but transposed
// dw[j, i] = the sum of dz[s, j] a[s, i] over the samples s; dz is [batch, n], a is [batch, m].
__global__ void weight_gradient(unsigned batch, unsigned m, unsigned n, const float *dz,
                                const float *a, float *dw)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n)
        return;
    float sum = 0.0f;
    for (unsigned s = 0; s < batch; ++s)
        sum += dz[s * n + j] * a[s * m + i];
    dw[i * n + j] = sum;
}
