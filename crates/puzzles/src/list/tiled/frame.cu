// c[i, j] = the sum of a[i, t] b[j, t] over t, where a is [m, k], b is [n, k] and c is [m, n].
// Blocks have 8 by 8 threads.
__global__ void product(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    unsigned j = blockIdx.x * 8 + threadIdx.x;
    unsigned i = blockIdx.y * 8 + threadIdx.y;
    if (i >= m || j >= n)
        return;
    float sum = 0.0f;
    for (unsigned t = 0; t < k; ++t)
        sum += a[i * k + t] * b[j * k + t];
    c[i * n + j] = sum;
}
