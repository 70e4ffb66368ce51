// c[i, j] = the sum of a[i, t] b[j, t] over t, where a is [m, k], b is [n, k] and c is [m, n].
// By one thread.
__global__ void product(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    for (unsigned i = 0; i < m; ++i)
        for (unsigned j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (unsigned t = 0; t < k; ++t)
                sum += a[i * k + t] * b[j * k + t];
            c[i * n + j] = sum;
        }
}
