// stopped: has not been checked
// c[i, j] = the sum of a[i, t] b[j, t] over t, where a is [m, k], b is [n, k] and c is [m, n].
// One thread for each element of c.
__global__ void product(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned i = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= n)
        return;
    float sum = 0.0f;
    for (unsigned t = 0; t < k; ++t)
        sum += a[i * k + t] * b[j * k + t];
    c[i * n + j] = sum;
}
