// The three products as in register_tile.cu, with two changes. If rows begin at multiples of 16 bytes,
// numbers are loaded four at a time, 16 bytes in one instruction. And there are two pairs of tiles:
// while one is multiplied, the loads of the next one to registers are in flight, and one barrier for
// each tile is enough.

constexpr int TILE = 64;  // rows and columns of c that a block computes
constexpr int DEPTH = 16; // terms of the sum in a tile
constexpr int OWN = 4;    // rows and columns of a thread, neighbours in c
constexpr int ROW = TILE + 4;

// Loads four neighbouring numbers; 0 for those outside the matrix.
__device__ float4 load_four(const float *from, size_t length, size_t at, bool inside, bool aligned)
{
    if (!inside || at >= length)
        return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (aligned)
        return *(const float4 *)(from + at);
    return make_float4(from[at], at + 1 < length ? from[at + 1] : 0.0f,
                       at + 2 < length ? from[at + 2] : 0.0f,
                       at + 3 < length ? from[at + 3] : 0.0f);
}

// This thread's four of the DEPTH x TILE numbers of a tile. Rows in memory run along l; transposed, along i.
template <bool along_l>
__device__ float4 fetch(const float *from, size_t i0, size_t l0, size_t rows, size_t k)
{
    int thread = threadIdx.y * 16 + threadIdx.x;
    if (along_l) {
        size_t i = i0 + thread / 4, l = l0 + thread % 4 * 4;
        return load_four(from + i * k, k, l, i < rows, k % 4 == 0);
    }
    size_t l = l0 + thread / 16, i = i0 + thread % 16 * 4;
    return load_four(from + l * rows, rows, i, l < k, rows % 4 == 0);
}

// Stores the four numbers in tile[l][i].
template <bool along_l>
__device__ void place(float tile[DEPTH][ROW], float4 four)
{
    int thread = threadIdx.y * 16 + threadIdx.x;
    if (along_l) {
        int i = thread / 4, l = thread % 4 * 4;
        tile[l][i] = four.x;
        tile[l + 1][i] = four.y;
        tile[l + 2][i] = four.z;
        tile[l + 3][i] = four.w;
    } else {
        *(float4 *)&tile[thread / 16][thread % 16 * 4] = four;
    }
}

// c[i, j] is the sum over l of a(i, l) · b(l, j). A transposed matrix is stored with its rows and columns
// exchanged.
template <bool a_transposed, bool b_transposed>
__device__ void product(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    __shared__ __align__(16) float a_tiles[2][DEPTH][ROW];
    __shared__ __align__(16) float b_tiles[2][DEPTH][ROW];
    size_t i0 = (size_t)blockIdx.y * TILE, j0 = (size_t)blockIdx.x * TILE;
    int x = threadIdx.x, y = threadIdx.y, stage = 0;

    // ANCHOR: stages
    float sum[OWN][OWN] = {};
    place<!a_transposed>(a_tiles[0], fetch<!a_transposed>(a, i0, 0, m, k));
    place<b_transposed>(b_tiles[0], fetch<b_transposed>(b, j0, 0, n, k));
    for (size_t l0 = 0; l0 < k; l0 += DEPTH) {
        __syncthreads();
        // After the last tile these are zeros, and are not used.
        float4 next_a = fetch<!a_transposed>(a, i0, l0 + DEPTH, m, k);
        float4 next_b = fetch<b_transposed>(b, j0, l0 + DEPTH, n, k);
        for (int l = 0; l < DEPTH; ++l) {
            float4 column = *(const float4 *)&a_tiles[stage][l][y * OWN];
            float4 row = *(const float4 *)&b_tiles[stage][l][x * OWN];
            float of_a[OWN] = {column.x, column.y, column.z, column.w};
            float of_b[OWN] = {row.x, row.y, row.z, row.w};
            for (int r = 0; r < OWN; ++r)
                for (int s = 0; s < OWN; ++s)
                    sum[r][s] += of_a[r] * of_b[s];
        }
        stage = 1 - stage;
        place<!a_transposed>(a_tiles[stage], next_a);
        place<b_transposed>(b_tiles[stage], next_b);
    }
    // ANCHOR_END: stages
    for (int r = 0; r < OWN; ++r)
        for (int s = 0; s < OWN; ++s) {
            size_t i = i0 + y * OWN + r, j = j0 + x * OWN + s;
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
