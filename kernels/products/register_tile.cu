// The three products with tiles in shared memory and in registers: a block of 16 x 16 threads computes
// 64 x 64 elements of c, and each thread 4 x 4 of them. A thread loads eight numbers from shared memory
// for sixteen multiplications; with one element per thread it would load two for each.

constexpr int TILE = 64;  // rows and columns of c that a block computes
constexpr int DEPTH = 16; // terms of the sum in a tile
constexpr int OWN = 4;    // rows and columns of c that a thread computes

// Copies DEPTH x TILE numbers to shared memory, tile[l][i], and 0 for positions outside the matrix. Rows
// in memory run along l or, if transposed, along i; neighbouring threads read neighbouring numbers.
template <bool along_l>
__device__ void fetch(float tile[DEPTH][TILE + 2], const float *from, size_t i0, size_t l0,
                      size_t rows, size_t k)
{
    for (int at = threadIdx.y * 16 + threadIdx.x; at < DEPTH * TILE; at += 256) {
        int i = along_l ? at / DEPTH : at % TILE;
        int l = along_l ? at % DEPTH : at / TILE;
        size_t index = along_l ? (i0 + i) * k + l0 + l : (l0 + l) * rows + i0 + i;
        tile[l][i] = i0 + i < rows && l0 + l < k ? from[index] : 0.0f;
    }
}

// c[i, j] is the sum over l of a(i, l) · b(l, j). A transposed matrix is stored with its rows and columns
// exchanged.
template <bool a_transposed, bool b_transposed>
__device__ void product(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    // Two numbers more than needed, so that neighbours along l are in different banks, two apart.
    __shared__ float a_tile[DEPTH][TILE + 2];
    __shared__ float b_tile[DEPTH][TILE + 2];
    size_t i0 = (size_t)blockIdx.y * TILE, j0 = (size_t)blockIdx.x * TILE;
    int x = threadIdx.x, y = threadIdx.y;

    // ANCHOR: registers
    float sum[OWN][OWN] = {};
    for (size_t l0 = 0; l0 < k; l0 += DEPTH) {
        fetch<!a_transposed>(a_tile, a, i0, l0, m, k);
        fetch<b_transposed>(b_tile, b, j0, l0, n, k);
        __syncthreads();
        for (int l = 0; l < DEPTH; ++l) {
            float column[OWN], row[OWN];
            for (int r = 0; r < OWN; ++r)
                column[r] = a_tile[l][y + 16 * r];
            for (int s = 0; s < OWN; ++s)
                row[s] = b_tile[l][x + 16 * s];
            for (int r = 0; r < OWN; ++r)
                for (int s = 0; s < OWN; ++s)
                    sum[r][s] += column[r] * row[s];
        }
        __syncthreads();
    }
    // ANCHOR_END: registers
    for (int r = 0; r < OWN; ++r)
        for (int s = 0; s < OWN; ++s) {
            size_t i = i0 + y + 16 * r, j = j0 + x + 16 * s;
            if (i < m && j < n)
                c[i * n + j] = sum[r][s];
        }
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
