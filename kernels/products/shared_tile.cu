// The three products with tiles in shared memory: a block of 16 x 16 threads computes 16 x 16 elements
// of c. It loads 16 rows of one matrix and 16 columns of the other, 16 numbers of each at a time,
// and uses every number 16 times.

constexpr int TILE = 16;

// c[i, j] is the sum over l of a(i, l) · b(l, j). A transposed matrix is stored with its rows and columns
// exchanged. Threads that are neighbours in x always read neighbours in memory.
template <bool a_transposed, bool b_transposed>
__device__ void product(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    // A row has one number more than needed, so that a column is in 16 different banks.
    __shared__ float a_tile[TILE][TILE + 1];
    __shared__ float b_tile[TILE][TILE + 1];
    size_t x = threadIdx.x, y = threadIdx.y;
    size_t i0 = (size_t)blockIdx.y * TILE, j0 = (size_t)blockIdx.x * TILE;

    // ANCHOR: tiles
    float sum = 0.0f;
    for (size_t l0 = 0; l0 < k; l0 += TILE) {
        if (a_transposed)
            a_tile[x][y] = l0 + y < k && i0 + x < m ? a[(l0 + y) * m + i0 + x] : 0.0f;
        else
            a_tile[y][x] = i0 + y < m && l0 + x < k ? a[(i0 + y) * k + l0 + x] : 0.0f;
        if (b_transposed)
            b_tile[x][y] = j0 + y < n && l0 + x < k ? b[(j0 + y) * k + l0 + x] : 0.0f;
        else
            b_tile[y][x] = l0 + y < k && j0 + x < n ? b[(l0 + y) * n + j0 + x] : 0.0f;
        __syncthreads();
        for (int l = 0; l < TILE; ++l)
            sum += a_tile[y][l] * b_tile[l][x];
        __syncthreads();
    }
    // ANCHOR_END: tiles
    if (i0 + y < m && j0 + x < n)
        c[(i0 + y) * n + j0 + x] = sum;
}

// c = a · bᵀ, where a is [m, k], b is [n, k] and c is [m, n].
extern "C" __global__ void matmul_a_bt(const float *a, const float *b, float *c,
                                       size_t m, size_t n, size_t k)
{
    product<false, true>(a, b, c, m, n, k);
}

// c = aᵀ · b, where a is [k, m], b is [k, n] and c is [m, n].
extern "C" __global__ void matmul_at_b(const float *a, const float *b, float *c,
                                       size_t m, size_t n, size_t k)
{
    product<true, false>(a, b, c, m, n, k);
}

// c = a · b, where a is [m, k], b is [k, n] and c is [m, n].
extern "C" __global__ void matmul_a_b(const float *a, const float *b, float *c,
                                      size_t m, size_t n, size_t k)
{
    product<false, false>(a, b, c, m, n, k);
}
