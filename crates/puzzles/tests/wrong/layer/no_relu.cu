// wrong: but ReLU is missing
// a = relu(x wᵀ + b), where x is [batch, m], w is [n, m], b is [n] and a is [batch, n].
__global__ void layer(unsigned batch, unsigned m, unsigned n, const float *x, const float *w,
                      const float *b, float *a)
{
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= batch || j >= n)
        return;
    float z = 0.0f;
    for (unsigned t = 0; t < m; ++t)
        z += x[i * m + t] * w[j * m + t];
    z += b[j];
    a[i * n + j] = z;
}
