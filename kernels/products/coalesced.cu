// The three products with coalesced loads.
//
// In a · bᵀ both matrices are read along their rows. With a thread for each element, the lanes of a warp
// read 32 rows of b at once: 32 sectors for 32 numbers. Here a warp computes an element: its lanes read
// 32 neighbours of a row, and their sums are added at the end. The other two products are those of the
// plain kernels, which already read neighbours in a row of b.

// c = a · bᵀ, where a is [m, k], b is [n, k] and c is [m, n].
// One warp, 32 threads along x, for each element: blockIdx.x is its column, y its row.
extern "C" __global__ void matmul_a_bt(const float *a, const float *b, float *c,
                                       size_t m, size_t n, size_t k)
{
    size_t j = blockIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m)
        return;
    // ANCHOR: warp
    float sum = 0.0f;
    for (size_t l = threadIdx.x; l < k; l += 32)
        sum += a[i * k + l] * b[j * k + l];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (threadIdx.x == 0)
        c[i * n + j] = sum;
    // ANCHOR_END: warp
}

// c = aᵀ · b, where a is [k, m], b is [k, n] and c is [m, n].
// One thread for each element of c: x is its column, y its row.
extern "C" __global__ void matmul_at_b(const float *a, const float *b, float *c,
                                       size_t m, size_t n, size_t k)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n)
        return;
    float sum = 0.0f;
    for (size_t l = 0; l < k; ++l)
        sum += a[l * m + i] * b[l * n + j];
    c[i * n + j] = sum;
}

// c = a · b, where a is [m, k], b is [k, n] and c is [m, n].
// One thread for each element of c: x is its column, y its row.
extern "C" __global__ void matmul_a_b(const float *a, const float *b, float *c,
                                      size_t m, size_t n, size_t k)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n)
        return;
    float sum = 0.0f;
    for (size_t l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}
